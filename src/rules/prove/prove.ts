import type { Instance, Rule } from '../rule.ts';
import { type Sample, sample } from '../sample.ts';
import { choiceOf, underArm } from './arm-goals.ts';
import { casesOf, type KnownChoices, specialised } from './cases.ts';
import { counterexampleText } from './counterexample.ts';
import { tryOut } from './draw.ts';
import { type AtRare, casesFound, type Found, undecided, verdictOf } from './found.ts';
import { type Goal, goalOf, prune } from './goal.ts';
import { integerQuestion } from './integers.ts';
import { lawful } from './laws.ts';
import { opaque } from './opaque.ts';
import { type Bound, boundText, possible, type Question, questionOf } from './question.ts';
import { differsAt, differsAtArms, type LimitedAsk, operandChoices, rareConstants } from './rare.ts';
import { same, simplified } from './simplify.ts';
import { oneBit } from './slices.ts';
import { smaller } from './smaller.ts';
import { type Answer, ask, type Solver } from './solver.ts';
import { THOROUGHNESS, type Verdict } from './verdict.ts';

/**
 * Limits of a proof. Solver queries are limited in steps and not in time, so that a rule gets the same verdict on every machine under any
 * load.
 */
export interface Limits {
  /** Steps for one query. */
  readonly question: number;
  /**
   * Budget in steps for queries of one rule that end without an answer; when it is spent, no further query at full width is made. There is
   * a second budget of this size for bounded queries and cases, and a third one for rare constants.
   */
  readonly rule: number;
  /** The budget of a rule that argues why it holds, for which proofs are only an addition. */
  readonly argued: number;
  /** Number of random samples for each instance that the solver does not decide, and of pairs of special values. */
  readonly samples: number;
  readonly pairs: number;
}

/** The default limits. */
export const LIMITS: Limits = {
  question: 40_000_000,
  rule: 80_000_000,
  argued: 25_000_000,
  samples: 2_000,
  pairs: 10_000,
};

/** The default limits with `n` times the steps. */
export const timesLimits = (n: number): Limits => ({
  ...LIMITS,
  question: LIMITS.question * n,
  rule: LIMITS.rule * n,
  argued: LIMITS.argued * n,
});

/** Bounds tried in turn if the query at full width gets no answer within its limit. */
const BOUNDS: readonly Bound[] = [
  { bits: 16, constants: false },
  { bits: 10, constants: false },
  { bits: 10, constants: true },
  { bits: 6, constants: true },
];
/** A bounded query gets one third of the limit; if that is not enough, a narrower one is made. */
const BOUND_SHARE = 3;
/** Steps to search for a counterexample with small numbers. */
const SMALL_WORK = 2_000_000;
/** Maximum number of cases into which selects on constants may split a goal. */
const MOST_PARTS = 24;
/** Maximum number of choices of constants that are enumerated in one such case. */
const MOST_IN_PART = 32;
/** Steps for a query about one choice of rare constants, or about all constants for one choice of operands. */
const RARE_WORK = 3_000_000;

const HARD_IN_BITS: ReadonlySet<string> = new Set(['mul', 'umulh', 'smulh', 'udiv', 'sdiv', 'urem', 'srem']);

/**
 * Tries to prove a rule. Each choice of modifiers is one query over symbolic bit vectors; equal queries are made once. A solver's
 * counterexample counts only if exact evaluation confirms it.
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
    const t = tryOut(rule, instance, limits.samples, limits.pairs, i);
    samples += t.applied;
    if (t.differs !== null)
      return {
        verdict: 'refuted',
        counterexample: counterexampleText(rule, instance, smaller(rule, instance, t.differs)),
      };
  }
  const verdict = verdictOf(rule, found, samples);
  if (verdict.verdict === 'verified' || prover.late === null) return verdict;
  return {
    verdict: 'unknown',
    why: `${prover.late}: this says nothing about the rule`,
    prover: THOROUGHNESS,
  };
}

/** Samples evaluated for each choice of modifiers before a solver is used, and as many pairs of special values. */
const FIRST_SAMPLES = 100;

/** The refutation of a rule by evaluation on a few samples, without a solver; null if they agree or the rule is inexact. */
export function quicklyRefuted(rule: Rule): Verdict | null {
  if (rule.inexact !== null) return null;
  for (const [at, instance] of rule.instances.entries()) {
    const { differs } = tryOut(rule, instance, FIRST_SAMPLES, FIRST_SAMPLES, at);
    if (differs !== null)
      return { verdict: 'refuted', counterexample: counterexampleText(rule, instance, differs) };
  }
  return null;
}

/** The answer when the steps for a rule are spent. */
const SPENT: Answer = { k: 'unknown', why: 'no answer within the steps for one rule', late: false, spent: 0 };

const PROVED: Answer = { k: 'unsat', spent: 0 };

/** A budget in steps for queries that end without an answer. */
interface StepBudget {
  left: number;
  /** Maximum number of steps of one query. */
  readonly most: number;
}

class Prover {
  private readonly rule: Rule;
  private readonly solver: Solver;
  /** For queries at full width, for bounded or abstracted ones and cases, and for those at rare constants. */
  private readonly whole: StepBudget;
  private readonly besides: StepBudget;
  private readonly rarely: StepBudget;
  private integers = false;
  private readonly choices: KnownChoices = new Map();
  /** The message of a query that the clock ended; null if there was none. */
  late: string | null = null;

  constructor(rule: Rule, solver: Solver, limits: Limits) {
    this.rule = rule;
    this.solver = solver;
    const left = rule.holds === null ? limits.rule : limits.argued;
    const most = Math.min(limits.question, left);
    this.whole = { left, most };
    this.besides = { left, most: most / BOUND_SHARE };
    this.rarely = { left, most: Math.min(RARE_WORK, most / BOUND_SHARE) };
  }

  /** Queries the goal at full width, while there are steps left. */
  private full(goal: Goal): Promise<Answer> {
    return this.paid(questionOf(goal), this.whole);
  }

  /** Makes another query that may decide the goal or a part of it, while there are steps left. */
  private beside(q: Question): Promise<Answer> {
    return this.paid(q, this.besides);
  }

  private async paid(q: Question, from: StepBudget): Promise<Answer> {
    if (from.left <= 0) return SPENT;
    const a = this.noteLate(await ask(this.solver, q, Math.min(from.most, from.left)));
    if (a.k === 'unknown') from.left -= a.spent;
    return a;
  }

  private noteLate(a: Answer): Answer {
    if (a.k === 'unknown' && a.late) this.late = a.why;
    return a;
  }

  /** Queries for constants at which a rule is tried. The search limits them; they are not charged to the budgets. */
  private readonly ask: LimitedAsk = async (q, limit) => this.noteLate(await ask(this.solver, q, limit));

  /** Decides one instance. `known` holds the results of earlier instances by their query. */
  async instance(instance: Instance, known: Map<string, Found>): Promise<Found> {
    const goal = goalOf(this.rule, instance);
    const { text } = questionOf(goal);
    const before = known.get(text);
    if (before !== undefined && before.k !== 'wrong') return before;
    const f = await this.decide(goal, instance);
    known.set(text, f);
    return f;
  }

  private async decide(goal: Goal, instance: Instance): Promise<Found> {
    const simple = simplified(goal);
    if (same(simple)) return { k: 'proved', say: null };
    if (await this.holds(lawful(simple))) return { k: 'proved', say: 'by laws of IEEE 754' };
    if (await this.holds(oneBit(goal))) return { k: 'proved', say: 'bit by bit' };
    if (await this.holds(opaque(simple)))
      return { k: 'proved', say: 'by equal operands of the same operations' };
    const few = await this.casesByLaws(goal, instance);
    if (few !== null) return few;
    const parts = choiceOf(goal) < 0 ? 0 : await this.byArms(goal, instance, { left: MOST_PARTS });
    if (parts > 0) return { k: 'proved', say: `by cases of the choices among constants, at most ${parts}` };
    const early = differsAtArms(this.rule, instance);
    if (early !== null) return { k: 'wrong', by: early };
    const whole = goal.nodes.some((n) => HARD_IN_BITS.has(n.op)) ? integerQuestion(goal) : null;
    if (whole !== null) {
      const i = await this.beside(whole);
      if (i.k === 'unsat') return { k: 'proved', say: null };
      if (i.k === 'sat') return this.confirm(goal, instance, i);
    }
    const a = await this.full(goal);
    if (a.k === 'unsat') return { k: 'proved', say: null };
    if (a.k === 'sat') return this.confirm(goal, instance, a);
    const byCases = await this.cases(goal, instance);
    if (byCases !== null) return byCases;
    // For an argued rule, a bounded proof would add nothing to the argument, which covers the whole rule.
    if (this.rule.holds !== null) return undecided(goal, a.why);
    for (const bound of BOUNDS) {
      const b = await this.beside(questionOf(goal, bound));
      if (b.k === 'sat') return this.confirm(goal, instance, b);
      if (b.k === 'unknown') continue;
      // A bound under which the rule never applies proves nothing.
      const p = await this.beside(possible(goal, bound));
      if (p.k === 'sat') return { k: 'part', say: boundText(goal, bound) };
    }
    return undecided(goal, a.why);
  }

  /** Can a goal that implies the original one be proved? False for null, an abstraction that does not apply. */
  private async holds(goal: Goal | null, budget: StepBudget = this.besides): Promise<boolean> {
    if (goal === null) return false;
    if (same(goal)) return true;
    const a = await this.paid(questionOf(goal), budget);
    return a.k === 'unsat';
  }

  /**
   * Splits a goal by its selects on constants, and tries to prove each case without a query at full width.
   * @param budget number of cases left
   * @returns the number of cases, or 0 if one is not proved
   */
  private async byArms(goal: Goal, instance: Instance, budget: { left: number }): Promise<number> {
    const choice = choiceOf(goal);
    if (choice < 0) return (await this.easy(goal, instance)) ? 1 : 0;
    let parts = 0;
    for (const holds of [true, false]) {
      if (--budget.left < 0) return 0;
      const part = underArm(goal, choice, holds);
      const path = prune(part.nodes, part.inputs, part.given, []);
      const a = await this.paid(possible(path, null), this.rarely);
      if (a.k === 'unsat') continue;
      const found = a.k === 'sat' ? await this.byArms(part, instance, budget) : 0;
      if (found === 0) return 0;
      parts += found;
    }
    return parts;
  }

  /** Can a goal be proved by the laws of floats, by equal operands, or by cases if few constants are left? */
  private async easy(goal: Goal, instance: Instance): Promise<boolean> {
    const simple = simplified(goal);
    const small = this.rarely;
    if (
      same(simple) ||
      (await this.holds(lawful(simple), small)) ||
      (await this.holds(opaque(simple), small))
    )
      return true;
    const cases = await casesOf(goal, this.rule, instance, this.solver, this.choices, MOST_IN_PART);
    if (cases === null || !cases.complete) return false;
    for (const c of cases.goals) if ((await this.case(c, small)).k !== 'unsat') return false;
    return true;
  }

  /** Proves a goal about floats by cases of its constants, if there are few and the laws of floats decide each case. */
  private async casesByLaws(goal: Goal, instance: Instance): Promise<Found | null> {
    if (!goal.inputs.some((x) => x.constant) || lawful(goal) === null) return null;
    const cases = await casesOf(goal, this.rule, instance, this.solver, this.choices);
    if (cases === null || !cases.complete) return null;
    const decided = (c: Goal): boolean => {
      const laws = lawful(simplified(c));
      return laws !== null && same(laws);
    };
    return cases.goals.every(decided) ? casesFound(cases, null) : null;
  }

  /** Splits the goal by the values of its constants: all of them, or some of them and those that `rareConstants` finds. */
  private async cases(goal: Goal, instance: Instance): Promise<Found | null> {
    const cases = await casesOf(goal, this.rule, instance, this.solver, this.choices);
    let left = cases?.goals.length ?? 0;
    for (const [i, c] of cases?.goals.entries() ?? []) {
      const a = await this.case(c, this.besides);
      if (a.k === 'sat') return this.confirm(c, instance, a, cases!.values[i]);
      if (a.k === 'unknown') break;
      left--;
    }
    const decided = cases !== null && left === 0;
    if (decided && cases.complete) return casesFound(cases, null);
    const rare = await this.atRare(goal, instance, cases?.values ?? []);
    if ('k' in rare) return rare;
    return decided ? casesFound(cases, rare) : null;
  }

  /** Decides the goal for one choice of constants. */
  private async case(goal: Goal, budget: StepBudget): Promise<Answer> {
    const laws = lawful(simplified(goal));
    if (laws !== null && (await this.holds(laws, budget))) return PROVED;
    return this.askBothForms(goal, budget);
  }

  /** Searches for constants at which the rule is wrong, in addition to those already tried. */
  private async atRare(
    goal: Goal,
    instance: Instance,
    tried: readonly ReadonlyMap<number, bigint>[],
  ): Promise<AtRare | (Found & { readonly k: 'wrong' })> {
    const { choices, open } = await rareConstants(goal, this.rule, instance, this.ask);
    const by = differsAt(this.rule, instance, choices);
    if (by !== null) return { k: 'wrong', by };
    /** Whether the goal is proved with some inputs fixed; the result if it is refuted. */
    const decideWith = async (fixed: ReadonlyMap<number, bigint>): Promise<boolean | Found> => {
      const c = specialised(goal, fixed);
      const a = await this.case(c, this.rarely);
      return a.k === 'sat' ? this.confirm(c, instance, a, fixed) : a.k === 'unsat';
    };
    // Operands are fixed and constants symbolic: an error at few constants shows for many operands.
    for (const operands of operandChoices(goal, this.rule, instance)) {
      const found = await decideWith(operands);
      if (typeof found === 'object' && found.k === 'wrong') return found;
    }
    const key = (c: ReadonlyMap<number, bigint>): string =>
      [...c]
        .map((x) => x.join())
        .sort()
        .join(' ');
    const before = new Set(tried.map(key));
    let proved = 0;
    let sampled = 0;
    for (const choice of choices) {
      if (before.has(key(choice))) continue;
      const found = await decideWith(choice);
      if (typeof found === 'object' && found.k === 'wrong') return found;
      if (found === true) proved++;
      else sampled++;
    }
    return { proved, sampled, open };
  }

  /** Queries as bit vectors and as integers; the form that got the last answer goes first. */
  private async askBothForms(goal: Goal, budget: StepBudget): Promise<Answer> {
    let last: Answer = SPENT;
    // With a product or quotient, integers are the better form.
    const first = this.integers || goal.nodes.some((n) => HARD_IN_BITS.has(n.op));
    for (const integers of [first, !first]) {
      const q = integers ? integerQuestion(goal) : questionOf(goal);
      if (q === null) continue;
      last = await this.paid(q, budget);
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

  /** A counterexample with small numbers, which is easier to understand, if one is found within `SMALL_WORK` steps. */
  private async smaller(
    goal: Goal,
    instance: Instance,
    fixed: ReadonlyMap<number, bigint>,
  ): Promise<Sample | null> {
    for (const bits of [3, 5, 9]) {
      const a = await ask(this.solver, questionOf(goal, { bits, constants: true }), SMALL_WORK);
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
    const wildcards: bigint[] = [];
    goal.inputs.forEach((x, i) => {
      const value = a.model.get(`v${i}`) ?? 0n;
      if (x.v >= 0) values[x.v] = value;
      else wildcards[x.wildcard] = value;
    });
    return sample(this.rule, instance, values, wildcards);
  }
}
