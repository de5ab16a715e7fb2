import { enumeratedFirst } from '../ir/listed.ts';
import { BROKEN_PAIR, type Breach, breachIssue, findBreaches, firstPlaces } from './constraints.ts';
import type { Entry } from './entries.ts';
import type { Issues, SpecIssue } from './issues.ts';
import { findLacks, type Lack, lackIssue, sameSpot } from './properties.ts';
import { tearing } from './repeats.ts';
import { type OrderWalk, withMove } from './walk.ts';

/*
 * Where phases may be placed. The same checks report the faults of an order, find the nearest legal position, and judge every position.
 */

/**
 * Reports the constraints that an order violates, each with the nearest legal position for the blamed entry; for an error, a position is
 * legal if it violates no hard constraint. The first error of an edit also names the phases that lack an IR property because of the edit.
 */
export function reportBreaches(walk: OrderWalk, issues: Issues): void {
  const near = nearestOf(walk);
  const breaches = findBreaches(walk);
  const hard = breaches.filter((b) => b.pair.hard);
  const lacks = hard.length === 0 ? [] : findLacks(walk);
  for (const b of breaches) {
    const origin = ({ blamed }: Breach): Entry['origin'] => walk.entries[blamed].origin;
    const same = hard.filter((x) => sameSpot(origin(x), origin(b)));
    const own = same[0] === b ? lacks.filter((l) => sameSpot(l.blamed, origin(b))) : [];
    const lost = own.flatMap((l) => lackNote(l, reportedBy(same, l.property, walk), walk));
    issues.add([{ ...breachIssue(b, walk), notes: [...lost, ...near(b.blamed, !b.pair.hard)] }]);
  }
}

/** Maximum number of phases that a note names. */
const MOST_NAMED = 4;

/** Phases that violated constraints place before a provider of the property: that they lack it is a consequence. */
const reportedBy = (
  breaches: readonly Breach[],
  property: string,
  { phases }: OrderWalk,
): ReadonlySet<string> =>
  new Set(
    breaches.flatMap(({ pair }) =>
      phases.some((p) => p.name === pair.before && p.provides.includes(property)) ? [pair.after] : [],
    ),
  );

/** A note on the phases that lack a property, except those that are reported already. */
function lackNote({ property, needy }: Lack, reported: ReadonlySet<string>, { phases }: OrderWalk): string[] {
  const names = needy.filter((i) => !reported.has(phases[i].name)).map((i) => phases[i].id);
  if (names.length === 0) return [];
  const where = enumeratedFirst(names, MOST_NAMED);
  return [`the IR property '${property}' then does not hold where it is needed, in ${where}`];
}

/**
 * Reports the IR properties that phases lack, with the nearest legal position if an edit is to blame. Two kinds are left out as
 * consequences of other errors: those blamed on an edit that already violates a constraint, whose nearest legal position takes properties
 * into account too, and properties that only a missing required phase provides.
 *
 * @param required the required rows of the table
 */
export function reportLacks(
  walk: OrderWalk,
  required: readonly { readonly name: string; readonly provides?: readonly string[] }[],
  issues: Issues,
): void {
  const near = nearestOf(walk);
  const present = new Set(walk.entries.map((e) => e.name));
  const missing = new Set(required.flatMap((r) => (present.has(r.name) ? [] : (r.provides ?? []))));
  for (const lack of findLacks(walk)) {
    if (missing.has(lack.property) && !walk.phases.some((p) => p.provides.includes(lack.property))) continue;
    if (issues.list.some((x) => x.severity === 'error' && x.code === BROKEN_PAIR && sameSpot(x, lack.blamed)))
      continue;
    const at = walk.entries.findIndex((x) => x.origin.path[0] === 'edits' && sameSpot(x.origin, lack.blamed));
    const issue = lackIssue(lack, walk);
    issues.add([{ ...issue, notes: [...(issue.notes ?? []), ...(at < 0 ? [] : near(at, false))] }]);
  }
}

/** Errors and warnings of an order, without suggested positions. */
export const faultsOf = (walk: OrderWalk): SpecIssue[] => [
  ...findBreaches(walk).map((b) => breachIssue(b, walk)),
  ...findLacks(walk).map((l) => lackIssue(l, walk)),
];

/**
 * The order with one entry moved, or the repetition that the move would split.
 *
 * @param to position of the entry in the resulting order
 */
export function placedAt(
  walk: OrderWalk,
  at: number,
  to: number,
  origin?: Entry['origin'],
): OrderWalk | { readonly torn: string } {
  const torn = tearing(walk.entries, at, to > at ? to + 1 : to);
  return torn === null ? withMove(walk, at, to, origin) : { torn: torn.message };
}

/** A memoized `nearestNote`. */
function nearestOf(walk: OrderWalk): (at: number, soft: boolean) => string[] {
  const notes = new Map<string, string[]>();
  return (at, soft) => {
    const key = `${at} ${soft}`;
    let note = notes.get(key);
    if (note === undefined) notes.set(key, (note = nearestNote(walk, at, soft)));
    return note;
  };
}

/**
 * A note on the nearest position where an entry violates nothing, with all other entries unchanged.
 *
 * @param soft true if constraints of severity `warning` count too
 */
function nearestNote(walk: OrderWalk, at: number, soft: boolean): string[] {
  const { entries } = walk;
  if (entries[at].repeats !== undefined) return [];
  const { name, origin } = entries[at];
  const pairs = walk.pairs.filter((p) => (soft || p.hard) && (p.before === name || p.after === name));
  // Properties that are missing for other reasons are missing wherever this entry is placed.
  const others = findLacks(walk).filter((l) => !sameSpot(l.blamed, origin));
  const isUnrelated = (l: Lack): boolean =>
    others.some((o) => o.property === l.property && sameSpot(o.blamed, l.blamed));
  const legal = (to: number): boolean => {
    const there = placedAt({ ...walk, pairs }, at, to);
    return !('torn' in there) && findBreaches(there).length === 0 && findLacks(there).every(isUnrelated);
  };
  for (let d = 1; d < entries.length; d++)
    for (const to of [at - d, at + d]) {
      if (to < 0 || to >= entries.length || !legal(to)) continue;
      const beside = `${to < at ? 'before' : 'after'} ${entries[to].id} (position ${to})`;
      return [`nearest legal place: ${beside}`];
    }
  return [noPlace(walk, at, pairs)];
}

/** Why no position is legal: two constraints that leave no gap between them, or else IR properties. */
function noPlace({ entries }: OrderWalk, at: number, pairs: OrderWalk['pairs']): string {
  const { name } = entries[at];
  const first = firstPlaces(entries);
  const sides = pairs.flatMap((p) => {
    const other = p.after === name ? p.before : p.after;
    const place = first.get(other);
    return place === undefined ? [] : [{ other, place, behind: p.after === name }];
  });
  const behind = sides.filter((s) => s.behind).sort((x, y) => y.place - x.place)[0];
  const before = sides.filter((s) => !s.behind).sort((x, y) => x.place - y.place)[0];
  if (behind !== undefined && before !== undefined && behind.place >= before.place)
    return `no place is legal: it must stand after ${behind.other} (position ${behind.place}) and before ${before.other} (position ${before.place})`;
  return 'no place of this order is legal for it';
}
