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
