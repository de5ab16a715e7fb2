import type { Opcode } from '../../src/ir/opcode.ts';

/** Small deterministic generator (xorshift32), seeded by a text. */
export class Random {
  private s: number;
  constructor(seed: string) {
    this.s = 2463534242;
    for (const c of seed) this.s = Math.imul(this.s ^ c.charCodeAt(0), 0x01000193) | 1;
    for (let i = 0; i < 8; i++) this.next();
  }
  /** 32 random bits. */
  next(): number {
    let x = this.s;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (this.s = x);
  }
  below(n: number): number {
    return (this.next() >>> 0) % n;
  }
}

/** All combinations of modifiers of an opcode. */
export function modChoices(op: Opcode): number[] {
  return op.groups.reduce<number[]>(
    (all, g) => all.flatMap((m) => g.values.map((_, i) => m | (i << g.shift))),
    [0],
  );
}

/** Bit patterns at which arithmetic goes wrong: limits of integers, shift counts, and of every float format. */
const WORDS = [
  0, 1, 2, 3, 5, 7, 8, 15, 16, 24, 30, 31, 32, 33, 63, 64, 65, 255, 256, 0x7f, 0x80, 0xff80, 0x7fff, 0x8000,
  0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x55555555, 0xaaaaaaaa,
  0x12345678, 0x5410, 0x7610, 0xfedcba98,
  // f32: one, halves, ties, limits, subnormals, infinities, NaNs
  0x3f800000, 0xbf800000, 0x3f000000, 0x40200000, 0xc0200000, 0x3fc00000, 0x7f7fffff, 0xff7fffff, 0x00800000,
  0x80800000, 0x007fffff, 0x807fffff, 0x00000001, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc01234, 0x7f800001,
  0x4b000001, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x5f800000, 0x34000000, 0x33800001, 0x7e800001,
  0x47800000, 0x477ff000, 0x33000000,
  // halves
  0x3c003c00, 0xbc000001, 0x7bff7bff, 0xfbff0400, 0x03ff83ff, 0x7c00fc00, 0x7e00fe01, 0x38003a00, 0x7f807f81,
  0x3f803f81, 0x80000000,
].map((x) => BigInt(x >>> 0));
const LONGS = [
  0x3ff0000000000000n,
  0xbff0000000000000n,
  0x3fe0000000000000n,
  0x4004000000000000n,
  0x7fefffffffffffffn,
  0xffefffffffffffffn,
  0x0010000000000000n,
  0x800fffffffffffffn,
  1n,
  0x8000000000000000n,
  0x7ff0000000000000n,
  0xfff0000000000000n,
  0x7ff8000000000000n,
  0xfff8000000001234n,
  0x7ff0000000000001n,
  0x41dfffffffc00000n,
  0x41e0000000000000n,
  0xc1e0000000200000n,
  0x43e0000000000000n,
  0x43f0000000000000n,
  0xc3e0000000000000n,
  0x4330000000000001n,
  0x36a0000000000000n,
  0x47efffffe0000000n,
  0x47effffff0000000n,
  0x380fffffffffffffn,
  0x3ca0000000000000n,
  0x0000000100000000n,
  0xffffffff00000000n,
  0x00000000ffffffffn,
  0x7fffffffffffffffn,
  0x8000000000000001n,
  0xffffffffffffffffn,
  0x0020000000000000n,
  0x001fffffffffffffn,
  0x3f50000000000001n,
];

/** A value of a slot's width: half of the time one of these patterns, otherwise random, including floats of similar exponents. */
export function operandValue(rnd: Random, width: number): bigint {
  if (width === 1) return BigInt(rnd.below(2));
  const pick = rnd.below(10);
  if (width === 32) {
    if (pick < 5) return WORDS[rnd.below(WORDS.length)];
    if (pick < 7) return BigInt((rnd.next() & 0x807fffff) | ((118 + rnd.below(20)) << 23)) & 0xffffffffn;
    return BigInt(rnd.next() >>> 0);
  }
  if (pick < 4) return LONGS[rnd.below(LONGS.length)];
  const hi = pick < 7 ? (rnd.next() & 0x800fffff) | ((1000 + rnd.below(50)) << 20) : rnd.next();
  if (pick === 9) return BigInt.asUintN(64, BigInt.asIntN(32, WORDS[rnd.below(WORDS.length)]));
  return (BigInt(hi >>> 0) << 32n) | BigInt(rnd.next() >>> 0);
}
