import type { Entry } from './entries.ts';
import type { Issues } from './issues.ts';
import type { Specs } from './specs.ts';
import type { ConstraintsSpec } from './types.generated.ts';

/**
 * Checks every before/after pair on the first occurrences of the phases that the order runs. Blames the edit that placed one of the
 * two phases (the later edit, if both were placed), and names the nearest place that breaks no constraint; for an error, only
 * constraints of severity error count.
 *
 * @param base name of the full list that the order derives from; some pairs apply to one list only
 */
export function checkConstraints(
  specs: Specs,
  base: string,
  entries: readonly Entry[],
  issues: Issues,
): void {
  const first = new Map<string, number>();
  entries.forEach((x, i) => {
    if (x.dropped === null && !first.has(x.name)) first.set(x.name, i);
  });
  const list = ((specs.constraints.data.constraints as readonly ConstraintsSpec.Constraint[]) ?? []).map(
    (c, i) => ({ c, i }),
  );
  const relevant = list.filter(({ c }) => c.orders === undefined || c.orders.includes(base));
  for (const { c, i } of relevant) {
    const b = first.get(c.before);
    const a = first.get(c.after);
    if (a === undefined || b === undefined || b < a) continue;
    const blamed = placedBy(entries[a]) > placedBy(entries[b]) ? a : b;
    const at = entries[blamed].origin;
    const message = `${c.after} stands before ${c.before}`;
    const more = {
      label: c.why,
      notes: [
        nearestPlace(
          entries[blamed].name,
          blamed,
          hard(c) ? relevant.filter((x) => hard(x.c)) : relevant,
          first,
        ),
      ],
      see: { what: 'the constraint', file: specs.constraints, path: ['constraints', i] },
    };
    if (hard(c)) issues.error(at, 'order-constraint', message, more);
    else issues.warning(at, 'order-constraint', message, more);
  }
}

/** Names of the phases that must stand one before the other in an order made from this list. */
export const hardPairs = (
  specs: Specs,
  base: string,
): readonly (readonly [before: string, after: string])[] =>
  ((specs.constraints.data.constraints as readonly ConstraintsSpec.Constraint[]) ?? [])
    .filter((c) => hard(c) && (c.orders === undefined || c.orders.includes(base)))
    .map((c) => [c.before, c.after]);

const hard = (c: ConstraintsSpec.Constraint): boolean => c.severity !== 'warning';

/** Number of the edit that placed an entry; -1 for a line of the full list. */
const placedBy = (x: Entry): number => (x.origin.path[0] === 'edits' ? Number(x.origin.path[1]) : -1);

/** The places where a phase keeps these constraints while all other phases stay. */
function nearestPlace(
  name: string,
  at: number,
  constraints: readonly { readonly c: ConstraintsSpec.Constraint }[],
  first: ReadonlyMap<string, number>,
): string {
  let low = -1;
  let lowName = '';
  let high = Number.POSITIVE_INFINITY;
  let highName = '';
  for (const { c } of constraints) {
    const other = c.after === name ? c.before : c.before === name ? c.after : null;
    const p = other === null ? undefined : first.get(other);
    if (p === undefined) continue;
    if (c.after === name && p > low) [low, lowName] = [p, other!];
    if (c.before === name && p < high) [high, highName] = [p, other!];
  }
  if (low >= high)
    return `no place is legal: it must stand after ${lowName} (position ${low}) and before ${highName} (position ${high})`;
  if (at < low) return `nearest legal place: after ${lowName} (position ${low})`;
  if (at > high) return `nearest legal place: before ${highName} (position ${high})`;
  return 'its place is legal; the other phase may move';
}
