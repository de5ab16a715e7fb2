import { resolve as resolvePath } from 'node:path';
import { runPipeline } from '../../engine/pipeline.ts';
import { counted } from '../../ir/counts.ts';
import { didYouMean } from '../../ir/diagnostic.ts';
import type { Program } from '../../ir/program.ts';
import { fileWord } from '../../ir/quote.ts';
import { printInstr } from '../../ir/text.ts';
import { plural } from '../../lab/render/table.ts';
import { targetOf } from '../../read.ts';
import { currentReview, type Review, reviewsOf } from '../../review/rule-reviews.ts';
import type { GroupDoc } from '../../rules/document.ts';
import type { RuleHit, RuleMiss } from '../../rules/engine.ts';
import { rulesOfGroup } from '../../rules/group.ts';
import type { Rule } from '../../rules/rule.ts';
import { loadShipped, shownPath } from '../../spec/node.ts';
import { neverRuns } from '../../spec/phases.ts';
import { groupsOf, type Plan } from '../../spec/plan.ts';
import { FAULT_RULES } from '../../spec/ptxas-faults.ts';
import type { Specs } from '../../spec/resolve.ts';
import { groupDocOf } from '../../spec/rules.ts';
import { functionsOf, planFor, programFor, readText } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { table } from '../terminal/table.ts';
import { failWith, out, pc } from '../terminal/ui.ts';
import { keptText, knownVerdicts } from './verdicts.ts';

export interface RuleOptions extends PlanOptions {
  readonly group?: string;
  readonly rule?: string;
  readonly json?: boolean;
  readonly all?: boolean;
  readonly function?: string;
}

/** Rule groups and the plan in which they run. */
interface Book {
  readonly specs: Specs;
  readonly plan: Plan;
  readonly rules: readonly Rule[];
  /** Names of the groups in pipelines/rules. */
  readonly shipped: ReadonlySet<string>;
  /** Names of the groups from --rules. */
  readonly named: ReadonlySet<string>;
  /** Conditions of whole groups. */
  readonly switches: ReadonlyMap<string, string>;
}

export async function bookFor(o: PlanOptions, target: string | null = null): Promise<Book> {
  const specs = await loadShipped();
  // Wrong rules are shown too: they are what one investigates.
  const plan = await planFor({ ...o, forceRules: 'quiet' }, target, specs);
  const rules: Rule[] = [];
  const shipped = new Set(specs.rules?.keys() ?? []);
  // Groups of files named on the command line come with the plan; one with the name of a shipped group replaces it.
  const files = new Map<string, GroupDoc>();
  for (const [g, f] of specs.rules ?? []) files.set(g, groupDocOf(f));
  for (const [g, f] of plan.rules) {
    if (f.data !== files.get(g)?.data) shipped.delete(g);
    files.set(g, f);
  }
  for (const f of files.values()) rules.push(...rulesOfGroup(f, plan.isa));
  const switches = new Map(
    [...files].flatMap(([g, { data }]) => {
      const { when } = data as { when?: string };
      return when === undefined ? [] : [[g, when] as const];
    }),
  );
  const requested = new Set((o.rules ?? []).flatMap((n) => [n, shownPath(resolvePath(n))]));
  const named = new Set(
    [...files].flatMap(([g, f]) => (requested.has(g) || requested.has(f.file) ? [g] : [])),
  );
  return { specs, plan, rules, shipped, named, switches };
}

/** Phases of the plan that run a group. */
export const phasesOf = (plan: Plan, group: string): string[] =>
  plan.phases
    .filter((p) => groupsOf(p).includes(group) && neverRuns(p, plan.level, plan.backend) === null)
    .map((p) => p.id);

/** Phases of the plan that run a rule. */
const phasesOfRule = (plan: Plan, { group, owner }: Rule): string[] =>
  phasesOf(plan, group).filter((p) => owner === null || owner.includes(p.replace(/#\d+$/, '')));

/** Maximum number of phases that are named; of more, only the count is shown. */
const MOST_PHASES = 3;

const shortList = (names: readonly string[]): string =>
  names.length <= MOST_PHASES
    ? names.join(', ')
    : `${names.slice(0, MOST_PHASES - 1).join(', ')} and ${names.length - MOST_PHASES + 1} more phases`;

/** `orrery rules list`: lists rules by group. */
export async function list(o: RuleOptions): Promise<void> {
  const { plan, rules, switches } = await bookFor(o);
  const groups = [...new Set(rules.map((r) => r.group))];
  if (o.group !== undefined && !groups.includes(o.group))
    failWith(`there is no rule group '${o.group}'`, `groups are ${groups.join(', ')}`);
  const shown = rules.filter((r) => o.group === undefined || r.group === o.group);
  if (o.json === true) {
    const data = shown.map((r) => ({ ...summary(r), phases: phasesOf(plan, r.group) }));
    out(JSON.stringify(data, null, 2));
    return;
  }
  for (const g of groups) {
    const own = shown.filter((r) => r.group === g);
    if (own.length === 0) continue;
    const where = phasesOf(plan, g);
    const at =
      where.length > 0
        ? `runs in ${shortList(where)}`
        : g === FAULT_RULES
          ? 'runs over PTX that was written'
          : 'no phase of the plan runs it';
    const when = switches.get(g);
    out(`\n${pc.bold(g)}  ${pc.dim(`${at}${when === undefined ? '' : `, if ${when}`}`)}`);
    out(
      table(
        own.map((r) => [`  ${r.id}`, r.title, r.priority === 0 ? '' : `priority ${r.priority}`]),
        'lll',
      ),
    );
  }
  out(`\n${plural(shown.length, 'rule')} in ${plural(new Set(shown.map((r) => r.group)).size, 'group')}`);
}

const summary = (r: Rule) => ({
  id: r.id,
  group: r.group,
  title: r.title,
  priority: r.priority,
  owner: r.owner,
  source: r.source,
  instances: r.instances.length,
  ...r.text,
});

/** The review of a rule with its current text, or null. */
const reviewOf = (id: string, rules: readonly Rule[], specs: Specs): Review | null => {
  const rule = rules.find((r) => r.id === id);
  return rule === undefined ? null : currentReview(reviewsOf(specs.reviews?.data), rule);
};

/** The reviewer of a rule, and the date. */
export const reviewedBy = (r: Review): string => `reviewed by ${r.by}, ${r.date}`;

/** A review of a rule as text, in lines of at most `REVIEW_WIDTH` characters. */
export function reviewText(r: Review, indent: string): string {
  const lines = [`${reviewedBy(r)}:`];
  const words = [r.argument, ...(r.checked === undefined ? [] : [`Checked: ${r.checked}`])]
    .join(' ')
    .split(/\s+/);
  let line = '';
  for (const w of words.filter((x) => x !== '')) {
    if (line !== '' && line.length + w.length + 1 > REVIEW_WIDTH) {
      lines.push(`  ${line}`);
      line = '';
    }
    line += line === '' ? w : ` ${w}`;
  }
  return [...lines, `  ${line}`].map((l) => `${indent}${l}`).join('\n');
}
const REVIEW_WIDTH = 100;

/** `orrery rules show ID`: prints one rule in full. */
export async function showRule(id: string, o: RuleOptions): Promise<void> {
  const { plan, rules, switches, specs } = await bookFor(o);
  const r = rules.find((x) => x.id === id);
  if (r === undefined) {
    const near = didYouMean(
      id,
      rules.map((x) => x.id),
    );
    failWith(`there is no rule '${id}'`, near[0] ?? '`orrery rules list` names them');
  }
  if (o.json === true) {
    const review = reviewOf(r.id, rules, specs);
    const data = { ...summary(r), phases: phasesOf(plan, r.group), ...(review === null ? {} : { review }) };
    out(JSON.stringify(data, null, 2));
    return;
  }
  const lines = (text: string): string =>
    text
      .trimEnd()
      .split('\n')
      .map((l) => `    ${l}`)
      .join('\n');
  out(`${pc.bold(r.id)}  ${r.title}\n`);
  out(`  match\n${lines(r.text.match)}`);
  if (r.text.when !== null) out(`  when\n${lines(r.text.when)}`);
  out(`  rewrite\n${lines(r.text.rewrite)}\n`);
  const widths = new Set(r.instances.flatMap((i) => i.widths.filter((w) => w > 1)));
  const when = switches.get(r.group);
  const verdict = knownVerdicts()(r.hash);
  const files = (o.rules ?? []).map((n) => ` --rules ${fileWord(n)}`).join('');
  const rows = [
    ['  group', r.group],
    ...(when === undefined ? [] : [['  switch', when]]),
    ['  runs in', phasesOfRule(plan, r).join(', ') || 'no phase of this plan'],
    ['  priority', String(r.priority)],
    [
      '  covers',
      `${counted(r.instances.length, 'choice')} of modifiers, ${[...widths].sort((a, b) => a - b).join(' and ') || '1'} bits`,
    ],
    [
      '  verdict',
      verdict === undefined
        ? `none yet: \`orrery rules prove${files} --rule ${r.id}\` asks a solver`
        : keptText(verdict),
    ],
    ['  source', r.source],
    ...(r.holds === null ? [] : [['  holds', r.holds]]),
  ];
  out(table(rows, 'll'));
  const review = reviewOf(r.id, rules, specs);
  if (review !== null) out(`\n${reviewText(review, '  ')}`);
}

interface Tally {
  hits: number;
  undone: number;
  readonly phases: Map<string, number>;
  readonly kernels: Set<string>;
  readonly misses: Map<string, number>;
  example: string;
}

/** Counts the effects of rules on programs. */
export class Account {
  readonly byRule = new Map<string, Tally>();
  /** By function and result register: the versions of the instruction so far, with the rules that made them. */
  private readonly history = new Map<string, { text: string; rule: string }[]>();

  tally(rule: Rule): Tally {
    let t = this.byRule.get(rule.id);
    if (t === undefined) {
      t = { hits: 0, undone: 0, phases: new Map(), kernels: new Set(), misses: new Map(), example: '' };
      this.byRule.set(rule.id, t);
    }
    return t;
  }

  hit(h: RuleHit, kernel: string): void {
    const t = this.tally(h.rule);
    t.hits++;
    t.kernels.add(kernel);
    t.phases.set(h.phase, (t.phases.get(h.phase) ?? 0) + 1);
    const last = h.after[h.after.length - 1];
    if (t.example === '') t.example = `${printInstr(h.before)}  =>  ${h.after.map(printInstr).join('; ')}`;
    if (last === undefined || last.dst.length === 0) return;
    const key = `${kernel}|${h.fn}|${last.dst[0]}`;
    const past = this.history.get(key) ?? [];
    if (past.length === 0) past.push({ text: printInstr(h.before), rule: '' });
    const text = printInstr(last);
    const again = past.findIndex((p) => p.text === text);
    // The changes between two occurrences of the same text cancel out.
    if (again >= 0) for (const p of past.splice(again + 1)) this.byRule.get(p.rule)!.undone++;
    else past.push({ text, rule: h.rule.id });
    this.history.set(key, past);
  }

  miss(m: RuleMiss): void {
    const t = this.tally(m.rule);
    t.misses.set(m.why, (t.misses.get(m.why) ?? 0) + 1);
  }
}

export const WHY: Readonly<Record<string, string>> = {
  'operands differ': 'operands that must be equal, or one definition, are not',
  'a value has changed since': 'a source was overwritten between definition and use',
  modifiers: 'modifiers or widths do not agree',
  condition: "its 'when' on constants does not hold",
  situation: "its 'when' on uses, places, level, target or knobs does not hold",
  'operand does not fit': 'an operand may not stand where the rewrite puts it',
};

/** `orrery rules explain FILE`: prints which rules fired in a kernel, and why others did not. */
export async function explain(file: string, o: RuleOptions): Promise<void> {
  const text = readText(file);
  const { plan, rules, specs } = await bookFor(o, targetOf(text));
  if (o.rule !== undefined && !rules.some((r) => r.id === o.rule)) await showRule(o.rule, o);
  const { program: all } = programFor(file, text, plan);
  const program: Program = { ...all, functions: functionsOf(file, all, o.function) };
  const account = new Account();
  const lines: { rule: string; phase: string; fn: string; text: string }[] = [];
  runPipeline(program, plan, {
    onRuleHit: (h) => {
      account.hit(h, h.fn);
      if (o.rule === h.rule.id)
        lines.push({
          rule: h.rule.id,
          phase: h.phase,
          fn: h.fn,
          text: `${printInstr(h.before)}  =>  ${h.after.map(printInstr).join('; ')}`,
        });
    },
    onRuleMiss: (m) => {
      account.miss(m);
      if (o.rule === m.rule.id)
        lines.push({
          rule: m.rule.id,
          phase: m.phase,
          fn: m.fn,
          text: `${printInstr(m.ins)}  not applied: ${WHY[m.why]}`,
        });
    },
  });
  const rows = [...account.byRule].sort((a, b) => b[1].hits - a[1].hits || (a[0] < b[0] ? -1 : 1));
  if (o.json === true) {
    const data = rows.map(([id, t]) => ({
      rule: id,
      hits: t.hits,
      undone: t.undone,
      phases: Object.fromEntries(t.phases),
      misses: Object.fromEntries(t.misses),
      example: t.example,
    }));
    out(
      JSON.stringify(
        o.rule === undefined ? data : { ...data.find((d) => d.rule === o.rule), places: lines },
        null,
        2,
      ),
    );
    return;
  }
  if (o.rule === undefined) return printFirings(rows, program.functions.length);
  for (const l of lines) out(`${pc.dim(`${l.fn}, ${l.phase}:`)} ${l.text}`);
  if (lines.length === 0) out(whyNowhere(file, plan, rules.find((r) => r.id === o.rule)!));
  const review = reviewOf(o.rule, rules, specs);
  if (review !== null) out(`\n${reviewText(review, '')}`);
}

/** Why a rule neither fired nor was turned down anywhere in a file. */
function whyNowhere(file: string, plan: Plan, rule: Rule): string {
  const where = phasesOfRule(plan, rule);
  return where.length === 0
    ? `no phase of this plan runs rule '${rule.id}' of group '${rule.group}'`
    : `nothing in ${file} has the shape of rule '${rule.id}' where it runs, in ${shortList(where)}`;
}

/** Tables of the rules that fired, and of those that fitted in shape and were not applied. */
function printFirings(rows: readonly (readonly [string, Tally])[], functions: number): void {
  const fired = rows.filter(([, t]) => t.hits > 0);
  out(
    `${plural(
      fired.reduce((n, [, t]) => n + t.hits, 0),
      'rewrite',
    )} by ${plural(fired.length, 'rule')} in ${plural(functions, 'function')}\n`,
  );
  if (fired.length > 0)
    out(
      table(
        [
          ['rule', 'fired', 'undone', 'phases', 'first'].map((h) => pc.bold(h)),
          ...fired.map(([id, t]) => [
            id,
            String(t.hits),
            t.undone === 0 ? '' : String(t.undone),
            [...t.phases].map(([p, n]) => `${p} ${n}`).join(', '),
            t.example,
          ]),
        ],
        'lrrll',
      ),
    );
  const missed = rows.filter(([, t]) => t.misses.size > 0);
  if (missed.length > 0) {
    out(`\n${pc.bold('fitted in shape, and were not applied')}`);
    out(
      table(
        missed.map(([id, t]) => [
          `  ${id}`,
          [...t.misses].map(([why, n]) => `${n} x ${WHY[why] ?? why}`).join('; '),
        ]),
        'll',
      ),
    );
    out(pc.dim('\n--rule ID shows every place'));
  }
}
