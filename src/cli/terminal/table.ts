import { wrapped } from '../../lab/render/table.ts';
import { pc, printableLine, uncoloured } from './colours.ts';
import { columnsOf } from './ui.ts';

/** Number of columns between two cells. */
const GAP = 2;
/** Minimum width of a wrapped column, if its words are no longer. */
const LEAST = 12;

const width = (s: string): number => [...printableLine(s)].length;

/** A cell that is coloured as a whole, or not at all. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes start with ESC
const WHOLE = /^((?:\u001b\[[0-9;]*m)*)([^\u001b]*)((?:\u001b\[[0-9;]*m)*)$/;

/** The lines of a cell of a given width; one that is partly coloured is not wrapped. */
function linesOf(cell: string, columns: number): readonly string[] {
  if (width(cell) <= columns) return [cell];
  const m = WHOLE.exec(cell);
  return m === null ? [cell] : wrapped(m[2], columns).map((line) => m[1] + line + m[3]);
}

/** Width of the longest word of a cell, which cannot be split. */
const longest = (cell: string): number =>
  WHOLE.test(cell) ? Math.max(...wrapped(uncoloured(cell), 1).map((w) => [...w].length)) : width(cell);

/**
 * Aligned columns that fit the terminal if possible: the widest texts are wrapped between words, names that are still too long have a line
 * to themselves, above the rest of their row, and columns that do not fit either follow below, after the first column again. Empty columns
 * are omitted.
 *
 * @param rows colour codes do not count as width
 * @param align a letter for each column: l or r; right-aligned ones are never wrapped
 * @param columns maximum width; without a terminal it is unlimited
 */
export function table(
  rows: readonly (readonly string[])[],
  align: string,
  columns = columnsOf(process.stdout),
): string {
  const used = [...align].flatMap((_, i) => (rows.some((r) => width(r[i] ?? '') > 0) ? [i] : []));
  return tables(
    rows.map((r) => used.flatMap((i) => (i < r.length ? [r[i]] : []))),
    used.map((i) => align[i]).join(''),
    columns,
  ).join('\n\n');
}

/** Tables with as many columns each as fit. */
function tables(rows: readonly (readonly string[])[], align: string, columns: number): string[] {
  const widths = widthsOf(rows, align, columns);
  let room = columns;
  let fit = 0;
  while (fit < widths.length && (fit < 2 || widths[fit] <= room)) room -= widths[fit++] + GAP;
  const part = (cells: readonly (readonly string[])[], letters: string) => {
    const own = widthsOf(cells, letters, columns);
    return cells.flatMap((row) => rowLines(row, letters, own)).join('\n');
  };
  if (fit === widths.length) return [part(rows, align)];
  const others = rows.filter((r, i) => i === 0 || r.slice(fit).some((cell) => width(cell) > 0));
  return [
    part(
      rows.map((r) => r.slice(0, fit)),
      align.slice(0, fit),
    ),
    ...tables(
      others.map((r) => [r[0], ...r.slice(fit)]),
      align[0] + align.slice(fit),
      columns,
    ),
  ];
}

/** The width of each column after wrapping the widest texts until all fit, or until no more wrapping is possible. */
function widthsOf(rows: readonly (readonly string[])[], align: string, columns: number): number[] {
  const widths: number[] = [];
  const least: number[] = [];
  for (const row of rows)
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, width(cell));
      if (align[i] !== 'r') least[i] = Math.max(least[i] ?? LEAST, longest(cell));
    });
  for (let over = widths.reduce((sum, w) => sum + w + GAP, -GAP) - columns; over > 0 && over < Infinity; ) {
    const widest = widths.reduce(
      (best, w, i) => (align[i] !== 'r' && w > least[i] && w > (widths[best] ?? 0) ? i : best),
      -1,
    );
    if (widest < 0) {
      // Names get what the other columns leave, or half of the width if these do not fit in any case.
      const room = widths[0] - over;
      if (align[0] === 'l' && widths.length > 1)
        widths[0] = room >= LEAST ? room : Math.min(widths[0], Math.floor(columns / 2) - GAP);
      break;
    }
    widths[widest]--;
    over--;
  }
  return widths;
}

/** Minimum width of a terminal with room for long texts next to the columns of a table. */
export const ROOMY = 110;

/**
 * A table with an indented text below each row, for texts that do not fit next to it; rows without one have no extra line.
 *
 * @param rows the first is the heading, and has no text
 * @param below texts of the rows after the heading
 * @param indent columns by which they are indented
 */
export function tableAbove(
  rows: readonly (readonly string[])[],
  align: string,
  below: readonly string[],
  indent: number,
  columns = columnsOf(process.stdout),
): string {
  const [head, ...body] = table(rows, align, Number.POSITIVE_INFINITY).split('\n');
  const lines = (text: string): readonly string[] => (text === '' ? [] : wrapped(text, columns - indent));
  return [
    head,
    ...body.flatMap((row, i) => [row, ...lines(below[i]).map((l) => pc.dim(`${' '.repeat(indent)}${l}`))]),
  ].join('\n');
}

function rowLines(row: readonly string[], align: string, widths: readonly number[]): string[] {
  const name = linesOf(row[0], widths[0]);
  if (row.length > 1 && name.some((l) => width(l) > widths[0]))
    return [...name, ...rowLines(['', ...row.slice(1)], align, widths)];
  const cells = row.map((cell, i) => linesOf(cell, widths[i]));
  const height = Math.max(1, ...cells.map((c) => c.length));
  return Array.from({ length: height }, (_, l) =>
    cells
      .map((lines, i) => {
        const text = lines[l] ?? '';
        const pad = ' '.repeat(Math.max(0, widths[i] - width(text)));
        return align[i] === 'r' ? pad + text : i === row.length - 1 ? text : text + pad;
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}
