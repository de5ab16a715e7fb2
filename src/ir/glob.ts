/** True if a pattern with `*` (any text) and `?` (any one character) matches the whole name. */
export function covers(pattern: string, name: string): boolean {
  // Two pointers and one backtracking point: linear in practice, and no regular expression is built from user text.
  let p = 0;
  let n = 0;
  let star = -1;
  let resume = 0;
  while (n < name.length) {
    if (p < pattern.length && pattern[p] === '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === name[n])) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++resume;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

/** Maximum product of the lengths of two patterns that are compared. */
const MOST_PAIRS = 1 << 20;

/** True if some name may match both patterns; longer patterns are taken to overlap. */
export function overlap(a: string, b: string): boolean {
  if (a.length * b.length > MOST_PAIRS) return true;
  /** Whether the rest of `a` after `i` characters and that of `b` after `j` match a common text: `later[j]` for `i + 1`. */
  let later: boolean[] = [];
  for (let i = a.length; i >= 0; i--) {
    const row: boolean[] = [];
    for (let j = b.length; j >= 0; j--) {
      if (i === a.length && j === b.length) row[j] = true;
      else if (a[i] === '*') row[j] = later[j] || (j < b.length && row[j + 1]);
      else if (b[j] === '*') row[j] = row[j + 1] || (i < a.length && later[j]);
      else row[j] = i < a.length && j < b.length && fits(a[i], b[j]) && later[j + 1];
    }
    later = row;
  }
  return later[0];
}

const fits = (x: string, y: string): boolean => x === '?' || y === '?' || x === y;
