import { halfToNumber } from '../../isa/floats.ts';
import { BITS } from '../matrix-names.ts';

const float = new Float32Array(1);
const word = new Int32Array(float.buffer);

/** Value of an e4m3 float: four exponent bits (bias 7), three fraction bits, no infinities (PTX ISA 9.0, 5.2.3). */
function e4m3ToNumber(byte: number): number {
  const magnitude = byte & 0x7f;
  if (magnitude === 0x7f) return Number.NaN;
  const exponent = magnitude >>> 3;
  const fraction = exponent === 0 ? (magnitude & 7) / 8 : 1 + (magnitude & 7) / 8;
  return (byte >= 0x80 ? -1 : 1) * fraction * 2 ** (Math.max(exponent, 1) - 7);
}

/**
 * Element `j` of a 32-bit word of a matrix fragment, or of a matrix in memory, as a number.
 *
 * @param register the word
 * @param type element type as in PTX, a key of `BITS`
 */
export function element(register: number, j: number, type: string): number {
  switch (type) {
    case 'f16':
    case 'bf16':
      return halfToNumber((register >>> (16 * j)) & 0xffff, type);
    case 'e5m2':
      return halfToNumber(((register >>> (8 * j)) & 0xff) << 8, 'f16');
    case 'e4m3':
      return e4m3ToNumber((register >>> (8 * j)) & 0xff);
    case 'tf32':
      // PTX ignores the low bits of a tf32.
      word[0] = register & ~0x1fff;
      return float[0];
    default: {
      const bits = BITS[type];
      const low = (register << (32 - bits * (j + 1))) >>> 0;
      return type.startsWith('s') ? (low | 0) >> (32 - bits) : low >>> (32 - bits);
    }
  }
}
