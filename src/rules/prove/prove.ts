import { MeaningError } from '../../isa/lang/parse.ts';
import type { Instance, Rule } from '../rule.ts';
import { type Sample, sample } from '../sample.ts';
import { type Cases, casesOf } from './cases.ts';
import { tryOut } from './draw.ts';
import { type Goal, goalOf } from './goal.ts';
import { type Bound, boundText, possible, questionOf } from './question.ts';
import { type Answer, ask, type Solver } from './solver.ts';
import type { Counterexample, Proof, Verdict } from './verdict.ts';

/** Limits of a proof. */
export interface Limits {
  /** Milliseconds for one question. */
  readonly question: number;
  /** Milliseconds for the questions of one rule at full width; what is left after them is tried only bounded. */
  readonly rule: number;
  /** Random choices of values for each instance that the solver does not decide. */
  readonly samples: number;
}

export const LIMITS: Limits = { question: 20_000, rule: 60_000, samples: 300 };

/** Bounds tried in turn where the full question has no answer in time. */
const BOUNDS: readonly Bound[] = [
  { bits: 16, constants: false },
  { bits: 10, constants: false },
  { bits: 10, constants: true },
  { bits: 6, constants: true },
];
/** A bounded question that takes longer than this part of the limit is given up for a narrower one. */
const BOUND_SHARE = 3;

export interface Outcome {
  readonly proof: Proof;
  readonly counterexample: Counterexample | null;
}

/** What came out for one question, the strongest first. */
type Found =
  | { readonly k: 'proved'; readonly how: string | null }
  | { readonly k: 'part'; readonly to: string }
  | { readonly k: 'open'; readonly why: string }
  | { readonly k: 'outside'; readonly why: string }
  | { readonly k: 'wrong'; readonly by: Counterexample };

/**
 * Tries to prove a rule: each choice of modifiers is one question over symbolic bit vectors, equal questions are asked once.
 * Whatever the solver says against a rule is checked by exact evaluation before it is believed.
 */
export async function proveRule(rule: Rule, solver: Solver, limits: Limits = LIMITS): Promise<Outcome> {
  const start = performance.now();
  const known = new Map<string, Found>();
  const found: Found[] = [];
  const prover = new Prover(rule, solver, limits);
  for (const instance of rule.instances) {
    const f = await prover.instance(instance, known);
    found.push(f);
    if (f.k === 'wrong') break;
  }
  const undecided = rule.instances.filter((_, i) => found[i] !== undefined && found[i].k !== 'proved');
  let samples = 0;
  let wrong = found.find((f) => f.k === 'wrong')?.by ?? null;
  for (const instance of undecided) {
    if (wrong !== null) break;
    const t = tryOut(rule, instance, limits.samples);
    samples += t.applied;
    if (t.differs !== null) wrong = counterexample(rule, instance, t.differs);
  }
  const proof: Proof = {
    ...verdictOf(rule, found, wrong),
    hash: rule.hash,
    instances: rule.instances.length,
    questions: known.size,
    ...(undecided.length > 0 && wrong === null ? { samples } : {}),
    ms: Math.round(performance.now() - start),
  };
  return { proof, counterexample: wrong };
}

const counterexample = (rule: Rule, instance: Instance, s: Sample): Counterexample => ({
  rule,
  instance,
  values: s.values,
  results: s.results,
});

function verdictOf(rule: Rule, found: readonly Found[], wrong: Counterexample | null): Verdict {
  if (wrong !== null) {
    const r = wrong.results.find((x) => x.left !== x.right)!;
    return { verdict: 'refuted', note: `0x${r.left.toString(16)} against 0x${r.right.toString(16)}` };
  }
  const notes = (k: Found['k']): string =>
    [...new Set(found.flatMap((f) => (f.k !== k ? [] : f.k === 'part' ? [f.to] : 'why' in f ? [f.why] : [])))].join(
      '; ',
    );
  const proved = found.filter((f) => f.k === 'proved').length;
  const some = proved > 0 ? `${proved} of ${found.length} instances verified; the others: ` : '';
  const outside = found.some((f) => f.k === 'outside');
  const open = found.some((f) => f.k === 'open');
  if ((open || outside) && rule.holds !== null)
    return { verdict: 'by argument', note: `${some}${rule.holds.trim().replaceAll(/\s+/g, ' ')}` };
  if (outside) return { verdict: 'out of scope', note: `${some}${notes('outside')}` };
  if (open) return { verdict: 'unknown', note: `${some}${notes('open')}` };
  if (proved < found.length) return { verdict: 'bounded', note: `${some}${notes('part')}` };
  const how = [...new Set(found.flatMap((f) => (f.k === 'proved' && f.how !== null ? [f.how] : [])))];
  return how.length > 0 ? { verdict: 'verified', note: how.join('; ') } : { verdict: 'verified' };
}

class Prover {
  private readonly rule: Rule;
  private readonly solver: Solver;
  private readonly limits: Limits;
  /** Time left for questions at full width. */
  private left: number;

  constructor(rule: Rule, solver: Solver, limits: Limits) {
    this.rule = rule;
    this.solver = solver;
    this.limits = limits;
    this.left = limits.rule;
  }

  async instance(instance: Instance, known: Map<string, Found>): Promise<Found> {
    let goal: Goal;
    try {
      goal = goalOf(this.rule, instance);
    } catch (e) {
      if (!(e instanceof MeaningError)) throw e;
      return { k: 'outside', why: `a constant has to be known: ${e.message}` };
    }
    const { text } = questionOf(goal);
    const before = known.get(text);
    if (before !== undefined && before.k !== 'wrong') return before;
    const f = await this.decide(goal, instance);
    known.set(text, f);
    return f;
  }

  private async decide(goal: Goal, instance: Instance): Promise<Found> {
    const a = await this.full(goal);
    if (a.k === 'unsat') return { k: 'proved', how: null };
    if (a.k === 'sat') return this.believe(goal, instance, a);
    const byCases = await this.cases(goal, instance);
    if (byCases !== null && byCases.k !== 'part') return byCases;
    if (byCases !== null) return byCases;
    for (const bound of BOUNDS) {
      const b = await ask(this.solver, questionOf(goal, bound), this.limits.question / BOUND_SHARE);
      if (b.k === 'sat') return this.believe(goal, instance, b);
      if (b.k === 'unknown') continue;
      // A bound under which the rule never applies proves nothing.
      const p = await ask(this.solver, possible(goal, bound), this.limits.question / BOUND_SHARE);
      if (p.k === 'sat') return { k: 'part', to: boundText(goal, bound) };
    }
    return { k: 'open', why: a.why };
  }

  private async full(goal: Goal): Promise<Answer> {
    if (this.left <= 0) return { k: 'unknown', why: `no answer within ${this.limits.rule / 1000} s for the rule` };
    const start = performance.now();
    const a = await ask(this.solver, questionOf(goal), Math.min(this.limits.question, this.left));
    if (a.k === 'unknown') this.left -= performance.now() - start;
    return a;
  }

  /** Splits the question by the values of the constants. */
  private async cases(goal: Goal, instance: Instance): Promise<Found | null> {
    const cases = await casesOf(goal, this.rule, instance, this.solver);
    if (cases === null) return null;
    for (const [i, c] of cases.goals.entries()) {
      const a = await ask(this.solver, questionOf(c), this.limits.question / BOUND_SHARE);
      if (a.k === 'sat') return this.believe(c, instance, a, cases.values[i]);
      if (a.k === 'unknown') return null;
    }
    return casesFound(cases);
  }

  /** Evaluates both sides on a solver's model: only what differs there refutes the rule. */
  private async believe(
    goal: Goal,
    instance: Instance,
    a: Answer & { readonly k: 'sat' },
    fixed: ReadonlyMap<number, bigint> = new Map(),
  ): Promise<Found> {
    const s = this.evaluate(goal, instance, a, fixed);
    if (!s.results.some((r) => r.left !== r.right)) {
      const approximate = goal.nodes.find((n) => n.op === 'approx');
      if (approximate !== undefined)
        return {
          k: 'outside',
          why: `it speaks of what the approximate function ${approximate.aux} gives, which no theory states`,
        };
      return { k: 'open', why: "the solver's counterexample gives equal results in exact evaluation" };
    }
    const small = await this.smaller(goal, instance, fixed);
    return { k: 'wrong', by: counterexample(this.rule, instance, small ?? s) };
  }

  /** A counterexample of small numbers, which says more to readers, if there is one that is found at once. */
  private async smaller(
    goal: Goal,
    instance: Instance,
    fixed: ReadonlyMap<number, bigint>,
  ): Promise<Sample | null> {
    for (const bits of [3, 5, 9]) {
      const a = await ask(this.solver, questionOf(goal, { bits, constants: true }), 2000);
      if (a.k !== 'sat') continue;
      const s = this.evaluate(goal, instance, a, fixed);
      if (s.results.some((r) => r.left !== r.right)) return s;
    }
    return null;
  }

  private evaluate(
    goal: Goal,
    instance: Instance,
    a: Answer & { readonly k: 'sat' },
    fixed: ReadonlyMap<number, bigint>,
  ): Sample {
    const values = this.rule.vars.map((_, v) => fixed.get(v) ?? 0n);
    const unasked: bigint[] = [];
    goal.inputs.forEach((x, i) => {
      const value = a.model.get(`v${i}`) ?? 0n;
      if (x.v >= 0) values[x.v] = value;
      else unasked[x.unasked] = value;
    });
    return sample(this.rule, instance, values, unasked);
  }
}

const casesFound = (c: Cases): Found =>
  c.complete
    ? { k: 'proved', how: `by cases of the constants, at most ${c.goals.length}` }
    : { k: 'part', to: `${c.goals.length} choices of the constants, all operands` };
