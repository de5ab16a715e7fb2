import { type OptWork, taskRunner } from './opt-many.ts';
import { serveTasks } from './serve.ts';

/** Optimizes files in this process: it is sent their places in the list that all workers have. */
export function serveFiles(): void {
  serveTasks(async ({ tasks, options }: OptWork) => {
    const { run, close } = taskRunner(options);
    return { run: (at) => run(tasks[at]), close };
  });
}
