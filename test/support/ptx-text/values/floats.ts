/*
 * Floating-point numbers by exact arithmetic: a finite number is an integer times a power of two, and a result is rounded once.
 */

/** A binary format. Of `finiteOnly` formats the largest exponent holds numbers too, and only all ones is NaN; there is no infinity. */
export interface Format {
  readonly name: string;
  readonly exponentBits: number;
  readonly fractionBits: number;
  readonly width: number;
  readonly finiteOnly: boolean;
}

const format = (name: string, exponentBits: number, fractionBits: number, finiteOnly = false): Format => ({
  name,
  exponentBits,
  fractionBits,
  width: 1 + exponentBits + fractionBits,
  finiteOnly,
});

export const F16 = format('f16', 5, 10);
export const BF16 = format('bf16', 8, 7);
export const F32 = format('f32', 8, 23);
export const F64 = format('f64', 11, 52);
export const E5M2 = format('e5m2', 5, 2);
export const E4M3 = format('e4m3', 4, 3, true);

/** A number as it is: `magnitude` times 2 to the power of `exponent`, or something that is no finite number. */
export type Real =
  | { readonly kind: 'nan' }
  | { readonly kind: 'infinite'; readonly negative: boolean }
  | {
      readonly kind: 'finite';
      readonly negative: boolean;
      readonly magnitude: bigint;
      readonly exponent: number;
    };

export const NAN: Real = { kind: 'nan' };
export const infinite = (negative: boolean): Real => ({ kind: 'infinite', negative });
export const finite = (negative: boolean, magnitude: bigint, exponent: number): Real => ({
  kind: 'finite',
  negative,
  magnitude,
  exponent,
});
export const zero = (negative: boolean): Real => finite(negative, 0n, 0);

/** The number that an integer is. */
export const realOf = (x: bigint): Real => finite(x < 0n, x < 0n ? -x : x, 0);

/** Directions of rounding: nearest with ties to even, toward zero, down, up; nearest with ties away from zero. */
export type Rounding = 'rn' | 'rz' | 'rm' | 'rp' | 'rna';

const signBit = (f: Format): bigint => 1n << BigInt(f.width - 1);
const bias = (f: Format): number => 2 ** (f.exponentBits - 1) - 1;
/** The power of two that the lowest bit of a subnormal number stands for. */
const lowest = (f: Format): number => 1 - bias(f) - f.fractionBits;
const exponentMask = (f: Format): bigint => (1n << BigInt(f.exponentBits)) - 1n;

/** Bits of +infinity, or for a format without one, those behind its largest number. */
const beyond = (f: Format): bigint =>
  f.finiteOnly ? signBit(f) - 1n : exponentMask(f) << BigInt(f.fractionBits);

/** The largest finite number's bits. */
export const largestFinite = (f: Format): bigint => beyond(f) - 1n;
export const isNegative = (f: Format, bits: bigint): boolean => (bits & signBit(f)) !== 0n;
export const withSign = (f: Format, bits: bigint, negative: boolean): bigint =>
  (bits & (signBit(f) - 1n)) | (negative ? signBit(f) : 0n);
export const isNotANumber = (f: Format, bits: bigint): boolean =>
  f.finiteOnly ? (bits & (signBit(f) - 1n)) === beyond(f) : (bits & (signBit(f) - 1n)) > beyond(f);
export const isInfinite = (f: Format, bits: bigint): boolean =>
  !f.finiteOnly && (bits & (signBit(f) - 1n)) === beyond(f);
export const isZero = (f: Format, bits: bigint): boolean => (bits & (signBit(f) - 1n)) === 0n;
export const isSubnormal = (f: Format, bits: bigint): boolean =>
  !isZero(f, bits) && (bits & (exponentMask(f) << BigInt(f.fractionBits))) === 0n;

/** Subnormal numbers become a zero of their sign; others stay. */
export const flushed = (f: Format, bits: bigint): bigint => (isSubnormal(f, bits) ? bits & signBit(f) : bits);

/** The bits of 1.0. */
export const one = (f: Format): bigint => BigInt(bias(f)) << BigInt(f.fractionBits);
/** The NaN that PTX calls canonical: all ones but for the sign (PTX ISA, 9.7.3 and 9.7.4). */
export const canonicalNaN = (f: Format): bigint => signBit(f) - 1n;
/** A quiet NaN of a sign and a payload, of which as many bits are taken as the format has. */
export const quietNaN = (f: Format, negative: boolean, payload: bigint): bigint =>
  f.finiteOnly
    ? withSign(f, canonicalNaN(f), negative)
    : withSign(f, beyond(f) | (1n << BigInt(f.fractionBits - 1)), negative) |
      BigInt.asUintN(f.fractionBits - 1, payload);

/** The number that bits stand for. */
export function decode(f: Format, bits: bigint): Real {
  const negative = isNegative(f, bits);
  if (isNotANumber(f, bits)) return NAN;
  if (isInfinite(f, bits)) return infinite(negative);
  const fraction = bits & ((1n << BigInt(f.fractionBits)) - 1n);
  const e = Number((bits >> BigInt(f.fractionBits)) & exponentMask(f));
  if (e === 0) return finite(negative, fraction, lowest(f));
  return finite(negative, fraction | (1n << BigInt(f.fractionBits)), lowest(f) + e - 1);
}

/** Number of binary digits of a number above 0. */
export function digits(x: bigint): number {
  const hex = x.toString(16);
  return 4 * hex.length - (Math.clz32(Number.parseInt(hex[0], 16)) - 28);
}

/** Whether a magnitude is rounded up when `rest` of `whole` are dropped. */
function roundsUp(mode: Rounding, negative: boolean, odd: boolean, rest: bigint, whole: bigint): boolean {
  if (rest === 0n) return false;
  switch (mode) {
    case 'rz':
      return false;
    case 'rm':
      return negative;
    case 'rp':
      return !negative;
    case 'rna':
      return 2n * rest >= whole;
    case 'rn':
      return 2n * rest > whole || (2n * rest === whole && odd);
  }
}

/** `magnitude` divided by 2 to the power of `shift`, rounded to an integer; a negative `shift` multiplies. */
function shifted(magnitude: bigint, shift: number, mode: Rounding, negative: boolean): bigint {
  if (shift <= 0) return magnitude << BigInt(-shift);
  const whole = 1n << BigInt(shift);
  const kept = magnitude >> BigInt(shift);
  return roundsUp(mode, negative, (kept & 1n) === 1n, magnitude & (whole - 1n), whole) ? kept + 1n : kept;
}

/**
 * The bits of the number of a format that a finite number is rounded to. One beyond the largest becomes infinity, or the largest where the
 * mode rounds toward it. In a `finiteOnly` format it becomes NaN; the caller saturates if it wants another.
 */
export function round(f: Format, x: Real & { kind: 'finite' }, mode: Rounding): bigint {
  const { negative, magnitude, exponent } = x;
  if (magnitude === 0n) return withSign(f, 0n, negative);
  // The power of two of the lowest digit that is kept.
  const unit = Math.max(exponent + digits(magnitude) - (f.fractionBits + 1), lowest(f));
  const kept = shifted(magnitude, unit - exponent, mode, negative);
  // The leading digit adds one to the exponent field; of a subnormal number it is 0, and a carry moves into the next exponent.
  const bits = (BigInt(unit - lowest(f)) << BigInt(f.fractionBits)) + kept;
  if (bits < beyond(f)) return withSign(f, bits, negative);
  const inward = mode === 'rz' || (mode === 'rm' && !negative) || (mode === 'rp' && negative);
  return withSign(f, inward ? largestFinite(f) : beyond(f), negative);
}

/** The integer that a finite number is rounded to. */
export function toInteger(x: Real & { kind: 'finite' }, mode: Rounding): bigint {
  const magnitude = shifted(x.magnitude, -x.exponent, mode, x.negative);
  return x.negative ? -magnitude : magnitude;
}

/** -1, 0 or 1; null if one of them is NaN. The zeros are equal. */
export function compare(a: Real, b: Real): -1 | 0 | 1 | null {
  if (a.kind === 'nan' || b.kind === 'nan') return null;
  const key = (x: Real): number =>
    x.kind === 'infinite'
      ? x.negative
        ? -2
        : 2
      : x.kind === 'finite' && x.magnitude > 0n
        ? x.negative
          ? -1
          : 1
        : 0;
  const [p, q] = [key(a), key(b)];
  if (p !== q) return p < q ? -1 : 1;
  if (a.kind !== 'finite' || b.kind !== 'finite' || p === 0) return 0;
  const e = Math.min(a.exponent, b.exponent);
  const x = a.magnitude << BigInt(a.exponent - e);
  const y = b.magnitude << BigInt(b.exponent - e);
  if (x === y) return 0;
  return x < y !== a.negative ? -1 : 1;
}
