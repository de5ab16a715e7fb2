import { xorshift32 } from '../ir/random.ts';

/** Maximum number of instructions that a warp, or the lanes of one path, run before another gets the turn. */
const LONGEST = 24;

/**
 * An adversarial schedule: which warp of a block and which diverged lanes of a warp run next, and for how many instructions, is drawn at
 * random from a seed. Lanes that arrive where others are expected may continue without them, as independent thread scheduling allows; only
 * operations that synchronise lanes hold them. Programs without races give the same results under every schedule.
 */
export class Schedule {
  private readonly next: () => number;

  /** @param seed any integer */
  constructor(seed: number) {
    this.next = xorshift32((Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) | 1);
  }

  /** A random integer from 0 to n - 1. */
  below(n: number): number {
    return this.next() % n;
  }

  /** Number of instructions until the next turn. */
  turn(): number {
    return 1 + this.below(LONGEST);
  }

  /** A random permutation of the elements. */
  shuffled<T>(list: readonly T[]): readonly T[] {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const k = this.below(i + 1);
      [out[i], out[k]] = [out[k], out[i]];
    }
    return out;
  }
}
