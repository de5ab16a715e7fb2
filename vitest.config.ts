import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, in that order: begun last, one of them would keep a single worker busy at the end. */
const LONG = [
  'explorer-browser',
  'review',
  'server',
  'review-action',
  'prove-cli',
  'debug-cli',
  'security',
  'package',
  'hostile-cubins',
  'readme',
  'review-faults',
  'prove-rare',
  'emit',
  'kernels-sm80',
  'hostile-files',
  'review-declarations',
  'prove',
  'review-trust',
  'lift',
  'ptxas-faults',
  'kernels',
  'verify',
  'contributing',
  'timing',
  'rows',
  'sweep-scale',
  'validate',
  'lab-cli',
  'opt-files',
  'output-schemas',
  'recipes-measured',
  'cli',
  'nightly',
  'kernels-sm90',
  'oracle-machine',
  'lab-docs',
  'emit-forms',
  'disk-cache',
  'debug',
  'smt',
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

const ROOT = import.meta.dirname;
const require = createRequire(import.meta.url);
const { isStale } = require('./bin/newest.cjs') as { isStale(root: string): boolean };
const { flags } = require('./bin/compile-late.cjs') as { readonly flags: readonly string[] };

/**
 * Tests import `src` and get `dist`, where it is built from just these sources (as `npm test` makes sure): in Vitest's own modules each
 * use of an import is a call of a getter, which is a fifth to a third of the processor time of passes and simulator. After a change of
 * the sources, and where Vitest watches them, tests run the sources.
 */
function built(): Plugin {
  const isNew =
    process.argv.includes('run') && existsSync(join(ROOT, 'dist/.built')) && !isStale(ROOT);
  const src = join(ROOT, 'src/');
  return {
    name: 'built',
    enforce: 'pre',
    resolveId(id, importer) {
      if (!isNew || importer === undefined || !id.startsWith('.') || !id.endsWith('.ts')) return undefined;
      const path = resolve(dirname(importer), id);
      const js = join(ROOT, 'dist', path.slice(src.length).replace(/ts$/, 'js'));
      return path.startsWith(src) && existsSync(path) && existsSync(js) ? js : undefined;
    },
  };
}

/** Flags of V8 for the processes of the tests. */
const V8 = [
  // As in bin/orrery.js, and for the same reason: one sixth less CPU time for the tests of passes.
  ...flags,
  // Most objects die young: a larger room for them saves a twentieth of the CPU time.
  ...['--min-semi-space-size=32', '--max-semi-space-size=64'],
  // Threads that compile and collect garbage beside the tests cost a seventh of the CPU time, and every processor has a worker already.
  '--single-threaded',
];

/** Milliseconds that a test may take. A larger size of the property tests (see test/support/size.ts) takes as much longer. */
const LIMIT = 120_000 * Math.max(1, Number(process.env['ORRERY_TEST_SIZE'] ?? 1));

export default defineConfig({
  plugins: [built()],
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: LIMIT,
    // What a file starts for all of its tests, a browser that was installed just now, may take as long as a test.
    hookTimeout: LIMIT,
    // Processes, because threads of one process share the flags of V8.
    pool: 'forks',
    execArgv: V8,
    // Vitest leaves one processor free, which on a machine of two is half of it. With one more than there are, all took longer.
    maxWorkers: availableParallelism(),
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    // On a busy machine a command may take so long that it tells of its progress, where tests expect silence.
    env: { ORRERY_PROGRESS: 'off' },
    // Of these, Node's own modules are made.
    server: { deps: { external: [/\/dist\/.*\.js$/] } },
    // Files of one worker share what they import: modules, the opcodes and rules read from YAML, and code that is already compiled.
    isolate: false,
    sequence: { sequencer: LongFirst },
  },
});
