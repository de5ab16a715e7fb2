import { ChangeLog, WorkList } from '../analysis/changes.ts';
import { type Draft, edit } from '../ir/draft/index.ts';
import type { Fn } from '../ir/program.ts';

/** A step that edits instructions of a draft: an edit pass, or a set of rules. */
export interface EditStep {
  /**
   * Identifies what the step does to a function: steps with equal keys do the same. null: it may do something else
   * the next time, because it spends a budget or reports what it did not do.
   */
  readonly key: string | null;
  /** Whether a budget prevented rewrites, so that the step may find more in its result. */
  readonly cutShort?: () => boolean;
  /** Opens the step on a draft. The returned function processes the work list, and may be called repeatedly. */
  readonly open: (d: Draft) => (work: WorkList) => void;
}

/** Steps that run in turn until none of them finds anything, at most `rounds` times. */
export interface Stretch {
  readonly steps: readonly EditStep[];
  readonly rounds: number;
  /** Called if work is left after the last round. */
  readonly unfinished: () => void;
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
      const runs = new Map<string | EditStep, { work: WorkList; run: (work: WorkList) => void }>();
      const runOf = (step: EditStep) => {
        const id = step.key ?? step;
        let r = runs.get(id);
        if (r === undefined) {
          r = { work: new WorkList(log, isSettled(step)), run: step.open(d) };
          runs.set(id, r);
          opened.set(id, { step, work: r.work });
        }
        return r;
      };
      for (const stretch of stretches) repeat(stretch, stretch.steps.map(runOf));
      if (d.shapeVersion > 0) throw new Error('an edit pass changed blocks or edges');
    });
    const done = new Set(out === fn ? settled : []);
    for (const { step, work } of opened.values())
      if (step.key !== null && work.isEmpty && step.cutShort?.() !== true) done.add(step.key);
    this.settled.set(out, done);
    return out;
  }
}

function repeat(
  stretch: Stretch,
  runs: readonly { readonly work: WorkList; readonly run: (work: WorkList) => void }[],
): void {
  for (let round = 0; round < stretch.rounds; round++) {
    for (const r of runs) if (!r.work.isEmpty) r.run(r.work);
    if (runs.every((r) => r.work.isEmpty)) return;
  }
  // With a single round nothing was to be repeated, so work left over is intended.
  if (stretch.rounds > 1) stretch.unfinished();
}
