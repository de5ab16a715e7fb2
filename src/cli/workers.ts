import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ROOT } from '../spec/node-cache.ts';

/** What a worker thread does: runs cells of a sweep, optimizes files, or proves rules. */
export type WorkerRole = 'sweep' | 'opt' | 'prove';

/** Starts a worker thread: the script of the command line again, whose compiled code is there. */
export const startWorker = <T extends { readonly role: WorkerRole }>(workerData: T): Worker =>
  new Worker(join(ROOT, 'bin', 'orrery.js'), {
    // A reproducer that it writes names the command.
    argv: process.argv.slice(2),
    env: { ...process.env, ORRERY_WORKER: '1' },
    workerData,
  });
