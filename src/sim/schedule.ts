/** Maximum number of instructions that a warp, or the lanes of one path, run before another gets the turn. */
const LONGEST = 24;

/**
 * An adversarial schedule: which warp of a block and which diverged lanes of a warp run next, and for how many instructions, is drawn at
 * random from a seed. Lanes that arrive where others are expected may continue without them, as independent thread scheduling allows; only
 * operations that synchronise lanes hold them. Programs without races give the same results under every schedule.
 */
export class Schedule {
  private state: number;

  /** @param seed any integer */
  constructor(seed: number) {
    this.state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) | 1;
  }

  /** A random integer from 0 to n - 1, by Marsaglia's xorshift32 (Journal of Statistical Software 8, 2003). */
  below(n: number): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x;
    return (x >>> 0) % n;
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
