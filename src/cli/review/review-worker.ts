import { workerData } from 'node:worker_threads';
import { cellsOf } from '../../review/cells.ts';
import { serveTasks } from '../server/serve.ts';
import { type ReviewCells, reviewRunner } from './review-setup.ts';

/** Settings of a worker thread that runs cells of a review. */
export interface ReviewWorker extends ReviewCells {
  readonly role: 'review';
}

/** Runs cells in this thread: it reads both sides itself, and receives the indices of cells. */
export async function serveReview(): Promise<void> {
  const setup = workerData as ReviewWorker;
  const runner = await reviewRunner(setup);
  const cells = cellsOf(setup.comparisons);
  serveTasks(
    (at) => runner.run(setup.comparisons[cells[at].comparison], cells[at].file),
    () => undefined,
  );
}
