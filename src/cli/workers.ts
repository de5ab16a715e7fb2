import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../spec/node-cache.ts';

/** What a worker process does: runs cells of a sweep, optimizes files, or proves rules. */
export type WorkerRole = 'sweep' | 'opt' | 'prove';

/** First argument of the process of a worker; its role follows. */
export const WORKER = '--worker';

/** What a worker is sent first. */
export interface Work<T> {
  /** Arguments of the command that it works for, which stand in reproducers. */
  readonly argv: readonly string[];
  readonly work: T;
}

/**
 * Starts a worker: the script of the command line again, whose compiled code is kept. Workers are processes rather than threads, because
 * only a process can be told to compile and to collect garbage without helper threads. Those take processors from other workers
 * (README.md of the lab has the figures).
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
