import { workerData } from 'node:worker_threads';
import { CellRunner } from '../../lab/sweep.ts';
import { type CacheOptions, cacheOf } from '../optimize/cache.ts';
import { serveTasks } from '../server/serve.ts';
import { loadSweep } from './sweep-setup.ts';

/** Settings of a worker thread that runs cells of a sweep. */
export interface SweepWorker {
  readonly role: 'sweep';
  readonly file: string;
  readonly cache: CacheOptions;
}

/** Runs cells in this thread: it reads the experiment itself, and receives the indices of cells. */
export async function serveCells(): Promise<void> {
  const { file, cache } = workerData as SweepWorker;
  const setup = await loadSweep(file);
  const runner = new CellRunner(setup.experiment, setup.modules, setup.plans, {
    measure: setup.measure,
    disk: cacheOf(cache),
  });
  serveTasks(
    (at) => runner.run(setup.cells[at]),
    () => runner.close(),
  );
}
