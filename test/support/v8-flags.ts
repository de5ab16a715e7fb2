import { createRequire } from 'node:module';

/** V8 flags of the command line (see bin/compile-late.cjs), for processes that run its modules without it. */
export const { flags: compileLate } = createRequire(import.meta.url)('../../bin/compile-late.cjs') as {
  readonly flags: readonly string[];
};
