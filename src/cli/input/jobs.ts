import { availableParallelism } from 'node:os';
import { failWith } from '../terminal/ui.ts';

/** Maximum number of workers of one command: each is a thread with its own engine, of some 100 MB. */
export const MOST_JOBS = 256;

/** Maximum default number of workers. */
const MOST_UNASKED = 16;

/** One worker per core, up to the maximum default number. */
export const coreJobs = (): number => Math.min(availableParallelism(), MOST_UNASKED);

/**
 * The number of workers that `--jobs` requests. Anything but a number ends the command.
 *
 * @param unasked the number if the option is not given
 */
export function jobsOf(text: string | undefined, unasked: number): number {
  if (text === undefined) return unasked;
  const n = /^\d+$/.test(text) ? Number(text) : 0;
  return n >= 1 && n <= MOST_JOBS
    ? n
    : failWith(`--jobs ${text} is not a number of workers`, `it is a whole number from 1 to ${MOST_JOBS}`);
}
