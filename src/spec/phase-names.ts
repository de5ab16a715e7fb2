import { nearest } from '../ir/diagnostic.ts';
import type { Plan, PlanPhase } from './plan.ts';

/**
 * What a look-up by name gives for a name that it does not find: the seed number of the last phase, NOP, which does nothing. Source:
 * seed 004, phase name lookup.
 */
export const NOT_FOUND = 158;

type Phases = readonly Pick<PlanPhase, 'id' | 'index'>[];

const tables = new WeakMap<Phases, ReadonlyMap<string, number>>();

/** Positions of the phases of a plan by their ids in lower case. */
function tableOf({ phases }: Pick<Plan, 'phases'>): ReadonlyMap<string, number> {
  let table = tables.get(phases);
  if (table === undefined) {
    table = new Map(phases.map((p, i) => [p.id.toLowerCase(), i]));
    tables.set(phases, table);
  }
  return table;
}

/**
 * Seed number of the phase of that name, in any case. Of a name that stands twice, the plain name is the first place in the order, and
 * `name#2` the second.
 *
 * @returns `NOT_FOUND` (158) where the order has no such phase, or one that the seeds do not number (a named worker, an inserted pass)
 */
export const phaseIndex = (plan: Pick<Plan, 'phases'>, name: string): number =>
  plan.phases[phasePosition(plan, name) ?? -1]?.index ?? NOT_FOUND;

/** Position in the order of the phase of that name, in any case; null where the order has none. */
export const phasePosition = (plan: Pick<Plan, 'phases'>, name: string): number | null =>
  tableOf(plan).get(name.toLowerCase()) ?? null;

/**
 * Position that the engine takes for a name: of a name that is not found, that of phase 158, where nothing is done; the end of an order
 * that does not have it.
 */
export function dispatchPosition(plan: Pick<Plan, 'phases'>, name: string): number {
  const found = phasePosition(plan, name) ?? plan.phases.findIndex((p) => p.index === phaseIndex(plan, name));
  return found < 0 ? plan.phases.length : found;
}

/** Ids of the phases that a name which is not found was probably meant for. */
export const phasesLike = (plan: Pick<Plan, 'phases'>, name: string): string[] =>
  nearest(
    name,
    plan.phases.map((p) => p.id),
  );
