import { numberToHalf } from '../../isa/floats.ts';
import { lowest } from '../masks.ts';
import type { ForeignCall } from './foreign-operands.ts';

/** A float of 4 or 6 bits without infinities and NaN (PTX ISA 9.0, 5.2.3). */
interface Narrow {
  readonly exponent: number;
  readonly fraction: number;
  readonly bias: number;
  /** Distance in bits between the two elements of a pair. */
  readonly step: number;
}

const NARROW: Readonly<Record<string, Narrow>> = {
  e2m3x2: { exponent: 2, fraction: 3, bias: 1, step: 8 },
  e3m2x2: { exponent: 3, fraction: 2, bias: 3, step: 8 },
  e2m1x2: { exponent: 2, fraction: 1, bias: 1, step: 4 },
};

const float = new Float32Array(1);
const word = new Uint32Array(float.buffer);

/** Rounds to the nearest integer, ties to even. */
function nearestEven(x: number): number {
  const low = Math.floor(x);
  const above = x - low;
  return above > 0.5 || (above === 0.5 && low % 2 === 1) ? low + 1 : low;
}

/** Encodes a number: round to nearest even, saturating; NaN becomes the largest positive number. */
function encode(x: number, { exponent, fraction, bias }: Narrow): number {
  const most = 2 ** (exponent + fraction) - 1;
  if (Number.isNaN(x)) return most;
  const sign = x < 0 || Object.is(x, -0) ? most + 1 : 0;
  // The spacing is constant within a binade and among subnormals, and consecutive values have consecutive patterns.
  const scale = Math.max(Math.floor(Math.log2(Math.abs(x))), 1 - bias);
  if (scale === Number.POSITIVE_INFINITY) return sign | most;
  const pattern = nearestEven(Math.abs(x) * 2 ** (fraction - scale)) + (scale + bias - 1) * 2 ** fraction;
  return sign | Math.min(pattern, most);
}

function decode(pattern: number, { exponent, fraction, bias }: Narrow): number {
  const magnitude = pattern & (2 ** (exponent + fraction) - 1);
  const e = magnitude >> fraction;
  const m = magnitude & (2 ** fraction - 1);
  const sign = (pattern >> (exponent + fraction)) & 1;
  return (sign === 1 ? -1 : 1) * (e === 0 ? m : m + 2 ** fraction) * 2 ** (Math.max(e, 1) - bias - fraction);
}

/**
 * Exponent of a float of either sign in `ue8m0`, rounded down (`.rz`) or up (`.rp`). The range starts at 2^-127; 255 is NaN. With
 * `.satfinite`, infinity becomes the largest number.
 *
 * @param bits bit pattern of an f32
 */
function exponentOf(bits: number, up: boolean, finite: boolean): number {
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 255;
  // Values up to 2^-127 are not rounded up, since the encoding 0 is 2^-127.
  const e = (magnitude >>> 23) + (up && magnitude > 0x400000 && (magnitude & 0x7fffff) !== 0 ? 1 : 0);
  return Math.min(e, finite ? 254 : 255);
}

const f32 = (bits: number): number => {
  word[0] = bits >>> 0;
  return float[0];
};

/**
 * `cvt` to and from pairs of 4- and 6-bit floats and of ue8m0 exponents (PTX ISA 9.0, 9.7.9.22).
 *
 * @returns false if it is another instruction
 */
export function runNarrow(c: ForeignCall): boolean {
  if (c.opcode !== 'cvt') return false;
  const [to, from] = c.mods.slice(-2);
  const toNarrow = NARROW[to];
  const fromNarrow = NARROW[from];
  const convert =
    toNarrow !== undefined && from === 'f32'
      ? (lane: number) => pairFrom(c, lane, toNarrow.step, (bits) => encode(relu(c, f32(bits)), toNarrow))
      : to === 'ue8m0x2' && (from === 'f32' || from === 'bf16x2')
        ? (lane: number) =>
            pairFrom(c, lane, 8, (bits) => exponentOf(bits, c.has('rp'), c.has('satfinite')), from)
        : fromNarrow !== undefined && to === 'f16x2'
          ? (lane: number) => halves(c, lane, fromNarrow.step, (p) => relu(c, decode(p, fromNarrow)), 'f16')
          : from === 'ue8m0x2' && to === 'bf16x2'
            ? (lane: number) => halves(c, lane, 8, (p) => (p === 255 ? Number.NaN : 2 ** (p - 127)), 'bf16')
            : null;
  if (convert === null) return false;
  for (let r = c.mask; r !== 0; r &= r - 1) c.give(0, lowest(r), BigInt(convert(lowest(r)) >>> 0));
  return true;
}

const relu = (c: ForeignCall, x: number): number => (c.has('relu') && (x < 0 || Object.is(x, -0)) ? 0 : x);

/** Packs two converted patterns, with the first source in the upper bits; the sources are two f32 or the halves of one register. */
function pairFrom(
  c: ForeignCall,
  lane: number,
  step: number,
  one: (bits: number) => number,
  from = 'f32',
): number {
  const [high, low] =
    from === 'f32'
      ? [c.word(1, lane), c.word(2, lane)]
      : [c.word(1, lane) & 0xffff0000, c.word(1, lane) << 16];
  return (one(high) << step) | one(low);
}

/** Converts a pair of patterns to two 16-bit floats. */
function halves(
  c: ForeignCall,
  lane: number,
  step: number,
  one: (pattern: number) => number,
  type: 'f16' | 'bf16',
): number {
  const pair = c.word(1, lane);
  const mask = 2 ** step - 1;
  return (numberToHalf(one((pair >> step) & mask), type) << 16) | numberToHalf(one(pair & mask), type);
}
