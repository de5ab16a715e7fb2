/**
 * How many times the usual number of cases the property tests and fuzzers try: ORRERY_TEST_SIZE, 1 where it is not set. The seeds are
 * fixed, so a size always means the same cases; nightly runs take 20 or more.
 */
const SIZE = Number(process.env['ORRERY_TEST_SIZE'] ?? 1);
if (!(SIZE > 0))
  throw new Error(`ORRERY_TEST_SIZE is a number above 0, not '${process.env['ORRERY_TEST_SIZE']}'`);

/** The usual number of cases, times the size of this run. */
export const runs = (usual: number): number => Math.max(1, Math.round(usual * SIZE));
