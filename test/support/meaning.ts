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

/** Every choice of modifiers of an opcode. */
export function modChoices(op: Opcode): number[] {
  return op.groups.reduce<number[]>(
    (all, g) => all.flatMap((m) => g.values.map((_, i) => m | (i << g.shift))),
    [0],
  );
}
