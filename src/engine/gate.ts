import { isSet } from '../ir/pass.ts';
import type { Program } from '../ir/program.ts';
import { factOf } from '../spec/backend.ts';
import { conditionsOf, type GateCondition, rangeText } from '../spec/gates.ts';
import type { Gate, PlanPhase } from '../spec/plan.ts';
import type { Budgets } from './budgets.ts';
import type { PhaseLog } from './context.ts';
import type { FunctionPlans } from './function-plans.ts';

/** The knob that limits how often gates may see the real level (index 499, type BDGT). */
export const OPT_BUDGET = 'OptBudget';

/** A gate's answer for one function. */
export interface GateAnswer {
  readonly open: boolean;
  /** Why it is closed; '' if it is open. */
  readonly why: string;
  /** The effective level: that of the plan, or 1 once OptBudget is spent. */
  readonly level: number;
  /** True if a knob that the user set closed the gate; such closures are reported. */
  readonly byKnob?: boolean;
}

/** A gate's answers for all functions. They may differ because knobs may apply to some functions only. */
export interface GateResult {
  /** An answer for each function, by its position in the program; one answer if there is no function. */
  readonly answers: readonly GateAnswer[];
  /** True if it is open for any function. */
  readonly open: boolean;
  /** Why it is closed for all; '' if it is open for any. */
  readonly why: string;
  /** The level for the first function for which it is open; if it is closed, for the first function. */
  readonly level: number;
  /** If it is open for some functions: the others, and why. */
  readonly shutFor: readonly { readonly fn: string; readonly why: string }[];
}

/** Takes units of budgets for one phase: functions with the same counter get the same answer. */
class Taking {
  private readonly budgets: Budgets;
  private readonly taken = new Map<string, boolean>();

  constructor(budgets: Budgets) {
    this.budgets = budgets;
  }

  take(knob: string, fn: string): boolean {
    const c = this.budgets.counter(knob, fn);
    let ok = this.taken.get(c);
    if (ok === undefined) this.taken.set(c, (ok = this.budgets.take(knob, fn)));
    return ok;
  }
}

const NONE_SHUT: GateResult['shutFor'] = [];

/**
 * Decides whether a phase runs, and for which functions. The order of checks is: previous round changed something (later rounds of a
 * repetition), not disabled, not isNoOp, something bound, then the conditions of the gate (`conditionsOf`); the first that fails gives the
 * reason. A phase takes at most one unit from each counter of the budgets that its gate asks, however many functions there are.
 *
 * @param at position of the phase
 * @param changed ids of the phases that have changed something so far
 */
export function openGate(
  plans: FunctionPlans,
  at: number,
  program: Program,
  budgets: Budgets,
  log: PhaseLog,
  changed: ReadonlySet<string> = new Set(),
): GateResult {
  const { roundAfter } = plans.base.phases[at];
  if (roundAfter !== null && !roundAfter.some((id) => changed.has(id)))
    return forAll(shut('the round before changed nothing', plans.base.level), program);
  const taking = new Taking(budgets);
  const first = ask(plans, at, program.functions[0]?.name ?? '', taking, log);
  if (!plans.vary) return forAll(first, program);
  const names = program.functions.length === 0 ? [''] : program.functions.map((f) => f.name);
  const answers = names.map((fn, i) => (i === 0 ? first : ask(plans, at, fn, taking, log)));
  const running = answers.find((a) => a.open);
  return {
    answers,
    open: running !== undefined,
    why: running === undefined ? reasons(answers, names) : '',
    level: (running ?? first).level,
    shutFor:
      running === undefined ? [] : answers.flatMap((a, i) => (a.open ? [] : [{ fn: names[i], why: a.why }])),
  };
}

/** The gate of a phase over machine code in a run that makes none: shut, and without any effect on budgets. */
export const noCodeGate = (plans: FunctionPlans, program: Program): GateResult =>
  forAll(shut('makes machine code, and none is asked for', plans.base.level), program);

/** One answer for every function. */
const forAll = (answer: GateAnswer, { functions }: Program): GateResult => ({
  answers: new Array<GateAnswer>(Math.max(1, functions.length)).fill(answer),
  open: answer.open,
  why: answer.why,
  level: answer.level,
  shutFor: NONE_SHUT,
});

/** One reason for all functions, or each reason with its functions. */
function reasons(answers: readonly GateAnswer[], names: readonly string[]): string {
  const by = new Map<string, string[]>();
  answers.forEach((a, i) => {
    const those = by.get(a.why);
    if (those === undefined) by.set(a.why, [names[i]]);
    else those.push(names[i]);
  });
  if (by.size === 1) return answers[0].why;
  return [...by].map(([why, those]) => `${why} (${those.join(', ')})`).join('; ');
}

const shut = (why: string, level: number, byKnob = false): GateAnswer => ({
  open: false,
  why,
  level,
  byKnob,
});

function ask(plans: FunctionPlans, at: number, fn: string, taking: Taking, log: PhaseLog): GateAnswer {
  const plan = plans.of(fn);
  const phase = plan.phases[at];
  if (phase.disabled !== null) return shut(phase.disabled.why, plan.level);
  if (phase.noOp) return shut(whyNoOp(phase), plan.level);
  if (phase.steps.length === 0) return shut(whyUnbound(phase), plan.level);
  const { gate } = phase;
  let level = plan.level;
  let asked = !gate.asksLevel;
  const askLevel = (): void => {
    if (asked) return;
    asked = true;
    // The effective level is the plan's level until OptBudget has been queried as often as its limit allows, then 1. Source: reference,
    // optimization levels, section 2 (the pseudocode, not the prose).
    log.knobs.add(OPT_BUDGET);
    if (!taking.take(OPT_BUDGET, fn)) level = 1;
  };
  if (gate.levels === null) askLevel();
  for (const condition of conditionsOf(gate)) {
    if (condition.asks === 'levels' || condition.asks === 'only') askLevel();
    const why = against(condition, plans, fn, level, taking, log);
    if (why !== '') return shut(why, level, isByKnob(condition, level, plan.level));
  }
  return { open: true, why: '', level };
}

/** True if a failed condition is due to a knob with a value. A `set` condition does not count, since such a gate is closed by default. */
const isByKnob = ({ asks }: GateCondition, level: number, planned: number): boolean =>
  asks === 'only' ||
  asks === 'unset' ||
  asks === 'nonzero' ||
  asks === 'budget' ||
  (asks === 'levels' && level !== planned);

/** Why a phase whose isNoOp holds does not run; a hook could be filled. Source of the term: seed 004, vtable +8. */
const whyNoOp = ({ hook }: PlanPhase): string =>
  hook === null ? 'isNoOp' : 'isNoOp: nothing fills the hook';

/** Why a phase without steps does not run. */
function whyUnbound({ status, statusNote }: PlanPhase): string {
  if (status === 'marker') return 'marker: does nothing by itself';
  if (status === 'not-applicable') return `not applicable${statusNote === '' ? '' : `: ${statusNote}`}`;
  return 'nothing is bound to it yet';
}

/** Does the value of a knob add this level? */
function isAdded(
  also: Gate['also'],
  plans: FunctionPlans,
  fn: string,
  level: number,
  log: PhaseLog,
): boolean {
  if (also === null || !also.levels.includes(level)) return false;
  log.knobs.add(also.knob);
  return plans.knob(also.knob, fn) === also.equals;
}

/** Why a condition does not hold; '' if it holds. Reads are logged, and a budget condition takes a unit. */
function against(
  c: GateCondition,
  plans: FunctionPlans,
  fn: string,
  level: number,
  taking: Taking,
  log: PhaseLog,
): string {
  const plan = plans.of(fn);
  switch (c.asks) {
    case 'levels': {
      const spent = level !== plan.level ? ' (OptBudget is spent)' : '';
      if (c.levels.includes(level) || isAdded(c.also, plans, fn, level, log)) return '';
      return `level ${level}${spent} is not in ${rangeText(c.levels)}`;
    }
    case 'only':
      log.knobs.add(c.knob);
      if (!isSet(plans.knob(c.knob, fn)) || c.levels.includes(level)) return '';
      return `level ${level} is not ${rangeText(c.levels)}, and knob ${c.knob} is set`;
    case 'fact':
      log.facts.add(c.path);
      if (factOf(plan.backend, c.path) === c.equals) return '';
      return `${plan.sm}: ${c.path} is not ${JSON.stringify(c.equals)}`;
    case 'budget':
      log.knobs.add(c.knob);
      return taking.take(c.knob, fn) ? '' : `budget ${c.knob} is spent`;
    case 'nonzero':
      log.knobs.add(c.knob);
      return plans.knob(c.knob, fn) === 0 ? `knob ${c.knob} is 0` : '';
    default: {
      log.knobs.add(c.knob);
      const set = isSet(plans.knob(c.knob, fn));
      if (set === (c.asks === 'set')) return '';
      return `knob ${c.knob} is ${set ? '' : 'not '}set`;
    }
  }
}
