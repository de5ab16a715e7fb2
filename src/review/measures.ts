import type { Metric } from '../lab/metrics.ts';
import { metricOf } from '../lab/metrics.ts';
import type { KernelEffect } from '../lab/pair-effects.ts';
import type { Pair } from '../lab/pairs.ts';

/** A property of kernels that matters to a reviewer, and the metrics that measure it. */
export interface Measure {
  readonly title: string;
  /** The metrics whose sum is the value. */
  readonly metrics: readonly string[];
  /** Fallback metrics if any of `metrics` is absent; empty: there is no fallback. */
  readonly instead: readonly string[];
  readonly better: Metric['better'];
  /** Unit, with a leading space, to append to a value; '' for a plain count. */
  readonly unit: string;
  /**
   * True if kernels are ranked by it. Registers are not used for ranking: they are allocated in steps, so that a few more or less often
   * change nothing; if they matter, occupancy or spills show it.
   */
  readonly ranks: boolean;
}

const EXECUTED: Measure = {
  title: 'executed instructions',
  metrics: ['warp-instructions'],
  instead: ['weighted'],
  better: 'less',
  unit: '',
  ranks: true,
};

const OTHERS: readonly Measure[] = [
  {
    title: 'code size',
    metrics: ['ptxas.code-bytes'],
    instead: ['code-bytes'],
    better: 'less',
    unit: ' bytes',
    ranks: true,
  },
  {
    title: 'registers',
    metrics: ['ptxas.registers'],
    instead: ['pressure.R'],
    better: 'less',
    unit: '',
    ranks: false,
  },
  {
    title: 'occupancy',
    metrics: ['ptxas.occupancy'],
    instead: ['occupancy'],
    better: 'more',
    unit: ' %',
    ranks: true,
  },
  {
    title: 'spills',
    metrics: ['ptxas.spill-stores', 'ptxas.spill-loads'],
    instead: [],
    better: 'less',
    unit: ' bytes',
    ranks: true,
  },
];

/**
 * The measures of a review, in display order. The first one decides whether a kernel is counted as hurt or helped.
 *
 * @param by metric that decides instead of executed instructions
 */
export const measuresOf = (by?: Metric): readonly Measure[] => [
  by === undefined
    ? EXECUTED
    : { title: by.name, metrics: [by.name], instead: [], better: by.better, unit: '', ranks: true },
  ...OTHERS,
];

/** A measure of one kernel at base and head. */
export interface Reading {
  readonly values: Pair<number>;
  /** The worsening relative to the base; below 0: better. Infinite if the base is 0. */
  readonly worse: number;
  /** True if the values are of fallback metrics. */
  readonly estimate: boolean;
}

/** The reading of a measure for a kernel; null if neither its metrics nor the fallback metrics have values. */
export function readingOf(m: Measure, values: KernelEffect['values']): Reading | null {
  for (const [names, estimate] of [
    [m.metrics, false],
    [m.instead, true],
  ] as const) {
    const pairs = names.map((n) => values[n]);
    if (pairs.length === 0 || pairs.some((p) => p === undefined)) continue;
    const sum = (i: 0 | 1) => pairs.reduce((s, p) => s + p[i], 0);
    const [a, b] = [sum(0), sum(1)];
    const more = m.better === 'less' ? b - a : a - b;
    return {
      values: [a, b],
      worse: more === 0 ? 0 : a === 0 ? more * Number.POSITIVE_INFINITY : more / a,
      estimate,
    };
  }
  return null;
}

/** True if a measure is a percentage, whose total is the mean. */
export const isShare = (m: Measure): boolean => metricOf(m.metrics[0])?.unit === '%';
