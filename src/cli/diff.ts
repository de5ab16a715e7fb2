import { structuredPatch } from 'diff';
import { pc } from './ui.ts';

/** Edits up to which the shortest difference is looked for: 4000 take 0.7 s, and time grows with their square. */
const MOST_EDITS = 4000;

/**
 * Unified differences of two texts, coloured, each place with its line numbers. Texts that differ nearly everywhere are shown as one
 * whole replaced by the other.
 *
 * @param context lines shown around each difference
 */
export function unifiedDiff(before: string, after: string, context = 3): string {
  // A last line is the same line whether or not others follow it.
  const [a, b] = [`${before}\n`, `${after}\n`];
  const patch = structuredPatch('', '', a, b, '', '', { context, maxEditLength: MOST_EDITS });
  if (patch === undefined) return [...lines('-', before), ...lines('+', after)].map(paint).join('\n');
  return patch.hunks
    .flatMap((h) => [
      pc.cyan(`@@ -${h.oldStart},${h.oldLines} +${h.newStart},${h.newLines} @@`),
      ...h.lines.map(paint),
    ])
    .join('\n');
}

const lines = (tag: string, text: string): string[] => text.split('\n').map((l) => tag + l);

/** A line of a patch, its sign set off and coloured. */
function paint(line: string): string {
  const text = `${line[0]} ${line.slice(1)}`.trimEnd();
  return line[0] === '-' ? pc.red(text) : line[0] === '+' ? pc.green(text) : text;
}
