import type { SpecFile } from './document.ts';
import type { Entry } from './entries.ts';
import type { HookFilling } from './hooks.ts';
import type { Off } from './phase-toggles.ts';
import type { PlanPhase } from './plan.ts';
import type { PhasesSpec } from './types.generated.ts';

/** An ordering constraint: one phase must come before another. */
export interface Pair {
  readonly before: string;
  readonly after: string;
  readonly why: string;
  /** True if a violation is an error, false if it is a warning. */
  readonly hard: boolean;
  /** Index in the list of constraints. */
  readonly at: number;
}

/**
 * An order with everything that determines whether it is legal. `phases`, `entries` and `shut` are parallel, one element for each position.
 */
export interface OrderWalk {
  readonly phases: readonly PlanPhase[];
  readonly entries: readonly Entry[];
  readonly off: ReadonlyMap<string, Off>;
  readonly hooks: ReadonlyMap<string, HookFilling>;
  /** For each phase, why it cannot run at this level or on this target; null: there is no back end, so properties are not checked. */
  readonly shut: readonly (string | null)[] | null;
  readonly pairs: readonly Pair[];
  readonly constraints: SpecFile;
  readonly table: Readonly<Record<string, PhasesSpec.IRProperty>>;
}

/**
 * The order with one entry moved.
 *
 * @param to its position in the resulting order
 * @param origin the origin of the moved entry; absent: unchanged
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
