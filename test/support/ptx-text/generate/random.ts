import { generator } from '../run/choices.ts';
import {
  canonicalNaN,
  type Format,
  isNotANumber,
  largestFinite,
  one,
  quietNaN,
  withSign,
} from '../values/floats.ts';
import { numberOf, smallest, type Type } from '../values/types.ts';

/** A seeded generator of random values. */
export class Random {
  readonly next: () => number;
  /** Maximum number of registers per kind that are drawn: the fewer, the more dependences between instructions. */
  reach = Number.POSITIVE_INFINITY;

  constructor(seed: number) {
    this.next = generator(seed);
  }

  /** The number of a random register, of a kind that has `count` registers. */
  register(count: number): number {
    return this.below(Math.min(count, this.reach));
  }

  /** A random integer in [0, n). */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  chance(p: number): boolean {
    return this.next() < p;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }

  /** A random number of `width` bits. */
  bits(width: number): bigint {
    let x = 0n;
    for (let k = 0; k < width; k += 32) x = (x << 32n) | BigInt(this.below(2 ** 32));
    return BigInt.asUintN(width, x);
  }
}

/** A random integer, mostly a corner case: an end of the range, a power of two or its neighbour, a small number. */
function edgeInteger(random: Random, width: number): bigint {
  const power = 1n << BigInt(random.below(width));
  switch (random.below(8)) {
    case 0:
      return random.pick([0n, 1n, -1n, 2n, -2n]);
    case 1:
      return random.pick([1n << BigInt(width - 1), (1n << BigInt(width - 1)) - 1n]);
    case 2:
      return power + random.pick([-1n, 0n, 1n]);
    case 3:
      return -power + random.pick([-1n, 0n, 1n]);
    case 4:
    case 5:
      return BigInt(random.below(64));
    default:
      return random.bits(width);
  }
}

/** Random bits of a float: zeros, subnormals, infinities, NaNs with payloads, halves, numbers of all magnitudes. */
function edgeFloat(random: Random, f: Format): bigint {
  const sign = random.chance(0.4);
  const unit = one(f);
  const step = 1n << BigInt(f.fractionBits);
  const smallNormal = step;
  const magnitude = (): bigint => {
    switch (random.below(12)) {
      case 0:
        return 0n;
      case 1:
        return random.pick([
          1n,
          smallNormal - 1n,
          smallNormal,
          smallNormal + 1n,
          random.bits(f.fractionBits),
        ]);
      case 2:
        return random.pick([largestFinite(f), largestFinite(f) - 1n, largestFinite(f) + 1n]);
      case 3:
        if (!random.chance(0.5)) return unit;
        return random.pick([
          canonicalNaN(f),
          quietNaN(f, false, random.bits(f.fractionBits)),
          largestFinite(f) + 2n,
        ]);
      case 4:
      case 5:
        // Whole numbers and halves.
        return (
          unit + BigInt(random.below(6)) * step + (random.bits(4) << BigInt(Math.max(0, f.fractionBits - 4)))
        );
      case 6:
        return unit + random.pick([-1n, 1n, 0n]);
      case 7:
        return random.bits(f.width - 1);
      default:
        return unit + BigInt(random.below(17) - 8) * step + random.bits(f.fractionBits);
    }
  };
  const bits = BigInt.asUintN(f.width - 1, magnitude());
  return withSign(f, bits, sign);
}

/** Random bits of a type, mostly corner cases. */
export function edge(random: Random, t: Type): bigint {
  if (t.kind === 'predicate') return BigInt(random.below(2));
  const f = t.format;
  if (f === undefined) return BigInt.asUintN(t.width, edgeInteger(random, t.width));
  if (t.kind === 'float') return edgeFloat(random, f);
  return edgeFloat(random, f) | (edgeFloat(random, f) << BigInt(f.width));
}

const hex = (bits: bigint, digits: number): string => bits.toString(16).padStart(digits, '0');

/** The literal of a number in PTX; null for types without one. */
export function literal(t: Type, bits: bigint): string | null {
  if (t.name === 'f32') return `0f${hex(bits, 8)}`;
  if (t.name === 'f64') return `0d${hex(bits, 16)}`;
  if (t.format !== undefined || t.kind === 'packed') return null;
  const n = numberOf(t, bits);
  if (t.kind === 'signed' && n === smallest(t) && t.width === 64) return `0x${hex(bits, 16)}`;
  return n > 999n ? `0x${n.toString(16)}` : String(n);
}

/** A random literal of a type, mostly a corner case, never a NaN. */
export function edgeLiteral(random: Random, t: Type): string | null {
  let bits = edge(random, t);
  if (t.format !== undefined && isNotANumber(t.format, bits)) bits = one(t.format);
  return literal(t, bits);
}
