import { reportBy } from './reports.ts';

/**
 * Phase 96, ReportBeforeScheduling: as phase 9, with a line for each natural loop.
 *
 *     before, after: the same text; the report reads
 *       # 12 instructions, 9 R-regs
 *       ...
 *       # loop BB1 [depth=1] [blocks=2] [inst=9] [est runs=8.000000] [est latency=44.000000]
 *       .entry axpy
 *
 * Requires: nothing. Guarantees: nothing. Bound: nothing until the report is read; then each instruction once, liveness for the
 * pressure, divergence, frequencies, and the blocks of each loop.
 */
export const reportScheduling = reportBy('report-scheduling');
