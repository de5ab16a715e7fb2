import { COMMAND_LINE, type Issues } from './issues.ts';
import type { KnobTable } from './knobs.ts';
import type { PlanPhase } from './plan.ts';

/** Reports the memory use of every phase: option 17928 = 72 * 249 of seed 004, known as PhaseTiming. */
export const TIMING_KNOB = 'Knob249';
/** Names the phases after which functions are dumped (reference, opt-levels 7: DUMPIR). */
export const DUMP_KNOB = 'DumpIR';

/** Adds the control flow graph to dumps (reference, opt-levels 7: DUMPIR family). */
export const CFG_KNOB = 'DumpCFG';
/** Adds figures for each block to dumps (reference, opt-levels 7: DUMPIR family). */
export const BLOCKS_KNOB = 'DumpPerfMetricsForBlock';
/** The knobs that request reports. */
export const REPORT_KNOBS: readonly string[] = [TIMING_KNOB, DUMP_KNOB, CFG_KNOB, BLOCKS_KNOB];

/** Phase names in the value of a knob, separated by `+` or `,`. */
export const phaseNames = (text: string): string[] =>
  text
    .split(/[+,]/)
    .map((x) => x.trim())
    .filter((x) => x !== '');

/**
 * Checks the report knobs: the phases that they name must exist, and a knob for the whole program must not be set for some kernels only.
 */
export function checkReportKnobs(phases: readonly PlanPhase[], table: KnobTable, issues: Issues): void {
  const timing = table.knobs.get(TIMING_KNOB);
  if (timing !== undefined && timing.when !== null)
    issues.error(
      table.spots.get(TIMING_KNOB) ?? COMMAND_LINE,
      'knob-when',
      `knob ${TIMING_KNOB} reports on the whole program, not on some kernels`,
      { key: true, notes: ['set it without a `when`, or plan for one kernel'] },
    );
  const dump = table.knobs.get(DUMP_KNOB);
  if (typeof dump?.value !== 'string') {
    for (const name of [CFG_KNOB, BLOCKS_KNOB])
      if (table.knobs.get(name)?.value === true)
        issues.warning(
          table.spots.get(name) ?? COMMAND_LINE,
          'knob-unread',
          `knob ${name} adds to what knob ${DUMP_KNOB} lists, which names no phase`,
          { key: true },
        );
    return;
  }
  const names = new Set(phases.flatMap((p) => [p.id, p.name]));
  const lowerCase = new Set([...names].map((n) => n.toLowerCase()));
  for (const name of phaseNames(dump.value))
    if (!lowerCase.has(name.toLowerCase()))
      issues.unknown(
        table.spots.get(DUMP_KNOB) ?? COMMAND_LINE,
        'unknown-phase',
        `knob ${DUMP_KNOB}: there is no phase '${name}' in the order`,
        name,
        names,
        '`orrery phases` lists them',
      );
}
