import type { Entry } from './entries.ts';
import type { SpecIssue } from './issues.ts';
import type { Specs } from './specs.ts';
import type { ConstraintsSpec } from './types.generated.ts';
import type { OrderWalk, Pair } from './walk.ts';

/** A violated ordering constraint. */
export interface Breach {
  readonly pair: Pair;
  /**
   * Position of the phase to blame: the one that an edit placed; if edits placed both, the one of the later edit. In a full list, the phase
   * that violates more constraints, since it is the likely one to have moved.
   */
  readonly blamed: number;
}

/**
 * The ordering constraints that apply to orders derived from a full list.
 *
 * @param base name of the full list; some constraints apply to certain lists only
 */
export const pairsOf = (specs: Specs, base: string): readonly Pair[] =>
  ((specs.constraints.data.constraints as readonly ConstraintsSpec.Constraint[]) ?? []).flatMap((c, at) =>
    c.orders === undefined || c.orders.includes(base)
      ? [{ before: c.before, after: c.after, why: c.why, hard: c.severity !== 'warning', at }]
      : [],
  );

/** For each phase name, the position of its first occurrence that is not dropped. */
export function firstPlaces(entries: readonly Entry[]): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  entries.forEach((x, i) => {
    if (x.dropped === null && !first.has(x.name)) first.set(x.name, i);
  });
  return first;
}

/** Constraints that an order violates, judged by the first occurrence of each phase that it runs. */
export function findBreaches({ entries, pairs }: OrderWalk): Breach[] {
  const first = firstPlaces(entries);
  const broken = pairs.flatMap((pair) => {
    const b = first.get(pair.before);
    const a = first.get(pair.after);
    return a === undefined || b === undefined || b < a ? [] : [{ pair, a, b }];
  });
  const times = (at: number): number => broken.filter((x) => x.a === at || x.b === at).length;
  return broken.map(({ pair, a, b }) => {
    const later = placedBy(entries[a]) - placedBy(entries[b]) || times(a) - times(b);
    return { pair, blamed: later > 0 ? a : b };
  });
}

/** Diagnostic code for a violated constraint. */
export const BROKEN_PAIR = 'order-constraint';

/** The issue that reports a violated constraint. */
export const breachIssue = ({ pair, blamed }: Breach, walk: OrderWalk): SpecIssue => ({
  severity: pair.hard ? 'error' : 'warning',
  code: BROKEN_PAIR,
  message: `${pair.after} comes before ${pair.before}`,
  file: walk.entries[blamed].origin.file,
  path: walk.entries[blamed].origin.path,
  label: pair.why,
  see: { what: 'the constraint', file: walk.constraints, path: ['constraints', pair.at] },
});

/** Index of the edit that placed an entry; -1 for an entry of the full list. */
const placedBy = (x: Entry): number => (x.origin.path[0] === 'edits' ? Number(x.origin.path[1]) : -1);
