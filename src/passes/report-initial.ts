import { statistics } from '../analysis/statistics.ts';
import { printFn } from '../ir/text.ts';
import type { Pass } from './pass.ts';

/**
 * Phase 9, ReportInitialRepresentation: the statistics header and the text of the function, for the phase's report.
 *
 *     before, after: the same text; the report reads
 *       # 12 instructions, 9 R-regs
 *       # [inst=12] [texInst=0] [rregs=9]
 *       ...
 *       .entry axpy
 *
 * The header keeps the line set of the original (reference: statistics header), but only what is really computed at this
 * point is printed. Left out, because nothing here knows it yet: tepid, est latency, spill and refill bytes, Occupancy,
 * est numDivergentBranches, attributeMemUsage, programSize, est pairs, est ipa, every throughput (`thru`), the texture
 * binding line, numVecToURConverts, maxNumLiveValuesAtSuspend, instHint, instPairs, worst- and average-case latency,
 * Precise inst.
 *
 * Requires: nothing. Guarantees: nothing. Bound: nothing until the report is read; then one look at each
 * instruction, and liveness for the pressure.
 */
export const reportInitial: Pass = (fn, ctx) => {
  ctx.report(() => `${statistics(fn).join('\n')}\n${printFn(fn)}`);
  return fn;
};
