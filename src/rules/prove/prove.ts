import { MeaningError } from '../../isa/lang/parse.ts';
import type { Instance, Rule } from '../rule.ts';
import { type Sample, sample } from '../sample.ts';
import { type Cases, casesOf } from './cases.ts';
import { counterexampleText } from './counterexample.ts';
import { tryOut } from './draw.ts';
import { type Goal, goalOf } from './goal.ts';
import { integerQuestion } from './integers.ts';
import { lawful } from './laws.ts';
import { type Bound, boundText, possible, questionOf } from './question.ts';
import { oneBit } from './slices.ts';
import { smaller } from './smaller.ts';
import { type Answer, ask, type Solver } from './solver.ts';
import type { Verdict } from './verdict.ts';

/** Limits of a proof. */
export interface Limits {
  /** Milliseconds for one question. */
  readonly question: number;
  /** Milliseconds for all questions of one rule at full width; once they are spent, only bounded questions are asked. */
  readonly rule: number;
  /** Random values for each instance that the solver does not decide. */
  readonly samples: number;
}

export const LIMITS: Limits = { question: 10_000, rule: 30_000, samples: 2_000 };

/** Bounds tried in turn if the full question gets no answer in time. */
const BOUNDS: readonly Bound[] = [
  { bits: 16, constants: false },
  { bits: 10, constants: false },
  { bits: 10, constants: true },
  { bits: 6, constants: true },
];
/** A bounded question that takes longer than this fraction of the limit is dropped in favour of a narrower one. */
const BOUND_SHARE = 3;

const HARD_IN_BITS: ReadonlySet<string> = new Set(['mul', 'umulh', 'smulh', 'udiv', 'sdiv', 'urem', 'srem']);

/** The result for one question, the strongest first. */
type Found =
  | { readonly k: 'proved'; readonly say: string | null }
  | { readonly k: 'part'; readonly say: string }
  | { readonly k: 'open'; readonly say: string }
  | { readonly k: 'outside'; readonly say: string }
  | { readonly k: 'wrong'; readonly by: Sample };

/**
 * Tries to prove a rule. Each choice of modifiers is one question over symbolic bit vectors; equal questions are
 * asked once. A solver's counterexample counts only if exact evaluation confirms it.
 */
export async function prove(rule: Rule, solver: Solver, limits: Limits = LIMITS): Promise<Verdict> {
  if (rule.inexact !== null) return { verdict: 'inexact', why: rule.inexact };
  const known = new Map<string, Found>();
  const found: Found[] = [];
  const prover = new Prover(rule, solver, limits);
  for (const instance of rule.instances) {
    const f = await prover.instance(instance, known);
    if (f.k === 'wrong')
      return {
        verdict: 'refuted',
        counterexample: counterexampleText(rule, instance, smaller(rule, instance, f.by)),
      };
    found.push(f);
  }
  let samples = 0;
  for (const [i, instance] of rule.instances.entries()) {
    if (found[i].k === 'proved') continue;
    const t = tryOut(rule, instance, limits.samples);
    samples += t.applied;
    if (t.differs !== null)
      return {
        verdict: 'refuted',
        counterexample: counterexampleText(rule, instance, smaller(rule, instance, t.differs)),
      };
  }
  return verdictOf(rule, found, samples);
}

/** Values tried for each choice of modifiers before a solver is asked. */
const FIRST_SAMPLES = 100;

/** A refutation found by evaluating both sides on a few values; if there is one, no solver is needed. */
export function quicklyRefuted(rule: Rule): Verdict | null {
  if (rule.inexact !== null) return null;
  for (const instance of rule.instances) {
    const { differs } = tryOut(rule, instance, FIRST_SAMPLES);
    if (differs !== null)
      return { verdict: 'refuted', counterexample: counterexampleText(rule, instance, differs) };
  }
  return null;
}

/** The verdict on a rule that was not refuted: its weakest instance decides. */
function verdictOf(rule: Rule, found: readonly Found[], samples: number): Verdict {
  const instances = found.length;
  const said = (k: Found['k']): string =>
    [...new Set(found.flatMap((f) => (f.k === k && f.k !== 'wrong' && f.say !== null ? [f.say] : [])))]
      .sort()
      .join('; ');
  const proved = found.filter((f) => f.k === 'proved').length;
  const agree = `${samples} exact samples agree`;
  const some = proved > 0 ? `${proved} of ${instances} choices of modifiers are verified; the others: ` : '';
  if (proved === instances) {
    const how = said('proved');
    return { verdict: 'verified', instances, ...(how === '' ? {} : { how }) };
  }
  const open = found.some((f) => f.k === 'open');
  const outside = found.some((f) => f.k === 'outside');
  const part = `${proved > 0 && said('part') !== '' ? `${proved} of ${instances} choices of modifiers, and ` : ''}${said('part')}`;
  if (rule.holds !== null)
    return { verdict: 'by argument', instances, samples, ...(part === '' ? {} : { to: part }) };
  if (!open && !outside) return { verdict: 'bounded', instances, to: `${some}${said('part')}; ${agree}` };
  if (outside) return { verdict: 'out of scope', why: `${some}${said('outside')}; ${agree}` };
  return { verdict: 'unknown', why: `${some}${said('open')}; ${agree}` };
}

class Prover {
  private readonly rule: Rule;
  private readonly solver: Solver;
  private readonly limits: Limits;
  /** Time left for questions at full width. */
  private left: number;
  private integers = false;

  constructor(rule: Rule, solver: Solver, limits: Limits) {
    this.rule = rule;
    this.solver = solver;
    this.limits = limits;
    // If the rule states a reason, one unanswered question is enough.
    this.left = rule.holds === null ? limits.rule : limits.question;
  }

  async instance(instance: Instance, known: Map<string, Found>): Promise<Found> {
    let goal: Goal;
    try {
      goal = goalOf(this.rule, instance);
    } catch (e) {
      if (!(e instanceof MeaningError)) throw e;
      return { k: 'outside', say: `a constant has to be known: ${e.message}` };
    }
    const { text } = questionOf(goal);
    const before = known.get(text);
    if (before !== undefined && before.k !== 'wrong') return before;
    const f = await this.decide(goal, instance);
    known.set(text, f);
    return f;
  }

  private async decide(goal: Goal, instance: Instance): Promise<Found> {
    if (await this.holds(lawful(goal))) return { k: 'proved', say: 'by laws of IEEE 754' };
    if (await this.holds(oneBit(goal))) return { k: 'proved', say: 'bit by bit' };
    const a = await this.full(goal);
    if (a.k === 'unsat') return { k: 'proved', say: null };
    if (a.k === 'sat') return this.confirm(goal, instance, a);
    const byCases = await this.cases(goal, instance);
    if (byCases !== null) return byCases;
    // A partial proof says less than the stated reason why the whole rule holds.
    if (this.rule.holds !== null) return undecided(goal, a.why);
    for (const bound of BOUNDS) {
      const b = await ask(this.solver, questionOf(goal, bound), this.limits.question / BOUND_SHARE);
      if (b.k === 'sat') return this.confirm(goal, instance, b);
      if (b.k === 'unknown') continue;
      // A bound under which the rule never applies proves nothing.
      const p = await ask(this.solver, possible(goal, bound), this.limits.question / BOUND_SHARE);
      if (p.k === 'sat') return { k: 'part', say: boundText(goal, bound) };
    }
    return undecided(goal, a.why);
  }

  /** Is a goal that implies the one in question proved? */
  private async holds(goal: Goal | null): Promise<boolean> {
    if (goal === null) return false;
    const a = await ask(this.solver, questionOf(goal), this.limits.question / BOUND_SHARE);
    return a.k === 'unsat';
  }

  private async full(goal: Goal): Promise<Answer> {
    if (this.left <= 0) return { k: 'unknown', why: 'no answer in the time for one rule' };
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
      const a = await this.askBothForms(c);
      if (a.k === 'sat') return this.confirm(c, instance, a, cases.values[i]);
      if (a.k === 'unknown') return null;
    }
    return casesFound(cases);
  }

  /** Asks in bits and in integers; the form that got the last answer goes first. */
  private async askBothForms(goal: Goal): Promise<Answer> {
    const limit = this.limits.question / BOUND_SHARE;
    let last: Answer = { k: 'unknown', why: '' };
    // With a product or quotient, integers are the better form.
    const first = this.integers || goal.nodes.some((n) => HARD_IN_BITS.has(n.op));
    for (const integers of [first, !first]) {
      const q = integers ? integerQuestion(goal) : questionOf(goal);
      if (q === null) continue;
      last = await ask(this.solver, q, limit);
      if (last.k === 'unknown') continue;
      this.integers = integers;
      return last;
    }
    return last;
  }

  /** Evaluates both sides on a solver's model: only a difference there refutes the rule. */
  private async confirm(
    goal: Goal,
    instance: Instance,
    a: Answer & { readonly k: 'sat' },
    fixed: ReadonlyMap<number, bigint> = new Map(),
  ): Promise<Found> {
    const s = this.evaluate(goal, instance, a, fixed);
    if (!s.results.some((r) => r.left !== r.right)) {
      return undecided(goal, "the solver's counterexample gives equal results in exact evaluation");
    }
    const small = await this.smaller(goal, instance, fixed);
    return { k: 'wrong', by: small ?? s };
  }

  /** A counterexample with small numbers, which tells readers more, if one is found at once. */
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

/** To a solver, approximate functions are unknown functions, so it may find differences that do not exist. */
function undecided(goal: Goal, why: string): Found {
  const approximate = goal.nodes.find((n) => n.op === 'approx');
  if (approximate === undefined) return { k: 'open', say: why };
  const say = `it speaks of what the approximate function ${approximate.aux} gives, which no theory states`;
  return { k: 'outside', say };
}

const casesFound = (c: Cases): Found =>
  c.complete
    ? { k: 'proved', say: `by cases of the constants, at most ${c.goals.length}` }
    : { k: 'part', say: `${c.goals.length} choices of the constants, all operands` };
