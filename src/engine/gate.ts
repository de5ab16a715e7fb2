import { match } from 'ts-pattern';
import type { Program } from '../ir/program.ts';
import type { KnobValue } from '../passes/pass.ts';
import { factOf } from '../spec/backend.ts';
import { conditionsOf, type GateCondition, rangeText } from '../spec/gates.ts';
import type { Budgets } from './budgets.ts';
import type { PhaseLog } from './context.ts';
import type { FunctionPlans } from './function-plans.ts';

/** The knob that limits how often gates may see the real level (index 499, type BDGT). */
export const OPT_BUDGET = 'OptBudget';

/** A knob counts as set unless it is absent, false or zero. */
const isSet = (v: KnobValue): boolean => v !== null && v !== false && v !== 0;

/** A gate's answer for one function. */
export interface GateAnswer {
  readonly open: boolean;
  /** Why it is shut; '' if it is open. */
  readonly why: string;
  /** Effective level. */
  readonly level: number;
}

/** A gate's answers: knobs may apply to some functions only, and then so may the gate. */
export interface GateResult {
  /** An answer for each function, by its position in the program; one answer if there is no function. */
  readonly answers: readonly GateAnswer[];
  /** Whether it is open for any function. */
  readonly open: boolean;
  /** Why it is shut for all; '' if it is open for any. */
  readonly why: string;
  /** The level for the first function for which it is open; if it is shut, for the first function. */
  readonly level: number;
  /** If it is open for some functions: the others, and why. */
  readonly shutFor: readonly { readonly fn: string; readonly why: string }[];
}

/** Takes a unit of a budget. Functions with the same counter get the same answer. */
type Take = (knob: string, fn: string) => boolean;

/**
 * Decides whether a phase runs, and for which functions. Checks are made in the order: plan (disabled, nothing bound,
 * isNoOp), level, knobs, back-end facts, budgets; the first that fails gives the reason. A phase takes at most one
 * unit of each budget that its gate asks for, however many functions there are.
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
  const names = program.functions.length === 0 ? [''] : program.functions.map((f) => f.name);
  const taken = new Map<string, boolean>();
  const take: Take = (knob, fn) => {
    const c = budgets.counter(knob, fn);
    let ok = taken.get(c);
    if (ok === undefined) taken.set(c, (ok = budgets.take(knob, fn)));
    return ok;
  };
  const { roundAfter } = plans.base.phases[at];
  if (roundAfter !== null && !roundAfter.some((id) => changed.has(id))) {
    const answer = { open: false, why: 'the round before changed nothing', level: plans.base.level };
    return {
      answers: names.map(() => answer),
      open: false,
      why: answer.why,
      level: answer.level,
      shutFor: [],
    };
  }
  const first = ask(plans, at, names[0], take, log);
  const answers = names.map((fn, i) => (i === 0 || !plans.vary ? first : ask(plans, at, fn, take, log)));
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

function ask(plans: FunctionPlans, at: number, fn: string, take: Take, log: PhaseLog): GateAnswer {
  const plan = plans.of(fn);
  const phase = plan.phases[at];
  const shut = (why: string, level = plan.level) => ({ open: false, why, level });
  if (phase.disabled !== null) return shut(phase.disabled.why);
  if (phase.steps.length === 0) {
    if (phase.status === 'marker')
      return shut(phase.noOp ? 'no-op marker' : 'marker: does nothing by itself');
    if (phase.status === 'not-applicable')
      return shut(`not applicable${phase.statusNote === '' ? '' : `: ${phase.statusNote}`}`);
    return shut('nothing is bound to it yet');
  }
  if (phase.noOp) return shut('isNoOp');
  const { gate } = phase;
  let level = plan.level;
  if (gate.asksLevel) {
    // The plan's level until OptBudget has been queried as often as its limit allows, then 1. Source: reference,
    // optimization levels, section 2 (the pseudocode, not the prose).
    log.knobs.add(OPT_BUDGET);
    if (!take(OPT_BUDGET, fn)) level = Math.min(plan.level, 1);
  }
  /** Why a condition does not hold; '' where it does. */
  const against = (c: GateCondition): string =>
    match(c)
      .with({ asks: 'levels' }, ({ levels }) => {
        const spent = level !== plan.level ? ' (OptBudget is spent)' : '';
        return levels.includes(level) ? '' : `level ${level}${spent} is not in ${rangeText(levels)}`;
      })
      .with({ asks: 'unset' }, ({ knob }) => (isSet(valueFor(knob)) ? `knob ${knob} is set` : ''))
      .with({ asks: 'set' }, ({ knob }) => (isSet(valueFor(knob)) ? '' : `knob ${knob} is not set`))
      .with({ asks: 'nonzero' }, ({ knob }) => (valueFor(knob) === 0 ? `knob ${knob} is 0` : ''))
      .with({ asks: 'fact' }, ({ path, equals }) => {
        log.facts.add(path);
        if (factOf(plan.backend, path) === equals) return '';
        return `${plan.sm}: ${path} is not ${JSON.stringify(equals)}`;
      })
      .with({ asks: 'budget' }, ({ knob }) => {
        log.knobs.add(knob);
        return take(knob, fn) ? '' : `budget ${knob} is spent`;
      })
      .exhaustive();
  const valueFor = (knob: string): KnobValue => {
    log.knobs.add(knob);
    return plans.knob(knob, fn);
  };
  for (const condition of conditionsOf(gate)) {
    const why = against(condition);
    if (why !== '') return shut(why, level);
  }
  return { open: true, why: '', level };
}
