import { diffLines, diffLineText } from '../lab/lines.ts';
import { pc } from './ui.ts';

const PAINT = { '-': pc.red, '+': pc.green, '@': pc.cyan, ' ': (s: string) => s };

/** Unified differences of two texts, coloured, each place with its line numbers. */
export const unifiedDiff = (before: string, after: string): string =>
  diffLines(before, after)
    .map((l) => PAINT[l.tag](diffLineText(l)))
    .join('\n');
