import { grouped } from '../../ir/counts.ts';
/** Default width of text output in characters. */
export const WIDTH = 100;

/** Functions that highlight parts of a text; the identity without colours. */
export interface Paint {
  readonly good: (s: string) => string;
  readonly bad: (s: string) => string;
  readonly bold: (s: string) => string;
  readonly dim: (s: string) => string;
}

const as = (s: string): string => s;
/** No highlighting. */
export const PLAIN: Paint = { good: as, bad: as, bold: as, dim: as };

/** The text of a cell, optionally with its highlighting. */
export type Cell = string | { readonly text: string; readonly paint: (s: string) => string };

const textOf = (c: Cell): string => (typeof c === 'string' ? c : c.text);
const painted = (c: Cell, text: string): string => (typeof c === 'string' ? text : c.paint(text));

const size = (s: string): number => [...s].length;

/**
 * Wraps a text into lines of at most `width` characters; only longer words exceed it. A line is broken after a clause if that fills at
 * least half of it, otherwise after a word.
 */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line: string[] = [];
  // Do not break before a percent sign, or around an arrow.
  for (const word of text.split(/(?<!->) (?!%|->)/)) {
    while (line.length > 0 && size([...line, word].join(' ')) > width) {
      const clause = line.findLastIndex((w) => /[;,]$/.test(w)) + 1;
      const end = size(line.slice(0, clause).join(' ')) < width / 2 ? line.length : clause;
      lines.push(line.slice(0, end).join(' '));
      line = line.slice(end);
    }
    line.push(word);
  }
  return [...lines, line.join(' ')];
}

/** Minimum width of a column whose texts are wrapped. */
const LEAST = 12;
const GAP = 2;

/**
 * Lays out rows as aligned columns. If they exceed the width, the texts of the widest left-aligned columns are wrapped first. If that is
 * not enough, the longest words of the first column, such as mangled names, have a line to themselves, above the rest of their row. Other
 * long words may still exceed the width.
 *
 * @param align a letter for each column: l (left) or r (right)
 */
export function columns(rows: readonly (readonly Cell[])[], align: string, width = WIDTH): string {
  const widths: number[] = [];
  /** Widths of the longest words. */
  const least: number[] = [];
  for (const row of rows)
    row.forEach((c, i) => {
      widths[i] = Math.max(widths[i] ?? 0, size(textOf(c)));
      least[i] = Math.max(least[i] ?? LEAST, ...wrapped(textOf(c), 1).map(size));
    });
  for (let over = widths.reduce((s, w) => s + w + GAP, -GAP) - width; over > 0; over--) {
    const widest = widths.reduce(
      (best, w, i) => (align[i] !== 'r' && w > least[i] && w > (widths[best] ?? 0) ? i : best),
      -1,
    );
    if (widest < 0) {
      if (align[0] === 'l' && widths.length > 1) widths[0] = Math.max(LEAST, widths[0] - over);
      break;
    }
    widths[widest]--;
  }
  const names = rows.map((row) => wrapped(textOf(row[0]), widths[0]));
  const isAbove = names.map((lines) => widths.length > 1 && lines.some((l) => size(l) > widths[0]));
  const cells = rows.map((row, r) =>
    row.map((c, i) => (i > 0 ? wrapped(textOf(c), widths[i]) : isAbove[r] ? [''] : names[r])),
  );
  const lines = (row: number): number => Math.max(...cells[row].map((c) => c.length));
  const room = widths.map((_, i) => Math.max(...cells.flatMap((row) => row[i].map(size))));
  return rows
    .flatMap((row, r) => [
      ...(isAbove[r] ? names[r].map((l) => painted(row[0], l)) : []),
      ...Array.from({ length: lines(r) }, (_, l) =>
        row
          .map((c, i) => {
            const text = cells[r][i][l] ?? '';
            const pad = ' '.repeat(room[i] - size(text));
            return align[i] === 'r' ? pad + painted(c, text) : painted(c, text) + pad;
          })
          .join(' '.repeat(GAP))
          .trimEnd(),
      ),
    ])
    .join('\n');
}

/** Width up to which the first column counts when other columns are distributed; names are mostly shorter. */
const BESIDE = 50;

/**
 * Like `columns`, but columns that do not fit are placed in further tables below, each of which repeats the first column. The first column
 * is left-aligned, the others are right-aligned.
 *
 * @param rows the first row is the heading
 * @param group number of neighbouring columns that stay in one table, such as a value and its change
 */
export function stacked(rows: readonly (readonly Cell[])[], width = WIDTH, group = 1): string {
  const first = Math.min(BESIDE, Math.max(...rows.map((r) => size(textOf(r[0])))));
  const wide = (i: number) => Math.max(...rows.map((r) => size(textOf(r[i])))) + GAP;
  const wideGroup = (i: number) =>
    Array.from({ length: group }, (_, k) => wide(i + k)).reduce((sum, w) => sum + w, 0);
  const out: string[] = [];
  for (let from = 1; from < rows[0].length; ) {
    let to = from;
    let used = first;
    while (to < rows[0].length && (to === from || used + wideGroup(to) <= width)) {
      used += wideGroup(to);
      to += group;
    }
    const part = rows.map((r) => [r[0], ...r.slice(from, to)]);
    out.push(columns(part, `l${'r'.repeat(to - from)}`, width));
    from = to;
  }
  return out.join('\n\n');
}

/** A number for display: integers with thousands separators, others with three significant digits. */
export function number(n: number): string {
  if (!Number.isInteger(n))
    return Math.abs(n) >= 100 ? grouped(Math.round(n)) : String(Number(n.toPrecision(3)));
  return grouped(n);
}

/** Two numbers for display, with as many digits as it takes to tell them apart. */
export function numbers(a: number, b: number): readonly [string, string] {
  const shown = [number(a), number(b)] as const;
  if (a === b || shown[0] !== shown[1]) return shown;
  for (let digits = 4; digits < 15; digits++) {
    const [x, y] = [a, b].map((n) => String(Number(n.toPrecision(digits))));
    if (x !== y) return [x, y];
  }
  return [String(a), String(b)];
}

/** `+1.23 %`; `0` for no change; `new` if the first value is zero. */
export function change(a: number, b: number): string {
  if (a === b) return '0';
  if (a === 0) return `+${number(b)}`;
  return percent(b / a);
}

/** A ratio as a change: 1.05 is `+5.00 %`. */
export function percent(ratio: number): string {
  const p = (ratio - 1) * 100;
  const size = Math.abs(p);
  const digits = size >= 100 ? 0 : size >= 0.01 || size === 0 ? 2 : 4;
  return `${p > 0 ? '+' : ''}${p.toFixed(digits)} %`;
}

/** A count with its noun: `1 kernel`, `2 kernels`. */
export const plural = (n: number, one: string, more = `${one}s`): string =>
  `${number(n)} ${n === 1 ? one : more}`;
