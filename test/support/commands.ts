import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a command printed, and its status: null where a signal ended it. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** Both, as they came. */
  readonly said: string;
}
export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Standard input; nothing by default. */
  readonly input?: string;
}

type Answer = { readonly id: number } & (Outcome | { readonly error: string });

interface Starter {
  readonly child: ChildProcess;
  readonly open: Map<number, (answer: Answer) => void>;
  last: number;
}

/** All files of a worker share one. */
const STARTER = Symbol.for('orrery.command-starter');

/**
 * A small process that starts commands for this worker of the tests (for the reason in start-processes.ts): begun while the worker is
 * small, and ended with it.
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
 * Runs a command beside others.
 * @returns a promise of what came of it
 * @throws where it cannot be started
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
