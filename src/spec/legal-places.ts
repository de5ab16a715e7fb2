import { BROKEN_PAIR, type Breach, breachIssue, findBreaches, firstPlaces } from './constraints.ts';
import type { Entry } from './entries.ts';
import type { Issues, SpecIssue } from './issues.ts';
import { findLacks, type Lack, lackIssue, sameSpot } from './properties.ts';
import { tearing } from './repeats.ts';
import { type OrderWalk, withMove } from './walk.ts';

/*
 * Where phases may stand: one judgement for what is wrong with an order, for the nearest place that would do, and for all of them.
 */

/**
 * Reports the pairs that an order breaks, with the nearest place of what is to blame: for an error one that breaks no hard pair. The first
 * error of an edit names the other phases that lack an IR property by that edit.
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
    const lost = own.flatMap((l) => lackNote(l, toldBy(same, l.property, walk), walk));
    issues.add([{ ...breachIssue(b, walk), notes: [...lost, ...near(b.blamed, !b.pair.hard)] }]);
  }
}

/** Phases that a note names. */
const MOST_NAMED = 4;

/** Phases that stand before what provides a property, by broken pairs: that they lack it follows. */
const toldBy = (breaches: readonly Breach[], property: string, { phases }: OrderWalk): ReadonlySet<string> =>
  new Set(
    breaches.flatMap(({ pair }) =>
      phases.some((p) => p.name === pair.before && p.provides.includes(property)) ? [pair.after] : [],
    ),
  );

/** Phases that lack a property, but for those that are told of already. */
function lackNote({ property, needy }: Lack, told: ReadonlySet<string>, { phases }: OrderWalk): string[] {
  const names = needy.filter((i) => !told.has(phases[i].name)).map((i) => phases[i].id);
  if (names.length === 0) return [];
  const more = names.length - MOST_NAMED;
  const shown = more > 1 ? [...names.slice(0, MOST_NAMED), `${more} more`] : names;
  const listed = shown.length === 1 ? shown[0] : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
  return [`the IR property '${property}' then does not hold where it is needed, in ${listed}`];
}

/**
 * Reports the IR properties that phases lack, with the nearest place of an entry if it is its edit that is wrong. If the edit is an error
 * already, because it breaks a pair, this follows from the same cause and is left out: the nearest place heeds both. So does what only a
 * required phase provides that the order has not, which is an error by itself.
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

/** What is wrong with an order, or warned of, without places that would do. */
export const faultsOf = (walk: OrderWalk): SpecIssue[] => [
  ...findBreaches(walk).map((b) => breachIssue(b, walk)),
  ...findLacks(walk).map((l) => lackIssue(l, walk)),
];

/**
 * The order with an entry elsewhere, or what cannot be torn for that.
 *
 * @param to position of the entry in the order that is made
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

/** Notes on the nearest place, each searched for once. */
function nearestOf(walk: OrderWalk): (at: number, soft: boolean) => string[] {
  const known = new Map<string, string[]>();
  return (at, soft) => {
    const key = `${at} ${soft}`;
    let note = known.get(key);
    if (note === undefined) known.set(key, (note = nearestNote(walk, at, soft)));
    return note;
  };
}

/**
 * The nearest place where an entry does what is asked of it, while all others stay.
 *
 * @param soft pairs that are only warned of count too
 */
function nearestNote(walk: OrderWalk, at: number, soft: boolean): string[] {
  const { entries } = walk;
  if (entries[at].repeats !== undefined) return [];
  const { name, origin } = entries[at];
  const pairs = walk.pairs.filter((p) => (soft || p.hard) && (p.before === name || p.after === name));
  // What others lack by their own fault, they lack wherever this one stands.
  const others = findLacks(walk).filter((l) => !sameSpot(l.blamed, origin));
  const knownOf = (l: Lack): boolean =>
    others.some((o) => o.property === l.property && sameSpot(o.blamed, l.blamed));
  const legal = (to: number): boolean => {
    const there = placedAt({ ...walk, pairs }, at, to);
    return !('torn' in there) && findBreaches(there).length === 0 && findLacks(there).every(knownOf);
  };
  for (let d = 1; d < entries.length; d++)
    for (const to of [at - d, at + d]) {
      if (to < 0 || to >= entries.length || !legal(to)) continue;
      const beside = `${to < at ? 'before' : 'after'} ${entries[to].id} (position ${to})`;
      return [`nearest legal place: ${beside}`];
    }
  return [noPlace(walk, at, pairs)];
}

/** Why no place does: pairs that leave none between them, or properties. */
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
