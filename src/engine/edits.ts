import { ChangeLog, WorkList } from '../analysis/flow/changes.ts';
import { type Draft, edit, type Ins } from '../ir/draft/index.ts';
import type { Fn } from '../ir/program.ts';

/** A step that edits instructions of a draft: an edit pass, or a set of rules. */
export interface EditStep {
  /**
   * Identifies what the step does to a function: steps with equal keys do the same. Null: the result may differ from run to run, because
   * the step spends a budget or reports missed rewrites.
   */
  readonly key: string | null;
  /** Name for reports; absent for a step that is not reported. */
  readonly name?: string;
  /** Budget knob that limits it; null: none. */
  readonly budget?: string | null;
  /** True if a budget prevented rewrites, so that the step might still find work in its own result. */
  readonly cutShort?: () => boolean;
  /** Opens the step on a draft. The returned function processes the worklist, and may be called repeatedly. */
  readonly open: (d: Draft) => (work: WorkList) => void;
}

/** What a step did in one round. */
export interface RoundWork {
  readonly step: EditStep;
  /** Instructions changed or added, and removed. */
  readonly changed: number;
  readonly removed: number;
}

/** Why rounds ended: the worklists were empty, the maximum number was reached, or the last round weighed too little. */
export type RoundsEnd = 'done' | 'used-up' | { readonly cost: number };

/** Steps that run in turn until none of them finds work, at most `rounds` times. */
export interface Stretch {
  readonly steps: readonly EditStep[];
  readonly rounds: number;
  /** Rounds end if the changes of one weigh less than `least`; absent or null: weights do not matter. */
  readonly cost?: {
    readonly least: number;
    readonly of: (d: Draft, n: Ins, isThere: boolean) => number;
  } | null;
  /** Called with the work of each round, if more than one is allowed and any did something or left work. */
  readonly ended: (rounds: readonly (readonly RoundWork[])[], end: RoundsEnd) => void;
}

/**
 * Runs stretches of edit steps over a function, all on one draft.
 *
 * A step is settled for a function version if it is known to find nothing there, because it ran to completion when that version was made.
 * It then visits only what other steps change. If all steps are settled, no draft is opened.
 */
export class EditRunner {
  /** For each function version: keys of the steps that find nothing in it. */
  private readonly settled = new WeakMap<Fn, Set<string>>();
  /**
   * Runs the stretches and returns the new version of the function, the same object if nothing changed.
   * @throws Error if a step changes blocks or edges
   */

  run(fn: Fn, stretches: readonly Stretch[]): Fn {
    const settled = this.settled.get(fn);
    const isSettled = (s: EditStep): boolean => s.key !== null && settled?.has(s.key) === true;
    if (stretches.every((x) => x.steps.every(isSettled))) return fn;
    const opened = new Map<string | EditStep, { step: EditStep; work: WorkList }>();
    const out = edit(fn, (d) => {
      const log = new ChangeLog(d);
      const runs = new Map<string | EditStep, StepRun>();
      const runOf = (step: EditStep) => {
        const id = step.key ?? step;
        let r = runs.get(id);
        if (r === undefined) {
          r = { step, work: new WorkList(log, isSettled(step)), run: step.open(d) };
          runs.set(id, r);
          opened.set(id, { step, work: r.work });
        }
        return r;
      };
      for (const stretch of stretches) repeat(log, stretch, stretch.steps.map(runOf));
      if (d.shapeVersion > 0) throw new Error('an edit pass changed blocks or edges');
    });
    const done = new Set(out === fn ? settled : []);
    for (const { step, work } of opened.values())
      if (step.key !== null && work.isEmpty && step.cutShort?.() !== true) done.add(step.key);
    this.settled.set(out, done);
    return out;
  }
}

/** A step that is open on a draft. */
interface StepRun {
  readonly step: EditStep;
  readonly work: WorkList;
  readonly run: (work: WorkList) => void;
}

function repeat(log: ChangeLog, stretch: Stretch, runs: readonly StepRun[]): void {
  const { cost = null, rounds: most, ended } = stretch;
  const rounds: RoundWork[][] = [];
  let spent = 0;
  if (cost !== null)
    log.meter = (n, isThere) => {
      spent += cost.of(log.d, n, isThere);
    };
  let end: RoundsEnd = 'used-up';
  for (let round = 0; round < most && end === 'used-up'; round++) {
    spent = 0;
    rounds.push(oneRound(log, runs));
    if (runs.every((r) => r.work.isEmpty)) end = 'done';
    else if (cost !== null && spent < cost.least) end = { cost: spent };
  }
  log.meter = null;
  // With a single round, work that is left over is intended.
  const cut = runs.some((r) => r.step.cutShort?.() === true);
  if (most > 1 && (end !== 'done' || cut || rounds.some((r) => r.length > 0))) ended(rounds, end);
}

function oneRound(log: ChangeLog, runs: readonly StepRun[]): RoundWork[] {
  const out: RoundWork[] = [];
  for (const { step, work, run } of runs) {
    if (work.isEmpty) continue;
    const { changes, removals } = log;
    run(work);
    if (log.changes === changes && log.removals === removals) continue;
    out.push({ step, changed: log.changes - changes, removed: log.removals - removals });
  }
  return out;
}
