import { type Entry, freshId } from './entries.ts';
import type { Spot } from './issues.ts';

/*
 * Phases that an order repeats: a stretch of neighbours stands several times, one round behind the other. What is said of a phase of the
 * first round holds in all; an id of a later round means that round alone.
 */

/** Entries that an edit of one of them means: it, and where it is of a first round, those of the later ones. */
export const repeatsOf = (list: readonly Entry[], at: number): number[] =>
  list.flatMap((x, i) => (i === at || x.firstRound === list[at].id ? [i] : []));

/**
 * What a move would tear of phases that are repeated; null: nothing.
 *
 * @param from position of the entry that is moved; -1: it is a new one
 * @param to position before which it is put
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

/** An edit that repeats some of these entries together with others; null: there is none. */
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
 * A list in which neighbours stand as many times as there are rounds.
 *
 * @param by the edit that repeats them
 * @param added what becomes of an entry that the edit adds
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
      // A later round of an inner repetition waits for the inner round before it, which has waited for the outer one.
      const roundAfter = x.roundAfter?.map((other) => ids.get(other) ?? other) ?? before;
      later.push(added({ ...x, id, origin: by, roundAfter, firstRound: x.firstRound ?? x.id }));
    }
    before = [...ids.values()];
  }
  out.splice(to + 1, 0, ...later);
  return out;
}

/** A list in which an entry is another, in every round of it. */
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
      // What the order leaves out of later rounds alone stays out.
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
 * What is said by id, with the later rounds of what is meant.
 *
 * @param own whether something is said of a later round by itself
 */
export function ofRounds<T>(
  said: ReadonlyMap<string, T>,
  entries: readonly Entry[],
  own: (id: string) => boolean = (id) => said.has(id),
): ReadonlyMap<string, T> {
  if (said.size === 0 || entries.every((x) => x.firstRound === undefined)) return said;
  const out = new Map(said);
  for (const x of entries) {
    const first = x.firstRound === undefined || own(x.id) ? undefined : said.get(x.firstRound);
    if (first !== undefined) out.set(x.id, first);
  }
  return out;
}
