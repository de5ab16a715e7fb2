import type { Metric } from '../lab/metrics.ts';
import { metricOf } from '../lab/metrics.ts';
import type { KernelEffect } from '../lab/pair-effects.ts';
import type { Pair } from '../lab/pairs.ts';

/** A property of kernels that a reviewer asks for, and the metrics that tell it. */
export interface Measure {
  readonly title: string;
  /** The metrics of which the sum tells it, and those that stand for it where they are absent; none: nothing does. */
  readonly metrics: readonly string[];
  readonly instead: readonly string[];
  readonly better: Metric['better'];
  /** Unit behind a value; '' for a plain count. */
  readonly unit: string;
  /**
   * Whether kernels are ranked by it. Registers are not: they are allocated in steps, so that a few more or less often change
   * nothing, and where they do, occupancy or spills tell.
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
 * The measures of a review, in display order. The first decides whether a kernel was helped.
 *
 * @param by the metric that decides instead of executed instructions
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
  /** How much worse it became, as a part of what it was; below 0: better. Infinite from 0. */
  readonly worse: number;
  /** Whether another metric stands for it. */
  readonly estimate: boolean;
}

/** What a measure says of a kernel; null if nothing tells it. */
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

/** Is this a percentage, of which the mean is a total? */
export const isShare = (m: Measure): boolean => metricOf(m.metrics[0])?.unit === '%';
