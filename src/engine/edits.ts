import { ChangeLog, WorkList } from '../analysis/flow/changes.ts';
import { type Draft, edit, type Ins } from '../ir/draft/index.ts';
import type { Fn } from '../ir/program.ts';

/** A step that edits instructions of a draft: an edit pass, or a set of rules. */
export interface EditStep {
  /**
   * Identifies what the step does to a function: steps with equal keys do the same. null: it may do something else
   * the next time, because it spends a budget or reports what it did not do.
   */
  readonly key: string | null;
  /** For reports; absent for a step that nobody asks about. */
  readonly name?: string;
  /** Budget knob that limits it; null: none. */
  readonly budget?: string | null;
  /** Whether a budget prevented rewrites, so that the step may find more in its result. */
  readonly cutShort?: () => boolean;
  /** Opens the step on a draft. The returned function processes the work list, and may be called repeatedly. */
  readonly open: (d: Draft) => (work: WorkList) => void;
}

/** What a step did in one round. */
export interface RoundWork {
  readonly step: EditStep;
  /** Instructions changed or added, and removed. */
  readonly changed: number;
  readonly removed: number;
}

/** Why rounds ended: nothing was left, all were used up, or the last one cost too little. */
export type RoundsEnd = 'done' | 'used-up' | { readonly cost: number };

/** Steps that run in turn until none of them finds anything, at most `rounds` times. */
export interface Stretch {
  readonly steps: readonly EditStep[];
  readonly rounds: number;
  /** Rounds end if what one changed costs less than `least`; absent or null: cost does not matter. */
  readonly cost?: {
    readonly least: number;
    readonly of: (d: Draft, n: Ins, isThere: boolean) => number;
  } | null;
  /** Told what each round did, if there may be several and any did something, or left something to do. */
  readonly ended: (rounds: readonly (readonly RoundWork[])[], end: RoundsEnd) => void;
}

/**
 * Runs stretches of edit steps over a function, all on one draft.
 *
 * A step known to find nothing in a function (because it finished when it made that function, or did not change it)
 * looks only at what the others change. If that holds for all steps, the draft is not even opened.
 */
export class EditRunner {
  /** By function: keys of the steps that find nothing in it. */
  private readonly settled = new WeakMap<Fn, Set<string>>();

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
  // With a single round nothing was to be repeated, so work left over is intended.
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
