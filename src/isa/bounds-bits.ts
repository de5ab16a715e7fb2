import {
  addDown,
  addUp,
  type Bounds,
  finish,
  highBelow,
  highWord,
  lowBelow,
  lowWord,
  POWER,
} from './bounds.ts';
import { brev, popc, prmt, selectorOf } from './ints.ts';

/*
 * Abstract transfer functions of bit operations over `Bounds`: slot `d` gets sound bounds of the result for operands within the bounds of
 * the other slots. `d` must differ from them.
 */

/** Complement. */
export function not(p: Bounds, d: number, a: number, width: number): void {
  p.zeroLow[d] = p.oneLow[a];
  p.zeroHigh[d] = p.oneHigh[a];
  p.oneLow[d] = p.zeroLow[a];
  p.oneHigh[d] = p.zeroHigh[a];
  // ~x = -1 - x
  const size = POWER[width];
  p.setRanges(
    d,
    addDown(addDown(size, -p.most[a]), -1),
    addUp(addUp(size, -p.least[a]), -1),
    addDown(-p.signedMost[a], -1),
    addUp(-p.signedLeast[a], -1),
  );
  finish(p, d, width);
}

/** Bitwise and. */
export function and(p: Bounds, d: number, a: number, b: number, width: number): void {
  p.setTop(d, width);
  p.zeroLow[d] |= p.zeroLow[a] | p.zeroLow[b];
  p.zeroHigh[d] |= p.zeroHigh[a] | p.zeroHigh[b];
  p.oneLow[d] = p.oneLow[a] & p.oneLow[b];
  p.oneHigh[d] = p.oneHigh[a] & p.oneHigh[b];
  p.most[d] = Math.min(p.most[a], p.most[b]);
  finish(p, d, width);
}

/** Bitwise or. */
export function or(p: Bounds, d: number, a: number, b: number, width: number): void {
  p.setTop(d, width);
  p.zeroLow[d] |= p.zeroLow[a] & p.zeroLow[b];
  p.zeroHigh[d] |= p.zeroHigh[a] & p.zeroHigh[b];
  p.oneLow[d] = p.oneLow[a] | p.oneLow[b];
  p.oneHigh[d] = p.oneHigh[a] | p.oneHigh[b];
  p.least[d] = Math.max(p.least[a], p.least[b]);
  finish(p, d, width);
}

/** Bitwise exclusive or. */
export function xor(p: Bounds, d: number, a: number, b: number, width: number): void {
  p.setTop(d, width);
  p.zeroLow[d] |= (p.zeroLow[a] & p.zeroLow[b]) | (p.oneLow[a] & p.oneLow[b]);
  p.zeroHigh[d] |= (p.zeroHigh[a] & p.zeroHigh[b]) | (p.oneHigh[a] & p.oneHigh[b]);
  p.oneLow[d] = (p.zeroLow[a] & p.oneLow[b]) | (p.oneLow[a] & p.zeroLow[b]);
  p.oneHigh[d] = (p.zeroHigh[a] & p.oneHigh[b]) | (p.oneHigh[a] & p.zeroHigh[b]);
  finish(p, d, width);
}

/** A truth table: a bit is known if all rows that agree with the known bits of the inputs have the same result. */
export function lop3(
  p: Bounds,
  d: number,
  a: number,
  b: number,
  c: number,
  table: number,
  width: number,
): void {
  let zeroLow = -1;
  let zeroHigh = -1;
  let oneLow = -1;
  let oneHigh = -1;
  for (let k = 0; k < 8; k++) {
    // Bit positions at which the inputs can select this row.
    const low =
      ~((k & 4) !== 0 ? p.zeroLow[a] : p.oneLow[a]) &
      ~((k & 2) !== 0 ? p.zeroLow[b] : p.oneLow[b]) &
      ~((k & 1) !== 0 ? p.zeroLow[c] : p.oneLow[c]);
    const high =
      ~((k & 4) !== 0 ? p.zeroHigh[a] : p.oneHigh[a]) &
      ~((k & 2) !== 0 ? p.zeroHigh[b] : p.oneHigh[b]) &
      ~((k & 1) !== 0 ? p.zeroHigh[c] : p.oneHigh[c]);
    if (((table >> k) & 1) !== 0) {
      zeroLow &= ~low;
      zeroHigh &= ~high;
    } else {
      oneLow &= ~low;
      oneHigh &= ~high;
    }
  }
  p.setTop(d, width);
  p.zeroLow[d] |= zeroLow;
  p.zeroHigh[d] |= zeroHigh;
  p.oneLow[d] = oneLow;
  p.oneHigh[d] = oneHigh;
  finish(p, d, width);
}

/** Byte permutation; unbounded unless the selector is known. */
export function prmtBounds(p: Bounds, d: number, a: number, b: number, sel: number, mode: string): void {
  const known = p.zeroLow[sel] | p.oneLow[sel];
  const needed = mode === 'IDX' ? 0xffff : 3;
  p.setTop(d, 32);
  if ((known & needed) !== needed) return;
  const s = selectorOf(mode, p.oneLow[sel]);
  // A byte that replicates a sign replicates its known bits too, so known zeros and known ones are permuted alike.
  p.zeroLow[d] = prmt(p.zeroLow[a], p.zeroLow[b], s);
  p.oneLow[d] = prmt(p.oneLow[a], p.oneLow[b], s);
  finish(p, d, 32);
}

// ---------------------------------------------------------------------- shifts

const shiftedLow = (low: number, k: number): number => (k >= 32 ? 0 : low << k);
const shiftedHigh = (low: number, high: number, k: number): number =>
  k >= 64 ? 0 : k >= 32 ? low << (k - 32) : k === 0 ? high : (high << k) | (low >>> (32 - k));
const droppedLow = (low: number, high: number, k: number): number =>
  k >= 64 ? 0 : k >= 32 ? high >>> (k - 32) : k === 0 ? low : (low >>> k) | (high << (32 - k));
const droppedHigh = (high: number, k: number): number => (k >= 32 ? 0 : high >>> k);

/** May slot `n` hold the shift amount `k`? The amount `width` stands for all amounts from `width` on. */
const mayBe = (p: Bounds, n: number, k: number, width: number): boolean =>
  k >= width || ((p.zeroLow[n] & k) === 0 && (p.oneLow[n] & ~k) === 0 && p.oneHigh[n] === 0);

/** A shift by the amounts that slot `n` may hold. @param kind -1: left, 0: logical right, 1: arithmetic right */
export function shift(p: Bounds, d: number, a: number, n: number, kind: -1 | 0 | 1, width: number): void {
  const from = Math.min(width, p.least[n]);
  const to = Math.min(width, p.most[n]);
  let zeroLow = -1;
  let zeroHigh = -1;
  let oneLow = -1;
  let oneHigh = -1;
  let first = -1;
  let last = -1;
  for (let k = from; k <= to; k++) {
    if (!mayBe(p, n, k, width)) continue;
    if (first < 0) first = k;
    last = k;
    let zl: number;
    let zh: number;
    let ol: number;
    let oh: number;
    if (kind < 0) {
      zl = shiftedLow(p.zeroLow[a], k) | lowBelow(k);
      zh = shiftedHigh(p.zeroLow[a], p.zeroHigh[a], k) | highBelow(k);
      ol = shiftedLow(p.oneLow[a], k);
      oh = shiftedHigh(p.oneLow[a], p.oneHigh[a], k);
    } else {
      const keepLow = lowBelow(width - k);
      const keepHigh = highBelow(width - k);
      zl = droppedLow(p.zeroLow[a], p.zeroHigh[a], k) & keepLow;
      zh = droppedHigh(p.zeroHigh[a], k) & keepHigh;
      ol = droppedLow(p.oneLow[a], p.oneHigh[a], k) & keepLow;
      oh = droppedHigh(p.oneHigh[a], k) & keepHigh;
      // The bits shifted in: zeros, or copies of the sign.
      if (kind === 0 || p.signedLeast[a] >= 0) {
        zl |= ~keepLow;
        zh |= ~keepHigh;
      } else if (p.signedMost[a] < 0) {
        ol |= ~keepLow;
        oh |= ~keepHigh;
      }
    }
    zeroLow &= zl;
    zeroHigh &= zh;
    oneLow &= ol;
    oneHigh &= oh;
  }
  p.setTop(d, width);
  if (first < 0) return;
  p.zeroLow[d] |= zeroLow;
  p.zeroHigh[d] |= zeroHigh;
  p.oneLow[d] = oneLow;
  p.oneHigh[d] = oneHigh;
  const half = POWER[width - 1];
  const least = p.least[a];
  const most = p.most[a];
  const sl = p.signedLeast[a];
  const sm = p.signedMost[a];
  if (kind < 0) {
    // Products by powers of two are exact.
    if (last < width && most * POWER[last] < POWER[width]) {
      p.least[d] = least * POWER[first];
      p.most[d] = most * POWER[last];
    }
    const s1 = Math.min(sl * POWER[first], sl * POWER[last]);
    const s2 = Math.max(sm * POWER[first], sm * POWER[last]);
    if (last < width && s1 >= -half && s2 < half) {
      p.signedLeast[d] = s1;
      p.signedMost[d] = s2;
    }
  } else if (kind === 0) {
    p.least[d] = last >= width ? 0 : Math.floor(least / POWER[last]);
    p.most[d] = first >= width ? 0 : Math.floor(most / POWER[first]);
  } else {
    p.signedLeast[d] = Math.floor(sl / POWER[sl < 0 ? first : last]);
    p.signedMost[d] = Math.floor(sm / POWER[sm < 0 ? last : first]);
  }
  finish(p, d, width);
}

// ---------------------------------------------------------------------- widths

/** Zero extension to `width` bits. */
export function zext(p: Bounds, d: number, a: number, width: number): void {
  p.copy(d, p, a);
  p.signedLeast[d] = p.least[a];
  p.signedMost[d] = p.most[a];
  finish(p, d, width);
}

/** Sign extension. @param from width of the operand */
export function sext(p: Bounds, d: number, a: number, from: number, width: number): void {
  p.setTop(d, width);
  const low = lowBelow(from);
  const high = highBelow(from);
  p.zeroLow[d] = p.zeroLow[a] & low;
  p.zeroHigh[d] = p.zeroHigh[a] & high;
  p.oneLow[d] = p.oneLow[a] & low;
  p.oneHigh[d] = p.oneHigh[a] & high;
  p.signedLeast[d] = p.signedLeast[a];
  p.signedMost[d] = p.signedMost[a];
  if (p.signedLeast[a] >= 0) {
    p.zeroLow[d] |= ~low;
    p.zeroHigh[d] |= ~high;
  } else if (p.signedMost[a] < 0) {
    p.oneLow[d] |= ~low;
    p.oneHigh[d] |= ~high;
  }
  finish(p, d, width);
}

/** Extraction of bits `low` to `low + width - 1`. */
export function extract(p: Bounds, d: number, a: number, low: number, width: number): void {
  const zl = droppedLow(p.zeroLow[a], p.zeroHigh[a], low);
  const zh = droppedHigh(p.zeroHigh[a], low);
  const ol = droppedLow(p.oneLow[a], p.oneHigh[a], low);
  const oh = droppedHigh(p.oneHigh[a], low);
  const first = Math.floor(p.least[a] / POWER[low]);
  const last = Math.floor(p.most[a] / POWER[low]);
  const size = POWER[width];
  const sl = p.signedLeast[a];
  const sm = p.signedMost[a];
  p.setTop(d, width);
  p.zeroLow[d] = zl;
  p.zeroHigh[d] = zh;
  p.oneLow[d] = ol;
  p.oneHigh[d] = oh;
  // The range carries over only if the bits above the extract are the same for the least and the greatest value.
  const upper = Math.floor(first / size);
  if (upper === Math.floor(last / size) && last < POWER[64]) {
    p.least[d] = first - upper * size;
    p.most[d] = last - upper * size;
  }
  if (low === 0 && sl >= -size / 2 && sm < size / 2) {
    p.signedLeast[d] = sl;
    p.signedMost[d] = sm;
  }
  finish(p, d, width);
}

/** Concatenation. @param n width of the low part */
export function concat(p: Bounds, d: number, high: number, low: number, n: number, width: number): void {
  p.zeroLow[d] = shiftedLow(p.zeroLow[high], n) | (p.zeroLow[low] & lowBelow(n));
  p.zeroHigh[d] = shiftedHigh(p.zeroLow[high], p.zeroHigh[high], n) | (p.zeroHigh[low] & highBelow(n));
  p.oneLow[d] = shiftedLow(p.oneLow[high], n) | p.oneLow[low];
  p.oneHigh[d] = shiftedHigh(p.oneLow[high], p.oneHigh[high], n) | p.oneHigh[low];
  p.setRanges(
    d,
    addDown(p.least[high] * POWER[n], p.least[low]),
    addUp(p.most[high] * POWER[n], p.most[low]),
    addDown(p.signedLeast[high] * POWER[n], p.least[low]),
    addUp(p.signedMost[high] * POWER[n], p.most[low]),
  );
  finish(p, d, width);
}

// ---------------------------------------------------------------------- counts

/** Number of ones of an operand of `from` bits. */
export function popcBounds(p: Bounds, d: number, a: number, from: number): void {
  p.setTop(d, 32);
  p.least[d] = popc(p.oneLow[a]) + popc(p.oneHigh[a]);
  p.most[d] = popc(~p.zeroLow[a] & lowBelow(from)) + popc(~p.zeroHigh[a] & highBelow(from));
  finish(p, d, 32);
}

const leadingZeros = (x: number, from: number): number => {
  const high = highWord(x);
  return (high !== 0 ? Math.clz32(high) : 32 + Math.clz32(lowWord(x))) - (64 - from);
};

/** Number of leading zeros of an operand of `from` bits. */
export function clzBounds(p: Bounds, d: number, a: number, from: number): void {
  p.setTop(d, 32);
  // Bounds are rounded outwards: the greatest value may be rounded up to a power of two, which only lowers the least count.
  p.least[d] = leadingZeros(p.most[a], from);
  p.most[d] = leadingZeros(p.least[a], from);
  finish(p, d, 32);
}

/** Bits in reverse order. */
export function brevBounds(p: Bounds, d: number, a: number, width: number): void {
  const reversed = (low: number, high: number): [number, number] => {
    const l = brev(high);
    const h = brev(low);
    return [droppedLow(l, h, 64 - width), droppedHigh(h, 64 - width)];
  };
  const [zl, zh] = reversed(p.zeroLow[a], p.zeroHigh[a]);
  const [ol, oh] = reversed(p.oneLow[a], p.oneHigh[a]);
  p.setTop(d, width);
  p.zeroLow[d] = zl;
  p.zeroHigh[d] = zh;
  p.oneLow[d] = ol;
  p.oneHigh[d] = oh;
  finish(p, d, width);
}
