import { type Target, targetBy } from '../analysis/estimates.ts';
import { loopStatistics, statistics } from '../analysis/statistics.ts';
import type { Fn } from '../ir/program.ts';
import { printFn } from '../ir/text.ts';
import type { Pass } from './pass.ts';

/** Lines that the report of a pass, and the listing (knob DumpIR) after its phase, have between the header and the text. */
export const REPORT_LINES: ReadonlyMap<string, (fn: Fn, target: Target) => readonly string[]> = new Map([
  ['report-initial', () => []],
  ['report-scheduling', loopStatistics],
  [
    'report-allocation',
    () => ['# registers are virtual: no phase allocates physical ones, so none is spilled'],
  ],
]);

/** The pass that adds the statistics header, the lines of the named pass, and the text of the function to the report of its phase. */
export const reportBy = (pass: string): Pass => {
  const lines = REPORT_LINES.get(pass)!;
  return (fn, ctx) => {
    // Read now, because what is read when the report is built would not be part of the result's key.
    const listing = { target: targetBy((path) => ctx.fact(path)), program: ctx.program };
    ctx.report(() => [...statistics(fn, listing), ...lines(fn, listing.target), printFn(fn)].join('\n'));
    return fn;
  };
};
