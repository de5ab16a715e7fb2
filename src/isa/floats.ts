/**
 * Floating-point arithmetic for generated lane code, on JavaScript numbers. A value of any format is represented exactly by a double.
 *
 * Formats up to f32 are computed in double and rounded once more. This is exact if the first rounding is to odd (to
 * the neighbour with an odd significand if the result is inexact), because 53 >= 24 + 2 bits. Rounding to nearest
 * twice is exact for sum, product, quotient and root because 53 >= 2 * 24 + 2 (Figueroa, "When is double rounding
 * innocuous?"). f64 uses error-free transformations if exponents are moderate and `softfloat.ts` otherwise.
 */

import type { Rounding } from './formats.ts';
import { bigDiv, bigFma, bigSqrt, F64, fromNumber, toNumber } from './softfloat.ts';

export { approximate, approximateHigh } from './approx.ts';

const f64 = new Float64Array(1);
const f32 = new Float32Array(f64.buffer);
const i32 = new Int32Array(f64.buffer);

// ------------------------------------------------------------------------------------------------ bit patterns

/** Bit pattern of an f32, as a signed word. NaN is canonical. */
export function f32ToBits(x: number): number {
  if (x !== x) return 0x7fffffff;
  f32[0] = x;
  return i32[0];
}
/** The f32 with a bit pattern. */
export function bitsToF32(b: number): number {
  i32[0] = b;
  return f32[0];
}
/** Writes the bit pattern of an f64 to `w`, low word first. NaN is canonical. */
export function words64(x: number, w: Int32Array): void {
  if (x !== x) {
    w[0] = 0;
    w[1] = 0xfff80000;
    return;
  }
  f64[0] = x;
  w[0] = i32[0];
  w[1] = i32[1];
}
/** The f64 with a bit pattern. */
export function num64(lo: number, hi: number): number {
  i32[0] = lo;
  i32[1] = hi;
  return f64[0];
}

/** The value of each f16 bit pattern. */
export const f16 = new Float64Array(65536);
for (let e = 0; e < 32; e++) {
  const unit = 2 ** (Math.max(e, 1) - 25);
  for (let m = 0; m < 1024; m++) {
    const v = e === 31 ? (m === 0 ? Infinity : NaN) : ((e === 0 ? 0 : 1024) + m) * unit;
    f16[(e << 10) | m] = v;
    f16[0x8000 | (e << 10) | m] = -v;
  }
}

/** Bit pattern of a number rounded to nearest in a 16-bit format with `mant` explicit significand bits. NaN is canonical. */
function pack(x: number, mant: number, bias: number): number {
  f64[0] = x;
  const hi = i32[1];
  const sign = (hi >>> 16) & 0x8000;
  const e = ((hi >>> 20) & 0x7ff) - 1023 + bias;
  if (e <= 0) {
    const units = Math.abs(x) * 2 ** (bias - 1 + mant);
    return sign | (units + 4503599627370496 - 4503599627370496);
  }
  if (e > 2 * bias) return x !== x ? 0x7fff : sign | ((2 * bias + 1) << mant);
  const drop = 20 - mant;
  const m = hi & 0xfffff;
  const rest = m & ((1 << drop) - 1);
  const half = 1 << (drop - 1);
  const b = (e << mant) | (m >>> drop);
  const up = rest > half || (rest === half && (i32[0] !== 0 || (b & 1) !== 0));
  return sign | (up ? b + 1 : b);
}
/** The f16 bit pattern of a double, rounded to nearest even. */
export const packF16 = (x: number): number => pack(x, 10, 15);
/** The bf16 bit pattern of a double, rounded to nearest even. */
export const packBF16 = (x: number): number => pack(x, 7, 127);

const isBF16 = (type: string): boolean => type.startsWith('b') || type.startsWith('B');
/** The value of a bit pattern of type f16 or bf16 (upper or lower case; names of packed types stand for their element). */
export const halfToNumber = (b: number, type: string): number =>
  isBF16(type) ? bitsToF32(b << 16) : f16[b & 0xffff];
/** Bit pattern of a number rounded to nearest in f16 or bf16. */
export const numberToHalf = (x: number, type: string): number => (isBF16(type) ? packBF16(x) : packF16(x));

// ------------------------------------------------------------------------------------------------ rounding

/** The double next to x (not 0, finite) in the direction of `up`. */
function neighbour(x: number, up: boolean): number {
  f64[0] = x;
  if (x > 0 === up) {
    i32[0] += 1;
    if (i32[0] === 0) i32[1] += 1;
  } else {
    if (i32[0] === 0) i32[1] -= 1;
    i32[0] -= 1;
  }
  return f64[0];
}

/** Rounds to odd a number whose nearest double is `x` and that differs from it by an error with the sign of `err`. */
function toOdd(x: number, err: number): number {
  if (err === 0 || err !== err) return x;
  f64[0] = x;
  return (i32[0] & 1) !== 0 ? x : neighbour(x, err > 0);
}

/** Error of s = a + b (Knuth). NaN if s is not finite. */
function sumError(a: number, b: number, s: number): number {
  const t = s - a;
  return a - (s - t) + (b - t);
}

const SPLIT = 134217729;

/** Error of p = a * b (Dekker, Veltkamp). For moderate exponents: see `moderate`. */
function productError(a: number, b: number, p: number): number {
  const ta = SPLIT * a;
  const ah = ta - (ta - a);
  const al = a - ah;
  const tb = SPLIT * b;
  const bh = tb - (tb - b);
  const bl = b - bh;
  return al * bl - (p - ah * bh - al * bh - ah * bl);
}

/** Are the exponents moderate, so that splitting does not overflow and the error of a product is representable? */
const moderate = (a: number, b: number, p: number): boolean => {
  const m = Math.abs(p);
  return m > 1e-280 && m < 1e300 && Math.abs(a) < 1e290 && Math.abs(b) < 1e290;
};

/** a + b, rounded to odd. As for `divOdd` and `sqrtOdd`, operands are values of formats up to f32, or products of them. */
export function addOdd(a: number, b: number): number {
  const s = a + b;
  return toOdd(s, sumError(a, b, s));
}
/** As `addOdd`; an exact zero of operands with different signs is -0, as rounding down requires (IEEE 754, 6.3). */
export function addOddDown(a: number, b: number): number {
  const s = addOdd(a, b);
  return s === 0 ? zeroDown(a, b) : s;
}
const zeroDown = (a: number, b: number): number =>
  a === 0 && b === 0 && !Object.is(a, -0) && !Object.is(b, -0) ? 0 : -0;
/** a / b, rounded to odd. */
export function divOdd(a: number, b: number): number {
  const q = a / b;
  if (q === 0 || !Number.isFinite(q)) return q;
  const p = q * b;
  const rest = a - p - productError(q, b, p);
  return toOdd(q, b > 0 ? rest : -rest);
}
/** The square root, rounded to odd. */
export function sqrtOdd(a: number): number {
  const q = Math.sqrt(a);
  if (!(q > 0) || q === Infinity) return q;
  const p = q * q;
  return toOdd(q, a - p - productError(q, q, p));
}

/** Rounds a double, exact or rounded to odd, to a format with `mant` explicit significand bits and normal exponents `emin` to `emax`. */
function roundTo(x: number, mant: number, emin: number, emax: number, mode: Rounding): number {
  if (x === 0 || !Number.isFinite(x)) return x;
  f64[0] = x;
  const e = Math.max(emin, ((i32[1] >>> 20) & 0x7ff) - 1023);
  const ulp = 2 ** (e - mant);
  const a = Math.abs(x) / ulp;
  let r = Math.floor(a);
  const rest = a - r;
  switch (mode) {
    case 'RZ':
      break;
    case 'RM':
      if (rest > 0 && x < 0) r++;
      break;
    case 'RP':
      if (rest > 0 && x > 0) r++;
      break;
    case 'RNA':
      if (rest >= 0.5) r++;
      break;
    case 'RN':
      if (rest > 0.5 || (rest === 0.5 && r % 2 === 1)) r++;
      break;
  }
  const v = r * ulp;
  const max = (2 - 2 ** -mant) * 2 ** emax;
  if (v <= max) return x < 0 ? -v : v;
  const stays = mode === 'RZ' || (mode === 'RM' && x > 0) || (mode === 'RP' && x < 0);
  const m = stays ? max : Infinity;
  return x < 0 ? -m : m;
}
/** Rounds a double, exact or rounded to odd, to f32. */
export const round32 = (x: number, mode: Rounding): number => roundTo(x, 23, -126, 127, mode);
/** Rounds it to tf32. */
export const roundTF32 = (x: number, mode: Rounding): number => roundTo(x, 10, -126, 127, mode);
/** Rounds it to f16. @returns the bit pattern */
export const roundF16 = (x: number, mode: Rounding): number => packF16(roundTo(x, 10, -14, 15, mode));
/** Rounds it to bf16. @returns the bit pattern */
export const roundBF16 = (x: number, mode: Rounding): number => packBF16(roundTo(x, 7, -126, 127, mode));

// ------------------------------------------------------------------------------------------------ f32

/**
 * f32 fused multiply-add to nearest. The product is exact in double. Rounding the double sum is wrong only if that
 * sum is the midpoint between two f32 values, and then the other candidate, 2s - f, is an f32 too.
 */
export function fma32(a: number, b: number, c: number): number {
  const p = a * b;
  const s = p + c;
  const f = Math.fround(s);
  const other = s + s - f;
  return other !== f && Math.fround(other) === other ? Math.fround(addOdd(p, c)) : f;
}

/** Flushes an f32 subnormal to a zero of the same sign. */
export const ftz32 = (x: number): number =>
  x < 1.1754943508222875e-38 && x > -1.1754943508222875e-38 ? x * 0 : x;
/** Flushes an f64 subnormal to a zero of the same sign. */
export const ftz64 = (x: number): number =>
  x < 2.2250738585072014e-308 && x > -2.2250738585072014e-308 ? x * 0 : x;

// ------------------------------------------------------------------------------------------------ f64

/** The product of two factors below it is less than 2^-1080. */
const TINY_FACTOR = 2 ** -540;

/** f64 fused multiply-add to nearest (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums"). */
export function fma64(a: number, b: number, c: number): number {
  const p = a * b;
  if (!moderate(a, b, p) || !(Math.abs(c) < 1e300)) {
    if (!Number.isFinite(a) || !Number.isFinite(b) || a === 0 || b === 0) return p + c;
    // Integers that are read as doubles are subnormal: their product is less than a quarter of the least double, or of the spacing at c.
    if (Math.abs(a) < TINY_FACTOR && Math.abs(b) < TINY_FACTOR) return c === 0 ? p : c;
    if (Math.abs(p) < 1e-280 && Math.abs(c) > 1e-260) return c;
    return Number.isFinite(c) ? fma64Exact(a, b, c, 'RN') : c;
  }
  const pe = productError(a, b, p);
  const t = c + pe;
  const v = p + t;
  return v + addOdd(sumError(c, pe, t), sumError(p, t, v));
}

const soft = (x: number): bigint => fromNumber(F64, x);
const fma64Exact = (a: number, b: number, c: number, mode: Rounding): number =>
  toNumber(F64, bigFma(F64, soft(a), soft(b), soft(c), mode));

/** Directed rounding of a result, from the nearest double and the sign of its error. */
function directed(x: number, err: number, mode: Rounding): number {
  if (err === 0) return x;
  if (mode === 'RP' || (mode === 'RZ' && x < 0)) return err > 0 ? neighbour(x, true) : x;
  return err < 0 ? neighbour(x, false) : x;
}

const MAX64 = Number.MAX_VALUE;

/** a + b with directed rounding. */
export function add64(a: number, b: number, mode: Rounding): number {
  const s = a + b;
  if (s === 0) return mode === 'RM' ? zeroDown(a, b) : s;
  if (!Number.isFinite(s)) return overflowed(a, b, s, mode);
  const err = sumError(a, b, s);
  return err !== err ? toNumber(F64, bigFma(F64, soft(a), soft(1), soft(b), mode)) : directed(s, err, mode);
}
function overflowed(a: number, b: number, s: number, mode: Rounding): number {
  if (s !== s || !Number.isFinite(a) || !Number.isFinite(b)) return s;
  const stays = mode === 'RZ' || (mode === 'RM' && s > 0) || (mode === 'RP' && s < 0);
  return stays ? Math.sign(s) * MAX64 : s;
}
/** a * b with directed rounding. */
export function mul64(a: number, b: number, mode: Rounding): number {
  const p = a * b;
  if (moderate(a, b, p)) return directed(p, productError(a, b, p), mode);
  const special = !Number.isFinite(a) || !Number.isFinite(b) || a === 0 || b === 0;
  return special ? p : toNumber(F64, bigFma(F64, soft(a), soft(b), null, mode));
}
/** a * b + c with directed rounding; slow, by exact arithmetic. */
export const fma64Directed = fma64Exact;
/** a / b with directed rounding. */
export function div64(a: number, b: number, mode: Rounding): number {
  const q = a / b;
  const p = q * b;
  if (!moderate(q, b, p) || !moderate(a, 1, a) || !moderate(q, 1, q))
    return toNumber(F64, bigDiv(F64, soft(a), soft(b), mode));
  const rest = a - p - productError(q, b, p);
  return directed(q, b > 0 ? rest : -rest, mode);
}
/** Square root with directed rounding. */
export function sqrt64(a: number, mode: Rounding): number {
  const q = Math.sqrt(a);
  const p = q * q;
  if (!moderate(a, 1, a) || !(a > 0)) return toNumber(F64, bigSqrt(F64, soft(a), mode));
  return directed(q, a - p - productError(q, q, p), mode);
}

// ------------------------------------------------------------------------------------------------ any format

/** Minimum: the other operand if one is NaN; -0 is less than +0. */
export const fmin = (a: number, b: number): number => (a !== a ? b : b !== b ? a : Math.min(a, b));
/** Maximum: the other operand if one is NaN; -0 is less than +0. */
export const fmax = (a: number, b: number): number => (a !== a ? b : b !== b ? a : Math.max(a, b));

/** Nearest integer, ties to even; zeros keep the sign. */
export function rint(x: number): number {
  const a = Math.abs(x);
  if (!(a < 4503599627370496)) return x;
  const r = a + 4503599627370496 - 4503599627370496;
  return x < 0 || Object.is(x, -0) ? -r : r;
}

/** Writes an integral number, clamped to 64 bits, to `w`, low word first; NaN gives 2^63 (PTX ISA 9.0, `cvt`). */
export function clamp64(x: number, signed: boolean, w: Int32Array): void {
  if (x !== x) put(w, 0, 0x80000000);
  else if (signed && x >= 2 ** 63) put(w, -1, 0x7fffffff);
  else if (signed && x < -(2 ** 63)) put(w, 0, 0x80000000);
  else if (!signed && x >= 2 ** 64) put(w, -1, -1);
  else if (!signed && x < 0) put(w, 0, 0);
  else {
    const hi = Math.floor(x / 4294967296);
    put(w, x - hi * 4294967296, hi);
  }
}
function put(w: Int32Array, lo: number, hi: number): void {
  w[0] = lo;
  w[1] = hi;
}
