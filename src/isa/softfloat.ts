import { type FloatFormat, FORMATS } from './formats.ts';

/**
 * Exact floating-point arithmetic on bit patterns: every operation computes the exact result as an integer times a power of two (with a
 * sticky bit for quotients and roots) and rounds once. Slow; it is the reference for every faster implementation.
 */
export type Format = Pick<FloatFormat, 'bits' | 'mant' | 'bias' | 'nan'>;

export const { f16: F16, bf16: BF16, f32: F32, f64: F64 } = FORMATS;
/** TF32 without the 13 low bits that pad it to an f32. */
export const TF32: Format = { bits: 19, mant: 10, bias: 127, nan: 0x3ffffn };

type Kind = 'nan' | 'inf' | 'finite';
interface Num {
  readonly kind: Kind;
  readonly neg: boolean;
  /** |value| = m * 2^e */
  readonly m: bigint;
  readonly e: number;
}

/** Decodes a bit pattern. */
export function decode(f: Format, b: bigint): Num {
  const neg = ((b >> BigInt(f.bits - 1)) & 1n) === 1n;
  const expMask = (1 << (f.bits - 1 - f.mant)) - 1;
  const ex = Number((b >> BigInt(f.mant)) & BigInt(expMask));
  const m = b & ((1n << BigInt(f.mant)) - 1n);
  if (ex === expMask) return { kind: m === 0n ? 'inf' : 'nan', neg, m: 0n, e: 0 };
  if (ex === 0) return { kind: 'finite', neg, m, e: 1 - f.bias - f.mant };
  return { kind: 'finite', neg, m: m | (1n << BigInt(f.mant)), e: ex - f.bias - f.mant };
}

const inf = (f: Format, neg: boolean): bigint =>
  ((neg ? 1n : 0n) << BigInt(f.bits - 1)) | (((1n << BigInt(f.bits - 1 - f.mant)) - 1n) << BigInt(f.mant));
const zero = (f: Format, neg: boolean): bigint => (neg ? 1n << BigInt(f.bits - 1) : 0n);
const largest = (f: Format, neg: boolean): bigint => inf(f, neg) - 1n;

/** Number of significant bits; 0 for 0. */
function bitLength(x: bigint): number {
  if (x === 0n) return 0;
  const hex = x.toString(16);
  return 4 * hex.length - Math.clz32(Number.parseInt(hex[0], 16)) + 28;
}

/** Rounds +-(m * 2^e) to the format; `sticky` means that the magnitude exceeds this by a fraction of 2^e. */
export function encode(f: Format, neg: boolean, m: bigint, e: number, sticky: boolean, mode: string): bigint {
  if (m === 0n && !sticky) return zero(f, neg);
  // Two more bits than any rounding needs, so that sticky always means "slightly more".
  let mm = m << 2n;
  const ee = e - 2;
  if (sticky) mm |= 1n;
  const emin = 1 - f.bias;
  const len = bitLength(mm);
  let target = Math.max(emin, ee + len - 1) - f.mant;
  const drop = target - ee;
  let q: bigint;
  let rest = 0n;
  let half = 0n;
  if (drop > 0) {
    q = mm >> BigInt(drop);
    rest = mm - (q << BigInt(drop));
    half = 1n << BigInt(drop - 1);
  } else q = mm << BigInt(-drop);
  let up = false;
  if (rest !== 0n)
    switch (mode) {
      case 'RZ':
        break;
      case 'RM':
        up = neg;
        break;
      case 'RP':
        up = !neg;
        break;
      case 'RNA':
        up = rest >= half;
        break;
      default:
        up = rest > half || (rest === half && (q & 1n) === 1n);
    }
  if (up) q += 1n;
  if (bitLength(q) > f.mant + 1) {
    q >>= 1n;
    target++;
  }
  if (q === 0n) return zero(f, neg);
  const hidden = 1n << BigInt(f.mant);
  const ex = q >= hidden ? target + f.mant + f.bias : 0;
  const maxEx = (1 << (f.bits - 1 - f.mant)) - 1;
  if (ex >= maxEx) {
    const clamp = mode === 'RZ' || (mode === 'RM' && !neg) || (mode === 'RP' && neg);
    return clamp ? largest(f, neg) : inf(f, neg);
  }
  return zero(f, neg) | (BigInt(ex) << BigInt(f.mant)) | (q >= hidden ? q - hidden : q);
}

const exactZero = (f: Format, mode: string, bothNeg: boolean): bigint => zero(f, bothNeg || mode === 'RM');

/** a + b. */
export const bigAdd = (f: Format, a: bigint, b: bigint, mode: string): bigint =>
  sum(f, decode(f, a), decode(f, b), mode);

function sum(f: Format, x: Num, y: Num, mode: string): bigint {
  if (x.kind === 'nan' || y.kind === 'nan') return f.nan;
  if (x.kind === 'inf' || y.kind === 'inf') {
    if (x.kind === 'inf' && y.kind === 'inf' && x.neg !== y.neg) return f.nan;
    return inf(f, x.kind === 'inf' ? x.neg : y.neg);
  }
  const e = Math.min(x.e, y.e);
  const s = (x.neg ? -1n : 1n) * (x.m << BigInt(x.e - e)) + (y.neg ? -1n : 1n) * (y.m << BigInt(y.e - e));
  if (s === 0n)
    return x.m === 0n && y.m === 0n && x.neg === y.neg ? zero(f, x.neg) : exactZero(f, mode, false);
  return encode(f, s < 0n, s < 0n ? -s : s, e, false, mode);
}

/** a * b + c with one rounding; a * b if c is null. */
export function bigFma(f: Format, a: bigint, b: bigint, c: bigint | null, mode: string): bigint {
  const x = decode(f, a);
  const y = decode(f, b);
  const z = c === null ? null : decode(f, c);
  if (x.kind === 'nan' || y.kind === 'nan' || z?.kind === 'nan') return f.nan;
  const neg = x.neg !== y.neg;
  if (x.kind === 'inf' || y.kind === 'inf') {
    if ((x.kind === 'finite' && x.m === 0n) || (y.kind === 'finite' && y.m === 0n)) return f.nan;
    if (z?.kind === 'inf' && z.neg !== neg) return f.nan;
    return inf(f, neg);
  }
  const p: Num = { kind: 'finite', neg, m: x.m * y.m, e: x.e + y.e };
  return z === null ? encode(f, neg, p.m, p.e, false, mode) : sum(f, p, z, mode);
}

/** a / b on bit patterns, rounded in `mode`. */
export function bigDiv(f: Format, a: bigint, b: bigint, mode: string): bigint {
  const x = decode(f, a);
  const y = decode(f, b);
  if (x.kind === 'nan' || y.kind === 'nan') return f.nan;
  const neg = x.neg !== y.neg;
  if (x.kind === 'inf') return y.kind === 'inf' ? f.nan : inf(f, neg);
  if (y.kind === 'inf') return zero(f, neg);
  if (y.m === 0n) return x.m === 0n ? f.nan : inf(f, neg);
  if (x.m === 0n) return zero(f, neg);
  const shift = BigInt(2 * f.mant + 8);
  const n = x.m << shift;
  const q = n / y.m;
  return encode(f, neg, q, x.e - y.e - Number(shift), q * y.m !== n, mode);
}

/** The square root on bit patterns, rounded in `mode`. */
export function bigSqrt(f: Format, a: bigint, mode: string): bigint {
  const x = decode(f, a);
  if (x.kind === 'nan') return f.nan;
  if (x.m === 0n && x.kind === 'finite') return zero(f, x.neg);
  if (x.neg) return f.nan;
  if (x.kind === 'inf') return inf(f, false);
  let shift = 2 * f.mant + 8;
  if ((x.e - shift) % 2 !== 0) shift++;
  const n = x.m << BigInt(shift);
  const r = isqrt(n);
  return encode(f, false, r, (x.e - shift) / 2, r * r !== n, mode);
}

/** Integer square root by Newton's method. */
function isqrt(n: bigint): bigint {
  let r = 1n << BigInt(Math.ceil(bitLength(n) / 2));
  for (;;) {
    const t = (r + n / r) >> 1n;
    if (t >= r) return r;
    r = t;
  }
}

/** Rounds to an integral value in the same format; a zero result keeps the sign. */
export function bigIntegral(f: Format, a: bigint, mode: string): bigint {
  const x = decode(f, a);
  if (x.kind === 'nan') return f.nan;
  if (x.kind === 'inf' || x.e >= 0) return a;
  const v = roundInt(x, mode);
  return v === 0n ? zero(f, x.neg) : encode(f, x.neg, v < 0n ? -v : v, 0, false, 'RZ');
}

/** Rounds a finite number to an integer. */
export function roundInt(x: Num, mode: string): bigint {
  if (x.e >= 0) return (x.neg ? -1n : 1n) * (x.m << BigInt(x.e));
  const s = BigInt(-x.e);
  let q = x.m >> s;
  const rest = x.m - (q << s);
  const half = 1n << (s - 1n);
  if (rest !== 0n) {
    const up =
      mode === 'RZ'
        ? false
        : mode === 'RM'
          ? x.neg
          : mode === 'RP'
            ? !x.neg
            : mode === 'RNA'
              ? rest >= half
              : rest > half || (rest === half && (q & 1n) === 1n);
    if (up) q += 1n;
  }
  return x.neg ? -q : q;
}

/** Converts a bit pattern from one format to another. */
export function bigConvert(to: Format, from: Format, a: bigint, mode: string): bigint {
  const x = decode(from, a);
  if (x.kind === 'nan') return to.nan;
  if (x.kind === 'inf') return inf(to, x.neg);
  return encode(to, x.neg, x.m, x.e, false, mode);
}

/** Integer to float. */
export const bigFromInt = (f: Format, v: bigint, mode: string): bigint =>
  encode(f, v < 0n, v < 0n ? -v : v, 0, false, mode);

/** Compares two numbers: -1, 0, 1, or null if an operand is NaN. */
export function bigCompare(f: Format, a: bigint, b: bigint): number | null {
  const x = decode(f, a);
  const y = decode(f, b);
  if (x.kind === 'nan' || y.kind === 'nan') return null;
  const key = (n: Num): [number, bigint, number] => [n.neg ? -1 : 1, n.m, n.e];
  if (x.kind === 'inf' || y.kind === 'inf') {
    const vx = x.kind === 'inf' ? (x.neg ? -1 : 1) : 0;
    const vy = y.kind === 'inf' ? (y.neg ? -1 : 1) : 0;
    return Math.sign(vx - vy);
  }
  const [sx, mx, ex] = key(x);
  const [sy, my, ey] = key(y);
  const e = Math.min(ex, ey);
  const l = BigInt(sx) * (mx << BigInt(ex - e));
  const r = BigInt(sy) * (my << BigInt(ey - e));
  return l < r ? -1 : l > r ? 1 : 0;
}

const view = new DataView(new ArrayBuffer(8));

/** Bit pattern of a JavaScript number that the format (f32 or f64) represents exactly. */
export function fromNumber(f: Format, v: number): bigint {
  if (v !== v) return f.nan;
  if (f.bits === 64) {
    view.setFloat64(0, v);
    return view.getBigUint64(0);
  }
  view.setFloat32(0, v);
  return BigInt(view.getUint32(0));
}

/** The value of an f32 or f64 bit pattern. */
export function toNumber(f: Format, b: bigint): number {
  if (f.bits === 64) {
    view.setBigUint64(0, b);
    return view.getFloat64(0);
  }
  view.setUint32(0, Number(b));
  return view.getFloat32(0);
}
