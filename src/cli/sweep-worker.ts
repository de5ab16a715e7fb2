// A thread that runs cells of a sweep: it reads the experiment for itself, and is sent the places of cells.
import { parentPort, workerData } from 'node:worker_threads';
import { CellRunner } from '../lab/sweep.ts';
import { type CacheOptions, cacheOf } from './cache.ts';
import { loadSweep } from './sweep-setup.ts';

const { file, cache } = workerData as { readonly file: string; readonly cache: CacheOptions };
const setup = await loadSweep(file);
const runner = new CellRunner(setup.experiment, setup.modules, setup.plans, {
  measure: setup.measure,
  disk: cacheOf(cache),
});
parentPort!.on('message', async (places: readonly number[] | null) => {
  if (places === null) {
    runner.close();
    parentPort!.close();
    return;
  }
  for (const at of places) parentPort!.postMessage([at, await runner.run(setup.cells[at])]);
});
