/**
 * Floating point on JavaScript numbers, fast and exact. Formats up to f32 are computed in double: sums that do not fit
 * are rounded to odd first, which makes the second rounding exact in every mode because 53 >= 24 + 2 bits (Boldo and
 * Melquiond, "Emulation of a FMA and correctly rounded sums"). f64 in other modes than RN goes through `softfloat.ts`.
 */
import { bigAdd, bigDiv, bigFma, bigSqrt, F32, F64, type Format, fromNumber, toNumber } from './softfloat.ts';

export type Round = 'RN' | 'RZ' | 'RM' | 'RP' | 'RNA';

const buf = new ArrayBuffer(8);
const f64 = new Float64Array(buf);
const i32 = new Int32Array(buf);
const f32 = new Float32Array(buf);

/** Canonical NaN of f32 results (PTX ISA 9.0, 9.7.3: 0x7fffffff). */
export const NAN32 = 0x7fffffff;

export function f32ToBits(v: number): number {
  if (v !== v) return NAN32;
  f32[0] = v;
  return i32[0];
}
export function bitsToF32(b: number): number {
  i32[0] = b;
  return f32[0];
}

/** s = a + b rounded to odd: if inexact, the neighbour with an odd significand. */
function oddSum(a: number, b: number): number {
  const s = a + b;
  const bb = s - a;
  const err = a - (s - bb) + (b - bb);
  if (err === 0 || !Number.isFinite(s) || err !== err) return s;
  f64[0] = s;
  if ((i32[0] & 1) !== 0) return s;
  // The exact sum lies between s and its neighbour on err's side.
  const up = err > 0 === s > 0;
  let lo = i32[0];
  let hi = i32[1];
  if (up) {
    lo = (lo + 1) | 0;
    if (lo === 0) hi = (hi + 1) | 0;
  } else {
    if (lo === 0) hi = (hi - 1) | 0;
    lo = (lo - 1) | 0;
  }
  i32[0] = lo;
  i32[1] = hi;
  return f64[0];
}

/** Rounds a double to a format with `mant` explicit bits and smallest normal exponent `emin`, any mode. */
function roundTo(v: number, mant: number, emin: number, emax: number, mode: Round): number {
  if (v === 0 || !Number.isFinite(v)) return v;
  f64[0] = v;
  let e = ((i32[1] >>> 20) & 0x7ff) - 1023;
  if (e < emin) e = emin;
  const ulp = 2 ** (e - mant);
  const q = v / ulp;
  let r: number;
  switch (mode) {
    case 'RZ':
      r = Math.trunc(q);
      break;
    case 'RM':
      r = Math.floor(q);
      break;
    case 'RP':
      r = Math.ceil(q);
      break;
    default: {
      const fl = Math.floor(q);
      const d = q - fl;
      if (d === 0.5) r = mode === 'RNA' ? (q > 0 ? fl + 1 : fl) : fl % 2 === 0 ? fl : fl + 1;
      else r = d > 0.5 ? fl + 1 : fl;
    }
  }
  const x = r * ulp;
  const max = (2 - 2 ** -mant) * 2 ** emax;
  if (x === 0) return v < 0 ? -0 : 0;
  if (x > max) return mode === 'RZ' || mode === 'RM' ? max : Infinity;
  if (x < -max) return mode === 'RZ' || mode === 'RP' ? -max : -Infinity;
  return x;
}

const to32 = (v: number, mode: Round): number =>
  mode === 'RN' ? Math.fround(v) : roundTo(v, 23, -126, 127, mode);

/** Zero of an exact cancellation is -0 when rounding down (IEEE 754, 6.3). */
const sumZero = (v: number, a: number, b: number, mode: Round): number =>
  v === 0 && mode === 'RM' && !(a === 0 && b === 0 && Object.is(a, b)) && (a !== 0 || !Object.is(a, b))
    ? -0
    : v;

export function fadd(a: number, b: number, mode: Round): number {
  if (mode === 'RN') return Math.fround(a + b);
  const s = oddSum(a, b);
  return s === 0 ? sumZero(s, a, b, mode) : to32(s, mode);
}
export function fmul(a: number, b: number, mode: Round): number {
  return to32(a * b, mode);
}
export function ffma(a: number, b: number, c: number, mode: Round): number {
  const p = a * b;
  const s = oddSum(p, c);
  return s === 0 ? sumZero(s, p, c, mode) : to32(s, mode);
}
export function fdiv(a: number, b: number, mode: string): number {
  if (mode === 'RZ' || mode === 'RM' || mode === 'RP')
    return toNumber(F32, bigDiv(F32, fromNumber(F32, a), fromNumber(F32, b), mode));
  return Math.fround(a / b);
}
export function fsqrt(a: number, mode: Round): number {
  return mode === 'RN' ? Math.fround(Math.sqrt(a)) : toNumber(F32, bigSqrt(F32, fromNumber(F32, a), mode));
}

const viaBig = (v: bigint): number => toNumber(F64, v);
export function dadd(a: number, b: number, mode: Round): number {
  return mode === 'RN' ? a + b : viaBig(bigAdd(F64, fromNumber(F64, a), fromNumber(F64, b), mode));
}
export function dmul(a: number, b: number, mode: Round): number {
  return mode === 'RN' ? a * b : viaBig(bigFma(F64, fromNumber(F64, a), fromNumber(F64, b), null, mode));
}
export function ddiv(a: number, b: number, mode: Round): number {
  return mode === 'RN' ? a / b : viaBig(bigDiv(F64, fromNumber(F64, a), fromNumber(F64, b), mode));
}
export function dsqrt(a: number, mode: Round): number {
  return mode === 'RN' ? Math.sqrt(a) : viaBig(bigSqrt(F64, fromNumber(F64, a), mode));
}

const SPLIT = 134217729;

/**
 * f64 fused multiply-add. For moderate exponents by error-free transformations and one rounding to odd; outside of them
 * (where products or errors leave the range of normal doubles) exactly.
 */
export function dfma(a: number, b: number, c: number, mode: Round): number {
  const p = a * b;
  const m = Math.abs(p);
  const ac = Math.abs(c);
  if (
    mode === 'RN' &&
    m < 1e280 &&
    m > 1e-240 &&
    (c === 0 || (ac < 1e280 && ac > 1e-240)) &&
    Math.abs(a) < 1e140 &&
    Math.abs(b) < 1e140
  ) {
    const ta = SPLIT * a;
    const ah = ta - (ta - a);
    const al = a - ah;
    const tb = SPLIT * b;
    const bh = tb - (tb - b);
    const bl = b - bh;
    const pl = al * bl - (p - ah * bh - al * bh - ah * bl);
    const th = c + pl;
    let bb = th - c;
    const tl = c - (th - bb) + (pl - bb);
    const vh = p + th;
    bb = vh - p;
    const vl = p - (vh - bb) + (th - bb);
    return vh + oddSum(tl, vl);
  }
  return viaBig(bigFma(F64, fromNumber(F64, a), fromNumber(F64, b), fromNumber(F64, c), mode));
}

/** Flushes an f32 subnormal to zero of its sign. */
export const ftz32 = (v: number): number =>
  v < 1.1754943508222875e-38 && v > -1.1754943508222875e-38 ? (v < 0 || Object.is(v, -0) ? -0 : 0) : v;
/** Clamps to [0, 1]; NaN gives 0. */
export const sat = (v: number): number => (v >= 1 ? 1 : v > 0 ? v : 0);

/** Minimum or maximum: NaN loses (or wins), -0 is below +0. */
export function minmax(a: number, b: number, max: boolean, nan: boolean, xorsign: boolean): number {
  let r: number;
  if (a !== a || b !== b) r = nan || (a !== a && b !== b) ? NaN : a !== a ? b : a;
  else if (xorsign) r = max ? Math.max(Math.abs(a), Math.abs(b)) : Math.min(Math.abs(a), Math.abs(b));
  else r = max ? Math.max(a, b) : Math.min(a, b);
  if (xorsign && r === r) {
    const s = (a < 0 || Object.is(a, -0)) !== (b < 0 || Object.is(b, -0));
    r = s ? -Math.abs(r) : Math.abs(r);
  }
  return r;
}

export function compareF(a: number, b: number, cmp: string): boolean {
  const u = a !== a || b !== b;
  switch (cmp) {
    case 'EQ':
      return a === b;
    case 'NE':
      return !u && a !== b;
    case 'LT':
      return a < b;
    case 'LE':
      return a <= b;
    case 'GT':
      return a > b;
    case 'GE':
      return a >= b;
    case 'EQU':
      return u || a === b;
    case 'NEU':
      return a !== b;
    case 'LTU':
      return u || a < b;
    case 'LEU':
      return u || a <= b;
    case 'GTU':
      return u || a > b;
    case 'GEU':
      return u || a >= b;
    case 'NUM':
      return !u;
    default:
      return u;
  }
}

/** Rounds to an integral value in the number's own format. */
export function integral(v: number, mode: Round): number {
  if (!Number.isFinite(v) || v === 0) return v;
  let r: number;
  switch (mode) {
    case 'RZ':
      r = Math.trunc(v);
      break;
    case 'RM':
      r = Math.floor(v);
      break;
    case 'RP':
      r = Math.ceil(v);
      break;
    default: {
      const fl = Math.floor(v);
      const d = v - fl;
      r = d > 0.5 || (d === 0.5 && fl % 2 !== 0) ? fl + 1 : fl;
    }
  }
  return r === 0 ? (v < 0 ? -0 : 0) : r;
}

/**
 * Approximate f32 functions: the correctly rounded double result rounded to f32, which lies within the error that PTX
 * states for each (PTX ISA 9.0, 9.7.3).
 */
export function approx(x: number, fn: string): number {
  switch (fn) {
    case 'RCP':
      return Math.fround(1 / x);
    case 'RSQ':
      return Math.fround(1 / Math.sqrt(x));
    case 'SQRT':
      return Math.fround(Math.sqrt(x));
    case 'SIN':
      return Math.fround(Math.sin(x));
    case 'COS':
      return Math.fround(Math.cos(x));
    case 'LG2':
      return Math.fround(Math.log2(x));
    case 'EX2':
      return Math.fround(2 ** x);
    default:
      return Math.fround(Math.tanh(x));
  }
}

/** rcp.approx.ftz.f64 and rsqrt.approx.f64: the high word of the result; the low word is zero. */
export function dapprox(x: number, fn: string): number {
  const r = fn === 'RCP' ? 1 / x : 1 / Math.sqrt(x);
  if (!Number.isFinite(r) || r === 0) return r;
  f64[0] = r;
  i32[0] = 0;
  return f64[0];
}

// ------------------------------------------------------------------------------------------------ halves

interface Half {
  readonly mant: number;
  readonly emin: number;
  readonly emax: number;
  readonly nan: number;
}
const F16: Half = { mant: 10, emin: -14, emax: 15, nan: 0x7fff };
const BF16: Half = { mant: 7, emin: -126, emax: 127, nan: 0x7fff };
const halfOf = (fmt: string): Half => (fmt.startsWith('BF') || fmt.startsWith('bf') ? BF16 : F16);

/** Value of a 16-bit pattern. */
export function halfToNumber(b: number, fmt: string): number {
  if (halfOf(fmt) === BF16) return bitsToF32(b << 16);
  const e = (b >>> 10) & 31;
  const m = b & 1023;
  const v = e === 31 ? (m === 0 ? Infinity : NaN) : e === 0 ? m * 2 ** -24 : (1024 + m) * 2 ** (e - 25);
  return (b & 0x8000) !== 0 ? -v : v;
}

/** Pattern of a double rounded to f16 or bf16. */
export function numberToHalf(v: number, fmt: string, mode: Round = 'RN'): number {
  const h = halfOf(fmt);
  if (v !== v) return h.nan;
  const r = roundTo(v, h.mant, h.emin, h.emax, mode);
  const s = r < 0 || Object.is(r, -0) ? 0x8000 : 0;
  const a = Math.abs(r);
  if (h === BF16) {
    f32[0] = a;
    return s | (i32[0] >>> 16);
  }
  if (a === Infinity) return s | 0x7c00;
  if (a < 2 ** -14) return s | (a * 2 ** 24);
  f64[0] = a;
  const e = ((i32[1] >>> 20) & 0x7ff) - 1023;
  return s | ((e + 15) << 10) | ((i32[1] >>> 10) & 1023);
}

const flushHalf = (v: number, on: boolean, fmt: string): number => {
  const min = halfOf(fmt) === BF16 ? 2 ** -126 : 2 ** -14;
  return on && Math.abs(v) < min ? (v < 0 || Object.is(v, -0) ? -0 : 0) : v;
};

/** Applies `f` to both halves of packed operands. */
function packed(
  fmt: string,
  ftz: boolean,
  satOn: boolean,
  relu: boolean,
  f: (...x: number[]) => number,
  ...w: number[]
): number {
  let out = 0;
  for (let k = 0; k < 2; k++) {
    let r = f(...w.map((x) => flushHalf(halfToNumber((x >>> (16 * k)) & 0xffff, fmt), ftz, fmt)));
    if (satOn) r = sat(r);
    if (relu && !(r > 0) && r === r) r = 0;
    let bits = numberToHalf(r, fmt);
    if (ftz) bits = numberToHalf(flushHalf(halfToNumber(bits, fmt), true, fmt), fmt);
    out |= bits << (16 * k);
  }
  return out;
}
export const hadd2 = (a: number, b: number, fmt: string, z: boolean, s: boolean): number =>
  packed(fmt, z, s, false, oddSum, a, b);
export const hmul2 = (a: number, b: number, fmt: string, z: boolean, s: boolean): number =>
  packed(fmt, z, s, false, (x, y) => x * y, a, b);
export const hfma2 = (
  a: number,
  b: number,
  c: number,
  fmt: string,
  z: boolean,
  s: boolean,
  relu: boolean,
): number => packed(fmt, z, s, relu, (x, y, w) => oddSum(x * y, w), a, b, c);
export const hminmax2 = (
  a: number,
  b: number,
  fmt: string,
  op: string,
  z: boolean,
  nan: boolean,
  xs: boolean,
): number => packed(fmt, z, false, false, (x, y) => minmax(x, y, op === 'MAX', nan, xs), a, b);
export const hcmp = (a: number, b: number, cmp: string, fmt: string, z: boolean): boolean =>
  compareF(
    flushHalf(halfToNumber(a & 0xffff, fmt), z, fmt),
    flushHalf(halfToNumber(b & 0xffff, fmt), z, fmt),
    cmp,
  );
export const happrox2 = (a: number, fn: string, fmt: string, z: boolean): number =>
  packed(fmt, z, false, false, (x) => (fn === 'TANH' ? Math.tanh(x) : 2 ** x), a);

// ------------------------------------------------------------------------------------------------ conversions

/** Value of a pattern: 32-bit patterns in `lo`, 64-bit ones in both words. */
export function valueOf(lo: number, hi: number, type: string): number {
  switch (type) {
    case 'F64':
      i32[0] = lo;
      i32[1] = hi;
      return f64[0];
    case 'F32':
    case 'TF32':
      return bitsToF32(lo);
    default:
      return halfToNumber(lo & 0xffff, type);
  }
}

/** A number to a float format, as a pattern of up to 32 bits. `mode` rounds; `v` must be exact in double. */
function encode(v: number, dt: string, mode: Round): number {
  if (dt === 'F32') return f32ToBits(to32(v, mode));
  if (dt === 'TF32') return v !== v ? NAN32 : f32ToBits(roundTo(v, 10, -126, 127, mode)) & ~0x1fff;
  return numberToHalf(v, dt, mode);
}

/** Result words of a float conversion; f64 results go through `hiWord`. */
export let hiWord = 0;

function finish(v: number, dt: string, mode: Round, ftz: boolean, s: boolean, relu: boolean): number {
  if (s) v = sat(v);
  if (relu && !(v > 0) && v === v) v = 0;
  if (dt === 'F64') {
    f64[0] = v;
    if (v !== v) {
      hiWord = 0x7ff80000;
      return 0;
    }
    hiWord = i32[1];
    return i32[0];
  }
  const b = encode(v, dt, mode);
  return ftz && dt === 'F32' ? f32ToBits(ftz32(bitsToF32(b))) : b;
}
export function f2f(
  lo: number,
  hi: number,
  dt: string,
  st: string,
  mode: Round,
  ftz: boolean,
  s: boolean,
  relu: boolean,
): number {
  let v = valueOf(lo, hi, st);
  if (ftz && st === 'F32') v = ftz32(v);
  return finish(v, dt, mode, ftz, s, relu);
}
export const f2fp = (hiV: number, loV: number, fmt: string, mode: Round, s: boolean, relu: boolean): number =>
  (finish(bitsToF32(hiV), fmt, mode, false, s, relu) << 16) |
  finish(bitsToF32(loV), fmt, mode, false, s, relu);

const RANGE: Readonly<Record<string, readonly [number, number]>> = {
  S8: [-128, 127],
  U8: [0, 255],
  S16: [-32768, 32767],
  U16: [0, 65535],
  S32: [-2147483648, 2147483647],
  U32: [0, 4294967295],
};

/**
 * Float to integer, rounded and clamped. NaN gives 0, or 1 << (width - 1) when the source is f64 or the target has 64 bits
 * (PTX ISA 9.0, 9.7.9 cvt).
 */
export function f2i(lo: number, hi: number, dt: string, st: string, mode: Round, ftz: boolean): number {
  let v = valueOf(lo, hi, st);
  if (ftz && st === 'F32') v = ftz32(v);
  const wide = dt.endsWith('64');
  if (v !== v) {
    hiWord = wide ? 0x80000000 | 0 : 0;
    if (wide) return 0;
    if (st !== 'F64') return 0;
    const bits = Number(dt.slice(1));
    return dt[0] === 'S' ? (-1 << (bits - 1)) | 0 : (2 ** (bits - 1)) | 0;
  }
  const r = integral(v, mode);
  if (!wide) {
    const [min, max] = RANGE[dt];
    return (r < min ? min : r > max ? max : r) | 0;
  }
  const max = dt === 'S64' ? (1n << 63n) - 1n : (1n << 64n) - 1n;
  const min = dt === 'S64' ? -(1n << 63n) : 0n;
  let b = r >= 2 ** 64 ? max : r <= -(2 ** 64) ? min : BigInt(r);
  b = b > max ? max : b < min ? min : b;
  hiWord = Number(BigInt.asIntN(32, b >> 32n));
  return Number(BigInt.asIntN(32, b));
}

/** Integer of a type from its words, exact in double up to 53 bits. */
const intOf = (lo: number, st: string): number => {
  switch (st) {
    case 'S8':
      return (lo << 24) >> 24;
    case 'U8':
      return lo & 0xff;
    case 'S16':
      return (lo << 16) >> 16;
    case 'U16':
      return lo & 0xffff;
    case 'S32':
      return lo;
    default:
      return lo >>> 0;
  }
};

export function i2f(lo: number, hi: number, dt: string, st: string, mode: Round, s: boolean): number {
  if (!st.endsWith('64')) return finish(intOf(lo, st), dt, mode, false, s, false);
  // hi * 2^32 and lo are exact; their sum rounds to odd, then once more to a narrower format.
  const h = (st === 'S64' ? hi : hi >>> 0) * 4294967296;
  if (dt !== 'F64') return finish(oddSum(h, lo >>> 0), dt, mode, false, s, false);
  return finish(dadd(h, lo >>> 0, mode), dt, mode, false, s, false);
}

/** Integer to integer: low bits of the source type, extended by its sign, cut or saturated. */
export function i2i(lo: number, hi: number, dt: string, st: string, s: boolean): number {
  let l = lo;
  let h = hi;
  if (!st.endsWith('64')) {
    const v = intOf(lo, st);
    l = v | 0;
    h = v < 0 ? -1 : 0;
  }
  if (s) {
    const v =
      st === 'U64' || st[0] === 'U'
        ? (BigInt(h >>> 0) << 32n) | BigInt(l >>> 0)
        : (BigInt(h) << 32n) | BigInt(l >>> 0);
    const bits = BigInt(dt.slice(1));
    const min = dt[0] === 'S' ? -(1n << (bits - 1n)) : 0n;
    const max = dt[0] === 'S' ? (1n << (bits - 1n)) - 1n : (1n << bits) - 1n;
    const c = v < min ? min : v > max ? max : v;
    l = Number(BigInt.asIntN(32, c));
    h = Number(BigInt.asIntN(32, c >> 32n));
  }
  hiWord = h;
  return dt.endsWith('64') ? l : intOf(l, dt) | 0;
}

export type { Format };
