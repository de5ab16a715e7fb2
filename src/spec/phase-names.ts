import { nearest } from '../ir/diagnostic.ts';
import { memo } from '../ir/memo.ts';
import type { Plan, PlanPhase } from './plan.ts';

/**
 * The seed number that a failed look-up by name returns: that of the last phase, NOP, which does nothing. Source: seed 004, phase name
 * lookup.
 */
export const NOT_FOUND = 158;

type Phases = readonly Pick<PlanPhase, 'id' | 'index'>[];

/** Positions of the phases of a plan by lower-case id. */
const tableOf = memo(
  (phases: Phases): ReadonlyMap<string, number> => new Map(phases.map((p, i) => [p.id.toLowerCase(), i])),
);

/**
 * The seed number of the phase with an id, ignoring case. If a name occurs twice, the plain name is the first occurrence, and `name#2` the
 * second.
 *
 * @returns `NOT_FOUND` (158) if the order has no such phase, or the seeds do not number it (a named worker, an inserted pass)
 */
export const phaseIndex = (plan: Pick<Plan, 'phases'>, name: string): number =>
  plan.phases[phasePosition(plan, name) ?? -1]?.index ?? NOT_FOUND;

/** Position in the order of the phase with an id, ignoring case; null if there is none. */
export const phasePosition = (plan: Pick<Plan, 'phases'>, name: string): number | null =>
  tableOf(plan.phases).get(name.toLowerCase()) ?? null;

/**
 * The position at which the engine starts for a name. For an unknown name it is that of phase 158, which does nothing, or the end of the
 * order if it does not contain phase 158.
 */
export function dispatchPosition(plan: Pick<Plan, 'phases'>, name: string): number {
  const found = phasePosition(plan, name) ?? plan.phases.findIndex((p) => p.index === phaseIndex(plan, name));
  return found < 0 ? plan.phases.length : found;
}

/** Suggestions for an unknown phase name: ids of phases with similar names. */
export const phasesLike = (plan: Pick<Plan, 'phases'>, name: string): string[] =>
  nearest(
    name,
    plan.phases.map((p) => p.id),
  );
