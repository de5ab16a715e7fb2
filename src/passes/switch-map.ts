import type { Leaf, Switch } from '../analysis/switches.ts';
import { type Interval, meet, shifted, type ValueSet } from '../analysis/value-sets.ts';

/** Consecutive values that lead to one place, and how often they come, of all that comes. */
export interface Case extends Interval {
  readonly leaf: Leaf;
  readonly weight: number;
}

/**
 * A switch as cases in ascending order, all other values leading to `other`. Values are counted from the least signed or the least
 * unsigned number, whichever makes fewer cases: that order is the one in which comparisons see them.
 */
export class SwitchMap {
  readonly width: number;
  readonly signed: boolean;
  readonly cases: readonly Case[];
  readonly other: Leaf;
  /** Least and greatest value that can come. */
  readonly least: bigint;
  readonly most: bigint;
  /** By case: share of the values below it that lead to `other`; one more for those above all. */
  readonly gaps: readonly number[];
  private readonly bias: bigint;
  private readonly steps: { readonly starts: readonly bigint[]; readonly sums: readonly number[] };

  private constructor(
    width: number,
    signed: boolean,
    runs: readonly Run[],
    other: Leaf,
    share: ((leaf: Leaf) => number) | null,
  ) {
    this.width = width;
    this.signed = signed;
    this.bias = signed ? 1n << BigInt(width - 1) : 0n;
    this.other = other;
    this.least = runs[0].low;
    this.most = runs[runs.length - 1].high;
    const count = new Map<Leaf, number>();
    for (const { leaf } of runs) count.set(leaf, (count.get(leaf) ?? 0) + 1);
    const gapCount = count.get(other)!;
    // Each case is as likely as any other, and as all other values together; see `of`.
    const equal = 1 / (runs.length - gapCount + 1);
    const weight = (leaf: Leaf): number =>
      share === null ? (leaf === other ? equal / gapCount : equal) : share(leaf) / count.get(leaf)!;
    const cases: Case[] = [];
    const gaps: number[] = [0];
    for (const { low, high, leaf } of runs)
      if (leaf === other) gaps[cases.length] = weight(leaf);
      else {
        cases.push({ low, high, leaf, weight: weight(leaf) });
        gaps.push(0);
      }
    this.cases = cases;
    this.gaps = gaps;
    this.steps = this.stepsOf();
  }

  /**
   * The map of a switch. Where nothing is known of how often a value comes, each case counts the same, and all that lead to `other` as
   * much as one. `other` is where most values lead.
   * @param possible what the selector can hold
   * @param share how often a leaf's values come, of all that comes; null: nobody knows
   * @returns null where nothing can come at all
   */
  static of(s: Switch, possible: ValueSet, share: ((leaf: Leaf) => number) | null = null): SwitchMap | null {
    const half = 1n << BigInt(s.width - 1);
    const sets = s.leaves.map((leaf) => ({ leaf, values: meet(leaf.values, possible) }));
    const unsigned = runsOf(sets);
    const signed = runsOf(sets.map(({ leaf, values }) => ({ leaf, values: shifted(values, half, s.width) })));
    if (unsigned.length === 0) return null;
    const bySign = signed.length <= unsigned.length;
    const runs = bySign ? signed : unsigned;
    const size = new Map<Leaf, bigint>();
    for (const { low, high, leaf } of runs) size.set(leaf, (size.get(leaf) ?? 0n) + high - low + 1n);
    let other = runs[0].leaf;
    for (const [leaf, n] of size) if (n > size.get(other)!) other = leaf;
    return new SwitchMap(s.width, bySign, runs, other, share);
  }

  /** The value that stands at a place of the order. */
  valueAt(place: bigint): bigint {
    return BigInt.asUintN(this.width, place - this.bias);
  }

  /** The place of a value in the order. */
  placeOf(value: bigint): bigint {
    return BigInt.asUintN(this.width, value + this.bias);
  }

  /** Places of values; where they are neighbours across the end of the order, two intervals. */
  placesOf(values: ValueSet): ValueSet {
    return shifted(values, this.bias, this.width);
  }

  /** How often one of the values comes. */
  weightOf(values: ValueSet): number {
    let sum = 0;
    for (const { low, high } of this.placesOf(values))
      sum += this.weightBelow(high + 1n) - this.weightBelow(low);
    return sum;
  }

  /** How often a value comes that stands below a place; where that cuts through a run of values, they share its weight. */
  private weightBelow(place: bigint): number {
    const { starts, sums } = this.steps;
    let low = 0;
    let high = starts.length - 1;
    if (place <= starts[0]) return 0;
    if (place >= starts[high]) return sums[high];
    // The last start that is not above the place.
    while (high - low > 1) {
      const mid = (low + high) >> 1;
      if (starts[mid] <= place) low = mid;
      else high = mid;
    }
    const share = Number(place - starts[low]) / Number(starts[high] - starts[low]);
    return sums[low] + share * (sums[high] - sums[low]);
  }

  /** Where cases and gaps begin, the end behind the last, and the weight of all that is below each. */
  private stepsOf(): { readonly starts: readonly bigint[]; readonly sums: readonly number[] } {
    const starts: bigint[] = [];
    const sums: number[] = [];
    let sum = 0;
    let from = this.least;
    const step = (end: bigint, weight: number): void => {
      if (from > end) return;
      starts.push(from);
      sums.push(sum);
      sum += weight;
      from = end + 1n;
    };
    this.cases.forEach(({ low, high, weight }, k) => {
      step(low - 1n, this.gaps[k]);
      step(high, weight);
    });
    step(this.most, this.gaps[this.cases.length]);
    starts.push(from);
    sums.push(sum);
    return { starts, sums };
  }
}

interface Run extends Interval {
  readonly leaf: Leaf;
}

/** Neighbouring values of one leaf together; values that never come go with the longer run of those beside them. */
function runsOf(sets: readonly { readonly leaf: Leaf; readonly values: ValueSet }[]): Run[] {
  const all = sets
    .flatMap(({ leaf, values }) => values.map(({ low, high }) => ({ low, high, leaf })))
    .sort((a, b) => (a.low < b.low ? -1 : 1));
  const out: { low: bigint; high: bigint; leaf: Leaf }[] = [];
  for (const r of all) {
    const last = out[out.length - 1];
    if (last?.leaf === r.leaf) last.high = r.high;
    else {
      const takes = last !== undefined && last.high - last.low >= r.high - r.low;
      const low = last === undefined || takes ? r.low : last.high + 1n;
      if (takes) last.high = r.low - 1n;
      out.push({ ...r, low });
    }
  }
  return out;
}
