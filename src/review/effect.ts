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
  /** '' where a side cannot read the file, or a phase of it fails: the row then stands for all its kernels. */
  readonly kernel: string;
  /** The shortest name that tells it from other kernels. */
  readonly label: string;
  readonly effect: KernelEffect | null;
  /** Whether its code, what that means, or a measure of it is another than before. */
  readonly changed: boolean;
  /** By measure; null where nothing tells it, or a side is wrong. */
  readonly readings: readonly (Reading | null)[];
  /** By how much it became worse by the measure by which it did most; 0 if by none. */
  readonly severity: number;
  /** What is wrong with it at the base, and at the head; '' if nothing is known to be. */
  readonly wrong: Pair<string>;
}

/** A measure over all kernels whose code changed. */
export interface Total {
  readonly measure: Measure;
  /** Sum of the values, or mean of percentages, at base and head; null if nothing was measured. */
  readonly values: Pair<number> | null;
  /** Kernels that became worse, and better. */
  readonly worse: number;
  readonly better: number;
  /** How many of the values are of another metric that stands for it. */
  readonly estimates: number;
  readonly measured: number;
  /** The row that became worse by most; null if none did. */
  readonly worst: Row | null;
}

/** What was found of kernels. */
export interface Effect extends Chosen {
  readonly measures: readonly Measure[];
  readonly results: readonly { readonly cell: Cell; readonly result: ModuleEffect }[];
  /** Every kernel of every comparison, the worst first. */
  readonly rows: readonly Row[];
  readonly totals: readonly Total[];
}

/** Order of severity from which on a change is not taken for rounding. */
const ROUNDING = 1e-9;

/** The rows of cells, and what they amount to. What is only allowed counts for nothing but the change that allows it. */
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
  // How fast and how large code is that does something else says nothing.
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

/** A message of several lines in one. */
const oneLine = (text: string): string => text.trim().replace(/\s*\n\s*/g, '; ');

/** Wrong kernels come first, then those that became worse by most; then by name and plan. */
function worstFirst(x: Row, y: Row): number {
  const rank = (r: Row): number => (r.wrong[1] !== '' ? (r.wrong[0] === '' ? 2 : 1) : 0);
  return (
    rank(y) - rank(x) ||
    // Infinite in both is the same.
    (x.severity === y.severity ? 0 : y.severity - x.severity) ||
    compare(x.label, y.label) ||
    compare(x.comparison.name, y.comparison.name)
  );
}

const compare = (x: string, y: string): number => (x < y ? -1 : x > y ? 1 : 0);

/**
 * The shortest names that tell kernels apart: the kernel's, with its module's, or with the file. Versions of one module for several
 * targets have the same name.
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
    // Values of two metrics do not add up: those that tell it themselves count, if there are any.
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

/** How many kernels rows are of, versions of one for several targets counting as one. */
export const kernelsOf = (rows: readonly Row[]): number => new Set(rows.map((r) => r.label)).size;

/** A kernel by one of its rows, with its other rows. */
export interface OneKernel {
  readonly row: Row;
  readonly also: readonly Row[];
}

/** Each kernel once, by the first of its rows. */
export function oneEach(rows: readonly Row[]): OneKernel[] {
  const out = new Map<string, { row: Row; also: Row[] }>();
  for (const row of rows) {
    const known = out.get(row.label);
    if (known === undefined) out.set(row.label, { row, also: [] });
    else known.also.push(row);
  }
  return [...out.values()];
}

/** The measure by which a row became worse by most, among those that rank; null if it did by none. */
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
