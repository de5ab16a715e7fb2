import { nearest } from '../ir/diagnostic.ts';
import type { Isa } from '../ir/opcode.ts';
import type { Fn } from '../ir/program.ts';
import { printFn } from '../ir/text.ts';
import { type Costs, costsOf } from './cost.ts';
import { applyRules, type DriverOptions, RulesDiverge } from './driver.ts';
import { byPrecedence } from './engine.ts';
import { Matcher } from './matcher.ts';
import type { Rule, RuleIssue } from './rule.ts';
import { type Part, type Shape, variantsOf } from './shape.ts';
import { constantsFor, type Narrowing, witness } from './witness.ts';

/**
 * Checks a set of rules that run together: duplicates, rules that never fire because another always comes first, rules that
 * meet without saying which is to win, rewrites that make code worse, and rules that undo one another.
 *
 * @param rules in the order of groups and files
 * @param settle runs a set to the end
 * @param wanted only faults of these groups are told (the others are the company they run in)
 */
export function checkSet(
  rules: readonly Rule[],
  isa: Isa,
  costs: Costs,
  settle: Settle,
  wanted: ReadonlySet<string> = new Set(rules.map((r) => r.group)),
): RuleIssue[] {
  const issues: RuleIssue[] = [];
  const report = (
    rule: Rule,
    field: RuleIssue['field'],
    code: string,
    message: string,
    notes: readonly string[] = [],
    severity: RuleIssue['severity'] = 'error',
  ): void => {
    issues.push({ severity, code, group: rule.group, rule: rule.place, field, message, notes });
  };
  const judged: Judged = (r) => wanted.has(r.group);
  checkIds(rules, judged, report);
  checkCosts(rules.filter(judged), costs, report);
  const ordered = byPrecedence(rules);
  checkShadows(ordered, judged, report);
  const order: Setting = { isa, matcher: Matcher.of(ordered, isa), settle };
  const cyclic = checkCycles(ordered.filter(judged), order, report);
  checkOverlaps(ordered, order, judged, cyclic, report);
  return issues;
}

/** Is a rule of a group whose faults are wanted? The others are only what it meets. */
type Judged = (rule: Rule) => boolean;

type Report = (
  rule: Rule,
  field: RuleIssue['field'],
  code: string,
  message: string,
  notes?: readonly string[],
  severity?: RuleIssue['severity'],
) => void;

/** Runs a set of rules over a function to the end, with what cleans up around them (which this layer does not know). */
export type Settle = (fn: Fn, matcher: Matcher, isa: Isa, opts: DriverOptions) => Fn;

interface Setting {
  readonly isa: Isa;
  readonly matcher: Matcher;
  readonly settle: Settle;
}

const named = (r: Rule): string => `'${r.id}' of group '${r.group}'`;

function checkIds(rules: readonly Rule[], judged: Judged, report: Report): void {
  const seen = new Map<string, Rule>();
  for (const r of rules) {
    const other = seen.get(r.id);
    if (other !== undefined && judged(r))
      report(r, 'id', 'rule-id', `rule id '${r.id}' is taken by a rule of group '${other.group}'`);
    seen.set(r.id, r);
  }
}

function checkCosts(rules: readonly Rule[], costs: Costs, report: Report): void {
  for (const r of rules) {
    if (r.cost !== null) continue;
    for (const i of r.instances) {
      const { left, right } = costsOf(r, i, costs);
      if (right <= left) continue;
      report(r, 'rewrite', 'rule-cost', `the rewrite costs ${right} cycles, what it surely removes ${left}`, [
        `for ${r.match.map((l, k) => (l.op === null ? '*' : `${l.op.name} (modifiers ${i.match[k]})`)).join(', ')}`,
        "say 'uses(t) == 1' of inner results that die with the root, or state the saving in 'cost'",
      ]);
      break;
    }
  }
}

// ---------------------------------------------------------------------- shadows

/** A rule that comes first and matches all that a later one matches leaves it nothing. */
function checkShadows(ordered: readonly Rule[], judged: Judged, report: Report): void {
  const variants = ordered.map((r) => variantsOf(r));
  const byOp = new Map<string, number[]>();
  ordered.forEach((r, i) => {
    const key = rootName(r);
    for (const j of judged(r) ? (byOp.get(key) ?? []) : []) {
      const a = ordered[j];
      if (!givesAsMuch(a, r)) continue;
      const general = firstOf(variants[j], (v) => {
        const c = covering(v.root, variants[i][0].root);
        return c !== null && sameInstances(a, r, c.lines) ? c : null;
      });
      if (general === null) continue;
      if (a.structural.length === 0 && a.instances.every((x) => x.always))
        report(
          r,
          'match',
          'rule-shadowed',
          `it never fires: ${named(a)} comes first and matches all that it matches`,
        );
      else if (
        a.text.when === r.text.when &&
        sameNames(a, r, general) &&
        variants[i].some((v) => covering(v.root, variants[j][0].root) !== null)
      )
        report(
          r,
          'match',
          'rule-duplicate',
          `it looks for the same as ${named(a)}, under the same condition`,
        );
    }
    byOp.set(key, [...(byOp.get(key) ?? []), i]);
  });
}

/** Does `a` take every root that `b` takes, as far as results go? A result that is not asked for must be dead. */
function givesAsMuch(a: Rule, b: Rule): boolean {
  const left = a.match[a.match.length - 1].dst;
  const right = b.match[b.match.length - 1].dst;
  return left.every((d, i) => d >= 0 || right[i] < 0);
}

const rootName = (r: Rule): string => r.match[r.match.length - 1].op?.name ?? '*';

function firstOf<T, R>(xs: readonly T[], f: (x: T) => R | null): R | null {
  for (const x of xs) {
    const r = f(x);
    if (r !== null) return r;
  }
  return null;
}

/** Does every choice of modifiers of `b` fit `a`, whose lines stand for those of `b` that are given? */
function sameInstances(a: Rule, b: Rule, lines: ReadonlyMap<number, number>): boolean {
  const mine = new Set(a.instances.map((i) => [...lines.keys()].map((l) => i.match[l]).join()));
  return b.instances.every((i) => mine.has([...lines.values()].map((l) => i.match[l]).join()));
}

/** Do the variables that the conditions name stand for one another, so that equal conditions say the same? */
function sameNames(a: Rule, b: Rule, { bound }: Covering): boolean {
  const named = new Set((a.text.when ?? '').match(/\w+/g));
  return a.vars.every((x, v) => {
    const part = bound.get(v);
    if (!named.has(x.name) || part === undefined) return true;
    const { v: other } = JSON.parse(part) as { v?: number };
    return other !== undefined && b.vars[other].name === x.name;
  });
}

/** How pattern `a` matches wherever `b` does: what its variables are there, and which lines its lines are. */
interface Covering {
  readonly bound: Map<number, string>;
  readonly lines: Map<number, number>;
}

function covering(a: Shape, b: Shape): Covering | null {
  const c: Covering = { bound: new Map(), lines: new Map() };
  return covers(a, b, c) ? c : null;
}

function covers(a: Shape, b: Shape, c: Covering): boolean {
  if (a.op !== b.op || a.src.length !== b.src.length) return false;
  for (let g = 0; g < a.fixed.length; g++) if (a.fixed[g] >= 0 && a.fixed[g] !== b.fixed[g]) return false;
  c.lines.set(a.line, b.line);
  return a.src.every((p, i) => coversPart(p, b.src[i], c));
}

function coversPart(a: Part, b: Part, c: Covering): boolean {
  const { bound } = c;
  const key = (): string =>
    JSON.stringify(b, (k, v: unknown) => (k === 'shape' ? undefined : typeof v === 'bigint' ? String(v) : v));
  const once = (v: number, what: string): boolean => {
    const known = bound.get(v);
    if (known === undefined) bound.set(v, what);
    return known === undefined || known === what;
  };
  switch (a.k) {
    case 'any':
      return true;
    case 'var':
      if (b.k === 'any') return false;
      if (a.mods === 0) return once(a.v, key());
      return (
        b.k === 'var' &&
        (b.mods & a.mods) === a.mods &&
        once(a.v, JSON.stringify({ ...b, mods: b.mods ^ a.mods }))
      );
    case 'const':
      return (b.k === 'const' || b.k === 'literal') && once(a.v, key());
    case 'literal':
      return b.k === 'literal' && b.value === a.value;
    case 'def':
      return (
        b.k === 'def' &&
        a.mods === b.mods &&
        a.dst === b.dst &&
        once(a.v, key()) &&
        covers(a.shape, b.shape, c)
      );
    case 'address':
      return b.k === 'address' && coversPart(a.base, b.base, c) && coversPart(a.offset, b.offset, c);
  }
}

// ---------------------------------------------------------------------- runs on small functions

/** Choices of modifiers of one rule that are tried; more would be the same with other widths. */
const MOST_INSTANCES = 6;
/** Rewrites of a function of a few instructions before they count as endless. */
const MOST_STEPS = 60;

const options = (more: Partial<DriverOptions> = {}): DriverOptions => ({
  level: 3,
  sm: 90,
  knob: () => true,
  mode: 'precedence',
  bound: MOST_STEPS,
  ...more,
});

/** Applies the set to what each of some rules looks for and reports those that come back to where they were. */
function checkCycles(rules: readonly Rule[], set: Setting, report: Report): ReadonlySet<Rule> {
  const cyclic = new Set<Rule>();
  for (const r of rules)
    for (const i of spread(r.instances, MOST_INSTANCES)) {
      const w = witness(r, i, set.isa);
      if (w === null) continue;
      const fired: string[] = [];
      try {
        set.settle(w.fn, set.matcher, set.isa, options({ onHit: (x) => fired.push(x.id) }));
      } catch (e) {
        if (!(e instanceof RulesDiverge)) throw e;
        const loop = cycleOf(fired);
        if (!cyclic.has(r) && loop.includes(r.id))
          report(
            r,
            'rewrite',
            'rule-cycle',
            `the rules undo one another: ${[...loop, loop[0]].join(' -> ')}`,
            [
              'starting from:',
              ...printFn(w.fn, { locs: false })
                .split('\n')
                .filter((l) => /^ +(@|[A-Z])/.test(l)),
            ],
          );
        cyclic.add(r);
        break;
      }
    }
  return cyclic;
}

/** The shortest repetition at the end of a sequence. */
function cycleOf(fired: readonly string[]): string[] {
  for (let n = 1; n <= fired.length / 2; n++) {
    const last = fired.slice(-n);
    if (last.every((x, i) => x === fired[fired.length - 2 * n + i])) return last;
  }
  return fired.slice(-8);
}

/** `most` elements, evenly spread. */
function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]);
}

/**
 * Two rules meet where one instruction is what both look for. File order then decides, by accident, unless one of them has a
 * priority, or one is the special case of the other, or both ways lead to the same in the end.
 */
function checkOverlaps(
  ordered: readonly Rule[],
  set: Setting,
  judged: Judged,
  cyclic: ReadonlySet<Rule>,
  report: Report,
): void {
  const earlier = new Map<string, Rule[]>();
  for (const b of ordered) {
    const before = earlier.get(rootName(b)) ?? [];
    earlier.set(rootName(b), [...before, b]);
    if (!judged(b) || b.ranked || cyclic.has(b)) continue;
    for (const a of before) {
      if (a.ranked || a.priority !== b.priority || cyclic.has(a) || special(a, b)) continue;
      const found = parting(a, b, set) ?? exchanged(parting(b, a, set));
      if (found === null) continue;
      report(
        b,
        'priority',
        'rule-overlap',
        `it meets ${named(a)}, and the two lead to different code: give one of them a priority`,
        [
          'both match:',
          ...body(found.text),
          `after '${a.id}':`,
          ...body(found.one),
          `after '${b.id}':`,
          ...body(found.other),
        ],
      );
    }
  }
}

interface Parting {
  readonly text: string;
  readonly one: string;
  readonly other: string;
}
const exchanged = (p: Parting | null): Parting | null =>
  p === null ? null : { text: p.text, one: p.other, other: p.one };

/** A function that both rules match and that each leads to other code, if there is one. */
function parting(a: Rule, b: Rule, set: Setting): Parting | null {
  const shape = variantsOf(b)[0].root;
  const tried = new Set<string>();
  for (const v of variantsOf(a)) {
    const narrow = meet(v.root, shape, a);
    if (narrow === null) continue;
    const key = JSON.stringify([[...narrow.values].map(([k, x]) => [k, String(x)]), [...narrow.same]]);
    if (tried.has(key)) continue;
    tried.add(key);
    for (const i of spread(b.instances, MOST_INSTANCES)) {
      const w = witness(b, i, set.isa, 0, narrow);
      if (w === null) continue;
      const one = outcome(w.fn, a, set);
      const other = one === null ? null : outcome(w.fn, b, set);
      if (one !== null && other !== null && one !== other)
        return { text: printFn(w.fn, { locs: false }), one, other };
    }
  }
  return null;
}

/**
 * What the variables of `b` must be so that pattern `a` matches too; null if nothing does. A line of `a` below an operand of
 * `b` that may be anything is not built up: such meetings are not looked for.
 */
function meet(a: Shape, b: Shape, ruleA: Rule): Narrowing | null {
  const values = new Map<number, bigint>();
  const same = new Map<number, number>();
  const bound = new Map<number, Part>();
  const constants = constantsFor(ruleA, ruleA.instances[0], 0);
  const shapes = (x: Shape, y: Shape): boolean => {
    if (x.op !== y.op) return false;
    for (let g = 0; g < x.fixed.length; g++)
      if (x.fixed[g] >= 0 && y.fixed[g] >= 0 && x.fixed[g] !== y.fixed[g]) return false;
    return x.src.every((p, i) => parts(p, y.src[i]));
  };
  const setTo = (q: Part, value: bigint): boolean => {
    if (q.k === 'literal') return q.value === value;
    if (q.k !== 'const' && (q.k !== 'var' || q.mods !== 0)) return q.k === 'any';
    const known = values.get(q.v);
    values.set(q.v, value);
    return known === undefined || known === value;
  };
  const parts = (p: Part, q: Part): boolean => {
    switch (p.k) {
      case 'any':
        return true;
      case 'literal':
        return setTo(q, p.value);
      case 'const':
        return q.k === 'const' || q.k === 'literal' || (constants !== null && setTo(q, constants[p.v]));
      case 'var': {
        const known = bound.get(p.v);
        bound.set(p.v, q);
        if (known === undefined || (known.k !== 'var' && known.k !== 'const')) return known === undefined;
        if (q.k === 'literal') return setTo(known, q.value);
        if (q.k !== known.k) return false;
        if (q.v !== known.v) same.set(q.v, known.v);
        return true;
      }
      case 'def':
        return q.k === 'def' && p.dst === q.dst && shapes(p.shape, q.shape);
      case 'address':
        return q.k === 'address' && parts(p.base, q.base) && parts(p.offset, q.offset);
    }
  };
  return shapes(a, b) ? { values, same } : null;
}

const body = (text: string): string[] => text.split('\n').filter((l) => /^ +(@|[A-Z])/.test(l));

/** Is one pattern a special case of the other? Then the more general one is the one for the rest. */
function special(a: Rule, b: Rule): boolean {
  const va = variantsOf(a);
  const vb = variantsOf(b);
  return (
    va.some((v) => covering(v.root, vb[0].root) !== null) ||
    vb.some((v) => covering(v.root, va[0].root) !== null)
  );
}

/** What becomes of a function if the given rule fires first, and then the whole set; null where it does not fire or not end. */
function outcome(fn: Fn, first: Rule, set: Setting): string | null {
  try {
    let fired = false;
    const once = applyRules(fn, set.matcher, {
      ...options(),
      allow: (r) => {
        if (fired || r !== first) return false;
        fired = true;
        return true;
      },
    });
    if (!fired) return null;
    return renamed(
      body(printFn(set.settle(once, set.matcher, set.isa, options()), { locs: false })).join('\n'),
    );
  } catch (e) {
    if (e instanceof RulesDiverge) return null;
    throw e;
  }
}

/** Text with registers numbered in the order of their appearance. */
function renamed(text: string): string {
  const names = new Map<string, string>();
  return text.replace(/\b(RD|RQ|R|P)(\d+)\b/g, (all, file: string) => {
    let n = names.get(all);
    if (n === undefined) names.set(all, (n = `${file}${names.size}`));
    return n;
  });
}

/** A hint for a rule id that does not exist. */
export const nearRule = (id: string, rules: readonly Rule[]): string[] =>
  nearest(
    id,
    rules.map((r) => r.id),
  );
