import { workerData } from 'node:worker_threads';
import type { WorkerRole } from './input/workers.ts';
import { inWorker } from './terminal/in-worker.ts';

/** For bin/orrery.js, which caches compiled code. */
export { writeReplacing } from '../spec/node-write.ts';

// A worker runs the script of the command line, because its compiled code is cached. Its errors are for the thread that started it.
const { role } = (inWorker() ? (workerData ?? {}) : {}) as { readonly role?: WorkerRole };
if (role === 'sweep') void import('./lab/sweep-worker.ts').then((m) => m.serveCells());
else if (role === 'opt') void import('./optimize/opt-worker.ts').then((m) => m.serveFiles());
else if (role === 'prove') void import('./rules/prove-worker.ts').then((m) => m.serveRules());
else if (role === 'lsp') void import('./lsp/lsp-worker.ts').then((m) => m.serveLsp());
else if (role === 'review') void import('./review/review-worker.ts').then((m) => m.serveReview());
else
  void Promise.all([import('./terminal/ui.ts'), import('./commands.ts')]).then(([ui, m]) => {
    ui.endOnStrayFaults();
    return ui.guarded(m.runCommand);
  });
