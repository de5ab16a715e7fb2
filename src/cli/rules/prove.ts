import { existsSync, readFileSync } from 'node:fs';
import { nearest } from '../../ir/diagnostic.ts';
import { entryOf } from '../../ir/entry-of.ts';
import { firstNames } from '../../ir/listed.ts';
import { fileWord } from '../../ir/quote.ts';
import { plural } from '../../lab/render/table.ts';
import { currentReview, type Review, reviewsOf } from '../../review/rule-reviews.ts';
import { prove, timesLimits } from '../../rules/prove/prove.ts';
import {
  needsReview,
  outweighs,
  printVerdicts,
  settles,
  stillCounts,
  type Verdict,
  type Verdicts,
  verdictText,
} from '../../rules/prove/verdict.ts';
import type { Rule } from '../../rules/rule.ts';
import { shownPath } from '../../spec/node.ts';
import { writeReplacing } from '../../spec/node-write.ts';
import { coreJobs, jobsOf } from '../input/jobs.ts';
import type { PlanOptions } from '../input/options.ts';
import { runWorkers } from '../input/workers.ts';
import { Progress } from '../terminal/progress.ts';
import { CliExit, duration, failWith, out, pc } from '../terminal/ui.ts';
import type { Proved, ProveWorker } from './prove-worker.ts';
import { bookFor, reviewedBy, reviewText } from './rules.ts';
import { openSolver } from './solver.ts';
import { isOpen, type Known, keepForeign, knownVerdicts, readVerdicts, VERDICTS } from './verdicts.ts';

interface ProveCommand extends PlanOptions {
  readonly rule?: string;
  readonly group?: string;
  readonly solver?: string;
  readonly all?: boolean;
  /** Ids of rules, or true: all. */
  readonly accept?: true | readonly string[];
  readonly jobs?: string;
  readonly effort?: string;
  /** Print reviews in full. */
  readonly reviews?: boolean;
  readonly json?: boolean;
}

/** Result for a rule after a run. */
interface Finding {
  readonly verdict: Verdict;
  /** Verdict of this run, if the stored verdict on the same rule outweighs it. */
  readonly here?: Verdict;
}

/** Number of new verdicts after which verdicts are saved, so that they survive an interruption. */
const SAVE_EVERY = 16;

/**
 * `orrery rules prove`: proves every rule whose verdict is missing, is for another text, or is from a less thorough prover; with --rules,
 * the rules of these files, unless --group or --rule chooses others. With --accept it stores the verdicts of shipped rules. Verdicts of
 * others are kept in the cache folder.
 *
 * @throws CliExit with code 1 if a rule is refuted, or is neither proved nor accepted by a person
 */
export async function proveRules(o: ProveCommand): Promise<void> {
  const jobs = jobsOf(o.jobs, coreJobs());
  const effort = effortOf(o.effort);
  const { rules, shipped, named, specs } = await bookFor(o);
  // A file may replace a shipped group: verdicts on the rules of the shipped group are kept.
  const kept = shipped.size === specs.rules?.size ? {} : readVerdicts();
  const all = o.rule !== undefined || o.group !== undefined || named.size === 0;
  const wanted = rules.filter(
    (r) =>
      (o.rule === undefined || r.id === o.rule) &&
      (o.group === undefined || r.group === o.group) &&
      (all || named.has(r.group)),
  );
  if (wanted.length === 0) {
    const word = o.rule ?? o.group ?? '';
    const near = nearest(
      word,
      rules.map((r) => (o.rule !== undefined ? r.id : r.group)),
    );
    failWith(
      `there is no rule${o.rule === undefined ? ' group' : ''} '${word}'`,
      near.length > 0 ? `did you mean '${near[0]}'?` : '`orrery rules list` names them',
    );
  }
  const accepts = acceptsOf(o.accept, wanted);
  const stored = readVerdicts();
  // By rule, not by id: a rule of a file may have the id of a shipped one.
  const found = new Map<Rule, Finding>();
  const known = knownVerdicts(stored);
  const isCurrent = (r: Rule): boolean => {
    if (shipped.has(r.group)) {
      const old = entryOf(stored, r.id);
      return old?.hash === r.hash && stillCounts(old);
    }
    const v = known(r.hash);
    return v !== undefined && (v.verdict !== 'unknown' || v.accepted === true);
  };
  const toProve = wanted.filter((r) => o.all === true || o.rule !== undefined || !isCurrent(r));
  for (const r of wanted)
    if (!toProve.includes(r))
      found.set(r, { verdict: plain(shipped.has(r.group) ? stored[r.id] : known(r.hash)!) });
  const keep = (): string | null =>
    keepForeign(
      new Map([...found].flatMap(([r, f]) => (shipped.has(r.group) ? [] : [[r, f.verdict]]))),
      accepts,
    );
  let ownFile: string | null = null;
  const began = performance.now();
  if (toProve.length > 0) {
    const progress = new Progress();
    const store = (): void => {
      if (o.accept !== undefined)
        save(
          rules.filter((r) => shipped.has(r.group)),
          accepts,
          stored,
          found,
          kept,
        );
    };
    try {
      let done = 0;
      await proveAll(toProve, rules, { jobs, effort, solver: o.solver, options: o }, (r, here) => {
        const before = known(r.hash);
        found.set(
          r,
          before !== undefined && outweighs(before, here)
            ? { verdict: plain(before), here }
            : { verdict: here },
        );
        progress.of(++done, toProve.length, r.id);
        if (done % SAVE_EVERY === 0) store();
      });
    } catch (e) {
      if (e instanceof CliExit) throw e;
      failWith(
        (e as Error).message,
        "the solver has to read SMT-LIB 2 from its standard input: --solver 'z3 -in'",
      );
    } finally {
      progress.done();
      store();
      ownFile = keep();
    }
  } else ownFile = keep();
  const reviews = reviewsOf(specs.reviews?.data);
  report(wanted, found, toProve.length, performance.now() - began, { stored, shipped, reviews, ownFile }, o);
  const open = openRules(wanted, found, (r) => shipped.has(r.group), {
    accepts,
    reviews,
    known: knownVerdicts(stored),
  });
  if (open.length > 0) failUnproved(open, o);
  if ([...found.values()].some((f) => f.verdict.verdict === 'refuted')) throw new CliExit(1);
}

/**
 * The rules that a person accepts.
 *
 * @param wanted the rules of this run
 */
function acceptsOf(accept: ProveCommand['accept'], wanted: readonly Rule[]): (r: Rule) => boolean {
  if (accept === undefined) return () => false;
  if (accept === true) return () => true;
  const ids = wanted.map((r) => r.id);
  for (const id of accept)
    if (!ids.includes(id)) {
      const near = nearest(id, ids);
      failWith(
        `--accept: this run has no rule '${id}'`,
        near.length > 0 ? `did you mean '${near[0]}'?` : 'ids of rules, separated by blanks, or none for all',
      );
    }
  return (r) => accept.includes(r.id);
}

/** Sources of acceptance for rules without a proof. */
interface Witnesses {
  readonly accepts: (r: Rule) => boolean;
  readonly reviews: ReadonlyMap<string, Review>;
  readonly known: Known;
}

/** The rules that are neither proved, refuted, nor accepted: shipped ones by a review, others by `--accept`. */
const openRules = (
  wanted: readonly Rule[],
  found: ReadonlyMap<Rule, Finding>,
  ships: (r: Rule) => boolean,
  { accepts, reviews, known }: Witnesses,
): Rule[] =>
  wanted.filter((r) => {
    const v = found.get(r)!.verdict;
    if (settles(v) || accepts(r)) return false;
    return ships(r) ? !needsReview(v) || currentReview(reviews, r) === null : isOpen(known(r.hash));
  });

/** Maximum number of rules named in an error; of more, only the count is shown. */
const MOST_NAMED = 6;

/** Ends the command, and says what to do about rules that are not proved. */
function failUnproved(open: readonly Rule[], o: ProveCommand): never {
  const named = firstNames(
    open.map((r) => `'${r.id}'`),
    MOST_NAMED,
  );
  const files = (o.rules ?? []).map((f) => ` --rules ${fileWord(f)}`).join('');
  failWith(
    `${open.length === 1 ? 'rule' : `${open.length} rules:`} ${named} ${open.length === 1 ? 'is' : 'are'} not proved`,
    `\`orrery rules prove${files} --rule ${open[0].id} --effort 4\` lets the solver take longer`,
    `\`orrery rules prove${files} --accept ${open[0].id}\` accepts it, if you have read why it holds`,
  );
}

/** Factor on the usual limits of a query. */
function effortOf(text: string | undefined): number {
  const n = text === undefined ? 1 : /^[\d.]+$/.test(text) ? Number(text) : 0;
  return n > 0 && n <= MOST_EFFORT
    ? n
    : failWith(
        `--effort ${text} is not a factor of the limits`,
        `it is a number above 0 up to ${MOST_EFFORT}`,
      );
}
/** With this factor, the limit of one query fits the 32 bits in which solvers count. */
const MOST_EFFORT = 100;

/** A verdict without the fields that a store adds. */
const plain = ({ hash: _, accepted: __, ...v }: Verdict & { hash?: string; accepted?: true }): Verdict =>
  v as Verdict;

interface Way {
  readonly jobs: number;
  readonly effort: number;
  readonly solver: string | undefined;
  readonly options: PlanOptions;
}

/**
 * Proves rules, on several workers if there are several rules; the results are the same as with one worker.
 *
 * @param rules all rules of the options, in which a worker finds those to prove
 */
async function proveAll(
  toProve: readonly Rule[],
  rules: readonly Rule[],
  { jobs, effort, solver, options }: Way,
  onVerdict: (rule: Rule, verdict: Verdict) => void,
): Promise<void> {
  if (Math.min(jobs, toProve.length) === 1) {
    const { solve, close } = openSolver(solver);
    try {
      for (const r of toProve) onVerdict(r, await prove(r, solve, timesLimits(effort)));
    } finally {
      close();
    }
    return;
  }
  // A missing solver is reported once, before any worker starts.
  openSolver(solver).close();
  // The longest proofs go first, so that no worker finishes long after the others.
  const order = [...toProve].sort(
    (a, b) => Number(b.holds !== null) - Number(a.holds !== null) || b.instances.length - a.instances.length,
  );
  const { forceRules: _, ...given } = options;
  const workerData: ProveWorker = { role: 'prove', options: given, solver, effort };
  const places = new Map(rules.map((r, i) => [r, i]));
  await runWorkers<Proved, ProveWorker>(workerData, {
    tasks: order.map((r) => places.get(r)!),
    workers: Math.min(jobs, toProve.length),
    together: () => 1,
    onResult: (at, r) => {
      if ('fault' in r) throw new Error(r.fault);
      onVerdict(rules[at], r.verdict);
    },
  });
}

/** Writes the verdicts of shipped rules that a person accepts, and drops those of removed rules. Nothing is written if nothing changed. */
function save(
  rules: readonly Rule[],
  accepts: (r: Rule) => boolean,
  stored: Verdicts,
  found: ReadonlyMap<Rule, Finding>,
  kept: Verdicts,
): void {
  const next: Record<string, Verdict & { hash: string }> = { ...kept };
  for (const r of rules) {
    const f = found.get(r);
    const old = entryOf(stored, r.id);
    if (f !== undefined && accepts(r)) next[r.id] = { ...f.verdict, hash: r.hash };
    else if (old !== undefined) next[r.id] = old;
  }
  const text = printVerdicts(next);
  if (existsSync(VERDICTS) && readFileSync(VERDICTS, 'utf8') === text) return;
  writeReplacing(VERDICTS, text);
}

/** Text about a stored verdict that this run did not find again. */
const stays = (here: Verdict): string =>
  `it was proved with greater limits than those of this run, which says: ${verdictText(here)}`;

/** What the report compares with. */
interface Beside {
  readonly stored: Verdicts;
  readonly shipped: ReadonlySet<string>;
  /** File with the verdicts of other rules; null if they are not kept. */
  readonly ownFile: string | null;
  readonly reviews: ReadonlyMap<string, Review>;
}

function report(
  wanted: readonly Rule[],
  found: ReadonlyMap<Rule, Finding>,
  toProve: number,
  ms: number,
  { stored, shipped, reviews, ownFile }: Beside,
  o: ProveCommand,
): void {
  const reviewOf = (r: Rule): Review | null =>
    shipped.has(r.group) && needsReview(found.get(r)!.verdict) ? currentReview(reviews, r) : null;
  if (o.json === true) {
    const data = wanted.map((r) => {
      const f = found.get(r);
      const review = reviewOf(r);
      return {
        rule: r.id,
        group: r.group,
        hash: r.hash,
        ...f?.verdict,
        ...(f?.here === undefined ? {} : { stays: stays(f.here) }),
        ...(review === null
          ? {}
          : {
              review: {
                by: review.by,
                date: review.date,
                argument: review.argument,
                ...(review.checked === undefined ? {} : { checked: review.checked }),
              },
            }),
      };
    });
    out(JSON.stringify(data, null, 2));
    return;
  }
  // Shipped rules have 240 lines, among which a new verdict is easily overlooked.
  const inFull = o.reviews === true || o.rule !== undefined;
  let short = 0;
  const counts = new Map<string, number>();
  for (const { verdict: v } of found.values()) counts.set(v.verdict, (counts.get(v.verdict) ?? 0) + 1);
  for (const r of wanted) {
    const f = found.get(r);
    if (f === undefined) continue;
    const v = f.verdict;
    if (v.verdict === 'verified' && o.rule === undefined && f.here === undefined) continue;
    const paint = v.verdict === 'refuted' ? pc.red : v.verdict === 'verified' ? pc.green : pc.yellow;
    out(`${pc.bold(r.id)}  ${r.title}\n  ${paint(verdictText(v))}`);
    if (f.here !== undefined) out(`  ${stays(f.here)}`);
    const review = reviewOf(r);
    if (review !== null && !inFull) short++;
    if (review !== null) out(inFull ? reviewText(review, '  ') : `  ${reviewedBy(review)}`);
    else if (needsReview(v) && shipped.has(r.group))
      out('  its current text has no review: pipelines/rules/reviews.yaml');
    if (v.verdict === 'refuted')
      out(
        v.counterexample
          .split('\n')
          .map((l) => `  ${l}`)
          .join('\n'),
      );
  }
  const total = [...counts].map(([k, n]) => `${n} ${k}`).join(', ');
  const ships = wanted.filter((r) => shipped.has(r.group));
  const files = [...(ships.length > 0 ? [VERDICTS] : []), ...(ownFile === null ? [] : [ownFile])].map(
    shownPath,
  );
  const where = files.length === 0 ? '' : `, verdicts in ${files.join(' and ')}`;
  if (short > 0)
    out(`--reviews prints why ${short === 1 ? 'it holds' : 'they hold'}, in the words of the reviews`);
  out(`${plural(wanted.length, 'rule')}: ${total}; ${toProve} asked in ${duration(ms)}${where}`);
  if (o.accept !== undefined) return;
  const other = ships.filter(
    (r) => JSON.stringify({ ...found.get(r)?.verdict, hash: r.hash }) !== JSON.stringify(stored[r.id]),
  );
  if (other.length > 0)
    out(`${other.length} of them differ from what is stored there; --accept stores what was found`);
}
