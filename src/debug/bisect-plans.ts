import { MemoryCache } from '../engine/memory-cache.ts';
import type { Plan, PlanPhase } from '../spec/plan.ts';
import { outcome } from './attempt.ts';
import type { Judge, Subject, Verdict } from './judge.ts';
import { fewest, type Limits } from './parts.ts';
import { isFault, isSame } from './reduce.ts';

/** One difference between two plans (`planDifferences`). */
export interface Difference {
  readonly kind: 'knob' | 'phase' | 'order' | 'level' | 'target' | 'fact' | 'rules' | 'opcodes' | 'profile';
  readonly name: string;
  readonly a: string;
  readonly b: string;
}

/** An independent change between two plans: one knob, one phase, one position in the order. */
export interface Change {
  readonly kind: Difference['kind'];
  readonly name: string;
  /** Texts for its state in the good plan and in the bad one; several entries if a phase differs in several respects. */
  readonly from: readonly string[];
  readonly to: readonly string[];
}

/** The changes that make a good plan bad. */
export interface PlanFinding {
  readonly failure: Verdict;
  /** A minimal set of changes: none of them can be omitted, unless the search was stopped. */
  readonly changes: readonly Change[];
  /** Number of all changes between the plans. */
  readonly of: number;
  readonly tests: number;
}

/** Why there is nothing to find. */
export interface NoPlanFinding {
  readonly why: 'good is bad' | 'bad is good' | 'same' | 'other program' | 'lost';
  readonly text: string;
}

/**
 * Finds a minimal set of changes that make a good plan fail like a bad one, by delta debugging over all their differences. Intermediate
 * plans combine parts of the two and are not checked against order constraints. A plan that fails in a different way counts as good.
 *
 * @param differences all differences of the bad plan from the good one (`planDifferences`)
 */
export async function bisectPlans(
  subject: Omit<Subject, 'plan'>,
  good: Plan,
  bad: Plan,
  differences: readonly Difference[],
  judge: Judge,
  limits: Limits,
  tell: (text: string) => void = () => {},
): Promise<PlanFinding | NoPlanFinding> {
  // Lowering and the meaning of instructions depend on the target and on the instruction set.
  if (good.sm !== bad.sm)
    return { why: 'other program', text: `one plan is for ${good.sm}, the other for ${bad.sm}` };
  if (good.isa.hash !== bad.isa.hash)
    return { why: 'other program', text: 'the plans have different instruction sets' };
  let tests = 0;
  const cache = { of: new MemoryCache(), key: 'subject' };
  const ask = (plan: Plan, verify: boolean, what: string): Promise<Verdict> => {
    tests++;
    tell(`test ${tests}: ${what}`);
    return outcome({ ...subject, plan }, judge, verify, cache);
  };
  const failure = await ask(bad, true, 'the bad plan');
  if (failure.state !== 'bad')
    return { why: 'bad is good', text: failure.state === 'good' ? `by ${judge.what}` : failure.text };
  const first = await ask(good, isFault(failure), 'the good plan');
  if (first.state !== 'good') return { why: 'good is bad', text: first.text };
  const changes = changesOf(differences);
  const holds = async (kept: readonly Change[]): Promise<boolean> =>
    isSame(await ask(withChanges(good, bad, kept), isFault(failure), `${kept.length} changes`), failure);
  if (changes.length === 0) return { why: 'same', text: '' };
  if (!(await holds(changes))) return { why: 'lost', text: 'a plan with all separable changes is not bad' };
  return { failure, changes: await fewest(changes, holds, limits), of: changes.length, tests };
}

/** Groups the differences in one knob, phase or similar into one change. */
export function changesOf(differences: readonly Difference[]): Change[] {
  const out = new Map<string, { kind: Change['kind']; name: string; from: string[]; to: string[] }>();
  for (const d of differences) {
    const key = `${d.kind} ${d.name}`;
    const known = out.get(key);
    if (known === undefined) out.set(key, { kind: d.kind, name: d.name, from: [d.a], to: [d.b] });
    else {
      known.from.push(d.a);
      known.to.push(d.b);
    }
  }
  return [...out.values()];
}

/** Plan `a` with some of the changes that lead to plan `b`. */
export function withChanges(a: Plan, b: Plan, changes: readonly Change[]): Plan {
  const named = (kind: Change['kind']): Set<string> =>
    new Set(changes.filter((c) => c.kind === kind).map((c) => c.name));
  const [knobs, phases, moved, groups] = [named('knob'), named('phase'), named('order'), named('rules')];
  const has = (kind: Change['kind']): boolean => changes.some((c) => c.kind === kind);
  const knobMap = new Map(a.knobs);
  for (const name of knobs) {
    const k = b.knobs.get(name);
    if (k === undefined) knobMap.delete(name);
    else knobMap.set(name, k);
  }
  // A phase may run a group that only one plan has. A group in both is that of `a`, unless it is among the changes.
  const rules = new Map([...b.rules, ...a.rules]);
  for (const name of groups) {
    const g = b.rules.get(name);
    if (g !== undefined) rules.set(name, g);
  }
  const tests = [...new Map([...a.tests, ...b.tests].map((t) => [t.text, t])).values()];
  const made = new Map<string, Plan>();
  const place = new Map(tests.map((t, i) => [t.text, i]));
  const cases = [a, b].flatMap((p) =>
    p.cases.map((c) => c.map((t) => place.get(p.tests[t].text)!).sort((x, y) => x - y)),
  );
  const plan: Plan = {
    ...a,
    hash: `${a.hash}+${changes.length}`,
    level: has('level') ? b.level : a.level,
    // Facts are not exchanged one by one, but with the whole back end.
    backend: has('fact') ? b.backend : a.backend,
    profile: has('profile') ? b.profile : a.profile,
    knobs: knobMap,
    rules,
    phases: withPhases(a, b, phases, moved),
    tests,
    cases: [...new Map(cases.map((c) => [c.join(), c])).values()],
    variant(held) {
      const texts = new Set(held.map((i) => tests[i].text));
      const [x, y] = [a, b].map((p) => p.variant(p.tests.flatMap((t, i) => (texts.has(t.text) ? [i] : []))));
      if (x === a && y === b) return plan;
      const key = held.join();
      let v = made.get(key);
      if (v === undefined)
        made.set(
          key,
          (v = withChanges({ ...x, tests: [], cases: [] }, { ...y, tests: [], cases: [] }, changes)),
        );
      return v;
    },
  };
  return plan;
}

function withPhases(
  a: Plan,
  b: Plan,
  changed: ReadonlySet<string>,
  moved: ReadonlySet<string>,
): readonly PlanPhase[] {
  if (changed.size === 0 && moved.size === 0) return a.phases;
  const theirs = new Map(b.phases.map((p) => [p.id, p]));
  const list = a.phases.flatMap((p) => {
    if (!changed.has(p.id)) return [p];
    const q = theirs.get(p.id);
    return q === undefined ? [] : [q];
  });
  const here = new Set(a.phases.map((p) => p.id));
  for (const [i, p] of b.phases.entries()) {
    const added = changed.has(p.id) && !here.has(p.id);
    if (!added && !moved.has(p.id)) continue;
    const old = list.findIndex((x) => x.id === p.id);
    const [phase] = old < 0 ? [p] : list.splice(old, 1);
    // Insert it after the nearest preceding phase of `b` that is in the list.
    let at = 0;
    for (let k = i - 1; k >= 0; k--) {
      const anchor = list.findIndex((x) => x.id === b.phases[k].id);
      if (anchor < 0) continue;
      at = anchor + 1;
      break;
    }
    list.splice(at, 0, phase);
  }
  return list.map((p, position) => (p.position === position ? p : { ...p, position }));
}
