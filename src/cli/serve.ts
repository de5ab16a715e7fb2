import type { LastWords } from '../lab/pool.ts';
import { Progress } from './ui.ts';
import type { Work } from './workers.ts';

/**
 * Answers tasks in the process of a worker.
 * @param open what does them, from what the worker is sent first; `close` is called when there are no more
 */
export function serveTasks<T, R>(
  open: (work: T) => Promise<{ readonly run: (at: number) => Promise<R>; readonly close: () => void }>,
): void {
  // The progress is that of the command.
  Progress.quiet = true;
  const die = (e: unknown): void => {
    const words: LastWords = { died: e instanceof Error ? e.message : String(e) };
    process.send!(words, () => process.exit(1));
  };
  process.on('uncaughtException', die);
  process.on('disconnect', () => process.exit());
  let runner: ReturnType<typeof open> | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  process.on('message', (said: Work<T> | readonly number[]) => {
    turn = turn
      .then(async () => {
        if (runner === null) {
          const { argv, work } = said as Work<T>;
          process.argv = [...argv];
          runner = open(work);
          return;
        }
        const { run, close } = await runner;
        const tasks = said as readonly number[];
        if (tasks.length === 0) {
          close();
          return process.disconnect();
        }
        for (const at of tasks) process.send!([at, await run(at)]);
      })
      .catch(die);
  });
}
