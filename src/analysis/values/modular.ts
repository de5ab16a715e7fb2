/**
 * The least k >= 0 with `low <= (start + k * step) mod 2^width <= high`, or null if there is none: when a wrapping
 * counter first enters a range. `start` and `step` are taken modulo 2^width; 0 <= low <= high < 2^width.
 *
 * Euclid's algorithm on the step and the modulus, so it takes a few steps for each bit of the width.
 */
export function firstInRange(
  start: bigint,
  step: bigint,
  width: number,
  low: bigint,
  high: bigint,
): bigint | null {
  const modulus = 1n << BigInt(width);
  const at = BigInt.asUintN(width, start - low);
  const span = high - low;
  if (at <= span) return 0n;
  // Shifted so that the first value is 0 and the range, which starts above 0, does not wrap.
  return firstMultiple(BigInt.asUintN(width, step), modulus, modulus - at, modulus - at + span);
}

/** The least k >= 0 with `low <= (step * k) mod modulus <= high`, for 0 <= low <= high < modulus; null if there is none. */
function firstMultiple(step: bigint, modulus: bigint, low: bigint, high: bigint): bigint | null {
  if (low === 0n) return 0n;
  if (step === 0n) return null;
  // A step beyond half the modulus is a small step downwards.
  if (2n * step > modulus) return firstMultiple(modulus - step, modulus, modulus - high, modulus - low);
  const k = (low + step - 1n) / step;
  if (k * step <= high) return k;
  // No multiple lies in the range before the first wrap. After `wraps` wraps one does if wraps * modulus + low ...
  // wraps * modulus + high contains a multiple of the step: the same problem with smaller numbers.
  const wraps = firstMultiple(modulus % step, step, remainder(-high, step), remainder(-low, step));
  return wraps === null ? null : (low + modulus * wraps + step - 1n) / step;
}

const remainder = (x: bigint, by: bigint): bigint => ((x % by) + by) % by;
