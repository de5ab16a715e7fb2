import { MeaningError } from '../../isa/lang/parse.ts';
import type { Instance, Rule } from '../rule.ts';
import { type Sample, sample } from '../sample.ts';
import { type Cases, casesOf, type KnownChoices, specialised } from './cases.ts';
import { counterexampleText } from './counterexample.ts';
import { tryOut } from './draw.ts';
import { type Goal, goalOf } from './goal.ts';
import { integerQuestion } from './integers.ts';
import { lawful } from './laws.ts';
import { opaque } from './opaque.ts';
import { type Bound, boundText, possible, type Question, questionOf } from './question.ts';
import { constantsGoal, differsAt, differsAtArms, operandChoices, rareConstants } from './rare.ts';
import { same, simplified } from './simplify.ts';
import { oneBit } from './slices.ts';
import { smaller } from './smaller.ts';
import { type Answer, ask, type Solver } from './solver.ts';
import { THOROUGHNESS, type Verdict } from './verdict.ts';

/**
 * Limits of a proof. Those of questions are steps of the solver and not times, so that a rule gets the same verdict on
 * every machine, however busy it is.
 */
export interface Limits {
  /** Steps for one question. */
  readonly question: number;
  /**
   * Steps lost on questions of one rule without an answer; once they are spent, no further question at full width is
   * asked. The same number is there once more for questions within bounds and for cases, and once more for rare constants.
   */
  readonly rule: number;
  /** The same for a rule that states why it holds: what the solver proves of it is only an addition. */
  readonly argued: number;
  /** Random values for each instance that the solver does not decide, and pairs of special values. */
  readonly samples: number;
  readonly pairs: number;
}

export const LIMITS: Limits = {
  question: 40_000_000,
  rule: 80_000_000,
  argued: 25_000_000,
  samples: 2_000,
  pairs: 10_000,
};

/** Limits with so many times the steps. */
export const timesLimits = (n: number): Limits => ({
  ...LIMITS,
  question: LIMITS.question * n,
  rule: LIMITS.rule * n,
  argued: LIMITS.argued * n,
});

/** Bounds tried in turn if the full question gets no answer within its limit. */
const BOUNDS: readonly Bound[] = [
  { bits: 16, constants: false },
  { bits: 10, constants: false },
  { bits: 10, constants: true },
  { bits: 6, constants: true },
];
/** A bounded question that takes more than this fraction of the limit is dropped in favour of a narrower one. */
const BOUND_SHARE = 3;
/** Steps to look for a counterexample with small numbers. */
const SMALL_WORK = 2_000_000;
/** Steps for a question about one choice of rare constants, or about all constants for one choice of operands. */
const RARE_WORK = 3_000_000;

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

/** Values tried for each choice of modifiers before a solver is asked. */
const FIRST_SAMPLES = 100;

/** A refutation found by evaluating both sides on a few values; if there is one, no solver is needed. */
export function quicklyRefuted(rule: Rule): Verdict | null {
  if (rule.inexact !== null) return null;
  for (const [at, instance] of rule.instances.entries()) {
    const { differs } = tryOut(rule, instance, FIRST_SAMPLES, FIRST_SAMPLES, at);
    if (differs !== null)
      return { verdict: 'refuted', counterexample: counterexampleText(rule, instance, differs) };
  }
  return null;
}

/** The answer where the steps for a rule are spent. */
const SPENT: Answer = { k: 'unknown', why: 'no answer within the steps for one rule', late: false, spent: 0 };

const PROVED: Answer = { k: 'unsat', spent: 0 };

/** Steps left for questions without an answer. */
interface Purse {
  left: number;
  readonly most: number;
}

/** What was found at rare constants beside the cases tried anyway. */
interface AtRare {
  /** Choices for which all operands were proved, and those for which a few were tried. */
  readonly proved: number;
  readonly sampled: number;
  /** As of `Rare`. */
  readonly open: number;
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
  const prover = THOROUGHNESS;
  if (rule.holds !== null)
    return { verdict: 'by argument', instances, samples, ...(part === '' ? {} : { to: part }), prover };
  if (!open && !outside)
    return { verdict: 'bounded', instances, to: `${some}${said('part')}; ${agree}`, prover };
  if (outside) return { verdict: 'out of scope', why: `${some}${said('outside')}; ${agree}`, prover };
  return { verdict: 'unknown', why: `${some}${said('open')}; ${agree}`, prover };
}

class Prover {
  private readonly rule: Rule;
  private readonly solver: Solver;
  /** For questions at full width, for those that are tried beside it, and for those at rare constants. */
  private readonly whole: Purse;
  private readonly besides: Purse;
  private readonly rarely: Purse;
  private integers = false;
  private readonly choices: KnownChoices = new Map();
  /** What a question that the clock ended said; null if none was. */
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

  /** Asks at full width, while there are steps left. */
  private full(goal: Goal): Promise<Answer> {
    return this.paid(questionOf(goal), this.whole);
  }

  /** Asks something else that may decide the goal or a part of it, while there are steps left. */
  private beside(q: Question): Promise<Answer> {
    return this.paid(q, this.besides);
  }

  private async paid(q: Question, from: Purse): Promise<Answer> {
    if (from.left <= 0) return SPENT;
    const a = this.seen(await ask(this.solver, q, Math.min(from.most, from.left)));
    if (a.k === 'unknown') from.left -= a.spent;
    return a;
  }

  private seen(a: Answer): Answer {
    if (a.k === 'unknown' && a.late) this.late = a.why;
    return a;
  }

  async instance(instance: Instance, known: Map<string, Found>): Promise<Found> {
    let goal: Goal;
    try {
      goal = goalOf(this.rule, instance);
    } catch (e) {
      if (!(e instanceof MeaningError)) throw e;
      const { choices } = await rareConstants(
        constantsGoal(this.rule, instance),
        this.rule,
        instance,
        this.solver,
      );
      const by = differsAt(this.rule, instance, choices);
      return by === null
        ? { k: 'outside', say: `a constant has to be known: ${e.message}` }
        : { k: 'wrong', by };
    }
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
    // A partial proof says less than the stated reason why the whole rule holds.
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

  /** Is a goal that implies the one in question proved? */
  private async holds(goal: Goal | null, purse: Purse = this.besides): Promise<boolean> {
    if (goal === null) return false;
    if (same(goal)) return true;
    const a = await this.paid(questionOf(goal), purse);
    return a.k === 'unsat';
  }

  /** Splits a goal about floats by the values of its constants, if they are few and laws decide each. */
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

  /** Splits the question by the values of the constants: all of them, or some and those at the arms of what is computed of them. */
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
  private async case(goal: Goal, purse: Purse): Promise<Answer> {
    const laws = lawful(simplified(goal));
    if (laws !== null && (await this.holds(laws, purse))) return PROVED;
    return this.askBothForms(goal, purse);
  }

  /** Looks for constants at which the rule is wrong, beside those tried already. */
  private async atRare(
    goal: Goal,
    instance: Instance,
    tried: readonly ReadonlyMap<number, bigint>[],
  ): Promise<AtRare | (Found & { readonly k: 'wrong' })> {
    const { choices, open } = await rareConstants(goal, this.rule, instance, this.solver);
    const by = differsAt(this.rule, instance, choices);
    if (by !== null) return { k: 'wrong', by };
    const wrongBy = async (fixed: ReadonlyMap<number, bigint>): Promise<boolean | Found> => {
      const c = specialised(goal, fixed);
      const a = await this.case(c, this.rarely);
      return a.k === 'sat' ? this.confirm(c, instance, a, fixed) : a.k === 'unsat';
    };
    // Operands are fixed and constants open: what few constants do shows wherever operands let it through.
    for (const operands of operandChoices(goal, this.rule, instance)) {
      const found = await wrongBy(operands);
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
      const found = await wrongBy(choice);
      if (typeof found === 'object' && found.k === 'wrong') return found;
      if (found === true) proved++;
      else sampled++;
    }
    return { proved, sampled, open };
  }

  /** Asks in bits and in integers; the form that got the last answer goes first. */
  private async askBothForms(goal: Goal, purse: Purse): Promise<Answer> {
    let last: Answer = SPENT;
    // With a product or quotient, integers are the better form.
    const first = this.integers || goal.nodes.some((n) => HARD_IN_BITS.has(n.op));
    for (const integers of [first, !first]) {
      const q = integers ? integerQuestion(goal) : questionOf(goal);
      if (q === null) continue;
      last = await this.paid(q, purse);
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

function casesFound({ goals, complete }: Cases, rare: AtRare | null): Found {
  if (complete) return { k: 'proved', say: `by cases of the constants, at most ${goals.length}` };
  const { proved, sampled, open } = rare ?? { proved: 0, sampled: 0, open: 0 };
  const more = sampled === 0 ? '' : ` (samples at ${sampled} more)`;
  const left = open === 0 ? '' : `, none found for ${open} side${open === 1 ? '' : 's'} of its conditions`;
  return { k: 'part', say: `${goals.length + proved} choices of the constants${more}${left}, all operands` };
}
