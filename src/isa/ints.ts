/**
 * Integer helpers for generated lane code. Values are int32 words; a 64-bit value is two words, and a 64-bit result is written to `out`,
 * low word first, where it is valid until the next call.
 */
export const out = new Int32Array(2);

const TWO32 = 4294967296;

/** High word of the unsigned 32 x 32 product. */
export function umulh(a: number, b: number): number {
  const al = a & 0xffff;
  const ah = a >>> 16;
  const bl = b & 0xffff;
  const bh = b >>> 16;
  const mid = ah * bl + ((al * bl) >>> 16);
  const low = al * bh + (mid & 0xffff);
  return (ah * bh + Math.floor(mid / 65536) + Math.floor(low / 65536)) | 0;
}

/** High word of the signed 32 x 32 product. */
export const smulh = (a: number, b: number): number => (umulh(a, b) - (a < 0 ? b : 0) - (b < 0 ? a : 0)) | 0;

/** High half of the unsigned 64 x 64 product, to `out`. */
export function umulh64(al: number, ah: number, bl: number, bh: number): void {
  const low = (umulh(al, bl) >>> 0) + (Math.imul(al, bh) >>> 0) + (Math.imul(ah, bl) >>> 0);
  const mid =
    (Math.imul(ah, bh) >>> 0) + (umulh(al, bh) >>> 0) + (umulh(ah, bl) >>> 0) + Math.floor(low / TWO32);
  out[0] = mid | 0;
  out[1] = ((umulh(ah, bh) >>> 0) + Math.floor(mid / TWO32)) | 0;
}

/** High half of the signed 64 x 64 product, to `out`. */
export function smulh64(al: number, ah: number, bl: number, bh: number): void {
  umulh64(al, ah, bl, bh);
  if (ah < 0) subtract(bl, bh);
  if (bh < 0) subtract(al, ah);
}

function subtract(lo: number, hi: number): void {
  const borrow = out[0] >>> 0 < lo >>> 0 ? 1 : 0;
  out[0] -= lo;
  out[1] -= hi + borrow;
}

// Truncating divisions, of words and of pairs of words (low, high; the result is left in `out`). For a divisor of zero, the quotient is all
// ones and the remainder is the dividend.

/** Unsigned quotient. */
export const udiv = (a: number, b: number): number => (b === 0 ? -1 : ((a >>> 0) / (b >>> 0)) | 0);
/** Signed quotient. */
export const sdiv = (a: number, b: number): number => (b === 0 ? -1 : (a / b) | 0);
/** Unsigned remainder. */
export const urem = (a: number, b: number): number => (b === 0 ? a : ((a >>> 0) % (b >>> 0)) | 0);
/** Signed remainder. */
export const srem = (a: number, b: number): number => (b === 0 ? a : (a % b) | 0);

const unsigned64 = (lo: number, hi: number): bigint => (BigInt(hi >>> 0) << 32n) | BigInt(lo >>> 0);
const signed64 = (lo: number, hi: number): bigint => (BigInt(hi) << 32n) | BigInt(lo >>> 0);

function give(v: bigint): void {
  out[0] = Number(BigInt.asIntN(32, v));
  out[1] = Number(BigInt.asIntN(32, v >> 32n));
}

/** Are both operands non-negative and below 2^53, so that dividing doubles and rounding down is exact? */
const small = (ah: number, bh: number): boolean => ah >>> 21 === 0 && bh >>> 21 === 0;

function giveNumber(v: number): void {
  out[0] = v | 0;
  out[1] = Math.floor(v / TWO32);
}

/** Quotient or remainder of two small numbers (see `small`); the divisor is not zero. */
function divideSmall(al: number, ah: number, bl: number, bh: number, remainder: boolean): void {
  const a = ah * TWO32 + (al >>> 0);
  const b = bh * TWO32 + (bl >>> 0);
  giveNumber(remainder ? a % b : Math.floor((a - (a % b)) / b));
}

function byZero(al: number, ah: number, remainder: boolean): void {
  out[0] = remainder ? al : -1;
  out[1] = remainder ? ah : -1;
}

function divide(al: number, ah: number, bl: number, bh: number, isSigned: boolean, remainder: boolean): void {
  if ((bl | bh) === 0) byZero(al, ah, remainder);
  else if (small(ah, bh)) divideSmall(al, ah, bl, bh, remainder);
  else {
    const a = isSigned ? signed64(al, ah) : unsigned64(al, ah);
    const b = isSigned ? signed64(bl, bh) : unsigned64(bl, bh);
    give(remainder ? a % b : a / b);
  }
}
/** Unsigned quotient of pairs of words. */
export const udiv64 = (al: number, ah: number, bl: number, bh: number): void =>
  divide(al, ah, bl, bh, false, false);
/** Signed quotient of pairs of words. */
export const sdiv64 = (al: number, ah: number, bl: number, bh: number): void =>
  divide(al, ah, bl, bh, true, false);
/** Unsigned remainder of pairs of words. */
export const urem64 = (al: number, ah: number, bl: number, bh: number): void =>
  divide(al, ah, bl, bh, false, true);
/** Signed remainder of pairs of words. */
export const srem64 = (al: number, ah: number, bl: number, bh: number): void =>
  divide(al, ah, bl, bh, true, true);

/** Number of ones. */
export function popc(x: number): number {
  let v = x - ((x >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Bits in reverse order. */
export function brev(x: number): number {
  let v = ((x >>> 1) & 0x55555555) | ((x & 0x55555555) << 1);
  v = ((v >>> 2) & 0x33333333) | ((v & 0x33333333) << 2);
  v = ((v >>> 4) & 0x0f0f0f0f) | ((v & 0x0f0f0f0f) << 4);
  v = ((v >>> 8) & 0x00ff00ff) | ((v & 0x00ff00ff) << 8);
  return (v >>> 16) | (v << 16);
}

/** By mode: the selectors of mode `IDX` for each value of the low two selector bits (PTX ISA 9.0, `prmt`). */
const SELECTORS: Readonly<Record<string, readonly number[]>> = {
  F4E: [0x3210, 0x4321, 0x5432, 0x6543],
  B4E: [0x5670, 0x6701, 0x7012, 0x0123],
  RC8: [0x0000, 0x1111, 0x2222, 0x3333],
  ECL: [0x3210, 0x3211, 0x3222, 0x3333],
  ECR: [0x0000, 0x1110, 0x2210, 0x3210],
  RC16: [0x1010, 0x3232, 0x1010, 0x3232],
};

/** The selector of mode `IDX` that selects the same bytes as `sel` does in another mode. */
export const selectorOf = (mode: string, sel: number): number =>
  mode === 'IDX' ? sel : SELECTORS[mode][sel & 3];

/** Byte permutation of mode `IDX`. */
export function prmt(a: number, b: number, sel: number): number {
  let r = 0;
  for (let k = 0; k < 32; k += 8, sel >>>= 4) {
    const byte = (((sel & 4) !== 0 ? b : a) << (24 - ((sel & 3) << 3))) >> 24;
    r |= ((sel & 8) !== 0 ? (byte >> 7) & 0xff : byte & 0xff) << k;
  }
  return r;
}
