import { addDown, addUp, type Bounds, down, finish, highBelow, lowBelow, POWER, up } from './bounds.ts';
import { umulh } from './ints.ts';

/*
 * Abstract transfer functions of arithmetic over `Bounds`: slot `d` gets sound bounds of the result for operands within the bounds of slots
 * `a` and `b`, all `width` bits wide. `d` must differ from both.
 */

/** Whether the unsigned sum of `x` and another word has overflowed to `sum`. */
const carries = (sum: number, x: number): boolean => sum >>> 0 < x >>> 0;

/**
 * Known bits of a + b + carry, from the largest and the smallest sum: if both have the carry that known bits of the
 * operands imply, the bit of the sum is known (LLVM's KnownBits::computeForAddCarry).
 */
function sumBits(
  p: Bounds,
  d: number,
  a: number,
  [zl, zh, ol, oh]: readonly [number, number, number, number],
  carry: 0 | 1,
): void {
  const azl = p.zeroLow[a];
  const azh = p.zeroHigh[a];
  const aol = p.oneLow[a];
  const aoh = p.oneHigh[a];
  let mostLow = (~azl + ~zl) | 0;
  let c = carries(mostLow, ~azl) ? 1 : 0;
  mostLow = (mostLow + carry) | 0;
  if (carry === 1 && mostLow === 0) c = 1;
  const mostHigh = (~azh + ~zh + c) | 0;
  let leastLow = (aol + ol) | 0;
  c = carries(leastLow, aol) ? 1 : 0;
  leastLow = (leastLow + carry) | 0;
  if (carry === 1 && leastLow === 0) c = 1;
  const leastHigh = (aoh + oh + c) | 0;
  // Carry into each bit of the largest sum, and of the smallest.
  const noCarryLow = ~(mostLow ^ ~azl ^ ~zl);
  const noCarryHigh = ~(mostHigh ^ ~azh ^ ~zh);
  const carryLow = leastLow ^ aol ^ ol;
  const carryHigh = leastHigh ^ aoh ^ oh;
  const knownLow = (azl | aol) & (zl | ol) & (noCarryLow | carryLow);
  const knownHigh = (azh | aoh) & (zh | oh) & (noCarryHigh | carryHigh);
  p.zeroLow[d] = ~mostLow & knownLow;
  p.zeroHigh[d] = ~mostHigh & knownHigh;
  p.oneLow[d] = leastLow & knownLow;
  p.oneHigh[d] = leastHigh & knownHigh;
}

/** Sets the ranges of a sum or difference: as given if no value wraps, shifted by 2^width if all values wrap, otherwise unbounded. */
function wrapped(
  p: Bounds,
  d: number,
  width: number,
  least: number,
  most: number,
  sl: number,
  sm: number,
): void {
  const size = POWER[width];
  const half = POWER[width - 1];
  if (least < 0 && most < 0) {
    least = addDown(least, size);
    most = addUp(most, size);
  } else if (least >= size) {
    least = addDown(least, -size);
    most = addUp(most, -size);
  } else if (least < 0 || most >= size) {
    least = 0;
    most = size - 1;
  }
  if (sm < -half) {
    sl = addDown(sl, size);
    sm = addUp(sm, size);
  } else if (sl >= half) {
    sl = addDown(sl, -size);
    sm = addUp(sm, -size);
  } else if (sl < -half || sm >= half) {
    sl = -half;
    sm = half - 1;
  }
  p.setRanges(d, least, most, sl, sm);
  finish(p, d, width);
}

/** a + b. */
export function add(p: Bounds, d: number, a: number, b: number, width: number): void {
  sumBits(p, d, a, [p.zeroLow[b], p.zeroHigh[b], p.oneLow[b], p.oneHigh[b]], 0);
  wrapped(
    p,
    d,
    width,
    addDown(p.least[a], p.least[b]),
    addUp(p.most[a], p.most[b]),
    addDown(p.signedLeast[a], p.signedLeast[b]),
    addUp(p.signedMost[a], p.signedMost[b]),
  );
}

/** a - b. */
export function sub(p: Bounds, d: number, a: number, b: number, width: number): void {
  // a - b = a + ~b + 1
  sumBits(p, d, a, [p.oneLow[b], p.oneHigh[b], p.zeroLow[b], p.zeroHigh[b]], 1);
  wrapped(
    p,
    d,
    width,
    addDown(p.least[a], -p.most[b]),
    addUp(p.most[a], -p.least[b]),
    addDown(p.signedLeast[a], -p.signedMost[b]),
    addUp(p.signedMost[a], -p.signedLeast[b]),
  );
}

/** Number of trailing ones of a mask of two words; at most `width`. */
function trailing(low: number, high: number, width: number): number {
  const n = low !== -1 ? 31 - Math.clz32(~low & -~low) : high !== -1 ? 63 - Math.clz32(~high & -~high) : 64;
  return Math.min(n, width);
}

/** a * b, modulo 2^width. */
export function mul(p: Bounds, d: number, a: number, b: number, width: number): void {
  const za = trailing(p.zeroLow[a], p.zeroHigh[a], width);
  const zb = trailing(p.zeroLow[b], p.zeroHigh[b], width);
  const ka = trailing(p.zeroLow[a] | p.oneLow[a], p.zeroHigh[a] | p.oneHigh[a], width);
  const kb = trailing(p.zeroLow[b] | p.oneLow[b], p.zeroHigh[b] | p.oneHigh[b], width);
  // a = 2^za * x and b = 2^zb * y: x has ka - za known low bits and y has kb - zb, so x * y has as many as the lesser of them.
  const known = Math.min(width, Math.min(ka - za, kb - zb) + za + zb);
  const al = p.oneLow[a] & lowBelow(ka);
  const ah = p.oneHigh[a] & highBelow(ka);
  const bl = p.oneLow[b] & lowBelow(kb);
  const bh = p.oneHigh[b] & highBelow(kb);
  const low = Math.imul(al, bl);
  const high = (umulh(al, bl) + Math.imul(al, bh) + Math.imul(ah, bl)) | 0;
  const least = down(p.least[a] * p.least[b]);
  const most = up(p.most[a] * p.most[b]);
  const [sl, sm] = products(p, a, b);
  const half = POWER[width - 1];
  const fits = most < POWER[width];
  const signedFits = sl >= -half && sm < half;
  p.setTop(d, width);
  p.zeroLow[d] |= ~low & lowBelow(known);
  p.zeroHigh[d] |= ~high & highBelow(known);
  p.oneLow[d] = low & lowBelow(known);
  p.oneHigh[d] = high & highBelow(known);
  if (fits) {
    p.least[d] = least;
    p.most[d] = most;
  }
  if (signedFits) {
    p.signedLeast[d] = sl;
    p.signedMost[d] = sm;
  }
  finish(p, d, width);
}

/** Least and greatest signed product. */
function products(p: Bounds, a: number, b: number): [number, number] {
  const w = p.signedLeast[a] * p.signedLeast[b];
  const x = p.signedLeast[a] * p.signedMost[b];
  const y = p.signedMost[a] * p.signedLeast[b];
  const z = p.signedMost[a] * p.signedMost[b];
  return [down(Math.min(w, x, y, z)), up(Math.max(w, x, y, z))];
}

/** High half of the unsigned product. */
export function umulhBounds(p: Bounds, d: number, a: number, b: number, width: number): void {
  const least = Math.floor(down(p.least[a] * p.least[b]) / POWER[width]);
  const most = Math.floor(up(p.most[a] * p.most[b]) / POWER[width]);
  p.setTop(d, width);
  p.least[d] = least;
  p.most[d] = most;
  finish(p, d, width);
}

/** High half of the signed product. */
export function smulhBounds(p: Bounds, d: number, a: number, b: number, width: number): void {
  const [sl, sm] = products(p, a, b);
  p.setTop(d, width);
  p.signedLeast[d] = Math.floor(sl / POWER[width]);
  p.signedMost[d] = Math.floor(sm / POWER[width]);
  finish(p, d, width);
}

/** Quotients below 2^50 are exact after rounding down; beyond, the division itself may have rounded. */
const LARGE = 2 ** 50;
const quotientDown = (x: number, y: number): number => Math.floor(x < LARGE ? x / y : down(x / y) - 1);
const quotientUp = (x: number, y: number): number => Math.floor(x < LARGE ? x / y : up(x / y) + 1);

/** Unsigned quotient; all ones if the divisor is zero. */
export function udiv(p: Bounds, d: number, a: number, b: number, width: number): void {
  const byZero = p.least[b] === 0;
  const least = p.most[b] === 0 ? POWER[width] - 1 : Math.max(0, quotientDown(p.least[a], p.most[b]));
  const most = byZero ? POWER[width] - 1 : quotientUp(p.most[a], p.least[b]);
  p.setTop(d, width);
  p.least[d] = width === 64 ? down(least) : least;
  p.most[d] = most;
  finish(p, d, width);
}

/** Unsigned remainder; the dividend if the divisor is zero. */
export function urem(p: Bounds, d: number, a: number, b: number, width: number): void {
  const whole = p.most[a] < p.least[b];
  const least = whole || p.most[b] === 0 ? p.least[a] : 0;
  const most = p.least[b] === 0 ? p.most[a] : Math.min(p.most[a], addUp(p.most[b], -1));
  p.setTop(d, width);
  p.least[d] = least;
  p.most[d] = most;
  finish(p, d, width);
}

/** Signed quotient, truncated; -1 if the divisor is zero; the least number divided by -1 is itself. */
export function sdiv(p: Bounds, d: number, a: number, b: number, width: number): void {
  const half = POWER[width - 1];
  const a1 = p.signedLeast[a];
  const a2 = p.signedMost[a];
  const b1 = p.signedLeast[b];
  const b2 = p.signedMost[b];
  let sl = Number.POSITIVE_INFINITY;
  let sm = Number.NEGATIVE_INFINITY;
  const corner = (x: number, y: number): void => {
    const q = x / y;
    // Truncation is monotone, so quotients of the ends suffice. Large quotients may have been rounded by the division.
    const low = Math.abs(x) < LARGE ? Math.trunc(q) : Math.floor(down(q) - 1);
    const high = Math.abs(x) < LARGE ? Math.trunc(q) : Math.ceil(up(q) + 1);
    if (low < sl) sl = low;
    if (high > sm) sm = high;
  };
  const part = (from: number, to: number): void => {
    if (from > to) return;
    for (const x of [a1, a2]) for (const y of [from, to]) corner(x, y);
  };
  part(Math.max(1, b1), b2);
  part(b1, Math.min(-1, b2));
  if (b1 <= 0 && b2 >= 0) {
    sl = Math.min(sl, -1);
    sm = Math.max(sm, -1);
  }
  p.setTop(d, width);
  if (sm < half) {
    p.signedLeast[d] = sl;
    p.signedMost[d] = sm;
  }
  finish(p, d, width);
}

/** Signed remainder with the sign of the dividend; the dividend if the divisor is zero. */
export function srem(p: Bounds, d: number, a: number, b: number, width: number): void {
  const b1 = p.signedLeast[b];
  const b2 = p.signedMost[b];
  const most =
    b1 <= 0 && b2 >= 0 ? Number.POSITIVE_INFINITY : addUp(Math.max(Math.abs(b1), Math.abs(b2)), -1);
  const a1 = p.signedLeast[a];
  const a2 = p.signedMost[a];
  p.setTop(d, width);
  p.signedLeast[d] = a1 >= 0 ? 0 : Math.max(a1, -most);
  p.signedMost[d] = a2 <= 0 ? 0 : Math.min(a2, most);
  finish(p, d, width);
}
