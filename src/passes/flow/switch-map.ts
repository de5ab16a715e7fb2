import type { Leaf, Switch } from '../../analysis/flow/switches.ts';
import { type Interval, type IntervalSet, meet, shifted } from '../../analysis/values/interval-sets.ts';

/** Consecutive values with one target, and the fraction of all executions that they account for. */
export interface Case extends Interval {
  readonly leaf: Leaf;
  readonly weight: number;
}

/**
 * A switch as cases in ascending order, with all other values leading to `other`. Positions are counted from the least signed or the
 * least unsigned number: comparisons use that order, and the range of a jump table is an interval in it.
 */
export class SwitchMap {
  readonly width: number;
  readonly signed: boolean;
  readonly cases: readonly Case[];
  readonly other: Leaf;
  /** Least and greatest possible value. */
  readonly least: bigint;
  readonly most: bigint;
  /** By case: weight of the values below it that lead to `other`; one more for those above all cases. */
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
   * The map of a switch. Without known frequencies, each case has the same weight, and all values that lead to
   * `other` together the weight of one case. `other` is where most values lead.
   * @param possible the possible values of the selector
   * @param tableEntries entries of the largest jump table: the order in which all cases fit into one is preferred; if both or neither
   * do, the order with fewer runs of values
   * @param share fraction of executions with a leaf's values; null: unknown
   * @returns null if no value is possible
   */
  static of(
    s: Switch,
    possible: IntervalSet,
    tableEntries: number,
    share: ((leaf: Leaf) => number) | null = null,
  ): SwitchMap | null {
    const half = 1n << BigInt(s.width - 1);
    const sets = s.leaves.map((leaf) => ({ leaf, values: meet(leaf.values, possible) }));
    const unsigned = runsOf(sets);
    const signed = runsOf(sets.map(({ leaf, values }) => ({ leaf, values: shifted(values, half, s.width) })));
    if (unsigned.length === 0) return null;
    const size = new Map<Leaf, bigint>();
    for (const { low, high, leaf } of unsigned) size.set(leaf, (size.get(leaf) ?? 0n) + high - low + 1n);
    let other = unsigned[0].leaf;
    for (const [leaf, n] of size) if (n > size.get(other)!) other = leaf;
    const [signedFits, fits] = [signed, unsigned].map((runs) => rangeOf(runs, other) <= tableEntries);
    const bySign = signedFits === fits ? signed.length <= unsigned.length : signedFits;
    return new SwitchMap(s.width, bySign, bySign ? signed : unsigned, other, share);
  }

  /** The value at a position of the order. */
  valueAt(place: bigint): bigint {
    return BigInt.asUintN(this.width, place - this.bias);
  }

  /** The position of a value in the order. */
  placeOf(value: bigint): bigint {
    return BigInt.asUintN(this.width, value + this.bias);
  }

  /** Positions of values; values that are adjacent across the end of the order become two intervals. */
  placesOf(values: IntervalSet): IntervalSet {
    return shifted(values, this.bias, this.width);
  }

  /** Weight of some values. */
  weightOf(values: IntervalSet): number {
    let sum = 0;
    for (const { low, high } of this.placesOf(values))
      sum += this.weightBelow(high + 1n) - this.weightBelow(low);
    return sum;
  }

  /** Weight of the values below a position; if it divides a run of values, they share its weight equally. */
  private weightBelow(place: bigint): number {
    const { starts, sums } = this.steps;
    let low = 0;
    let high = starts.length - 1;
    if (place <= starts[0]) return 0;
    if (place >= starts[high]) return sums[high];
    // The last start that is not above the position.
    while (high - low > 1) {
      const mid = (low + high) >> 1;
      if (starts[mid] <= place) low = mid;
      else high = mid;
    }
    const share = Number(place - starts[low]) / Number(starts[high] - starts[low]);
    return sums[low] + share * (sums[high] - sums[low]);
  }

  /** Starts of cases and gaps, the end after the last, and the total weight below each. */
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

/** Values from the first case to the last one. */
function rangeOf(runs: readonly Run[], other: Leaf): bigint {
  const cases = runs.filter((r) => r.leaf !== other);
  return cases.length === 0 ? 0n : cases[cases.length - 1].high - cases[0].low + 1n;
}

/** Merges adjacent values of one leaf; impossible values join the longer of the adjacent runs. */
function runsOf(sets: readonly { readonly leaf: Leaf; readonly values: IntervalSet }[]): Run[] {
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
