import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { type PoolOptions, runPool } from '../../lab/pool.ts';
import { ROOT } from '../../spec/node-cache.ts';

/** Role of a worker thread: runs cells of a sweep or of a review, optimizes files, proves rules, or does jobs of the language server. */
export type WorkerRole = 'sweep' | 'opt' | 'prove' | 'review' | 'lsp';

/**
 * Runs tasks on worker threads (`src/lab/pool.ts`), each of which runs the script of the command line again, whose compiled code is cached.
 *
 * @param workerData role and settings of a worker
 */
export async function runWorkers<R, T extends { readonly role: WorkerRole }>(
  workerData: T,
  opts: Omit<PoolOptions<R>, 'start'>,
): Promise<boolean> {
  // V8 collects the garbage of one thread with several helper threads. If workers keep all processors busy, these wait for each other.
  const busy = opts.workers >= availableParallelism();
  if (busy) setFlagsFromString('--no-parallel-scavenge');
  try {
    return await runPool({
      ...opts,
      start: () =>
        new Worker(join(ROOT, 'bin', 'orrery.js'), {
          // A reproducer that a worker writes names the command.
          argv: process.argv.slice(2),
          env: { ...process.env, ORRERY_WORKER: '1' },
          workerData,
        }),
    });
  } finally {
    if (busy) setFlagsFromString('--parallel-scavenge');
  }
}
