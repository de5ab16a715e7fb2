import { targetBy } from '../analysis/estimates.ts';
import { statistics } from '../analysis/statistics.ts';
import { printFn } from '../ir/text.ts';
import type { Pass } from './pass.ts';

/**
 * Phase 9, ReportInitialRepresentation: adds the statistics header and the text of the function to the phase's
 * report.
 *
 *     before, after: the same text; the report reads
 *       # 12 instructions, 9 R-regs
 *       # [inst=12] [texInst=0] [tepid=0] [rregs=9]
 *       ...
 *       .entry axpy
 *
 * Requires: nothing. Guarantees: nothing. Bound: nothing until the report is read; then one look at each instruction, liveness
 * for the pressure, divergence and frequencies.
 */
export const reportInitial: Pass = (fn, ctx) => {
  // Read now, because what is read when the report is built would not be part of the result's key.
  const listing = { target: targetBy((path) => ctx.fact(path)), program: ctx.program };
  ctx.report(() => `${statistics(fn, listing).join('\n')}\n${printFn(fn)}`);
  return fn;
};
