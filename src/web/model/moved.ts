import { diffArrays } from 'diff';

/** Maximum number of edits for an exact shortest difference: time grows with its square. */
export const MOST_EDITS = 1500;

/** Elements that two lists have in common, but at different places: those outside a longest common subsequence. */
export function movedBetween<T>(before: readonly T[], after: readonly T[]): ReadonlySet<T> {
  const [x, y] = [new Set(before), new Set(after)];
  const [a, b] = [before.filter((v) => y.has(v)), after.filter((v) => x.has(v))];
  if (a.every((v, i) => v === b[i])) return new Set();
  const parts = diffArrays(a, b, { maxEditLength: MOST_EDITS });
  return new Set(parts === undefined ? b : parts.flatMap((p) => (p.removed === true ? p.value : [])));
}
