import type { Fn } from '../ir/program.ts';
import { mix } from '../sim/memory.ts';
import { type Contents, someFloat, someInteger } from '../sim/open-memory.ts';
import type { UsedAs } from '../sim/used-as.ts';
import type { Pool } from './constants.ts';
import type { World } from './world.ts';

/** Distance between the bases of two pointer parameters that are apart. */
const FAR = 2 ** 36;

const pick = <T>(all: readonly T[], h: number): T => all[(h >>> 0) % all.length];
const low = (v: bigint): number => Number(BigInt.asIntN(32, v));

/** An integer below six: often that of another place, or its neighbour. */
const nearInteger = (h: number): number => (h >>> 0) % 6;

/** A word: mostly a small integer, often one at which programs change what they do, now and then any bits. */
function extremeInteger(h: number, pool: Pool): number {
  const kind = h >>> 28;
  if (kind < 5) return low(pick(pool.integers, mix(h, 1)));
  if (kind < 7) return mix(h, 2);
  return someInteger(h, false);
}

/** The bits of a float: mostly a plain one, often a special one, now and then any bits. */
function extremeFloat(h: number, pool: Pool): number {
  const kind = h >>> 28;
  if (kind < 6) return pick(pool.singles, mix(h, 1));
  if (kind === 6) return mix(h, 2);
  return someFloat(mix(h, 3), false);
}

/** Whether memory holds floats in places where nobody asks for them. */
export const isMixed = (world: World): boolean => world.profile !== 'ascending';

/** What memory holds in a world before anybody has written to it. */
export function contentsOf(world: World, used: UsedAs, pool: Pool): Contents {
  const { profile, seed, apart, alignment, scalars } = world;
  const plain = profile === 'plain';
  const extreme = profile === 'extreme';
  const integer = (h: number, index: number): number => {
    if (profile === 'near') return nearInteger(h);
    if (profile === 'ascending') return index >> 1;
    // Now and then what an argument is.
    if (scalars !== null && h >>> 30 === 0) return low(scalars);
    return extreme ? extremeInteger(h, pool) : someInteger(h, plain);
  };
  return {
    seed,
    mixed: isMixed(world),
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
/** The bits of a double from 1 up to 2. */
const plainDouble = (h: number): bigint => 0x3ff0000000000000n | (BigInt(h >>> 0) << 20n);

/** From 1 up to 3: with two bits behind the point if `plain`, as exact as plain memory's floats, else with 23. */
const floatParameter = (h: number, plain: boolean): number =>
  1 + (plain ? (h & 7) / 4 : (h & 0xffffff) / 2 ** 23);

/** Parameter bytes of a run: pointers, numbers as the world has them, and what is given. */
export function bankOf(kernel: Fn, world: World, used: UsedAs, pool: Pool, paramBase: number): DataView {
  const { seed, profile, scalars } = world;
  const plain = profile === 'plain';
  const extreme = profile === 'extreme';
  // What lies behind the arguments is memory like any other.
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
    const h = mix(offset, seed);
    if (scalars !== null) return scalars;
    if (profile === 'near')
      return BigInt(nearInteger(h)) * (isWide(offset) && used.offsets.has(offset) ? 4n : 1n);
    if (extreme) {
      // World by world, each argument becomes each value of the pool; in between others.
      if ((h & 3) < 2) return pick(pool.integers, Math.floor(seed / 2) + 37 * offset);
      return (h & 3) === 2 ? BigInt((h >>> 8) & 1023) : BigInt(mix(h, 2));
    }
    // Mostly sizes: small ones, so that bounds are reached, or large enough that most threads have work.
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
      // What is declared of a pointer holds.
      const declared = kernel.params.find((p) => p.offset === offset)?.pointeeAlign ?? 0;
      const alignment = declared > world.alignment && world.alignment > 0 ? declared : world.alignment;
      const at = declared > 1 ? Math.ceil((base + alignment) / declared) * declared : base + alignment;
      view.setBigUint64(paramBase + offset, BigInt(n - 1 === world.nullPointer ? 0 : at), true);
      n++;
    }
  for (const [offset, word] of world.parameters) view.setInt32(paramBase + offset, word, true);
  return view;
}
