import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Output and exit status of a command; the status is null if a signal ended it. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** Both streams, interleaved as they arrived. */
  readonly said: string;
}
export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Standard input; empty by default. */
  readonly input?: string;
}

type Answer = { readonly id: number } & (Outcome | { readonly error: string });

interface Starter {
  readonly child: ChildProcess;
  readonly open: Map<number, (answer: Answer) => void>;
  last: number;
}

/** The starter, shared by all files of a worker. */
const STARTER = Symbol.for('orrery.command-starter');

/**
 * Starts the small process that starts commands for this worker (start-processes.ts says why). It is started while the worker is small, and
 * ends with it.
 */
export function commandStarter(): Starter {
  const known = globalThis as { [STARTER]?: Starter };
  const there = known[STARTER];
  if (there !== undefined) return there;
  const script = fileURLToPath(new URL('command-starter.mjs', import.meta.url));
  const child = fork(script, { stdio: 'ignore', execArgv: [] });
  const open: Starter['open'] = new Map();
  child.on('message', (answer: Answer) => {
    open.get(answer.id)?.(answer);
    open.delete(answer.id);
    if (open.size === 0) child.channel?.unref();
  });
  child.on('exit', () => {
    for (const [id, answer] of open)
      answer({ id, error: 'the process that starts commands for tests has ended' });
  });
  child.unref();
  child.channel?.unref();
  const starter: Starter = { child, open, last: 0 };
  known[STARTER] = starter;
  return starter;
}

/**
 * Runs a command asynchronously.
 *
 * @returns a promise of its output and status
 * @throws if it cannot be started
 */
export function command(file: string, args: readonly string[], how: CommandOptions = {}): Promise<Outcome> {
  const starter = commandStarter();
  const id = ++starter.last;
  const { cwd = process.cwd(), env = process.env, input = '' } = how;
  return new Promise((done, failed) => {
    starter.open.set(id, (answer) => ('error' in answer ? failed(new Error(answer.error)) : done(answer)));
    starter.child.channel?.ref();
    starter.child.send({ id, file, args, cwd, env: { ...env }, input });
  });
}
