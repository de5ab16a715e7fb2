import type { Worker } from 'node:worker_threads';

/*
 * A pool of worker threads. A worker receives a list of task numbers and answers each, in that order, with [number, result], several in one
 * message; null tells it to exit. If a worker dies, its unanswered tasks are given to another one.
 */

/** How many workers a task may kill before the pool gives up. */
const MOST_DEATHS = 2;

/** Options of `runPool`. */
export interface PoolOptions<R> {
  /** Numbers of the tasks to run, counted from 0. */
  readonly tasks: readonly number[];
  readonly workers: number;
  /** Starts a worker. */
  readonly start: () => Worker;
  /** How many tasks from the start of the list one worker should take at once; at least 1. */
  readonly together: (left: readonly number[], workers: number) => number;
  /** Called with each result as it arrives. */
  readonly onResult: (task: number, result: R) => void;
  /** Called after each message; true ends the pool, and unfinished work is lost. */
  readonly stop?: () => boolean;
}

/**
 * Runs tasks on workers.
 *
 * @returns true if all tasks were run
 * @throws the worker's error if one task killed `MOST_DEATHS` workers
 */
export function runPool<R>(opts: PoolOptions<R>): Promise<boolean> {
  const left = [...opts.tasks];
  const deaths = new Map<number, number>();
  const running = new Map<Worker, number[]>();
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      const all = [...running.keys()];
      running.clear();
      void Promise.all(all.map((w) => w.terminate())).then(settle);
    };
    const give = (w: Worker): void => {
      const count = left.length === 0 ? 0 : opts.together(left, opts.workers);
      const mine = left.splice(0, count);
      running.set(w, mine);
      w.postMessage(mine.length === 0 ? null : mine);
    };
    const begin = (): void => {
      const w = opts.start();
      let why: unknown = null;
      w.on('message', (answers: readonly [task: number, result: R][]) => {
        const mine = running.get(w);
        if (mine === undefined) return;
        for (const [task, result] of answers) {
          try {
            opts.onResult(task, result);
          } catch (e) {
            return end(() => reject(e));
          }
          mine.splice(mine.indexOf(task), 1);
        }
        if (opts.stop?.() === true) return end(() => resolve(false));
        if (mine.length === 0) give(w);
      });
      w.on('error', (e) => {
        why = e;
      });
      w.on('exit', (code) => {
        const lost = running.get(w);
        if (lost === undefined) return;
        running.delete(w);
        if (lost.length > 0) {
          const times = (deaths.get(lost[0]) ?? 0) + 1;
          deaths.set(lost[0], times);
          if (times >= MOST_DEATHS)
            return end(() => reject(why ?? new Error(`a worker ended with code ${code}`)));
          left.unshift(...lost);
          begin();
        } else if (running.size === 0) resolve(left.length === 0);
      });
      give(w);
    };
    const many = Math.min(opts.workers, left.length);
    if (many === 0) resolve(true);
    for (let i = 0; i < many && left.length > 0; i++) begin();
  });
}
