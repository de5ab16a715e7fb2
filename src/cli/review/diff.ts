import { diffLines, diffLineText } from '../../lab/lines.ts';
import { pc } from '../terminal/ui.ts';

const PAINT = { '-': pc.red, '+': pc.green, '@': pc.cyan, ' ': (s: string) => s };

/**
 * Unified diff of two texts, coloured, each hunk with its line numbers.
 *
 * @param context lines shown around each difference
 */
export const unifiedDiff = (before: string, after: string, context = 3): string =>
  diffLines(before, after, context)
    .map((l) => PAINT[l.tag](diffLineText(l)))
    .join('\n');
