import { isMainThread } from 'node:worker_threads';

/** Whether this is a thread that `workers.ts` started. Most processes have none, and need not load node:worker_threads to know. */
export const inWorker = (): boolean => process.env.ORRERY_WORKER !== undefined && !isMainThread;
