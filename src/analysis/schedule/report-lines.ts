import type { Fn } from '../../ir/program.ts';
import { registerStatistics } from '../registers/register-statistics.ts';
import type { Target } from './estimates.ts';
import { loopStatistics } from './listing-statistics.ts';

/** By pass: the lines between the header and the text in its report, and in the listing (knob DumpIR) after its phase. */
export const REPORT_LINES: ReadonlyMap<string, (fn: Fn, target: Target) => readonly string[]> = new Map([
  ['report-initial', () => []],
  ['report-scheduling', loopStatistics],
  ['report-registers', registerStatistics],
  [
    'report-allocation',
    ({ code }) =>
      code === undefined || code.registers === null
        ? ['# registers are virtual: no phase allocates physical ones, so none is spilled']
        : [`# ${code.registers} general registers, ${code.spills} registers spilled`],
  ],
]);
