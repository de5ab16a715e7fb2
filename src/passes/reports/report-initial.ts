import { reportBy } from './reports.ts';

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
 * Requires: nothing. Guarantees: nothing. Bound: nothing until the report is read; then each instruction once, liveness
 * for the pressure, divergence and frequencies.
 */
export const reportInitial = reportBy('report-initial');
