import { reportBy } from './reports.ts';

/**
 * Phase 102, ReportAfterRegisterAllocation: as phase 9, with a line saying that registers are virtual, because no phase
 * allocates physical ones, or for machine code the number of registers.
 *
 *     before, after: the same text; the report reads
 *       # 12 instructions, 9 R-regs
 *       ...
 *       # registers are virtual: no phase allocates physical ones, so none is spilled
 *       .entry axpy
 *
 * Requires: nothing. Guarantees: nothing. Bound: nothing until the report is read; then each instruction once, liveness
 * for the pressure, divergence and frequencies.
 */
export const reportAllocation = reportBy('report-allocation');
