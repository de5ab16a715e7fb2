import { renderCfgText } from '../analysis/render/cfg-text.ts';
import { targetBy } from '../analysis/schedule/estimates.ts';
import { blockStatistics, statistics } from '../analysis/schedule/listing-statistics.ts';
import { REPORT_LINES } from '../analysis/schedule/report-lines.ts';
import type { Program } from '../ir/program.ts';
import { printFn } from '../ir/text.ts';
import { factOf } from '../spec/backend.ts';
import { type Plan, type PlanPhase, passesOf } from '../spec/plan.ts';
import { BLOCKS_KNOB, CFG_KNOB, DUMP_KNOB, phaseNames, TIMING_KNOB } from '../spec/report-knobs.ts';
import type { FunctionPlans } from './function-plans.ts';
import { Report } from './journal.ts';
import { afterLine } from './report.ts';

/** True if the plan requests memory reports of phases (knob PhaseTiming). */
export const timesPhases = (plan: Plan): boolean => plan.knobs.get(TIMING_KNOB)?.value === true;

/** The phase names in knob DumpIR for a function, in lower case. */
function namedFor(plans: FunctionPlans, fn: string): ReadonlySet<string> {
  const value = plans.knob(DUMP_KNOB, fn);
  return new Set(typeof value === 'string' ? phaseNames(value).map((n) => n.toLowerCase()) : []);
}

/** True if knob DumpIR is set for any function. */
export const dumpsAnything = (plans: FunctionPlans, program: Program): boolean =>
  plans.vary
    ? program.functions.some((f) => plans.knob(DUMP_KNOB, f.name) !== null)
    : plans.knob(DUMP_KNOB, '') !== null;

/**
 * The dump after a phase: the `#` header and the text of each function for which knob DumpIR names the phase. After a reporting phase it
 * includes the lines of the report; knob DumpPerfMetricsForBlock adds a line for each block, and DumpCFG the control flow graph. The knob
 * names a phase by its name, which means all its occurrences, or by the id of one occurrence (`OriBranchOpt#2`).
 *
 * @param why why the phase did not run; '' if it did
 * @param allocated true if registers are physical
 * @returns null if there is nothing to dump
 */
export function dumpOf(
  plans: FunctionPlans,
  phase: PlanPhase,
  program: Program,
  why: string,
  allocated: boolean,
): Report | null {
  const names = [phase.name.toLowerCase(), phase.id.toLowerCase()];
  const functions = program.functions.filter((f) => {
    const named = namedFor(plans, f.name);
    return names.some((n) => named.has(n));
  });
  if (functions.length === 0) return null;
  return new Report(() => {
    const target = targetBy((path) => factOf(plans.base.backend, path));
    const parts = functions.flatMap((fn) => {
      const asks = (knob: string): boolean => plans.knob(knob, fn.name) === true;
      return [
        ...statistics(fn, { target, program, allocated }),
        ...passesOf(phase).flatMap((pass) => REPORT_LINES.get(pass)?.(fn, target) ?? []),
        ...(asks(BLOCKS_KNOB) ? blockStatistics(fn, target) : []),
        printFn(fn),
        ...(asks(CFG_KNOB) ? [renderCfgText(fn)] : []),
      ];
    });
    return [afterLine(phase), ...(why === '' ? [] : [`# did not run: ${why}`]), ...parts].join('\n');
  });
}
