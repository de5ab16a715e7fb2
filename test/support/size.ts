/**
 * Share of the stated numbers of cases that property tests and fuzzers try where ORRERY_TEST_SIZE does not say otherwise. The stated
 * numbers are what the nightly search `properties` tries (`.ci/nightly`): how many seeds a case has is arbitrary, and each test counts that
 * what it is about still happens often enough.
 */
const USUAL = 0.4;
/**
 * Factor by which property tests and fuzzers multiply their stated number of cases: ORRERY_TEST_SIZE. Seeds are fixed, so a size always
 * means the same cases; nightly runs use 1 to 500.
 */
const SIZE = Number(process.env['ORRERY_TEST_SIZE'] ?? USUAL);
if (!(SIZE > 0))
  throw new Error(`ORRERY_TEST_SIZE is a number above 0, not '${process.env['ORRERY_TEST_SIZE']}'`);

/** The stated number of cases times the size of this run. */
export const runs = (stated: number): number => Math.max(1, Math.round(stated * SIZE));

/** As `runs`, but all stated cases also in a smaller run: for a test whose kinds of cases need that many to occur. */
export const allRuns = (stated: number): number => Math.max(stated, runs(stated));

/** Whether a run tries all stated cases, as by night. */
export const whole = SIZE >= 1;

/** At most so many of a list, evenly spaced; all of it where a run tries all stated cases. */
export const sampleOf = <T>(all: readonly T[], most: number): readonly T[] =>
  whole || all.length <= most
    ? all
    : Array.from({ length: most }, (_, k) => all[Math.floor((k * all.length) / most)]);

/** How often something happens at least, and at least once, in a run of this size, if it does so `stated` times in all stated cases. */
export const often = (stated: number): number => Math.max(1, Math.floor(stated * Math.min(1, SIZE)));

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

/** Seeds of a test's cases: 1 up to `runs(stated)` and at least to 3 of those stated, or those of this run's part. */
export const seeds = (stated: number): number[] =>
  partOf(Array.from({ length: Math.max(Math.min(stated, 3), runs(stated)) }, (_, k) => k + 1));
