import { fileError, meantNote } from '../../ir/diagnostic.ts';
import { firstNames } from '../../ir/listed.ts';
import {
  canMeasure,
  type Known,
  type Metric,
  metricOf,
  metricsLike,
  shortMetric,
  type Values,
} from '../metrics.ts';
import { number } from '../render/table.ts';
import { geometricMean } from '../statistics.ts';

/** A limit on a metric: a value, or a change from the base in percent. */
interface Bound {
  readonly value: number;
  readonly relative: boolean;
}

/** A goal of a search: a bound that every kernel must meet, or a metric to optimize. */
export interface Goal {
  /** The goal as text, such as `registers<=64`. */
  readonly text: string;
  /** The name of the metric as the user wrote it. */
  readonly name: string;
  readonly metric: Metric;
  readonly bound: Bound | null;
}

/** A kernel under the base and under an arm. */
export interface KernelValues {
  readonly kernel: string;
  readonly base: Values;
  readonly values: Values;
}

const FORMS = 'a goal is registers<=64, code<=-10%, executed, cycles, occupancy>=50, or another metric';

const wrong = (message: string, ...notes: string[]): never => {
  throw fileError('', message, notes);
};

/**
 * The metric that a goal names.
 * @throws DiagnosticError if it does not exist, is not an exact metric of a kernel, or cannot be measured
 */
export function goalMetric(name: string, known: Known): Metric {
  const short = shortMetric(name, known);
  if (short !== undefined) return short;
  const metric = metricOf(name);
  if (metric === undefined) {
    return wrong(`there is no metric '${name}'`, ...meantNote([...metricsLike(name)]), FORMS);
  }
  if (metric.noisy || metric.of === 'module') wrong(`'${name}' is not an exact metric of a kernel`, FORMS);
  if (!canMeasure(metric, known))
    wrong(
      `'${name}' cannot be measured`,
      ...(metric.source === 'ptxas' || (metric.source === 'machine' && !known.ptxas)
        ? ['ptxas measures it: put ptxas on the PATH, or name it in ORRERY_PTXAS']
        : [
            'it needs a launch file in the folder of every kernel: `orrery run --help` shows one',
            '`executed` is estimated without one',
          ]),
    );
  return metric;
}

/**
 * Parses a goal: a metric or a short name (registers, code, executed, occupancy), optionally with a bound: `<=64`, `>=50`, or a change from
 * the base in percent, `<=-10%`.
 *
 * @throws DiagnosticError if it is malformed, or its metric cannot be measured
 */
export function goalOf(text: string, known: Known): Goal {
  const m = /^\s*([A-Za-z][\w.-]*?)\s*(?:(<=|>=|<|>|=)\s*([+-]?\d+(?:\.\d+)?)\s*(%?))?\s*$/.exec(text);
  if (m === null) return wrong(`'${text}' is not a goal`, FORMS);
  const [, name, sign, value, percent] = m;
  const metric = goalMetric(name, known);
  if (sign === undefined) return { text: name, name, metric, bound: null };
  const right = metric.better === 'less' ? '<=' : '>=';
  if (sign !== right)
    wrong(
      `'${text}' is not a goal: ${name} is better the ${metric.better}`,
      `write ${name}${right}${value}${percent}`,
    );
  return {
    text: `${name}${right}${value}${percent}`,
    name,
    metric,
    bound: { value: Number(value), relative: percent !== '' },
  };
}

/** The bound of a goal for one kernel, as a value of the metric. */
function limitOf({ metric, bound }: Goal & { readonly bound: Bound }, k: KernelValues): number {
  return bound.relative ? k.base[metric.name] * (1 + bound.value / 100) : bound.value;
}

/** How far a kernel misses the bound of a goal, relative to the bound; 0 if it meets it. */
function missOf(goal: Goal, k: KernelValues): number {
  const v = k.values[goal.metric.name];
  if (goal.bound === null || v === undefined) return 0;
  const limit = limitOf({ ...goal, bound: goal.bound }, k);
  const off = goal.metric.better === 'less' ? v - limit : limit - v;
  return Math.max(0, off) / Math.max(1, Math.abs(limit));
}

/** The kernels that miss the bound of a goal, the furthest first. */
export const missing = (goal: Goal, kernels: readonly KernelValues[]): readonly KernelValues[] =>
  kernels.filter((k) => missOf(goal, k) > 0).sort((a, b) => missOf(goal, b) - missOf(goal, a));

/**
 * The factor by which a metric changed over kernels; below 1 is better. It is the geometric mean; if no kernel has both values above zero,
 * it is the ratio of the sums plus one.
 */
export function costOf(metric: Metric, kernels: readonly KernelValues[]): number {
  const pairs = kernels.flatMap((k) => {
    const [a, b] = [k.base[metric.name], k.values[metric.name]];
    return a === undefined || b === undefined ? [] : [[a, b] as const];
  });
  const sum = (i: 0 | 1) => pairs.reduce((s, p) => s + p[i], 0);
  const ratio = geometricMean(pairs) ?? (1 + sum(1)) / (1 + sum(0));
  return metric.better === 'less' ? ratio : 1 / ratio;
}

/** The score of an arm, compared lexicographically, smaller being better: the total miss of all bounds, then the costs by importance. */
export type Score = readonly number[];

/** The score of kernels by goals; `executed` decides between arms that are equal by the goals. */
export function scoreOf(goals: readonly Goal[], executed: Metric, kernels: readonly KernelValues[]): Score {
  const missed = goals.reduce((s, g) => s + kernels.reduce((t, k) => t + missOf(g, k), 0), 0);
  const costs = goals.filter((g) => g.bound === null).map((g) => costOf(g.metric, kernels));
  return [missed, ...costs, costOf(executed, kernels)];
}

/** Smaller differences are attributed to rounding. */
const SMALL = 1e-9;

/** True if score `a` is better than `b`. */
export function isBetter(a: Score, b: Score): boolean {
  const at = a.findIndex((v, i) => Math.abs(v - b[i]) > SMALL);
  return at >= 0 && a[at] < b[at];
}

/** True if score `a` is better than `b` by the goals alone, without the tie-breaker. */
export const helps = (a: Score, b: Score): boolean => isBetter(a.slice(0, -1), b.slice(0, -1));

/** True if all bounds are met and no goal asks for more. */
export const isEnough = (goals: readonly Goal[], score: Score): boolean =>
  score[0] === 0 && goals.every((g) => g.bound !== null);

/** The outcome of a goal, as text. */
export function outcomeText(goal: Goal, kernels: readonly KernelValues[]): string {
  if (goal.bound === null) {
    const cost = costOf(goal.metric, kernels);
    const ratio = goal.metric.better === 'less' ? cost : 1 / cost;
    const off = 100 * (ratio - 1);
    return Math.abs(off) < 0.005 ? 'unchanged' : `${off > 0 ? '+' : ''}${off.toFixed(2)} % (geometric mean)`;
  }
  const out = missing(goal, kernels);
  if (out.length === 0) return 'reached';
  const values = out.map(
    (k) =>
      `${k.kernel} has ${number(k.values[goal.metric.name])} (${number(k.base[goal.metric.name])} before)`,
  );
  return `NOT reached by ${out.length} of ${kernels.length}: ${firstNames(values, 3)}`;
}
