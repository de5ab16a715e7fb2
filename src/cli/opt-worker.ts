import { parentPort, workerData } from 'node:worker_threads';
import { type OptWorker, taskRunner } from './opt-many.ts';

/** Optimizes files in this thread: it is sent their places in the list that all threads have. */
export function serveFiles(): void {
  const { tasks, options } = workerData as OptWorker;
  const { run, close } = taskRunner(options);
  parentPort!.on('message', async (places: readonly number[] | null) => {
    if (places === null) {
      close();
      return parentPort!.close();
    }
    for (const at of places) parentPort!.postMessage([at, await run(tasks[at])]);
  });
}
