import { pc } from './ui.ts';

/** Longest texts that are compared line by line; beyond it only the ends that agree are cut off. */
const MOST_CELLS = 4_000_000;

/**
 * Unified differences of two texts with three lines of context, coloured. Common ends are cut first; what is left is
 * compared by longest common subsequence while the table stays below four million cells, else shown whole.
 */
export function unifiedDiff(before: string, after: string, context = 3): string {
  const a = before.split('\n');
  const b = after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let ea = a.length;
  let eb = b.length;
  while (ea > start && eb > start && a[ea - 1] === b[eb - 1]) {
    ea--;
    eb--;
  }
  type Line = { readonly tag: ' ' | '-' | '+'; readonly text: string };
  const lines: Line[] = [];
  for (let i = Math.max(0, start - context); i < start; i++) lines.push({ tag: ' ', text: a[i] });
  lines.push(...middle(a.slice(start, ea), b.slice(start, eb)));
  for (let i = ea; i < Math.min(a.length, ea + context); i++) lines.push({ tag: ' ', text: a[i] });
  return lines
    .filter(
      (l, i) =>
        l.tag !== ' ' || lines.slice(Math.max(0, i - context), i + context + 1).some((x) => x.tag !== ' '),
    )
    .map((l) =>
      l.tag === '-' ? pc.red(`- ${l.text}`) : l.tag === '+' ? pc.green(`+ ${l.text}`) : `  ${l.text}`,
    )
    .join('\n');
}

function middle(a: readonly string[], b: readonly string[]): { tag: ' ' | '-' | '+'; text: string }[] {
  const n = a.length;
  const m = b.length;
  if (n * m > MOST_CELLS)
    return [
      ...a.map((text) => ({ tag: '-' as const, text })),
      ...b.map((text) => ({ tag: '+' as const, text })),
    ];
  const w = m + 1;
  const l = new Int32Array((n + 1) * w);
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      l[i * w + j] =
        a[i] === b[j] ? l[(i + 1) * w + j + 1] + 1 : Math.max(l[(i + 1) * w + j], l[i * w + j + 1]);
  const out: { tag: ' ' | '-' | '+'; text: string }[] = [];
  let i = 0;
  let j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && a[i] === b[j]) {
      out.push({ tag: ' ', text: a[i] });
      i++;
      j++;
    } else if (i < n && (j === m || l[(i + 1) * w + j] >= l[i * w + j + 1]))
      out.push({ tag: '-', text: a[i++] });
    else out.push({ tag: '+', text: b[j++] });
  }
  return out;
}
