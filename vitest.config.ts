import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, in that order: begun last, one of them would keep a single worker busy at the end. */
const LONG = [
  'kernels-sm80',
  'kernels-sm90',
  'kernels-sm75',
  'debug-cli',
  'package',
  'explorer-browser',
  'rules-docs',
  'emit',
  'readme',
  'review',
  'prove',
  'prove-cli',
  'merge-flow',
  'review-action',
  'lab-sweep',
  'sweep-scale',
  'lab-cli',
  'open-world',
  'emit-forms',
  'cli',
  'lab-docs',
  'ssa',
  'spec-files',
  'disk-cache',
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = (f: TestSpecification): number => {
      const at = LONG.indexOf(basename(f.moduleId, '.test.ts'));
      return at < 0 ? LONG.length : at;
    };
    return [...(await super.sort(files))].sort((a, b) => place(a) - place(b));
  }
}

// As in bin/orrery.js, and for the same reason: one sixth less CPU time for the tests of passes.
setFlagsFromString('--interrupt-budget=1000000');

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // A larger size of the property tests (see test/support/size.ts) takes as much longer.
    testTimeout: 120_000 * Math.max(1, Number(process.env['ORRERY_TEST_SIZE'] ?? 1)),
    pool: 'threads',
    // Vitest leaves one processor free, which on a machine of two is half of it. With one more than there are, all took longer.
    maxWorkers: availableParallelism(),
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    // Files of one worker share what they import: modules, the opcodes and rules read from YAML, and code that is already compiled.
    isolate: false,
    sequence: { sequencer: LongFirst },
  },
});
