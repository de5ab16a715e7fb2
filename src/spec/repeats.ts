import { type Entry, freshId } from './entries.ts';
import type { Spot } from './issues.ts';

/*
 * Repetitions in orders: a run of adjacent phases occurs several times, one round after the other. Settings for a phase of the first round
 * apply to all rounds; an id of a later round means that round alone.
 */

/**
 * Positions of the entries that an edit of the one at `at` applies to: itself and, if it is in a first round, its copies in later rounds.
 */
export const repeatsOf = (list: readonly Entry[], at: number): number[] =>
  list.flatMap((x, i) => (i === at || x.firstRound === list[at].id ? [i] : []));

/**
 * The repetition that a move would split; null: none.
 *
 * @param from position of the entry that is moved; -1: a new entry
 * @param to position before which it is inserted; -1: only whether the entry may be moved is checked
 */
export function tearing(
  list: readonly Entry[],
  from: number,
  to: number,
): { readonly what: 'entry' | 'place'; readonly message: string; readonly by: Spot } | null {
  const own = list[from]?.repeats?.at(-1);
  if (own !== undefined)
    return { what: 'entry', message: `'${list[from].id}' is repeated, and cannot be moved alone`, by: own };
  const [a, b] = [list[to - 1], list[to]];
  const by = a?.repeats?.find((s) => b?.repeats?.includes(s) === true);
  if (by === undefined) return null;
  return { what: 'place', message: `'${a.id}' and '${b.id}' are repeated together`, by };
}

/** An edit that repeats some of the entries from `from` to `to` together with others; null: there is none. */
export function partlyRepeated(list: readonly Entry[], from: number, to: number): Spot | null {
  const inside = list.slice(from, to + 1);
  for (const spot of new Set(inside.flatMap((x) => x.repeats ?? []))) {
    const all = list.filter((x) => x.repeats?.includes(spot)).length;
    const here = inside.filter((x) => x.repeats?.includes(spot)).length;
    if (here < all) return spot;
  }
  return null;
}

/**
 * A list in which the entries from `from` to `to` occur `rounds` times.
 *
 * @param by the edit that repeats them
 * @param added maps each entry that the edit adds
 */
export function withRounds(
  list: readonly Entry[],
  from: number,
  to: number,
  rounds: number,
  by: Entry['origin'],
  added: (entry: Entry) => Entry,
): Entry[] {
  const out = list.map((x, i) => (from <= i && i <= to ? { ...x, repeats: [...(x.repeats ?? []), by] } : x));
  const first = out.slice(from, to + 1);
  let before: readonly string[] = first.map((x) => x.id);
  const later: Entry[] = [];
  for (let round = 1; round < rounds; round++) {
    const ids = new Map<string, string>();
    for (const x of first) {
      const id = freshId([...out, ...later], x.name);
      ids.set(x.id, id);
      // A later round of an inner repetition depends on the previous inner round, which depends on the previous outer round.
      const roundAfter = x.roundAfter?.map((other) => ids.get(other) ?? other) ?? before;
      later.push(added({ ...x, id, origin: by, roundAfter, firstRound: x.firstRound ?? x.id }));
    }
    before = [...ids.values()];
  }
  out.splice(to + 1, 0, ...later);
  return out;
}

/** A list in which an entry is replaced in every round. */
export function withReplaced(list: readonly Entry[], at: number, entry: Entry): Entry[] {
  const places = repeatsOf(list, at);
  const out = [...list];
  const ids = new Map<string, string>();
  for (const i of places) {
    const old = list[i];
    const id = i === at ? entry.id : freshId([...out, entry], entry.name);
    ids.set(old.id, id);
    out[i] = {
      ...entry,
      id,
      // A later round that was dropped by itself stays dropped.
      dropped: old.dropped === list[at].dropped ? entry.dropped : old.dropped,
      ...(old.repeats !== undefined && { repeats: old.repeats }),
      ...(old.roundAfter !== undefined && { roundAfter: old.roundAfter }),
      ...(i !== at && { firstRound: entry.id }),
    };
  }
  return out.map((x) =>
    x.roundAfter?.some((id) => ids.has(id)) === true
      ? { ...x, roundAfter: x.roundAfter.map((id) => ids.get(id) ?? id) }
      : x,
  );
}

/**
 * Extends settings by id to later rounds: a setting for a phase of the first round applies to its copies as well.
 *
 * @param own true for the id of a later round that has a setting of its own, which then takes precedence
 */
export function ofRounds<T>(
  settings: ReadonlyMap<string, T>,
  entries: readonly Entry[],
  own: (id: string) => boolean = (id) => settings.has(id),
): ReadonlyMap<string, T> {
  if (settings.size === 0 || entries.every((x) => x.firstRound === undefined)) return settings;
  const out = new Map(settings);
  for (const x of entries) {
    const first = x.firstRound === undefined || own(x.id) ? undefined : settings.get(x.firstRound);
    if (first !== undefined) out.set(x.id, first);
  }
  return out;
}
