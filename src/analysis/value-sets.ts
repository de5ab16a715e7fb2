/** Values from `low` to `high`, inclusive, unsigned. */
export interface Interval {
  readonly low: bigint;
  readonly high: bigint;
}

/** A set of unsigned values of some width: intervals in ascending order that neither touch nor overlap. */
export type ValueSet = readonly Interval[];

export const NOTHING: ValueSet = [];

/** All values of a width. */
export const everything = (width: number): ValueSet => [{ low: 0n, high: (1n << BigInt(width)) - 1n }];

/**
 * The values from `low` up to `high` modulo 2^width; the range may wrap. All values if `high` comes just before
 * `low`.
 */
export function circular(low: bigint, high: bigint, width: number): ValueSet {
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

/** The intersection. */
export function meet(a: ValueSet, b: ValueSet): ValueSet {
  const out: Interval[] = [];
  for (let i = 0, k = 0; i < a.length && k < b.length; ) {
    const low = a[i].low > b[k].low ? a[i].low : b[k].low;
    const high = a[i].high < b[k].high ? a[i].high : b[k].high;
    if (low <= high) out.push({ low, high });
    if (a[i].high < b[k].high) i++;
    else k++;
  }
  return out;
}

/** The complement. */
export function complement(a: ValueSet, width: number): ValueSet {
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
export function union(...sets: readonly ValueSet[]): ValueSet {
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
export const shifted = (a: ValueSet, by: bigint, width: number): ValueSet =>
  BigInt.asUintN(width, by) === 0n
    ? a
    : union(...a.map(({ low, high }) => circular(low + by, high + by, width)));

/** Number of values. */
export const sizeOf = (a: ValueSet): bigint => a.reduce((n, { low, high }) => n + high - low + 1n, 0n);
