import { countInstructions, type Journal } from '../../engine/journal.ts';
import { CLASSES } from '../../ir/opcode.ts';
import type { Program } from '../../ir/program.ts';
import { countByClass } from '../../lab/classes.ts';
import type { Check } from '../check/checks.ts';
import type { Optimized } from './opt-options.ts';
import { passedOf } from './report.ts';

/** Version of the format of a summary: incremented on incompatible changes. */
const VERSION = 1;

/** A shape that ptxas miscompiles: in the written PTX, or else in the PTX that was read. */
export interface FaultRow {
  /** Name of the fault. */
  readonly name: string;
  readonly function: string;
  /** Null if it is written differently; 0: unknown. */
  readonly line: number | null;
  readonly avoided: boolean;
}

/** The summary of `orrery opt` for one file, as plain data (schemas/output/opt.schema.json). */
export function summaryJson(
  j: Journal,
  result: Program,
  checks: readonly Check[],
  ptxasFaults: readonly FaultRow[],
) {
  const [before, after] = [countByClass(j.input), countByClass(result)];
  return {
    version: VERSION,
    kind: 'opt',
    program: j.input.name,
    plan: j.plan.hash,
    order: j.plan.order,
    level: j.plan.level,
    sm: j.plan.sm,
    ms: j.records.reduce((t, r) => t + r.ms, 0),
    phases: { all: j.records.length, ran: j.records.filter((r) => r.outcome === 'ran').length },
    functions: j.input.functions.map((f) => f.name),
    instructions: {
      before: countInstructions(j.input),
      after: countInstructions(result),
      classes: Object.fromEntries(
        CLASSES.flatMap((c) =>
          before[c] + after[c] > 0 ? [[c, { before: before[c], after: after[c] }]] : [],
        ),
      ),
    },
    changed: j.records
      .filter((r) => r.blocksChanged > 0)
      .map((r) => ({
        id: r.phase.id,
        position: r.phase.position,
        index: r.phase.index,
        blocks: r.blocksChanged,
        instructionsBefore: r.instructionsBefore,
        instructionsAfter: r.instructionsAfter,
        ms: r.ms,
        did: Object.fromEntries(passedOf(r)),
      })),
    checks,
    ptxasFaults,
  };
}

/** The summary of `orrery opt` for several files, as plain data (schemas/output/opt.schema.json); null: the file failed. */
export const filesJson = (
  files: readonly {
    readonly file: string;
    readonly output: string | undefined;
    readonly optimized: Optimized | null;
  }[],
) => ({
  version: VERSION,
  kind: 'opt-files',
  files: files.map(({ file, output, optimized: r }) => ({
    file,
    output: output ?? null,
    failed: r === null,
    instructions: r === null ? null : { before: r.before, after: r.after },
    ms: r === null ? null : r.ms,
    equal: r === null ? null : r.equal,
    ran: r === null ? null : r.ran,
    stopped: r === null ? null : r.stopped,
    proof: r === null ? null : r.proof,
  })),
});
