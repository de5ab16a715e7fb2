import { bitsToF32, f32ToBits, halfToNumber, numberToHalf } from '../../isa/floats.ts';

/** Integer arithmetic of one width, so that the atomic operations are written once for all widths. */
interface Integers<T> {
  readonly zero: T;
  readonly one: T;
  readonly minusOne: T;
  sum(a: T, b: T): T;
  and(a: T, b: T): T;
  or(a: T, b: T): T;
  xor(a: T, b: T): T;
  below(a: T, b: T): boolean;
  signedBelow(a: T, b: T): boolean;
}

const WORDS: Integers<number> = {
  zero: 0,
  one: 1,
  minusOne: -1,
  sum: (a, b) => (a + b) | 0,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  below: (a, b) => a >>> 0 < b >>> 0,
  signedBelow: (a, b) => a < b,
};

const DOUBLE_WORDS: Integers<bigint> = {
  zero: 0n,
  one: 1n,
  minusOne: -1n,
  sum: (a, b) => BigInt.asUintN(64, a + b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  below: (a, b) => a < b,
  signedBelow: (a, b) => BigInt.asIntN(64, a) < BigInt.asIntN(64, b),
};

/** New value of an atomic operation on integers (PTX ISA 9.0, 9.7.13.5). */
function atomicInteger<T>(k: Integers<T>, op: string, signed: boolean, old: T, b: T, c: T): T {
  switch (op) {
    case 'ADD':
      return k.sum(old, b);
    case 'MIN':
    case 'MAX':
      return (signed ? k.signedBelow(old, b) : k.below(old, b)) === (op === 'MIN') ? old : b;
    case 'INC':
      return k.below(old, b) ? k.sum(old, k.one) : k.zero;
    case 'DEC':
      return old === k.zero || k.below(b, old) ? b : k.sum(old, k.minusOne);
    case 'AND':
      return k.and(old, b);
    case 'OR':
      return k.or(old, b);
    case 'XOR':
      return k.xor(old, b);
    case 'CAS':
      return old === b ? c : old;
    default:
      return b;
  }
}

/** ADD, MIN or MAX of two numbers, before rounding. */
const atomicNumber = (op: string, x: number, y: number): number =>
  op === 'ADD' ? x + y : op === 'MIN' ? Math.min(x, y) : Math.max(x, y);

/** Bits of an f32, with a subnormal flushed to the zero of its sign. */
const flushed = (x: number): number => ((x & 0x7f800000) === 0 ? x & 0x80000000 : x);

/**
 * New value of an f32 sum in global memory, where subnormal inputs and results are flushed to zeros of the same sign; in shared memory they
 * are not (PTX ISA 9.0, atom and red).
 */
export const globalSum32 = (old: number, b: number): number =>
  flushed(atomic32('ADD', 'F32', flushed(old), flushed(b), 0));

/** New value of an atomic operation on 32 bits or less. */
export function atomic32(op: string, type: string, old: number, b: number, c: number): number {
  const half = (shift: number): number =>
    numberToHalf(
      atomicNumber(
        op,
        halfToNumber((old >>> shift) & 0xffff, type),
        halfToNumber((b >>> shift) & 0xffff, type),
      ),
      type,
    ) << shift;
  switch (op === 'EXCH' ? '' : type) {
    case 'F32':
      return f32ToBits(Math.fround(atomicNumber(op, bitsToF32(old), bitsToF32(b))));
    case 'F16X2':
    case 'BF16X2':
      return half(0) | half(16);
    case 'F16':
    case 'BF16':
      return half(0);
  }
  return atomicInteger(WORDS, op, type[0] === 'S', old, b, c);
}

/** New value of an atomic operation on 64 bits. */
export function atomic64(op: string, type: string, old: bigint, b: bigint, c: bigint): bigint {
  if (type !== 'F64' || op === 'EXCH') return atomicInteger(DOUBLE_WORDS, op, type[0] === 'S', old, b, c);
  conv.setBigUint64(0, old);
  const x = conv.getFloat64(0);
  conv.setBigUint64(0, b);
  conv.setFloat64(0, atomicNumber(op, x, conv.getFloat64(0)));
  return conv.getBigUint64(0);
}
const conv = new DataView(new ArrayBuffer(8));
