import { timesPhases } from '../../engine/dumps.ts';
import type { PhaseRecord } from '../../engine/journal.ts';
import { afterLine, beforeLine, phaseLine } from '../../engine/report.ts';
import type { RunOptions } from '../../engine/run.ts';
import type { Program } from '../../ir/program.ts';
import { printFn, printProgram } from '../../ir/text.ts';
import { phasePosition, phasesLike } from '../../spec/phase-names.ts';
import type { Plan } from '../../spec/plan.ts';
import type { unifiedDiff } from '../review/diff.ts';
import { err, failWith, pcErr } from '../terminal/ui.ts';

/** Options that control the output while phases run. */
export interface WatchOptions {
  readonly printAfter?: readonly string[];
  readonly printChanged?: boolean;
  readonly printPhases?: boolean;
  readonly ftracePhaseAfter?: string;
}

/** Position of a phase that an option names, ignoring case. An unknown name ends the command. */
export function placeOf(plan: Plan, name: string): number {
  const at = phasePosition(plan, name);
  if (at !== null) return at;
  const near = phasesLike(plan, name);
  failWith(
    `there is no phase '${name}' in the order`,
    near.length > 0 ? `did you mean '${near.join("' or '")}'?` : '`orrery phases` lists them',
  );
}

/** Makes the observer that prints on standard error while phases run, as options and knobs request. */
export async function watchOf(o: WatchOptions, plan: Plan): Promise<Pick<RunOptions, 'onBegin' | 'onPhase'>> {
  for (const name of o.printAfter ?? []) if (name !== 'all') placeOf(plan, name);
  const wanted = new Set((o.printAfter ?? []).map((n) => n.toLowerCase()));
  const after = o.ftracePhaseAfter === undefined ? Infinity : placeOf(plan, o.ftracePhaseAfter) + 1;
  const announced = o.printPhases === true ? 0 : after;
  const timing = timesPhases(plan);
  const diff = o.printChanged === true ? (await import('../review/diff.ts')).unifiedDiff : null;
  return {
    onBegin: (p) => {
      if (p.position >= announced) err(beforeLine(p));
    },
    onPhase: (r, before) => {
      if (r.phase.position >= announced && r.outcome === 'ran') err(afterLine(r.phase));
      if (r.dump !== null) err(r.dump.text);
      if (timing) err(phaseLine(r));
      if (wanted.has('all') ? r.blocksChanged > 0 : wanted.has(r.phase.id.toLowerCase()))
        err(`; after ${r.phase.id}\n${printProgram(r.program)}`);
      for (const report of r.reports)
        if (wanted.has('all') || wanted.has(r.phase.id.toLowerCase())) err(report.text);
      if (diff !== null && r.program !== before) printChanged(r, before, diff);
    },
  };
}

function printChanged(r: PhaseRecord, before: Program, diff: typeof unifiedDiff): void {
  for (const fn of r.program.functions) {
    const was = before.functions.find((f) => f.name === fn.name);
    if (was === undefined || was === fn) continue;
    err(pcErr.bold(`; ${r.phase.id} changed ${fn.name}`));
    err(diff(printFn(was, { locs: false }), printFn(fn, { locs: false })));
  }
}
