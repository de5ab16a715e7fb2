import { workerData } from 'node:worker_threads';
import { serveTasks } from '../server/serve.ts';
import { type OptWorker, taskRunner } from './opt-many.ts';

/** Optimizes files in this thread: it receives their indices in the list that all threads have. */
export function serveFiles(): void {
  const { tasks, options } = workerData as OptWorker;
  const { run, close } = taskRunner(options);
  serveTasks((at) => run(tasks[at]), close);
}
