import { parentPort } from 'node:worker_threads';

/**
 * Answers tasks in a worker thread, which is sent lists of their numbers (`src/lab/pool.ts`).
 * @param run does one
 * @param close is called when there are no more
 */
export function serveTasks(run: (task: number) => Promise<unknown>, close: () => void): void {
  parentPort!.on('message', async (tasks: readonly number[] | null) => {
    if (tasks === null) {
      close();
      return parentPort!.close();
    }
    for (const task of tasks) parentPort!.postMessage([task, await run(task)]);
  });
}
