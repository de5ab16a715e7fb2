import { diffArrays } from 'diff';

/** Edits up to which the shortest difference is looked for: time grows with their square. */
export const MOST_EDITS = 1500;

/** What two lists of different elements have both, at different places: all that a longest common run leaves out. */
export function movedBetween<T>(before: readonly T[], after: readonly T[]): ReadonlySet<T> {
  const [x, y] = [new Set(before), new Set(after)];
  const [a, b] = [before.filter((v) => y.has(v)), after.filter((v) => x.has(v))];
  if (a.every((v, i) => v === b[i])) return new Set();
  const parts = diffArrays(a, b, { maxEditLength: MOST_EDITS });
  return new Set(parts === undefined ? b : parts.flatMap((p) => (p.removed === true ? p.value : [])));
}
