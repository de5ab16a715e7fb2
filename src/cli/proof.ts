import type { PhaseRecord } from '../engine/journal.ts';
import type { Program } from '../ir/program.ts';
import { validateStep } from '../validate/program.ts';
import { decidersBy } from '../validate/solve.ts';
import { Progress } from './progress.ts';
import { openSolver, packagedSolver } from './solver.ts';
import { grouped, pc } from './ui.ts';

/** A phase that changed something, with the program before it. */
export interface Step {
  readonly record: PhaseRecord;
  readonly before: Program;
}

/** A region that a phase changed and that is not proved. */
export interface Unproved {
  readonly phase: string;
  readonly function: string;
  /** Line of the input, 0 if it has none. */
  readonly line: number;
  readonly why: string;
}

/** What `--check prove` found of the phases. */
export interface Proof {
  readonly phases: number;
  readonly regions: number;
  readonly proved: number;
  readonly left: readonly Unproved[];
}

/** Proves for each phase that what it changed does the same for all inputs. */
export async function proveSteps(steps: readonly Step[]): Promise<Proof> {
  const progress = new Progress();
  const solver = packagedSolver() ? openSolver(undefined) : null;
  const decider = solver === null ? null : decidersBy(solver.solve);
  const left: Unproved[] = [];
  let [regions, proved] = [0, 0];
  try {
    for (const [k, { record, before }] of steps.entries()) {
      progress.update(`proving ${record.phase.id}, ${k + 1} of ${steps.length}`);
      for (const { fn, regions: found } of await validateStep(before, record.program, decider))
        for (const r of found) {
          if (!r.changed && r.why === '') continue;
          regions++;
          if (r.why === '') proved++;
          else
            left.push({
              phase: record.phase.id,
              function: fn,
              line: lineOf(before, fn, r.block),
              why: r.why,
            });
        }
    }
  } finally {
    solver?.close();
    progress.done();
  }
  return { phases: steps.length, regions, proved, left };
}

/** The first line of a block. */
function lineOf(program: Program, name: string, block: number): number {
  const b = program.functions.find((f) => f.name === name)?.blocks.find((x) => x.id === block);
  const loc = b?.ins.find((x) => x.loc !== 0)?.loc ?? 0;
  return program.locs[loc]?.line ?? 0;
}

/** Regions that are named one by one. */
const NAMED = 8;

/** The proof in words. */
export function proofText({ phases, regions, proved, left }: Proof): string {
  const all = proved === regions;
  const head = all ? pc.green('proved') : pc.yellow('proved in part');
  const what = `${grouped(proved)} of ${grouped(regions)} regions that ${phases} ${phases === 1 ? 'phase' : 'phases'} changed`;
  const lines = left.slice(0, NAMED).map(({ phase, function: fn, line, why }) => {
    const at = line === 0 ? '' : `, line ${line}`;
    return `  not proved: ${phase}, ${fn}${at}: ${why}`;
  });
  const more = left.length > NAMED ? [`  and ${left.length - NAMED} more; --json names them all`] : [];
  return [`${head}: ${what} do the same for all inputs`, ...lines, ...more].join('\n');
}
