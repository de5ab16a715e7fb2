import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // A larger size of the property tests (see test/support/size.ts) takes as much longer.
    testTimeout: 120_000 * Math.max(1, Number(process.env['ORRERY_TEST_SIZE'] ?? 1)),
    pool: 'threads',
    // Files of one worker share what they import: modules, the opcodes and rules read from YAML, and code that is already compiled.
    isolate: false,
  },
});
