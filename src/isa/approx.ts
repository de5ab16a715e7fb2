import type { Approximation } from './formats.ts';

/**
 * The approximate functions of the special function unit, computed in double precision and rounded to f32. Results
 * are within the error bounds that PTX states for `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`
 * `.approx.f32` (PTX ISA 9.0, 9.7.3) and have the special values of its tables: zero, infinity and NaN behave as in
 * the real function. Hardware returns different low bits, so a comparison must allow for the stated error. The sine
 * of a subnormal is a zero with its sign, as ptxas 13.0.88 folds it.
 */
export function approximate(fn: Approximation, x: number): number {
  switch (fn) {
    case 'RCP':
      return 1 / x;
    case 'RSQ':
      return 1 / Math.sqrt(x);
    case 'SQRT':
      return Math.sqrt(x);
    case 'SIN':
      return approximate('SIN_TURNS', turnsOf(x));
    case 'COS':
      return Math.cos(2 * Math.PI * turnsOf(x));
    case 'SIN_TURNS':
      return Math.abs(x) < 2 ** -126 ? x * 0 : Math.sin(2 * Math.PI * x);
    case 'COS_TURNS':
      return Math.cos(2 * Math.PI * x);
    case 'LG2':
      return Math.log2(x);
    case 'EX2':
      return 2 ** x;
    case 'TANH':
      return Math.tanh(x);
  }
}

/** 1 / (2 pi) as an f32. */
const TURN = Math.fround(0.5 / Math.PI);
const single = new Float32Array(1);
const singleBits = new Int32Array(single.buffer);

/**
 * An angle in turns, as ptxas 13.0.88 computes it before the instruction of the special function unit: the product of two f32, rounded
 * towards zero. The product of the doubles is exact.
 */
function turnsOf(x: number): number {
  const product = x * TURN;
  single[0] = product;
  if (Math.abs(single[0]) > Math.abs(product)) singleBits[0]--;
  return single[0];
}

const f64 = new Float64Array(1);
const i32 = new Int32Array(f64.buffer);

/** A double without its low word. */
function highWord(x: number): number {
  f64[0] = x;
  i32[0] = 0;
  return f64[0];
}

/**
 * `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: the function of the operand's high word, truncated to its high
 * word (PTX ISA 9.0, `rcp.approx.ftz.f64`). NaN stays NaN.
 */
export function approximateHigh(fn: Approximation, x: number): number {
  if (x !== x) return NaN;
  return highWord(approximate(fn, highWord(x)));
}
