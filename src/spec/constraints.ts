import type { Entry } from './entries.ts';
import type { SpecIssue } from './issues.ts';
import type { Specs } from './specs.ts';
import type { ConstraintsSpec } from './types.generated.ts';
import type { OrderWalk, Pair } from './walk.ts';

/** A pair of which the later one stands first. */
export interface Breach {
  readonly pair: Pair;
  /** Position of the phase to blame: that which an edit has placed, the later edit if both were. */
  readonly blamed: number;
}

/**
 * The pairs that apply to orders made from a list.
 *
 * @param base name of the full list; some pairs apply to one list only
 */
export const pairsOf = (specs: Specs, base: string): readonly Pair[] =>
  ((specs.constraints.data.constraints as readonly ConstraintsSpec.Constraint[]) ?? []).flatMap((c, at) =>
    c.orders === undefined || c.orders.includes(base)
      ? [{ before: c.before, after: c.after, why: c.why, hard: c.severity !== 'warning', at }]
      : [],
  );

/** Positions of phases by name: of the first occurrence that the order runs. */
export function firstPlaces(entries: readonly Entry[]): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  entries.forEach((x, i) => {
    if (x.dropped === null && !first.has(x.name)) first.set(x.name, i);
  });
  return first;
}

/** Pairs that an order breaks, judged by the first occurrences of the phases that it runs. */
export function findBreaches({ entries, pairs }: OrderWalk): Breach[] {
  const first = firstPlaces(entries);
  return pairs.flatMap((pair) => {
    const b = first.get(pair.before);
    const a = first.get(pair.after);
    if (a === undefined || b === undefined || b < a) return [];
    return [{ pair, blamed: placedBy(entries[a]) > placedBy(entries[b]) ? a : b }];
  });
}

/** Code of what is said of a broken pair. */
export const BROKEN_PAIR = 'order-constraint';

/** What is said of a broken pair. */
export const breachIssue = ({ pair, blamed }: Breach, walk: OrderWalk): SpecIssue => ({
  severity: pair.hard ? 'error' : 'warning',
  code: BROKEN_PAIR,
  message: `${pair.after} stands before ${pair.before}`,
  file: walk.entries[blamed].origin.file,
  path: walk.entries[blamed].origin.path,
  label: pair.why,
  see: { what: 'the constraint', file: walk.constraints, path: ['constraints', pair.at] },
});

/** Number of the edit that placed an entry; -1 for a line of the full list. */
const placedBy = (x: Entry): number => (x.origin.path[0] === 'edits' ? Number(x.origin.path[1]) : -1);
