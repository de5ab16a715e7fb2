import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstInRange } from '../../src/analysis/values/modular.ts';
import { runs } from '../support/size.ts';

/** By enumeration: after 2^width steps every value that ever occurs has occurred. */
function slow(start: number, step: number, width: number, low: number, high: number): bigint | null {
  const mask = 2 ** width - 1;
  for (let k = 0, x = start; k <= mask; k++, x = (x + step) & mask)
    if (x >= low && x <= high) return BigInt(k);
  return null;
}

describe('the first time that a counter comes into a range', () => {
  it('is what counting finds, for every case of three bits', () => {
    for (let start = 0; start < 8; start++)
      for (let step = 0; step < 8; step++)
        for (let low = 0; low < 8; low++)
          for (let high = low; high < 8; high++)
            expect(firstInRange(BigInt(start), BigInt(step), 3, BigInt(low), BigInt(high))).toBe(
              slow(start, step, 3, low, high),
            );
  });

  it('is what counting finds, in up to eleven bits', () => {
    const number = fc.integer({ min: 0, max: 2 ** 11 - 1 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 11 }), number, number, number, number, (width, s, d, a, b) => {
        const [start, step, x, y] = [s, d, a, b].map((v) => v & (2 ** width - 1));
        const [low, high] = [Math.min(x, y), Math.max(x, y)];
        expect(firstInRange(BigInt(start), BigInt(step), width, BigInt(low), BigInt(high))).toBe(
          slow(start, step, width, low, high),
        );
      }),
      { numRuns: runs(3000), seed: 20261124 },
    );
  });

  it('is first and in the range, in 64 bits', () => {
    const word = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
    fc.assert(
      fc.property(word, word, word, word, (start, step, a, b) => {
        const [low, high] = a < b ? [a, b] : [b, a];
        const k = firstInRange(start, step, 64, low, high);
        const inside = (n: bigint): boolean => {
          const x = BigInt.asUintN(64, start + n * step);
          return x >= low && x <= high;
        };
        for (let n = 0n; n < 200n && (k === null || n < k); n++) expect(inside(n)).toBe(false);
        if (k !== null) expect(inside(k)).toBe(true);
        // An odd step comes everywhere.
        if (step % 2n === 1n) expect(k).not.toBeNull();
      }),
      { numRuns: runs(500), seed: 20261125 },
    );
  });
});
