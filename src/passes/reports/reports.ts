import { targetBy } from '../../analysis/schedule/estimates.ts';
import { statistics } from '../../analysis/schedule/listing-statistics.ts';
import { REPORT_LINES } from '../../analysis/schedule/report-lines.ts';
import { printFn } from '../../ir/text.ts';
import type { Pass } from '../pass.ts';

/** The pass that adds to its phase's report the statistics header, the lines of the named pass, and the text of the function. */
export const reportBy = (pass: string): Pass => {
  const lines = REPORT_LINES.get(pass)!;
  return (fn, ctx) => {
    // Facts are read now, because a read while the report is built would not become part of the result's key.
    const listing = { target: targetBy((path) => ctx.fact(path)), program: ctx.program };
    ctx.report(() => [...statistics(fn, listing), ...lines(fn, listing.target), printFn(fn)].join('\n'));
    return fn;
  };
};
