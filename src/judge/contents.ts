import type { Fn } from '../ir/program.ts';
import { mix } from '../sim/memory.ts';
import { type Contents, someFloat, someInteger } from '../sim/open-memory.ts';
import type { UsedAs } from '../sim/used-as.ts';
import type { Pool } from './constants.ts';
import type { World } from './world.ts';

/** Distance between the bases of two pointer parameters in worlds where pointers are far apart. */
const FAR = 2 ** 36;

const pick = <T>(all: readonly T[], h: number): T => all[(h >>> 0) % all.length];
const low = (v: bigint): number => Number(BigInt.asIntN(32, v));

/** An integer below six, so that many words are equal or neighbours. */
const nearInteger = (h: number): number => (h >>> 0) % 6;

/** Sixteenths of the words that are limits and constants from the pool. */
const LIMITS = 5;

/** A word: mostly a small integer, often a value of the pool, sometimes random bits. */
function extremeInteger(h: number, pool: Pool): number {
  const kind = h >>> 28;
  if (kind < LIMITS) return low(pick(pool.integers, mix(h, 1)));
  if (kind < 7) return mix(h, 2);
  return someInteger(h, false);
}

/** Bits of a float: mostly an ordinary one, often a special one, sometimes random bits. */
function extremeFloat(h: number, pool: Pool): number {
  const kind = h >>> 28;
  if (kind < 6) return pick(pool.singles, mix(h, 1));
  if (kind === 6) return mix(h, 2);
  return someFloat(mix(h, 3), false);
}

/** f16 and bf16 values whose products, and sums of a few of them, are exact: 1, 2, 3, 0.5, -1, 4, 0 and 0.75. */
const SMALL: Readonly<Record<string, readonly number[]>> = {
  f16: [0x3c00, 0x4000, 0x4200, 0x3800, 0xbc00, 0x4400, 0, 0x3a00],
  bf16: [0x3f80, 0x4000, 0x4040, 0x3f00, 0xbf80, 0x4080, 0, 0x3f40],
};

/** A word of matrix elements: two 16-bit floats, or random bits for narrower types. */
function elements(h: number, type: string): number {
  const values = SMALL[type];
  return values === undefined ? mix(h, 5) : pick(values, mix(h, 6)) | (pick(values, mix(h, 7)) << 16);
}

/** True if some pages of memory hold floats regardless of how the kernel uses them. */
export const isMixed = (world: World): boolean => world.profile !== 'ascending';

/** The contents of unwritten memory in a world. */
export function contentsOf(world: World, used: UsedAs, pool: Pool): Contents {
  const { profile, seed, apart, alignment, scalars } = world;
  const plain = profile === 'plain';
  const extreme = profile === 'extreme';
  // One usual world keeps ordinary words, since they may be more than matrix elements.
  const type = plain && world.usual ? null : used.elements;
  const integer = (h: number, index: number): number => {
    // Accumulators are whole words, so some words stay whole in extreme worlds.
    if (type !== null && !(extreme && h >>> 28 < LIMITS)) return elements(h, type);
    // In every other world of both signs: a maximum of long rows would hide a lost sign behind the limits of extreme worlds.
    if (profile === 'near') return nearInteger(h) - (seed % 2 === 1 ? 3 : 0);
    if (profile === 'ascending') return index >> 1;
    // One word in four equals the integer arguments.
    if (scalars !== null && h >>> 30 === 0) return low(scalars);
    return extreme ? extremeInteger(h, pool) : someInteger(h, plain);
  };
  return {
    seed,
    mixed: isMixed(world) && type === null,
    integer,
    float: extreme ? (h) => extremeFloat(h, pool) : (h) => someFloat(h, plain),
    pointers: used.words,
    pointer:
      apart === null
        ? alignment === 0
          ? null
          : (h) => [(((h >>> 8) & 0xffff) << 12) + alignment, 0x200 + (h & 0xff)]
        : (h) => [(h & 3) * apart + alignment, FAR / 2 ** 32],
    floats: used.floats,
    doubles: extreme ? used.doubles : NO_PAGES,
    double: (h) => (h >>> 30 === 0 ? plainDouble(h) : pick(pool.doubles, mix(h, 1))),
    given: world.memory,
  };
}

const NO_PAGES: ReadonlySet<number> = new Set();
/** Bits of a double from 1 up to 2. */
const plainDouble = (h: number): bigint => 0x3ff0000000000000n | (BigInt(h >>> 0) << 20n);

/** A float from 1 up to 3, with two fraction bits if `plain`, so that it is as exact as plain memory's floats, otherwise with 23. */
const floatParameter = (h: number, plain: boolean): number =>
  1 + (plain ? (h & 7) / 4 : (h & 0xffffff) / 2 ** 23);

/** Constant bank 0 of a run, with the arguments: pointers, numbers by the world's profile, and given words. */
export function bankOf(kernel: Fn, world: World, used: UsedAs, pool: Pool, paramBase: number): DataView {
  const { seed, profile, scalars, steps } = world;
  const plain = profile === 'plain';
  const extreme = profile === 'extreme';
  // Bytes after the arguments are random like other memory.
  const end = kernel.params.reduce((n, p) => Math.max(n, p.offset + p.size), 0);
  const view = new DataView(new ArrayBuffer(Math.ceil((paramBase + end + 8) / 64) * 64));
  const putFloat = (at: number, offset: number, bytes: number): void => {
    const h = mix(offset, seed);
    if (extreme && h >>> 30 !== 0) {
      if (bytes === 8) view.setBigUint64(at, pick(pool.doubles, mix(h, 1)), true);
      else view.setUint32(at, pick(pool.singles, mix(h, 1)), true);
    } else if (bytes === 8) view.setFloat64(at, floatParameter(h, plain), true);
    else view.setFloat32(at, floatParameter(h, plain), true);
  };
  const isWide = (offset: number): boolean => kernel.params.some((p) => p.offset === offset && p.size === 8);
  const integer = (offset: number): bigint => {
    const v = anyInteger(offset);
    return v > 0n ? ((v + steps - 1n) / steps) * steps : v;
  };
  const anyInteger = (offset: number): bigint => {
    const h = mix(offset, seed);
    if (scalars !== null) return scalars;
    if (profile === 'near')
      return BigInt(nearInteger(h)) * (isWide(offset) && used.offsets.has(offset) ? 4n : 1n);
    if (extreme) {
      // Over the extreme worlds each argument takes each value of the pool, interleaved with other values.
      if ((h & 3) < 2) return pick(pool.integers, Math.floor(seed / 2) + 37 * offset);
      return (h & 3) === 2 ? BigInt((h >>> 8) & 1023) : BigInt(mix(h, 2));
    }
    // Mostly sizes: small ones, so that bounds checks fail, or large enough that most threads have work.
    return BigInt(plain ? 1 + (h & 63) : 64 + (h & 127));
  };
  for (const p of kernel.params) {
    const at = paramBase + p.offset;
    if (p.type === 'f32' && !p.array) putFloat(at, p.offset, 4);
    else if (p.type === 'f64' && !p.array) putFloat(at, p.offset, 8);
    else if (p.array) {
      for (let k = 0; k + 4 <= p.size; k += 4) {
        const small = 1 + (mix(p.offset + k, seed) & 31);
        view.setInt32(at + k, extreme || scalars !== null ? low(integer(p.offset + k)) : small, true);
      }
      for (const [offset, bytes] of used.floatParameters)
        if (offset >= p.offset && offset + bytes <= p.offset + p.size)
          putFloat(at + offset - p.offset, offset, bytes);
    } else if (p.size >= 8) {
      const v = integer(p.offset);
      view.setBigInt64(at, v, true);
    } else if (p.size >= 4) view.setInt32(at, low(integer(p.offset)), true);
    else if (extreme || scalars !== null) view.setUint8(at, low(integer(p.offset)) & 0xff);
    else view.setUint8(at, mix(p.offset, seed) & 15);
  }
  // Pointers inside by-value structs are pointers too.
  let n = 1;
  for (const offset of [...used.parameters].sort((a, b) => a - b))
    if (
      offset % 8 === 0 &&
      !(world.profile === 'near' && used.offsets.has(offset)) &&
      kernel.params.some((p) => offset >= p.offset && offset + 8 <= p.offset + p.size)
    ) {
      const base = world.apart === null ? FAR * n : FAR + world.apart * (n - 1);
      // The alignment that a pointer parameter declares is kept.
      const declared = kernel.params.find((p) => p.offset === offset)?.pointeeAlign ?? 0;
      const alignment = declared > world.alignment && world.alignment > 0 ? declared : world.alignment;
      const at = declared > 1 ? Math.ceil((base + alignment) / declared) * declared : base + alignment;
      view.setBigUint64(paramBase + offset, BigInt(n - 1 === world.nullPointer ? 0 : at), true);
      n++;
    }
  for (const [offset, word] of world.parameters) view.setInt32(paramBase + offset, word, true);
  return view;
}
