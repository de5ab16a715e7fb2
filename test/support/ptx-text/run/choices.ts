import type { Choices } from '../table/case.ts';
import { type Format, quietNaN } from '../values/floats.ts';
import type { Type } from '../values/types.ts';

/** A seeded generator of numbers in [0, 1) (mulberry32). */
export function generator(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const PATTERN = 0x5a96c3_3c69a5_e1d2b4_872d1e_9f06n;
/**
 * Unspecified bits of some seeds: those of seed 2 are the complement of seed 1's; with seed 6, NaNs are canonical. Other seeds draw at
 * random.
 */
const FIXED: Readonly<Record<number, bigint>> = { 1: PATTERN, 2: ~PATTERN, 3: 0n, 4: 1n, 5: -1n, 6: -2n };

/** The choices of a run that the PTX ISA leaves open. Every unspecified bit differs between seeds 1 and 2. */
export class SeededChoices implements Choices {
  readonly #bits: () => bigint;

  constructor(seed: number) {
    const random = generator(seed);
    const word = (): bigint => BigInt(Math.floor(random() * 2 ** 32));
    const drawn = (): bigint => (word() << 96n) | (word() << 64n) | (word() << 32n) | word();
    const fixed = FIXED[seed];
    this.#bits = fixed === undefined ? drawn : () => fixed;
  }

  unspecified(t: Type): bigint {
    return BigInt.asUintN(t.width, this.#bits());
  }

  nan(f: Format): bigint {
    const bits = this.#bits();
    return quietNaN(f, (bits & 1n) === 1n, bits >> 1n);
  }

  /** Fills uninitialized bytes with a pattern. */
  fill(bytes: Uint8Array): Uint8Array {
    let bits = BigInt.asUintN(128, this.#bits());
    const first = Math.min(16, bytes.length);
    for (let k = 0; k < first; k++, bits >>= 8n) bytes[k] = Number(bits & 0xffn);
    for (let n = first; n > 0 && n < bytes.length; n *= 2) bytes.copyWithin(n, 0, n);
    return bytes;
  }
}
