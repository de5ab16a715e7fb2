import { CellRunner } from '../lab/sweep.ts';
import { type CacheOptions, cacheOf } from './cache.ts';
import { serveTasks } from './serve.ts';
import { loadSweep } from './sweep-setup.ts';

/** What a worker that runs cells is sent first. */
export interface SweepWork {
  readonly file: string;
  readonly cache: CacheOptions;
}

/** Runs cells in this process: it reads the experiment for itself, and is sent the places of cells. */
export function serveCells(): void {
  serveTasks(async ({ file, cache }: SweepWork) => {
    const setup = await loadSweep(file);
    const runner = new CellRunner(setup.experiment, setup.modules, setup.plans, {
      measure: setup.measure,
      disk: cacheOf(cache),
    });
    return { run: (at) => runner.run(setup.cells[at]), close: () => runner.close() };
  });
}
