import fc from 'fast-check';
import type { Program } from '../../src/ir/program.ts';
import type { Profile } from '../../src/spec/profile.ts';

/** Arbitrary block counts for a program, feasible or not; null half of the time. */
export const randomProfile = (program: Program): fc.Arbitrary<Profile | null> =>
  fc.option(
    fc
      .integer()
      .map((seed) =>
        Object.fromEntries(
          program.functions.map((f) => [
            f.name,
            Object.fromEntries(
              f.blocks.map((b) => [b.id, COUNTS[Math.imul(seed ^ b.id, 0x9e3779b1) >>> 30]]),
            ),
          ]),
        ),
      ),
    { freq: 2 },
  );

const COUNTS = [0, 1, 40, 100_000] as const;
