import { finite, infinite, NAN, type Real, type Rounding, zero } from './floats.ts';

/*
 * Sums, products, quotients and roots. They are exact, except that the remainder of a quotient or a root is represented by one sticky
 * digit, far below every digit that rounding looks at.
 */

/** The sign of an exact zero that is the sum of numbers of different signs: negative only when rounding down (IEEE 754, 6.3). */
const zeroOfSum = (mode: Rounding): Real => zero(mode === 'rm');

/** a + b; the mode determines the sign of an exact zero. */
export function sum(a: Real, b: Real, mode: Rounding): Real {
  if (a.kind === 'nan' || b.kind === 'nan') return NAN;
  if (a.kind === 'infinite') return b.kind === 'infinite' && a.negative !== b.negative ? NAN : a;
  if (b.kind === 'infinite') return b;
  if (a.magnitude === 0n && b.magnitude === 0n) return a.negative === b.negative ? a : zeroOfSum(mode);
  const e = Math.min(a.exponent, b.exponent);
  const x = (a.negative ? -a.magnitude : a.magnitude) << BigInt(a.exponent - e);
  const y = (b.negative ? -b.magnitude : b.magnitude) << BigInt(b.exponent - e);
  const s = x + y;
  return s === 0n ? zeroOfSum(mode) : finite(s < 0n, s < 0n ? -s : s, e);
}

/** -a. */
export const negated = (a: Real): Real => (a.kind === 'nan' ? a : { ...a, negative: !a.negative });

/** a times b. */
export function product(a: Real, b: Real): Real {
  if (a.kind === 'nan' || b.kind === 'nan') return NAN;
  const negative = a.negative !== b.negative;
  if (a.kind === 'infinite') return b.kind === 'finite' && b.magnitude === 0n ? NAN : infinite(negative);
  if (b.kind === 'infinite') return a.magnitude === 0n ? NAN : infinite(negative);
  return finite(negative, a.magnitude * b.magnitude, a.exponent + b.exponent);
}

/** Binary digits of quotients and roots: more than twice those of f64. */
const DIGITS = 128n;

/** a divided by b. */
export function quotient(a: Real, b: Real): Real {
  if (a.kind === 'nan' || b.kind === 'nan') return NAN;
  const negative = a.negative !== b.negative;
  if (a.kind === 'infinite') return b.kind === 'infinite' ? NAN : infinite(negative);
  if (b.kind === 'infinite') return zero(negative);
  if (b.magnitude === 0n) return a.magnitude === 0n ? NAN : infinite(negative);
  const x = a.magnitude << DIGITS;
  const q = x / b.magnitude;
  const rest = x % b.magnitude === 0n ? 0n : 1n;
  return finite(negative, (q << 1n) | rest, a.exponent - b.exponent - Number(DIGITS) - 1);
}

/** The largest integer whose square is at most `n`, by Newton's method. */
export function integerRoot(n: bigint): bigint {
  if (n < 2n) return n;
  let x = 1n << BigInt(n.toString(16).length * 2 + 1);
  for (;;) {
    const y = (x + n / x) >> 1n;
    if (y >= x) return x;
    x = y;
  }
}

/** The square root of a. */
export function root(a: Real): Real {
  if (a.kind === 'nan') return NAN;
  if (a.kind === 'finite' && a.magnitude === 0n) return a;
  if (a.negative) return NAN;
  if (a.kind === 'infinite') return a;
  const odd = a.exponent % 2 !== 0 ? 1n : 0n;
  const n = a.magnitude << (2n * DIGITS + odd);
  const r = integerRoot(n);
  const rest = r * r === n ? 0n : 1n;
  return finite(false, (r << 1n) | rest, (a.exponent - Number(odd)) / 2 - Number(DIGITS) - 1);
}
