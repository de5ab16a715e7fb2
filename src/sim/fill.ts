import { numberToHalf } from '../isa/floats.ts';
import { ELEMENT_BYTES } from './launch.ts';

/** The initial contents of a launch buffer. */
export type Fill =
  | 'zero'
  | 'iota'
  | { readonly random: { readonly seed: number; readonly min: number; readonly max: number } };

/**
 * Initial contents of a buffer of `length` elements: zeros, 0 1 2 ..., or random values. Random values come from splitmix64 (Steele, Lea
 * and Flood 2014) seeded with `seed`: the top 53 bits of each output, as a fraction of [min, max), give one element; integers are rounded
 * down.
 */
export function fillBuffer(type: string, length: number, fill: Fill): Uint8Array {
  const size = ELEMENT_BYTES[type];
  const bytes = new Uint8Array(size * length);
  if (fill === 'zero') return bytes;
  const view = new DataView(bytes.buffer);
  let state = fill === 'iota' ? 0n : BigInt(fill.random.seed);
  const next = (): number => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let z = state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return Number((z ^ (z >> 31n)) >> 11n) / 9007199254740992;
  };
  const float = /^b?f/.test(type);
  for (let i = 0; i < length; i++) {
    let v: number;
    if (fill === 'iota') v = i;
    else {
      v = fill.random.min + next() * (fill.random.max - fill.random.min);
      if (!float) v = Math.floor(v);
    }
    const at = i * size;
    if (type === 'f32') view.setFloat32(at, v, true);
    else if (type === 'f64') view.setFloat64(at, v, true);
    else if (float) view.setUint16(at, numberToHalf(v, type), true);
    else {
      const b = BigInt.asUintN(64, BigInt(v));
      for (let k = 0; k < size; k++) view.setUint8(at + k, Number((b >> BigInt(8 * k)) & 0xffn));
    }
  }
  return bytes;
}
