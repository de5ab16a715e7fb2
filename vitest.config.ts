import { setFlagsFromString } from 'node:v8';
import { defineConfig } from 'vitest/config';

// As in bin/orrery.js, and for the same reason: one sixth less CPU time for the tests of passes.
setFlagsFromString('--interrupt-budget=1000000');

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // A larger size of the property tests (see test/support/size.ts) takes as much longer.
    testTimeout: 120_000 * Math.max(1, Number(process.env['ORRERY_TEST_SIZE'] ?? 1)),
    pool: 'threads',
    setupFiles: ['test/support/setup.ts'],
  },
});
