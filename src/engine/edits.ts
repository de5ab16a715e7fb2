import { ChangeLog, WorkList } from '../analysis/changes.ts';
import { type Draft, edit } from '../ir/draft/index.ts';
import type { Fn } from '../ir/program.ts';

/** A step that edits instructions of a draft: an edit pass, or a set of rules. */
export interface EditStep {
  /**
   * Names all that decides what the step does to a function: steps of one key do the same. null: it may do something else the next
   * time, because it spends a budget or tells what it did not do.
   */
  readonly key: string | null;
  /** A budget kept it from something, so that what it left is not all that it has to say. */
  readonly cutShort?: () => boolean;
  /** Begins on a draft; what is returned works off the list, as often as it is called. */
  readonly open: (d: Draft) => (work: WorkList) => void;
}

/** Steps that run in turn until none of them finds anything, at most `rounds` times. */
export interface Stretch {
  readonly steps: readonly EditStep[];
  readonly rounds: number;
  /** Called where the rounds were used up and something was still to be looked at. */
  readonly unfinished: () => void;
}

/**
 * Runs stretches of edit steps over a function, all on one draft.
 *
 * A step that is known to find nothing in a function (because it came to its end when it made that function, or left it as it was)
 * looks only at what the others change: where all are, the draft is not even opened.
 */
export class EditRunner {
  /** By function: keys of the steps to which it has nothing more to offer. */
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
  // One round is no repetition: what is left for it is left on purpose.
  if (stretch.rounds > 1) stretch.unfinished();
}
