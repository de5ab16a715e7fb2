// A thread that optimizes files: it is sent their places in the list that all threads have.
import { parentPort, workerData } from 'node:worker_threads';
import { type OptTask, taskRunner } from './opt-many.ts';
import type { OptOptions } from './optimize.ts';

const { tasks, options } = workerData as { readonly tasks: readonly OptTask[]; readonly options: OptOptions };
const { run, close } = taskRunner(options);
parentPort!.on('message', async (places: readonly number[] | null) => {
  if (places === null) {
    close();
    return parentPort!.close();
  }
  for (const at of places) parentPort!.postMessage([at, await run(tasks[at])]);
});
