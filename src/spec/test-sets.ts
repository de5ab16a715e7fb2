import { overlap } from '../ir/glob.ts';
import { isWhen, MODE_DEVICE, MODE_KERNELS, MODE_LOOPS, MODE_REST, MODE_STRAIGHT } from './conditions.ts';
import type { ConditionTest } from './plan.ts';

/** Maximum number of tests for which every pair is tried. */
const MOST_PAIRED = 8;

/** True if a function may pass both tests. */
function together(a: ConditionTest, b: ConditionTest): boolean {
  if (a.hashes !== null && b.hashes !== null && !a.hashes.some((h) => b.hashes!.includes(h))) return false;
  if (a.kernel !== null && b.kernel !== null && !overlap(a.kernel, b.kernel)) return false;
  const modes = [a.mode, b.mode];
  const both = (m: number, n: number): boolean => modes.includes(m) && modes.includes(n);
  if (both(MODE_KERNELS, MODE_DEVICE) || both(MODE_LOOPS, MODE_STRAIGHT)) return false;
  return !(modes.includes(MODE_REST) && (isWhen(a) || isWhen(b)));
}

/**
 * Sets of tests whose plans are checked before anything runs: each test alone, the tests of each layer, pairs, and for each test a maximal
 * set of tests that are compatible with it. The number of all sets is exponential.
 *
 * @param asked the sets of tests of layers, all of which must hold for the layer to apply
 * @returns sets of indices in ascending order, the smallest sets first
 */
export function testSets(tests: readonly ConditionTest[], asked: readonly (readonly number[])[]): number[][] {
  const out = new Map<string, number[]>();
  const add = (list: readonly number[]): void => {
    const set = [...list].sort((a, b) => a - b);
    if (set.length > 0) out.set(set.join(), set);
  };
  const fits = tests.map((a) => tests.map((b) => together(a, b)));
  for (const set of asked) add(set);
  tests.forEach((_, i) => {
    add([i]);
    const set = [i];
    tests.forEach((_, k) => {
      if (k === i || !set.every((x) => fits[x][k])) return;
      if (tests.length <= MOST_PAIRED) add([i, k]);
      set.push(k);
    });
    add(set);
  });
  return [...out.values()].sort((a, b) => a.length - b.length);
}
