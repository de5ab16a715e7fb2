import { MODE_ALL } from './conditions.ts';
import type { ConditionTest } from './plan.ts';

/** Tests of which every pair is tried; of more, each alone and with all that go with it. */
const MOST_PAIRED = 8;

/** Whether a function may pass both tests. */
function together(a: ConditionTest, b: ConditionTest): boolean {
  if (a.hashes !== null && b.hashes !== null && !a.hashes.some((h) => b.hashes!.includes(h))) return false;
  if (a.kernel !== null && b.kernel !== null && plain(a.kernel) && plain(b.kernel) && a.kernel !== b.kernel)
    return false;
  const [m, n] = [a.mode, b.mode].sort((x, y) => x - y);
  // Kernels and device functions; with loops and without; and 7, which goes with no `when`.
  if ((m === 2 && n === 3) || (m === 4 && n === 5)) return false;
  return !(n === 7 && m === MODE_ALL);
}

const plain = (pattern: string): boolean => !/[*?]/.test(pattern);

/**
 * Sets of tests for which plans are checked before anything runs: each test alone, pairs, and each with all that go with it. Not every set
 * of many, of which there are too many; what several together break, two of them mostly do.
 */
export function testSets(tests: readonly ConditionTest[]): number[][] {
  const out = new Map<string, number[]>();
  const add = (set: number[]): void => void out.set(set.join(), set);
  tests.forEach((_, i) => add([i]));
  tests.forEach((a, i) => {
    const set = [i];
    tests.forEach((b, k) => {
      if (k === i || !set.every((x) => together(tests[x], b))) return;
      if (tests.length <= MOST_PAIRED) add([i, k].sort((x, y) => x - y));
      set.push(k);
    });
    add(set.sort((x, y) => x - y));
    return a;
  });
  return [...out.values()].sort((a, b) => a.length - b.length);
}
