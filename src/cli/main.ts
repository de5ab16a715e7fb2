import { WORKER, type WorkerRole } from './workers.ts';

/** What a worker does, by its role. */
const ROLES: Readonly<Record<WorkerRole, () => Promise<void>>> = {
  sweep: async () => (await import('./sweep-worker.ts')).serveCells(),
  opt: async () => (await import('./opt-worker.ts')).serveFiles(),
  prove: async () => (await import('./prove-worker.ts')).serveRules(),
};

const [, , first, role] = process.argv;
if (first === WORKER && process.send !== undefined) void ROLES[role as WorkerRole]();
else
  void Promise.all([import('./ui.ts'), import('./commands.ts')]).then(([ui, m]) => ui.guarded(m.runCommand));
