/**
 * Abstract values for integers of 1 to 64 bits: the bits known to be zero or one, as two 32-bit words each, and the least and greatest
 * value, unsigned and signed, as doubles. Bounds beyond 2^53 are rounded outwards, so that they stay sound; known bits are always exact.
 *
 * This is a reduced product of abstract domains (Granger): `reduce` refines each part by the others. The known-bits domain is that of
 * Regehr and Duongsaa, "Deriving Abstract Transfer Functions for Analyzing Embedded Software" (LCTES 2006).
 *
 * One object holds many abstract values, in slots. All bits of a slot above its width are known zeros.
 */
export class Bounds {
  readonly zeroLow: Int32Array;
  readonly zeroHigh: Int32Array;
  readonly oneLow: Int32Array;
  readonly oneHigh: Int32Array;
  /** Least and greatest unsigned value; the least exceeds the greatest if no value is possible. */
  readonly least: Float64Array;
  readonly most: Float64Array;
  /** Least and greatest signed value. */
  readonly signedLeast: Float64Array;
  readonly signedMost: Float64Array;

  constructor(slots: number) {
    this.zeroLow = new Int32Array(slots);
    this.zeroHigh = new Int32Array(slots);
    this.oneLow = new Int32Array(slots);
    this.oneHigh = new Int32Array(slots);
    this.least = new Float64Array(slots).fill(1);
    this.most = new Float64Array(slots);
    this.signedLeast = new Float64Array(slots).fill(1);
    this.signedMost = new Float64Array(slots);
  }

  /** Is the slot bottom, the empty set of values? */
  isEmpty(i: number): boolean {
    return this.least[i] > this.most[i];
  }

  /** Sets the slot to top: any value of `width` bits. */
  setTop(i: number, width: number): void {
    this.zeroLow[i] = width >= 32 ? 0 : -1 << width;
    this.zeroHigh[i] = width <= 32 ? -1 : width === 64 ? 0 : -1 << (width - 32);
    this.oneLow[i] = 0;
    this.oneHigh[i] = 0;
    this.setRanges(i, 0, POWER[width] - 1, -POWER[width - 1], POWER[width - 1] - 1);
  }

  /** Sets the slot to a constant, given as words; bits above the width are ignored. */
  setConstant(i: number, width: number, low: number, high: number): void {
    this.setTop(i, width);
    this.oneLow[i] = low & ~this.zeroLow[i];
    this.oneHigh[i] = high & ~this.zeroHigh[i];
    this.zeroLow[i] = ~this.oneLow[i];
    this.zeroHigh[i] = ~this.oneHigh[i];
    reduce(this, i, width);
  }

  setRanges(i: number, least: number, most: number, signedLeast: number, signedMost: number): void {
    this.least[i] = least;
    this.most[i] = most;
    this.signedLeast[i] = signedLeast;
    this.signedMost[i] = signedMost;
  }

  setEmpty(i: number): void {
    this.setRanges(i, 1, 0, 1, 0);
  }

  copy(to: number, from: Bounds, at: number): void {
    this.zeroLow[to] = from.zeroLow[at];
    this.zeroHigh[to] = from.zeroHigh[at];
    this.oneLow[to] = from.oneLow[at];
    this.oneHigh[to] = from.oneHigh[at];
    this.setRanges(to, from.least[at], from.most[at], from.signedLeast[at], from.signedMost[at]);
  }

  same(i: number, from: Bounds, at: number): boolean {
    return (
      this.zeroLow[i] === from.zeroLow[at] &&
      this.zeroHigh[i] === from.zeroHigh[at] &&
      this.oneLow[i] === from.oneLow[at] &&
      this.oneHigh[i] === from.oneHigh[at] &&
      this.least[i] === from.least[at] &&
      this.most[i] === from.most[at] &&
      this.signedLeast[i] === from.signedLeast[at] &&
      this.signedMost[i] === from.signedMost[at]
    );
  }

  /** Are all bits known? */
  isConstant(i: number): boolean {
    return (this.zeroLow[i] | this.oneLow[i]) === -1 && (this.zeroHigh[i] | this.oneHigh[i]) === -1;
  }

  /** Joins a slot of another object into slot `i`: their least upper bound. */
  join(i: number, width: number, from: Bounds, at: number): void {
    if (from.isEmpty(at)) return;
    if (this.isEmpty(i)) {
      this.copy(i, from, at);
      return;
    }
    this.zeroLow[i] &= from.zeroLow[at];
    this.zeroHigh[i] &= from.zeroHigh[at];
    this.oneLow[i] &= from.oneLow[at];
    this.oneHigh[i] &= from.oneHigh[at];
    if (from.least[at] < this.least[i]) this.least[i] = from.least[at];
    if (from.most[at] > this.most[i]) this.most[i] = from.most[at];
    if (from.signedLeast[at] < this.signedLeast[i]) this.signedLeast[i] = from.signedLeast[at];
    if (from.signedMost[at] > this.signedMost[i]) this.signedMost[i] = from.signedMost[at];
    reduce(this, i, width);
  }

  /** Meets slot `i` with a slot of another object. @returns false if the intersection is empty; slot `i` is then unchanged */
  meet(i: number, width: number, from: Bounds, at: number): boolean {
    SAVED.copy(0, this, i);
    this.zeroLow[i] |= from.zeroLow[at];
    this.zeroHigh[i] |= from.zeroHigh[at];
    this.oneLow[i] |= from.oneLow[at];
    this.oneHigh[i] |= from.oneHigh[at];
    if (from.least[at] > this.least[i]) this.least[i] = from.least[at];
    if (from.most[at] < this.most[i]) this.most[i] = from.most[at];
    if (from.signedLeast[at] > this.signedLeast[i]) this.signedLeast[i] = from.signedLeast[at];
    if (from.signedMost[at] < this.signedMost[i]) this.signedMost[i] = from.signedMost[at];
    if (reduce(this, i, width)) return true;
    this.copy(i, SAVED, 0);
    return false;
  }

  /**
   * Widening: enlarges slot `i`, which has grown from the slot `at` of `old`, so that it can grow only a few more times. A bound that moved
   * jumps to the next limit of the signed or unsigned numbers; of the known bits, only those below the lowest changed bit are kept.
   */
  widen(i: number, width: number, old: Bounds, at: number): void {
    if (old.isEmpty(at)) return;
    const low = (old.zeroLow[at] ^ this.zeroLow[i]) | (old.oneLow[at] ^ this.oneLow[i]);
    const high = (old.zeroHigh[at] ^ this.zeroHigh[i]) | (old.oneHigh[at] ^ this.oneHigh[i]);
    const half = POWER[width - 1];
    const least = this.least[i] < old.least[at] ? 0 : this.least[i];
    let most = this.most[i];
    if (most > old.most[at]) most = most < half ? half - 1 : POWER[width] - 1;
    let signedLeast = this.signedLeast[i];
    if (signedLeast < old.signedLeast[at]) signedLeast = signedLeast >= 0 ? 0 : -half;
    let signedMost = this.signedMost[i];
    if (signedMost > old.signedMost[at]) signedMost = signedMost < 0 ? -1 : half - 1;
    // Masks of the bits below the lowest changed bit.
    const keepLow = low === 0 ? -1 : (low & -low) - 1;
    const keepHigh = low !== 0 ? 0 : high === 0 ? -1 : (high & -high) - 1;
    const zeroLow = this.zeroLow[i] & keepLow;
    const zeroHigh = this.zeroHigh[i] & keepHigh;
    const oneLow = this.oneLow[i] & keepLow;
    const oneHigh = this.oneHigh[i] & keepHigh;
    this.setTop(i, width);
    this.zeroLow[i] |= zeroLow;
    this.zeroHigh[i] |= zeroHigh;
    this.oneLow[i] = oneLow;
    this.oneHigh[i] = oneHigh;
    this.setRanges(i, least, most, signedLeast, signedMost);
    reduce(this, i, width);
  }
}

const SAVED = new Bounds(1);

/** 2^0 to 2^64. */
export const POWER: readonly number[] = Array.from({ length: 65 }, (_, k) => 2 ** k);

const EXACT = 2 ** 53;
const TWO32 = 2 ** 32;

/** A lower bound of the exact value that `x` is rounded from. */
export const down = (x: number): number => (Math.abs(x) < EXACT ? x : x - Math.abs(x) * 2 ** -52);
/** An upper bound of the exact value that `x` is rounded from. */
export const up = (x: number): number => (Math.abs(x) < EXACT ? x : x + Math.abs(x) * 2 ** -52);

/** The rounding error of a sum (Knuth's TwoSum): a + b = s + error. */
const error = (a: number, b: number, s: number): number => {
  const t = s - a;
  return a - (s - t) + (b - t);
};
/** a + b, rounded towards minus infinity. */
export function addDown(a: number, b: number): number {
  const s = a + b;
  return Math.abs(s) < EXACT || error(a, b, s) >= 0 ? s : down(s);
}
/** a + b, rounded towards plus infinity. */
export function addUp(a: number, b: number): number {
  const s = a + b;
  return Math.abs(s) < EXACT || error(a, b, s) <= 0 ? s : up(s);
}

/** The greatest double not above an unsigned number of two words. */
export const doubleBelow = (low: number, high: number): number =>
  (high >>> 0) * TWO32 + (high >>> 21 === 0 ? low >>> 0 : (low & ~0x7ff) >>> 0);
/** The least double not below an unsigned number of two words. */
export const doubleAbove = (low: number, high: number): number =>
  (high >>> 0) * TWO32 + (high >>> 21 === 0 || (low & 0x7ff) === 0 ? low >>> 0 : ((low | 0x7ff) >>> 0) + 1);

/** Low word of an integral double from 0 to 2^64 (which is taken for 2^64 - 1). */
export const lowWord = (x: number): number => (x >= POWER[64] ? -1 : (x - Math.floor(x / TWO32) * TWO32) | 0);
/** High word of such a double. */
export const highWord = (x: number): number => (x >= POWER[64] ? -1 : Math.floor(x / TWO32) | 0);

/** Low word of the mask of the bits below bit `k`. */
export const lowBelow = (k: number): number => (k >= 32 ? -1 : k <= 0 ? 0 : (1 << k) - 1);
/** High word of that mask. */
export const highBelow = (k: number): number => (k >= 64 ? -1 : k <= 32 ? 0 : (1 << (k - 32)) - 1);

/** The mask of the bits above the highest set bit of `x`. */
const above = (x: number): number => {
  const n = Math.clz32(x);
  return n === 32 ? -1 : n === 0 ? 0 : -1 << (32 - n);
};

/**
 * Reduces a slot: refines known bits, unsigned and signed bounds by each other.
 * @returns false if no value satisfies all of them; the slot is then bottom
 */
export function reduce(p: Bounds, i: number, width: number): boolean {
  let zl = p.zeroLow[i];
  let zh = p.zeroHigh[i];
  let ol = p.oneLow[i];
  let oh = p.oneHigh[i];
  let least = p.least[i];
  let most = p.most[i];
  let signedLeast = p.signedLeast[i];
  let signedMost = p.signedMost[i];
  const size = POWER[width];
  const half = POWER[width - 1];

  const fromOnes = doubleBelow(ol, oh);
  if (fromOnes > least) least = fromOnes;
  const fromZeros = doubleAbove(~zl, ~zh);
  if (fromZeros < most) most = fromZeros;
  const narrow = width <= 32;
  const sign = narrow ? 1 << (width - 1) : 1 << (width - 33);
  for (let round = 0; round < 2; round++) {
    const negative = ((narrow ? ol : oh) & sign) !== 0 || least >= half || signedMost < 0;
    const positive = ((narrow ? zl : zh) & sign) !== 0 || most < half || signedLeast >= 0;
    if (positive && !negative) {
      if (signedLeast > least) least = signedLeast;
      else if (least > signedLeast) signedLeast = least;
      if (signedMost < most) most = signedMost;
      else if (most < signedMost) signedMost = most;
      if (most > half) most = half;
      if (narrow) zl |= sign;
      else zh |= sign;
    } else if (negative && !positive) {
      const a = addDown(signedLeast, size);
      if (a > least) least = a;
      const b = addUp(signedMost, size);
      if (b < most) most = b;
      if (least < half) least = half;
      const c = addDown(least, -size);
      if (c > signedLeast) signedLeast = c;
      const d = addUp(most, -size);
      if (d < signedMost) signedMost = d;
      if (narrow) ol |= sign;
      else oh |= sign;
    } else if (positive) {
      // The sign would have to be both set and clear.
      p.setEmpty(i);
      return false;
    } else {
      const a = addDown(narrow ? doubleBelow(ol | sign, oh) : doubleBelow(ol, oh | sign), -size);
      if (a > signedLeast) signedLeast = a;
      const b = narrow ? doubleAbove(~zl & ~sign, ~zh) : doubleAbove(~zl, ~zh & ~sign);
      if (b < signedMost) signedMost = b;
    }
    if (least > most || signedLeast > signedMost) {
      p.setEmpty(i);
      return false;
    }
    // The common leading bits of the least and the greatest value are known.
    const ah = highWord(least);
    const al = lowWord(least);
    const dh = ah ^ highWord(most);
    const mh = above(dh);
    const ml = dh === 0 ? above(al ^ lowWord(most)) : 0;
    const before = zl | ol;
    const beforeHigh = zh | oh;
    zh |= ~ah & mh;
    oh |= ah & mh;
    zl |= ~al & ml;
    ol |= al & ml;
    if ((zl | ol) === before && (zh | oh) === beforeHigh) break;
    const x = doubleBelow(ol, oh);
    if (x > least) least = x;
    const y = doubleAbove(~zl, ~zh);
    if (y < most) most = y;
  }
  if ((zl & ol) !== 0 || (zh & oh) !== 0 || least > most) {
    p.setEmpty(i);
    return false;
  }
  p.zeroLow[i] = zl;
  p.zeroHigh[i] = zh;
  p.oneLow[i] = ol;
  p.oneHigh[i] = oh;
  p.least[i] = least;
  p.most[i] = most;
  p.signedLeast[i] = signedLeast;
  p.signedMost[i] = signedMost;
  return true;
}

/** Finishes a transfer function: clamps the contents of a slot, which may exceed the width, to valid bounds, and reduces them. */
export function finish(p: Bounds, i: number, width: number): void {
  if (width < 64) {
    const low = width >= 32 ? 0 : -1 << width;
    const high = width <= 32 ? -1 : -1 << (width - 32);
    p.zeroLow[i] |= low;
    p.oneLow[i] &= ~low;
    p.zeroHigh[i] |= high;
    p.oneHigh[i] &= ~high;
  }
  const half = POWER[width - 1];
  if (!(p.least[i] >= 0)) p.least[i] = 0;
  if (!(p.most[i] <= POWER[width] - 1)) p.most[i] = POWER[width] - 1;
  if (!(p.signedLeast[i] >= -half)) p.signedLeast[i] = -half;
  if (!(p.signedMost[i] <= half - 1)) p.signedMost[i] = half - 1;
  if (!reduce(p, i, width)) p.setTop(i, width);
}
