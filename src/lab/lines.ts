import { structuredPatch } from 'diff';

/** Maximum length of an edit script: searching for the shortest one takes quadratic time, and 0.7 s for 4000 edits. */
const MOST_EDITS = 4000;

/**
 * A line of a difference: in both texts (' '), only in the first ('-'), only in the second ('+'), or a hunk header ('@').
 */
export interface DiffLine {
  readonly tag: ' ' | '-' | '+' | '@';
  readonly text: string;
}

/**
 * The differences of two texts as hunks. If the texts differ almost everywhere, all lines of the first are removed and all of the second
 * added.
 *
 * @param context lines shown around each difference
 */
export function diffLines(before: string, after: string, context = 3): DiffLine[] {
  // With a line break at the end, a last line can equal a line that is not the last.
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

/** A line as in a patch, with a space after its sign. */
export const diffLineText = (l: DiffLine): string =>
  l.tag === '@' ? l.text : `${l.tag} ${l.text}`.trimEnd();
