/**
 * Factor by which property tests and fuzzers multiply their number of cases: ORRERY_TEST_SIZE, default 1. Seeds are fixed, so a size always
 * means the same cases; nightly runs use 20 or more.
 */
const SIZE = Number(process.env['ORRERY_TEST_SIZE'] ?? 1);
if (!(SIZE > 0))
  throw new Error(`ORRERY_TEST_SIZE is a number above 0, not '${process.env['ORRERY_TEST_SIZE']}'`);

/** The usual number of cases times the size of this run. */
export const runs = (usual: number): number => Math.max(1, Math.round(usual * SIZE));

/** The part of the cases that this run tries: ORRERY_TEST_PART=3/10 is the third of ten; all by default. */
const PART = /^([1-9]\d*)\/([1-9]\d*)$/.exec(process.env['ORRERY_TEST_PART'] ?? '1/1');
if (PART === null || Number(PART[1]) > Number(PART[2]))
  throw new Error(
    `ORRERY_TEST_PART is a part and their number, such as 3/10, not '${process.env['ORRERY_TEST_PART']}'`,
  );

/** The cases of a list that this run tries: all, or those of its part. All parts together try each case once. */
export function partOf<T>(all: readonly T[]): T[] {
  const [part, parts] = [Number(PART![1]), Number(PART![2])];
  return all.slice(Math.floor(((part - 1) * all.length) / parts), Math.floor((part * all.length) / parts));
}

/** Seeds of a test's cases: 1 up to `runs(usual)`, or those of this run's part. */
export const seeds = (usual: number): number[] =>
  partOf(Array.from({ length: runs(usual) }, (_, k) => k + 1));
