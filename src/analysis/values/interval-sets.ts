/** Values from `low` to `high`, inclusive, unsigned. */
export interface Interval {
  readonly low: bigint;
  readonly high: bigint;
}

/** A set of unsigned values of some width: intervals in ascending order that neither touch nor overlap. */
export type IntervalSet = readonly Interval[];

/** The empty set. */
export const NOTHING: IntervalSet = [];

/** All values of a width. */
export const everything = (width: number): IntervalSet => [{ low: 0n, high: (1n << BigInt(width)) - 1n }];

/**
 * The values from `low` up to `high` modulo 2^width; the range may wrap. All values if `high` comes just before
 * `low`.
 */
export function circular(low: bigint, high: bigint, width: number): IntervalSet {
  const a = BigInt.asUintN(width, low);
  const b = BigInt.asUintN(width, high);
  if (a <= b) return [{ low: a, high: b }];
  const top = (1n << BigInt(width)) - 1n;
  return b + 1n === a
    ? [{ low: 0n, high: top }]
    : [
        { low: 0n, high: b },
        { low: a, high: top },
      ];
}

/** Index of the first interval that ends at or above a value. */
function firstUpTo(a: IntervalSet, value: bigint): number {
  let low = 0;
  let high = a.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (a[mid].high < value) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** The intersection. Besides the size of the result, it costs the part of the larger set that the smaller one spans. */
export function meet(a: IntervalSet, b: IntervalSet): IntervalSet {
  if (a.length === 0 || b.length === 0) return NOTHING;
  const out: Interval[] = [];
  for (let i = firstUpTo(a, b[0].low), k = firstUpTo(b, a[0].low); i < a.length && k < b.length; ) {
    const low = a[i].low > b[k].low ? a[i].low : b[k].low;
    const high = a[i].high < b[k].high ? a[i].high : b[k].high;
    if (low <= high) out.push({ low, high });
    if (a[i].high < b[k].high) i++;
    else k++;
  }
  return out;
}

/** The values of `a` that are not in `b`: a copy of `a`, apart from what `b` spans. */
export function without(a: IntervalSet, b: IntervalSet): IntervalSet {
  if (a.length === 0 || b.length === 0) return a;
  const first = firstUpTo(a, b[0].low);
  const out = a.slice(0, first);
  let i = first;
  for (let k = 0, from: bigint | null = null; i < a.length; ) {
    const low = from ?? a[i].low;
    while (k < b.length && b[k].high < low) k++;
    if (k === b.length && from === null) break;
    if (k === b.length || b[k].low > a[i].high) {
      out.push({ low, high: a[i].high });
      from = null;
      i++;
      continue;
    }
    if (b[k].low > low) out.push({ low, high: b[k].low - 1n });
    if (b[k].high < a[i].high) from = b[k].high + 1n;
    else {
      from = null;
      i++;
    }
  }
  return i === a.length ? out : out.concat(a.slice(i));
}

/** The complement. */
export function complement(a: IntervalSet, width: number): IntervalSet {
  const out: Interval[] = [];
  let from = 0n;
  for (const { low, high } of a) {
    if (from < low) out.push({ low: from, high: low - 1n });
    from = high + 1n;
  }
  const top = (1n << BigInt(width)) - 1n;
  if (from <= top) out.push({ low: from, high: top });
  return out;
}

/** The union. */
export function union(...sets: readonly IntervalSet[]): IntervalSet {
  const filled = sets.filter((s) => s.length > 0);
  if (filled.length <= 1) return filled[0] ?? NOTHING;
  const all = filled.flat().sort((x, y) => (x.low < y.low ? -1 : x.low > y.low ? 1 : 0));
  const out: { low: bigint; high: bigint }[] = [];
  for (const { low, high } of all) {
    const last = out[out.length - 1];
    if (last !== undefined && low <= last.high + 1n) {
      if (high > last.high) last.high = high;
    } else out.push({ low, high });
  }
  return out;
}

/** Each value plus `by`, modulo 2^width. */
export const shifted = (a: IntervalSet, by: bigint, width: number): IntervalSet =>
  BigInt.asUintN(width, by) === 0n
    ? a
    : union(...a.map(({ low, high }) => circular(low + by, high + by, width)));

/** Number of values. */
export const sizeOf = (a: IntervalSet): bigint => a.reduce((n, { low, high }) => n + high - low + 1n, 0n);
