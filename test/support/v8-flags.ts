import { createRequire } from 'node:module';

/** Flags with which the command line starts V8 (see bin/compile-late.cjs), for processes that run its modules without it. */
export const { flags: compileLate } = createRequire(import.meta.url)('../../bin/compile-late.cjs') as {
  readonly flags: readonly string[];
};
