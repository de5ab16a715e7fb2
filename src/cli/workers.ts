import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { LastWords } from '../lab/pool.ts';
import { ROOT } from '../spec/node-cache.ts';

/** What a worker process does: runs cells of a sweep, optimizes files, or proves rules. */
export type WorkerRole = 'sweep' | 'opt' | 'prove';

/** First argument of the process of a worker; its role follows. */
export const WORKER = '--worker';

/** What a worker is sent first. */
interface Work<T> {
  /** Arguments of the command that it works for, which stand in reproducers. */
  readonly argv: readonly string[];
  readonly work: T;
}

/**
 * Starts a worker: the script of the command line again, whose compiled code is kept. Workers are processes and no threads, because only a
 * process can be told to collect garbage and to compile by itself: on two processors, two workers with helpers for that take a
 * quarter longer.
 */
export function startWorker<T>(role: WorkerRole, work: T): ChildProcess {
  const child = fork(join(ROOT, 'bin', 'orrery.js'), [WORKER, role], {
    execArgv: [...process.execArgv, '--single-threaded'],
    serialization: 'advanced',
  });
  const first: Work<T> = { argv: process.argv, work };
  child.send(first);
  return child;
}

/**
 * Answers tasks in the process of a worker.
 * @param open what does them, from what the worker is sent first; `close` is called when there are no more
 */
export function serveTasks<T, R>(
  open: (work: T) => Promise<{ readonly run: (at: number) => Promise<R>; readonly close: () => void }>,
): void {
  const die = (e: unknown): void => {
    const words: LastWords = { died: e instanceof Error ? e.message : String(e) };
    process.send!(words, () => process.exit(1));
  };
  process.on('uncaughtException', die);
  // An interrupt of the terminal is sent to all processes of a command; what to do is for the first one to say.
  process.on('SIGINT', () => {});
  process.on('disconnect', () => process.exit());
  let runner: ReturnType<typeof open> | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  process.on('message', (said: Work<T> | readonly number[]) => {
    turn = turn
      .then(async () => {
        if (runner === null) {
          const { argv, work } = said as Work<T>;
          process.argv = [...argv];
          runner = open(work);
          return;
        }
        const { run, close } = await runner;
        const tasks = said as readonly number[];
        if (tasks.length === 0) {
          close();
          return process.disconnect();
        }
        for (const at of tasks) process.send!([at, await run(at)]);
      })
      .catch(die);
  });
}
