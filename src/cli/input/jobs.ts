import { availableParallelism } from 'node:os';
import { failWith } from '../terminal/ui.ts';

/** Most workers of one command: each is a thread with an engine of its own, of some 100 MB. */
export const MOST_JOBS = 256;

/** Most workers that a command starts unasked. */
const MOST_UNASKED = 16;

/** A worker for each core. */
export const coreJobs = (): number => Math.min(availableParallelism(), MOST_UNASKED);

/**
 * The number of workers that `--jobs` asks for. What is no number ends the command.
 * @param unasked the number where the option is not given
 */
export function jobsOf(text: string | undefined, unasked: number): number {
  if (text === undefined) return unasked;
  const n = /^\d+$/.test(text) ? Number(text) : 0;
  return n >= 1 && n <= MOST_JOBS
    ? n
    : failWith(`--jobs ${text} is no number of workers`, `it is a whole number from 1 to ${MOST_JOBS}`);
}
