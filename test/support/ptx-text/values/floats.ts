/*
 * Floating-point numbers by exact arithmetic: a finite number is an integer times a power of two, and a result is rounded once.
 */

/** A binary format. In a `finiteOnly` format the largest exponent also holds numbers: only all ones is NaN, and there is no infinity. */
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

/** An exact value: `magnitude` times 2 to the power of `exponent`, or an infinity or NaN. */
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

/** The exact value of an integer. */
export const realOf = (x: bigint): Real => finite(x < 0n, x < 0n ? -x : x, 0);

/** Directions of rounding: nearest with ties to even, toward zero, down, up; nearest with ties away from zero. */
export type Rounding = 'rn' | 'rz' | 'rm' | 'rp' | 'rna';

const signBit = (f: Format): bigint => 1n << BigInt(f.width - 1);
const bias = (f: Format): number => 2 ** (f.exponentBits - 1) - 1;
/** The exponent of the lowest bit of a subnormal number. */
const lowest = (f: Format): number => 1 - bias(f) - f.fractionBits;
const exponentMask = (f: Format): bigint => (1n << BigInt(f.exponentBits)) - 1n;

/** The bits of +infinity; for a format without one, the bits after its largest number. */
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

/** Flushes subnormal numbers to a zero of the same sign; leaves others unchanged. */
export const flushed = (f: Format, bits: bigint): bigint => (isSubnormal(f, bits) ? bits & signBit(f) : bits);

/** The bits of 1.0. */
export const one = (f: Format): bigint => BigInt(bias(f)) << BigInt(f.fractionBits);
/** The canonical NaN of PTX: all ones except the sign (PTX ISA, 9.7.3 and 9.7.4). */
export const canonicalNaN = (f: Format): bigint => signBit(f) - 1n;
/** A quiet NaN with a sign and a payload, which is truncated to the width of the format's. */
export const quietNaN = (f: Format, negative: boolean, payload: bigint): bigint =>
  f.finiteOnly
    ? withSign(f, canonicalNaN(f), negative)
    : withSign(f, beyond(f) | (1n << BigInt(f.fractionBits - 1)), negative) |
      BigInt.asUintN(f.fractionBits - 1, payload);

/** The exact value that bits represent. */
export function decode(f: Format, bits: bigint): Real {
  const negative = isNegative(f, bits);
  if (isNotANumber(f, bits)) return NAN;
  if (isInfinite(f, bits)) return infinite(negative);
  const fraction = bits & ((1n << BigInt(f.fractionBits)) - 1n);
  const e = Number((bits >> BigInt(f.fractionBits)) & exponentMask(f));
  if (e === 0) return finite(negative, fraction, lowest(f));
  return finite(negative, fraction | (1n << BigInt(f.fractionBits)), lowest(f) + e - 1);
}

/** Number of binary digits of a positive number. */
export function digits(x: bigint): number {
  const hex = x.toString(16);
  return 4 * hex.length - (Math.clz32(Number.parseInt(hex[0], 16)) - 28);
}

/** Whether a magnitude is rounded up if the dropped digits are `rest`, out of `whole` for one unit of the last digit kept. */
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
 * Rounds a finite number to a format and returns its bits. A number beyond the largest becomes infinity, or the largest if the mode rounds
 * toward it; in a `finiteOnly` format it becomes NaN, and the caller saturates if the instruction does.
 */
export function round(f: Format, x: Real & { kind: 'finite' }, mode: Rounding): bigint {
  const { negative, magnitude, exponent } = x;
  if (magnitude === 0n) return withSign(f, 0n, negative);
  // The exponent of the lowest digit that is kept.
  const unit = Math.max(exponent + digits(magnitude) - (f.fractionBits + 1), lowest(f));
  const kept = shifted(magnitude, unit - exponent, mode, negative);
  // The leading digit adds one to the exponent field; for a subnormal number it is 0, and a carry propagates into the exponent.
  const bits = (BigInt(unit - lowest(f)) << BigInt(f.fractionBits)) + kept;
  if (bits < beyond(f)) return withSign(f, bits, negative);
  const inward = mode === 'rz' || (mode === 'rm' && !negative) || (mode === 'rp' && negative);
  return withSign(f, inward ? largestFinite(f) : beyond(f), negative);
}

/** A finite number, rounded to an integer. */
export function toInteger(x: Real & { kind: 'finite' }, mode: Rounding): bigint {
  const magnitude = shifted(x.magnitude, -x.exponent, mode, x.negative);
  return x.negative ? -magnitude : magnitude;
}

/** -1, 0 or 1; null if either is NaN. The two zeros are equal. */
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
