import { basename } from 'node:path';
import { stemOf } from '../lab/files.ts';
import type { KernelEffect, ModuleEffect } from '../lab/pair-effects.ts';
import type { Pair } from '../lab/pairs.ts';
import type { Cell } from './cells.ts';
import type { Chosen, Comparison } from './comparisons.ts';
import { isShare, type Measure, type Reading, readingOf } from './measures.ts';

/** One kernel in one comparison. */
export interface Row {
  readonly comparison: Comparison;
  readonly file: string;
  /** '' if a side cannot read the file or one of its phases fails; the row then stands for all kernels of the file. */
  readonly kernel: string;
  /** The shortest unique name. */
  readonly label: string;
  /** The measurements; null if a side failed. */
  readonly effect: KernelEffect | null;
  /** True if its code, the meaning of the code, or a measure changed. */
  readonly changed: boolean;
  /** The readings of all measures, in order; null if there is no value or a side is wrong. */
  readonly readings: readonly (Reading | null)[];
  /** The largest relative worsening by any ranking measure; 0 if there is none. */
  readonly severity: number;
  /** What is wrong with it at base and at head; '' if nothing is known to be wrong. */
  readonly wrong: Pair<string>;
}

/** A measure over all kernels that changed. */
export interface Total {
  readonly measure: Measure;
  /** Sum of the values, or mean for percentages, at base and head; null if nothing was measured. */
  readonly values: Pair<number> | null;
  /** Number of kernels that became worse, and better. */
  readonly worse: number;
  readonly better: number;
  /** Number of rows with a value of a fallback metric, and number of all rows with a value. */
  readonly estimates: number;
  readonly measured: number;
  /** The row with the largest worsening; null if none became worse. */
  readonly worst: Row | null;
}

/** The measured effect on kernels. */
export interface Effect extends Chosen {
  readonly measures: readonly Measure[];
  readonly results: readonly { readonly cell: Cell; readonly result: ModuleEffect }[];
  /** A row for each kernel of each comparison, the worst first. */
  readonly rows: readonly Row[];
  readonly totals: readonly Total[];
}

/** Smaller relative changes are attributed to rounding. */
const ROUNDING = 1e-9;

/** Computes rows and totals from the results of cells. Comparisons of kind `allowed` do not count in totals. */
export function effectOf(
  { comparisons, forbidden }: Chosen,
  results: readonly { readonly cell: Cell; readonly result: ModuleEffect }[],
  measures: readonly Measure[],
): Effect {
  const labels = labelsOf(results);
  const rows = results
    .flatMap(({ cell, result }): Row[] => {
      const comparison = comparisons[cell.comparison];
      const { file } = cell;
      const [base, head] = result.fault;
      if (base !== '' || head !== '')
        return [
          {
            comparison,
            file,
            kernel: '',
            label: stemOf(file),
            effect: null,
            changed: true,
            readings: measures.map(() => null),
            severity: 0,
            wrong: [oneLine(base), oneLine(head)],
          },
        ];
      return result.kernels.map((k) => rowOf(comparison, file, k, labels(file, k.kernel), measures));
    })
    .sort(worstFirst);
  const counted = rows.filter((r) => r.comparison.kind !== 'allowed');
  return { measures, comparisons, forbidden, results, rows, totals: totalsOf(counted, measures) };
}

function rowOf(
  comparison: Comparison,
  file: string,
  k: KernelEffect,
  label: string,
  measures: readonly Measure[],
): Row {
  const why = (i: 0 | 1): string => {
    const e = k.equal?.[i];
    return e === undefined || e.ok ? '' : oneLine(e.note);
  };
  const wrong = [why(0), why(1)] as const;
  // Measures of incorrect code are meaningless.
  const isRight = wrong.every((x) => x === '');
  const readings = measures.map((m) => (isRight ? readingOf(m, k.values) : null));
  const ranked = readings.flatMap((r, i) => (r !== null && measures[i].ranks ? [r.worse] : []));
  return {
    comparison,
    file,
    kernel: k.kernel,
    label,
    effect: k,
    changed: !k.same || k.meaning !== '' || readings.some((r) => r !== null && r.worse !== 0),
    readings,
    severity: Math.max(0, ...ranked.filter((w) => w > ROUNDING)),
    wrong,
  };
}

/** A message with line breaks replaced by semicolons. */
const oneLine = (text: string): string => text.trim().replace(/\s*\n\s*/g, '; ');

/** Sorts kernels that became wrong first, then those that are wrong on both sides, then by severity, name and plan. */
function worstFirst(x: Row, y: Row): number {
  const rank = (r: Row): number => (r.wrong[1] !== '' ? (r.wrong[0] === '' ? 2 : 1) : 0);
  return (
    rank(y) - rank(x) ||
    // The difference of two infinities would be NaN.
    (x.severity === y.severity ? 0 : y.severity - x.severity) ||
    compare(x.label, y.label) ||
    compare(x.comparison.name, y.comparison.name)
  );
}

const compare = (x: string, y: string): number => (x < y ? -1 : x > y ? 1 : 0);

/**
 * Gives each kernel a short unique name: its own, or one prefixed by the module's name or the file. Versions of one module for several
 * targets share a name.
 */
function labelsOf(
  results: readonly { readonly cell: Cell; readonly result: ModuleEffect }[],
): (file: string, kernel: string) => string {
  const stems = new Map<string, Set<string>>();
  for (const { cell, result } of results)
    for (const { kernel } of result.kernels)
      stems.set(kernel, (stems.get(kernel) ?? new Set()).add(stemOf(cell.file)));
  const folders = new Map<string, Set<string>>();
  for (const { cell } of results) {
    const key = basename(cell.file);
    folders.set(key, (folders.get(key) ?? new Set()).add(cell.file));
  }
  return (file, kernel) => {
    if (folders.get(basename(file))!.size > 1) return `${file}:${kernel}`;
    return stems.get(kernel)!.size > 1 ? `${stemOf(file)}:${kernel}` : kernel;
  };
}

function totalsOf(rows: readonly Row[], measures: readonly Measure[]): Total[] {
  return measures.map((measure, i): Total => {
    const known = rows.flatMap((r) => {
      const reading = r.readings[i];
      return reading === null || !r.changed ? [] : [{ r, reading }];
    });
    // Values of different metrics must not be added, so fallback values count only if there are no others.
    const exact = known.filter((k) => !k.reading.estimate);
    const summed = exact.length > 0 ? exact : known;
    const total = (side: 0 | 1): number => {
      const sum = summed.reduce((s, k) => s + k.reading.values[side], 0);
      return isShare(measure) ? Math.round((10 * sum) / summed.length) / 10 : sum;
    };
    const moved = (sign: 1 | -1) => known.filter((k) => sign * k.reading.worse > ROUNDING);
    const worst = moved(1).reduce(
      (most, k) => (most === null || k.reading.worse > most.reading.worse ? k : most),
      null as (typeof known)[number] | null,
    );
    return {
      measure,
      values: summed.length === 0 ? null : [total(0), total(1)],
      worse: kernelsOf(moved(1).map((k) => k.r)),
      better: kernelsOf(moved(-1).map((k) => k.r)),
      estimates: known.length - exact.length,
      measured: known.length,
      worst: worst?.r ?? null,
    };
  });
}

/** Number of distinct kernels in rows; versions of one kernel for several targets count as one. */
export const kernelsOf = (rows: readonly Row[]): number => new Set(rows.map((r) => r.label)).size;

/** A kernel, represented by one of its rows; `also` has the others. */
export interface OneKernel {
  readonly row: Row;
  readonly also: readonly Row[];
}

/**
 * Groups rows by kernel; the first row of each represents it.
 *
 * @param own rows that get an entry of their own, after the first of their kernel
 */
export function oneEach(rows: readonly Row[], own: ReadonlySet<Row> = new Set()): OneKernel[] {
  const out = new Map<string, { row: Row; also: Row[] }[]>();
  for (const row of rows) {
    const known = out.get(row.label);
    if (known === undefined) out.set(row.label, [{ row, also: [] }]);
    else if (own.has(row)) known.push({ row, also: [] });
    else known[0].also.push(row);
  }
  return [...out.values()].flat();
}

/** The largest worsening of a row by any measure, ranking or not; 0 if there is none. */
export const worsening = (row: Row): number =>
  Math.max(0, ...row.readings.flatMap((r) => (r !== null && r.worse > ROUNDING ? [r.worse] : [])));

/** The ranking measure with the largest worsening of a row; null if there is none. */
export function mainReading(
  row: Row,
  measures: readonly Measure[],
): { readonly measure: Measure; readonly reading: Reading } | null {
  for (const [i, measure] of measures.entries()) {
    const reading = row.readings[i];
    if (reading !== null && measure.ranks && row.severity > 0 && reading.worse === row.severity)
      return { measure, reading };
  }
  return null;
}
