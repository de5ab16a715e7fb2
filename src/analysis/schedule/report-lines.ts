import type { Fn } from '../../ir/program.ts';
import { registerStatistics } from '../registers/register-statistics.ts';
import type { Target } from './estimates.ts';
import { loopStatistics } from './listing-statistics.ts';

/** Lines that the report of a pass, and the listing (knob DumpIR) after its phase, have between the header and the text. */
export const REPORT_LINES: ReadonlyMap<string, (fn: Fn, target: Target) => readonly string[]> = new Map([
  ['report-initial', () => []],
  ['report-scheduling', loopStatistics],
  ['report-registers', registerStatistics],
  [
    'report-allocation',
    () => ['# registers are virtual: no phase allocates physical ones, so none is spilled'],
  ],
]);
