import { structuredPatch } from 'diff';

/** Edits up to which the shortest difference is looked for: 4000 take 0.7 s, and time grows with their square. */
const MOST_EDITS = 4000;

/** A line of a difference: in both texts, only in the first, only in the second, or the place where the next ones stand. */
export interface DiffLine {
  readonly tag: ' ' | '-' | '+' | '@';
  readonly text: string;
}

/**
 * The lines in which two texts differ, each place with its line numbers. Texts that differ nearly everywhere are shown as one whole
 * replaced by the other.
 *
 * @param context lines shown around each difference
 */
export function diffLines(before: string, after: string, context = 3): DiffLine[] {
  // A last line is the same line whether or not others follow it.
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

/** The line as a patch writes it, its sign set off. */
export const diffLineText = (l: DiffLine): string =>
  l.tag === '@' ? l.text : `${l.tag} ${l.text}`.trimEnd();
