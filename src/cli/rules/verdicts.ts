import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap } from '../../ir/data.ts';
import { type Diagnostic, fileFault } from '../../ir/diagnostic.ts';
import type { Isa } from '../../ir/opcode.ts';
import { fileWord } from '../../ir/quote.ts';
import { rulesOfDoc, rulesOfGroup } from '../../rules/group.ts';
import { REFUTED } from '../../rules/prove/refute.ts';
import {
  isVerdict,
  settles,
  stillCounts,
  type Verdict,
  type Verdicts,
  verdictText,
} from '../../rules/prove/verdict.ts';
import type { Rule } from '../../rules/rule.ts';
import { type SpecFile, specError } from '../../spec/document.ts';
import { ROOT } from '../../spec/node.ts';
import { cacheFolder, readChecked, writeChecked } from '../../spec/node-cache.ts';
import type { Plan } from '../../spec/plan.ts';
import { beforeEachCommand } from '../command-state.ts';
import { rulesOf } from '../input/foreign-rules.ts';
import type { PlanOptions } from '../input/options.ts';
import { CliExit, show } from '../terminal/ui.ts';

/** Path of the verdicts of the shipped rules, relative to the project. */
export const VERDICTS_FILE = 'pipelines/rules/verdicts.json';

/** Where the verdicts of the shipped rules are kept. */
export const VERDICTS = join(ROOT, ...VERDICTS_FILE.split('/'));

/** Stored verdicts; none if there is no file yet. */
export const readVerdicts = (): Verdicts =>
  existsSync(VERDICTS) ? (JSON.parse(readFileSync(VERDICTS, 'utf8')) as Verdicts) : {};

/** File with the verdicts of rules that do not ship, by the hash of their meaning. */
function foreignFile(): string {
  const folder = cacheFolder();
  if (folder === null) throw new Error('there is no folder for caches');
  return join(folder, 'verdicts.json');
}

/** Verdict on a rule that does not ship, and whether a person has accepted it with `--accept` although it is not a proof. */
type Kept = Verdict & { readonly accepted?: true };

/** Word in the checksum of the file; another word for another format. */
const ABOUT = 'verdicts';
/** Most verdicts that are kept. */
const MOST_KEPT = 10_000;

/** Verdicts on rules that do not ship, as far as they still count; none if they cannot be read: they can be found again. */
export function readForeign(): Readonly<Record<string, Kept>> {
  try {
    const kept: unknown = JSON.parse(readChecked(foreignFile(), ABOUT) ?? '{}');
    if (!isMap(kept)) return {};
    const verdicts = Object.entries(kept).filter(([, v]) => isVerdict(v) && stillCounts(v));
    return Object.fromEntries(verdicts) as Record<string, Kept>;
  } catch {
    return {};
  }
}

/** Looks up the verdict on a rule by its hash. The hash covers the whole meaning of the rule, so ids and groups do not matter. */
export type Known = (hash: string) => Kept | undefined;

/**
 * The verdicts on shipped rules, and on those that were proved on this machine, as far as they still count; a shipped proof stands if this
 * machine found none.
 */
export function knownVerdicts(stored: Verdicts = readVerdicts()): Known {
  const shipped = new Map(
    Object.values(stored)
      .filter(stillCounts)
      .map(({ hash, ...v }): [string, Kept] => [hash, { ...(v as Verdict), accepted: true }]),
  );
  const here = readForeign();
  return (hash) => (here[hash]?.verdict === 'refuted' ? here[hash] : (shipped.get(hash) ?? here[hash]));
}

/** Whether a rule is open: it has no verdict, or it is neither proved nor accepted. */
export const isOpen = (v: Kept | undefined): boolean =>
  v === undefined || (!settles(v) && v.accepted !== true);

/** A verdict as text. */
export const keptText = (v: Kept): string =>
  `${verdictText(v)}${isOpen(v) ? '; counts as open until it is accepted with --accept' : ''}`;

/**
 * Keeps verdicts on rules that do not ship, and warns if it cannot.
 *
 * @param accepts whether a person accepts a rule without a proof; else it stays open
 * @returns the file that has them; null if there is none
 */
export function keepForeign(
  found: ReadonlyMap<Rule, Verdict>,
  accepts: (rule: Rule) => boolean = () => false,
): string | null {
  if (found.size === 0) return null;
  const next: Record<string, Kept> = { ...readForeign() };
  for (const [rule, v] of found) {
    const { hash } = rule;
    const before = next[hash];
    const taken =
      !settles(v) && (accepts(rule) || (before?.accepted === true && before.verdict === v.verdict));
    next[hash] = taken ? { ...v, accepted: true } : v;
  }
  try {
    const file = foreignFile();
    // The most recent ones come last.
    const kept = Object.entries(next).slice(-MOST_KEPT);
    writeChecked(file, ABOUT, JSON.stringify(Object.fromEntries(kept)));
    return file;
  } catch (e) {
    const message = 'the verdicts cannot be kept, so other commands will not know them';
    show([fault('warning', '', message, (e as Error).message)]);
    return null;
  }
}

/** Groups that were already reported: a command makes several plans with the same rules. */
const reportedGroups = new Set<string>();
beforeEachCommand(() => reportedGroups.clear());

const fault = (
  severity: 'error' | 'warning',
  file: string,
  message: string,
  ...notes: readonly string[]
): Diagnostic => ({
  ...fileFault(file, message, notes, 'rules-unproved'),
  severity,
});

const judged = (
  rules: readonly Rule[],
  known: Known,
): { readonly refuted: readonly Rule[]; readonly open: readonly Rule[] } => ({
  refuted: rules.filter((r) => known(r.hash)?.verdict === 'refuted'),
  open: rules.filter((r) => isOpen(known(r.hash))),
});

/** A warning about unproved rules, with the verdict on the first one that has one. */
function unproved(file: string, open: readonly Rule[], known: Known): Diagnostic {
  const message =
    open.length === 1
      ? `rule '${open[0].id}' of ${file} is not proved`
      : `${open.length} rules of ${file} are not proved`;
  const withVerdict = open.find((r) => known(r.hash) !== undefined);
  const notes =
    withVerdict === undefined
      ? [`\`orrery rules prove --rules ${fileWord(file)}\` asks a solver`]
      : [
          `a solver says of '${withVerdict.id}': ${verdictText(known(withVerdict.hash)!)}`,
          `\`orrery rules prove --rules ${fileWord(file)} --accept ${withVerdict.id}\` accepts it, if you have read why it holds`,
        ];
  return fault('warning', file, message, ...notes);
}

/** Faults from verdicts on the rules of a file: an error at each refuted rule, or a warning if some are not proved. */
export function verdictFaults(spec: SpecFile, isa: Isa): Diagnostic[] {
  const known = knownVerdicts();
  const { refuted, open } = judged(rulesOfDoc(spec.data, isa).rules, known);
  if (refuted.length === 0) return open.length > 0 ? [unproved(spec.file, open, known)] : [];
  return refuted.map(({ id, place }) => ({
    ...specError(
      spec,
      ['rules', place, 'rewrite'],
      REFUTED,
      `rule '${id}' is wrong: a solver has refuted it`,
    ),
    notes: [
      `\`orrery rules prove --rules ${fileWord(spec.file)} --rule ${id}\` shows values for which its sides differ`,
    ],
  }));
}

/**
 * Faults from verdicts on the rules of a plan that do not ship: an error for those that are refuted, a warning for those that are not
 * proved; none if rules are forced.
 */
export function foreignFaults(plan: Plan, o: Pick<PlanOptions, 'forceRules'> = {}): Diagnostic[] {
  if ((o.forceRules ?? false) !== false) return [];
  let known: Known | null = null;
  const out: Diagnostic[] = [];
  for (const doc of rulesOf(plan).values()) {
    if (doc.wholeFor !== null) continue;
    known ??= knownVerdicts();
    const rules = rulesOfGroup(doc, plan.isa);
    const { refuted, open } = judged(rules, known);
    if (refuted.length > 0)
      out.push(
        fault(
          'error',
          doc.file,
          `the solver has refuted ${refuted.map((r) => `'${r.id}'`).join(', ')} of ${doc.file}`,
          '--force-rules runs rules all the same',
        ),
      );
    else if (open.length > 0) out.push(unproved(doc.file, open, known));
  }
  return out;
}

/** Reports the result of `foreignFaults` once for each file, and ends the command if it is an error. */
export function judgeForeign(plan: Plan, o: PlanOptions): void {
  const found = foreignFaults(plan, o).filter((d) => d.severity === 'error' || !reportedGroups.has(d.file));
  for (const d of found) reportedGroups.add(d.file);
  show(found);
  if (found.some((d) => d.severity === 'error')) throw new CliExit(1);
}
