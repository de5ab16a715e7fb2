import type { SpecFile } from './document.ts';
import type { Entry } from './entries.ts';
import type { HookFilling } from './hooks.ts';
import type { Off } from './phase-toggles.ts';
import type { PlanPhase } from './plan.ts';
import type { PhasesSpec } from './types.generated.ts';

/** Two phases of which the one must stand before the other. */
export interface Pair {
  readonly before: string;
  readonly after: string;
  readonly why: string;
  /** To break it is an error, not a warning. */
  readonly hard: boolean;
  /** Place in the table of constraints. */
  readonly at: number;
}

/** The phases of an order, position by position, with all that says whether they may stand there. */
export interface OrderWalk {
  readonly phases: readonly PlanPhase[];
  readonly entries: readonly Entry[];
  readonly off: ReadonlyMap<string, Off>;
  readonly hooks: ReadonlyMap<string, HookFilling>;
  /** Why a phase cannot run at this level or on this target; null: there is no target, and properties are not followed. */
  readonly shut: readonly (string | null)[] | null;
  readonly pairs: readonly Pair[];
  readonly constraints: SpecFile;
  readonly table: Readonly<Record<string, PhasesSpec.IRProperty>>;
}

/**
 * The order with one entry elsewhere.
 *
 * @param to its position in the order that is made
 * @param origin what puts it there
 */
export function withMove(walk: OrderWalk, from: number, to: number, origin?: Entry['origin']): OrderWalk {
  const of = <T>(list: readonly T[]): T[] => {
    const out = [...list];
    out.splice(to, 0, ...out.splice(from, 1));
    return out;
  };
  const entries = of(walk.entries);
  if (origin !== undefined) entries[to] = { ...entries[to], origin };
  return { ...walk, phases: of(walk.phases), entries, shut: walk.shut === null ? null : of(walk.shut) };
}
