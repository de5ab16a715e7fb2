import type { KnobValue } from '../passes/pass.ts';
import type { Plan, PlanPhase } from '../spec/plan.ts';
import { type Budgets, factAt, type PhaseLog } from './context.ts';

/** The knob that limits how often gates may see the real level (index 499, type BDGT). */
export const OPT_BUDGET = 'OptBudget';

/** A knob counts as set unless it is absent, false or zero. */
const isSet = (v: KnobValue | undefined): boolean => v !== undefined && v !== null && v !== false && v !== 0;

/**
 * The effective level: the plan's level, until OptBudget has been asked as often as its limit says; then 1.
 * Each call takes one unit. Source: reference, optimization levels, section 2 (the pseudocode, not the prose).
 */
export function effectiveLevel(plan: Plan, budgets: Budgets): number {
  return budgets.take(OPT_BUDGET) ? plan.level : Math.min(plan.level, 1);
}

/**
 * Decides whether a phase runs. Gates are asked in the order: plan (disabled, nothing bound, isNoOp), level, knobs,
 * back-end facts, budgets; the first that says no gives the reason.
 */
export function openGate(
  plan: Plan,
  phase: PlanPhase,
  budgets: Budgets,
  log: PhaseLog,
): { readonly open: boolean; readonly why: string; readonly level: number } {
  const shut = (why: string, level = plan.level) => ({ open: false, why, level });
  if (phase.disabled !== null) return shut(phase.disabled.why);
  if (phase.passes.length === 0 && phase.rules.length === 0) {
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
    log.knobs.add(OPT_BUDGET);
    level = effectiveLevel(plan, budgets);
  }
  if (gate.levels !== null && !gate.levels.includes(level)) {
    const spent = level !== plan.level ? ' (OptBudget is spent)' : '';
    return shut(`level ${level}${spent} is not in ${rangeText(gate.levels)}`, level);
  }
  for (const name of gate.unset) {
    log.knobs.add(name);
    if (isSet(plan.knobs.get(name)?.value)) return shut(`knob ${name} is set`, level);
  }
  for (const name of gate.set) {
    log.knobs.add(name);
    if (!isSet(plan.knobs.get(name)?.value)) return shut(`knob ${name} is not set`, level);
  }
  for (const f of gate.facts) {
    log.facts.add(f.path);
    if (factAt(plan.backend.facts, f.path) !== f.equals)
      return shut(`${plan.sm}: ${f.path} is not ${JSON.stringify(f.equals)}`, level);
  }
  for (const name of gate.budget) {
    log.knobs.add(name);
    if (!budgets.take(name)) return shut(`budget ${name} is spent`, level);
  }
  return { open: true, why: '', level };
}

/** `2..5` for neighbours, `1, 3` otherwise. */
export function rangeText(levels: readonly number[]): string {
  const s = [...levels].sort((a, b) => a - b);
  const contiguous = s.every((v, i) => i === 0 || v === s[i - 1] + 1);
  return contiguous && s.length > 1 ? `${s[0]}..${s[s.length - 1]}` : s.join(', ');
}
