/*
 * Text of floating-point constants in words. Our text identifies one bit pattern; the vendor's is rounded.
 */

/** Formats of floating-point immediates. */
export type FloatKind = 'f64' | 'f32' | 'f16' | 'bf16';

/** Number of bits in a word; of a double only the upper half, the lower being zero. */
export const FLOAT_BITS: Readonly<Record<FloatKind, number>> = { f64: 32, f32: 32, f16: 16, bf16: 16 };

const view = new DataView(new ArrayBuffer(8));
const F16 = { fraction: 10, bias: 15, most: 31 };

/** The number with a bit pattern. */
export function floatOf(kind: FloatKind, bits: number): number {
  if (kind === 'f16') {
    const [exponent, fraction] = [(bits >> F16.fraction) & F16.most, bits & (2 ** F16.fraction - 1)];
    const size =
      exponent === F16.most
        ? fraction === 0
          ? Number.POSITIVE_INFINITY
          : Number.NaN
        : exponent === 0
          ? fraction * 2 ** (1 - F16.bias - F16.fraction)
          : (1 + fraction / 2 ** F16.fraction) * 2 ** (exponent - F16.bias);
    return bits >> 15 === 1 ? -size : size;
  }
  if (kind === 'f64') {
    view.setUint32(4, bits, true);
    view.setUint32(0, 0, true);
    return view.getFloat64(0, true);
  }
  view.setUint32(0, kind === 'bf16' ? bits * 65536 : bits, true);
  return view.getFloat32(0, true);
}

/** The bit pattern that represents a number exactly; null if there is none, and for NaN. */
export function bitsOfFloat(kind: FloatKind, x: number): number | null {
  if (Number.isNaN(x)) return null;
  let bits: number;
  if (kind === 'f64') {
    view.setFloat64(0, x, true);
    bits = view.getUint32(4, true);
  } else if (kind === 'f16') {
    const size = Math.abs(x);
    const exponent = size === 0 ? -14 : Math.min(16, Math.max(-14, Math.floor(Math.log2(size))));
    const units = size / 2 ** (exponent - F16.fraction);
    bits = size === Number.POSITIVE_INFINITY ? 0x7c00 : (exponent + 14) * 1024 + units;
    if (x < 0 || Object.is(x, -0)) bits += 0x8000;
    if (!Number.isInteger(bits)) return null;
  } else {
    view.setFloat32(0, x, true);
    const all = view.getUint32(0, true);
    if (kind === 'bf16' && all % 65536 !== 0) return null;
    bits = kind === 'bf16' ? all / 65536 : all;
  }
  return Object.is(floatOf(kind, bits), x) ? bits : null;
}

/** The shortest decimal that identifies the bit pattern; for NaN the pattern itself, such as `0x7fc00000`. */
export function floatText(kind: FloatKind, bits: number): string {
  const x = floatOf(kind, bits);
  if (Number.isNaN(x)) return `0x${bits.toString(16)}`;
  if (!Number.isFinite(x)) return x > 0 ? '+INF' : '-INF';
  if (Object.is(x, -0)) return '-0';
  for (let digits = 1; digits <= 17; digits++) {
    const text = String(Number(x.toPrecision(digits)));
    if (nearestBits(kind, Number(text)) === bits) return text;
  }
  return String(x);
}

/** Bit pattern of the nearest f32; for the other kinds that of `x` itself, null if it is not exact. */
function nearestBits(kind: FloatKind, x: number): number | null {
  if (kind === 'f32') return bitsOfFloat('f32', Math.fround(x));
  return bitsOfFloat(kind, x);
}

/** Parses the text of `floatText`; null for any other text. */
export function parseFloatText(kind: FloatKind, text: string): number | null {
  if (/^0x[0-9a-f]+$/i.test(text)) {
    const bits = Number.parseInt(text, 16);
    return bits < 2 ** FLOAT_BITS[kind] ? bits : null;
  }
  if (text === '+INF' || text === '-INF')
    return bitsOfFloat(kind, text === '+INF' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
  if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text)) return null;
  return nearestBits(kind, Number(text));
}

/** From here on the vendor's text has an exponent and twenty decimals. */
const LARGE = 1e9;

/** The vendor's spelling: `%.20g` for small numbers, `%.20e` for large ones, names for infinities and NaNs. */
export function vendorFloat(kind: FloatKind, bits: number): string {
  const x = floatOf(kind, bits);
  const sign = bits >= 2 ** (FLOAT_BITS[kind] - 1) ? '-' : '+';
  if (Number.isNaN(x)) {
    const quiet = kind === 'f16' ? 0x200 : kind === 'bf16' ? 0x40 : kind === 'f32' ? 0x400000 : 0x80000;
    return `${sign}${(bits & quiet) !== 0 ? 'Q' : 'S'}NAN`;
  }
  if (!Number.isFinite(x)) return `${sign}INF`;
  if (x === 0) return sign === '-' ? '-0.0' : '0';
  const size = Math.abs(x);
  const minus = sign === '-' ? '-' : '';
  if (size >= LARGE) {
    const { digits, exponent } = rounded(size, 21);
    return `${minus}${digits[0]}.${digits.slice(1)}e+${twoDigits(exponent)}`;
  }
  const { digits, exponent } = rounded(size, 20);
  if (exponent < -4) return `${minus}${trimmed(`${digits[0]}.${digits.slice(1)}`)}e-${twoDigits(-exponent)}`;
  if (exponent < 0) return `${minus}${trimmed(`0.${'0'.repeat(-1 - exponent)}${digits}`)}`;
  return `${minus}${trimmed(`${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`)}`;
}

/** The first digits of a number, rounding ties to even as C does; JavaScript rounds them up. */
function rounded(x: number, count: number): { digits: string; exponent: number } {
  const exact = x.toExponential(100);
  const [mantissa, e] = exact.split('e');
  const all = mantissa.replace('.', '');
  if (/^50*$/.test(all.slice(count)) && Number(all[count - 1]) % 2 === 0)
    return { digits: all.slice(0, count), exponent: Number(e) };
  const [m, exponent] = x.toExponential(count - 1).split('e');
  return { digits: m.replace('.', ''), exponent: Number(exponent) };
}

const trimmed = (digits: string): string => (digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits);
/** Exponent with at least two digits, as in C. */
const twoDigits = (n: number): string => String(n).padStart(2, '0');
