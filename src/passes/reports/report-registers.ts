import { reportBy } from './reports.ts';

/**
 * Phase ReportBeforeRegisterAllocation: as phase 9, with lines on the pressure of each register file, on the warps that it allows, and on
 * what is live across each call.
 *
 *     before, after: the same text; the report reads
 *       # 12 instructions, 9 R-regs
 *       ...
 *       # registers R [most=9] [first=BB1]
 *       # registers P [most=1] [first=BB1]
 *       # warps by registers [64 with R=9] [the same up to R=32]
 *       # live across call BB1.4 helper [R=5]
 *       .entry axpy
 *
 * Requires: nothing. Guarantees: nothing. Bound: nothing until the report is read; then each instruction once, liveness
 * for the pressure and, in blocks with calls, for the calls, divergence and frequencies.
 */
export const reportRegisters = reportBy('report-registers');
