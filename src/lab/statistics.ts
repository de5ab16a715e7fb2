import { mulberry32 } from '../ir/random.ts';

/** A seeded generator of pseudo-random numbers in [0, 1). */
export function randomOf(seed: number): () => number {
  const next = mulberry32(seed);
  return () => next() / 2 ** 32;
}

/** The arithmetic mean; NaN for an empty list. */
export const mean = (xs: readonly number[]): number => xs.reduce((s, x) => s + x, 0) / xs.length;

/** The median; NaN for an empty list. */
export function median(xs: readonly number[]): number {
  const s = [...xs].sort((a, b) => a - b);
  const m = s.length >> 1;
  return s.length % 2 === 1 ? s[m] : (s[m - 1] + s[m]) / 2;
}

/** Geometric mean of ratios b / a over the pairs with both above zero; null if there are none. */
export function geometricMean(pairs: readonly (readonly [number, number])[]): number | null {
  let sum = 0;
  let n = 0;
  for (const [a, b] of pairs)
    if (a > 0 && b > 0) {
      sum += Math.log(b / a);
      n++;
    }
  return n === 0 ? null : Math.exp(sum / n);
}

/** A confidence interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Number of bootstrap resamples: enough for the ends of a 95 % interval to vary by a few per mille only. */
const DRAWS = 2000;

/** The 0.975 quantile of the standard normal distribution. */
const Z = 1.959964;

/** The 0.975 quantile of Student's t distribution, by its expansion in 1 / degrees of freedom (Abramowitz and Stegun, 26.7.5). */
export function student(degrees: number): number {
  const n = degrees;
  return (
    Z +
    (Z ** 3 + Z) / (4 * n) +
    (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / (96 * n ** 2) +
    (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / (384 * n ** 3)
  );
}

/**
 * The 95 % confidence interval of the mean of paired differences, by resampling pairs with replacement (percentile bootstrap; Efron,
 * "Bootstrap Methods: Another Look at the Jackknife", 1979). It is widened for small samples, for which it would be too narrow (Hesterberg,
 * "What Teachers Should Know About the Bootstrap", 2014). Fewer than three pairs give an infinite interval.
 *
 * @param differences one for each pair
 */
export function bootstrapMean(differences: readonly number[], seed: number): Interval {
  const n = differences.length;
  if (n < 3) return { low: -Infinity, high: Infinity };
  const random = randomOf(seed);
  const means = new Float64Array(DRAWS);
  for (let d = 0; d < DRAWS; d++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += differences[Math.floor(random() * n)];
    means[d] = sum / n;
  }
  means.sort();
  const middle = mean(differences);
  const wider = (Math.sqrt(n / (n - 1)) * student(n - 1)) / Z;
  return {
    low: middle + wider * (means[Math.floor(0.025 * (DRAWS - 1))] - middle),
    high: middle + wider * (means[Math.ceil(0.975 * (DRAWS - 1))] - middle),
  };
}

/**
 * Spearman's rank correlation: Pearson's coefficient of the ranks, where equal values share their mean rank. NaN if either list is
 * constant.
 */
export function spearman(xs: readonly number[], ys: readonly number[]): number {
  return pearson(ranks(xs), ranks(ys));
}

function ranks(xs: readonly number[]): number[] {
  const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b]);
  const out = new Array<number>(xs.length);
  for (let i = 0; i < order.length; ) {
    let j = i;
    while (j + 1 < order.length && xs[order[j + 1]] === xs[order[i]]) j++;
    for (let k = i; k <= j; k++) out[order[k]] = (i + j) / 2;
    i = j + 1;
  }
  return out;
}

function pearson(xs: readonly number[], ys: readonly number[]): number {
  const mx = mean(xs);
  const my = mean(ys);
  let xy = 0;
  let xx = 0;
  let yy = 0;
  for (let i = 0; i < xs.length; i++) {
    xy += (xs[i] - mx) * (ys[i] - my);
    xx += (xs[i] - mx) ** 2;
    yy += (ys[i] - my) ** 2;
  }
  return xy / Math.sqrt(xx * yy);
}
