import { parentPort } from 'node:worker_threads';

/** How long in milliseconds an answer may wait to be batched with others: each message costs 0.15 ms. */
const MOST_WAIT = 50;

/**
 * Answers tasks in a worker thread, which receives lists of their indices (`src/lab/pool.ts`).
 *
 * @param run runs one task
 * @param close is called when there are no more
 */
export function serveTasks(run: (task: number) => Promise<unknown>, close: () => void): void {
  parentPort!.on('message', async (tasks: readonly number[] | null) => {
    if (tasks === null) {
      close();
      return parentPort!.close();
    }
    let answers: [task: number, result: unknown][] = [];
    let sent = performance.now();
    const send = (): void => {
      parentPort!.postMessage(answers);
      answers = [];
      sent = performance.now();
    };
    try {
      for (const task of tasks) {
        answers.push([task, await run(task)]);
        if (performance.now() - sent >= MOST_WAIT) send();
      }
    } finally {
      if (answers.length > 0) send();
    }
  });
}
