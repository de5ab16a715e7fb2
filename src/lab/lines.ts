import { structuredPatch } from 'diff';

/** Most edits for which the shortest difference is searched: 4000 take 0.7 s, and time grows quadratically. */
const MOST_EDITS = 4000;

/**
 * A line of a difference: in both texts, only in the first, only in the second, or a header with the position of the
 * next lines.
 */
export interface DiffLine {
  readonly tag: ' ' | '-' | '+' | '@';
  readonly text: string;
}

/**
 * The lines in which two texts differ, each place with its line numbers. If the texts differ almost everywhere, one
 * is shown as replaced by the other.
 *
 * @param context lines shown around each difference
 */
export function diffLines(before: string, after: string, context = 3): DiffLine[] {
  // The last line must equal a line that is followed by others.
  const [a, b] = [`${before}\n`, `${after}\n`];
  const patch = structuredPatch('', '', a, b, '', '', { context, maxEditLength: MOST_EDITS });
  if (patch === undefined) return [...whole('-', before), ...whole('+', after)];
  return patch.hunks.flatMap((h) => [
    { tag: '@', text: `@@ -${h.oldStart},${h.oldLines} +${h.newStart},${h.newLines} @@` } as const,
    ...h.lines.map((l) => ({ tag: l[0] as DiffLine['tag'], text: l.slice(1) })),
  ]);
}

const whole = (tag: DiffLine['tag'], text: string): DiffLine[] =>
  text.split('\n').map((line) => ({ tag, text: line }));

/** The line as in a patch, with its sign separated. */
export const diffLineText = (l: DiffLine): string =>
  l.tag === '@' ? l.text : `${l.tag} ${l.text}`.trimEnd();
