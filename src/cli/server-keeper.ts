import { type ChildProcess, fork } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ROOT } from '../spec/node-cache.ts';
import type { Served } from './server-process.ts';
import { failWith } from './ui.ts';

/** What a server is doing: `server.json` in its folder (schemas/output/server.schema.json). */
export interface ServerState {
  readonly pid: number;
  /** When it was started: ISO 8601. */
  readonly started: string;
  /** Minutes without a command after which it ends. */
  readonly idle: number;
  /** Those that take commands now. */
  readonly processes: readonly (Served & { readonly pid: number })[];
}

const { buildOf, serverFolder } = createRequire(import.meta.url)(join(ROOT, 'bin', 'server-folder.cjs')) as {
  buildOf(bundle: string): string;
  serverFolder(build: string): string;
};

/** Path of the command line. */
export const SCRIPT = join(ROOT, 'bin', 'orrery.js');
const BUNDLE = join(ROOT, 'dist', 'bundle', 'main.cjs');

/** The folder of the server of this build. */
export const folderOfServer = (): string => serverFolder(buildOf(BUNDLE));

const stateFile = (folder: string): string => join(folder, 'server.json');

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return (e as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The server that uses a folder; null where there is none, or only what one has left there that was killed. */
export function serverIn(folder: string): ServerState | null {
  try {
    const state = JSON.parse(readFileSync(stateFile(folder), 'utf8')) as ServerState;
    return isAlive(state.pid) ? state : null;
  } catch {
    return null;
  }
}

/** Bytes of memory after which a process makes way for a new one: what it keeps of past commands is worth less than that. */
const MOST_MEMORY = 1.5 * 2 ** 30;
/** How often is looked whether the server is still wanted, in milliseconds. */
const LOOK = 5000;
/** So many processes in a row that end before they take a command end the server. */
const MOST_FAILURES = 3;

/** What is asked of a server. */
export interface KeepOptions {
  /** Number of processes: of commands at the same time. */
  readonly jobs: number;
  /** Minutes without a command after which it ends. */
  readonly idle: number;
  /** Whether its processes run the bundled kernels before they are needed. */
  readonly warmUp: boolean;
}

/** The longest path of a socket: 104 bytes with the 0 at its end on macOS, 108 on Linux. */
const LONGEST_SOCKET = 103;

/** A folder that nobody else may write to; another ends the command. */
function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(folder);
  if (uid !== process.getuid!() || (mode & 0o077) !== 0)
    failWith(`${folder} is not yours alone`, 'it must have your user as its owner, and mode 700: remove it');
}

/**
 * Keeps processes that run commands, until it is told to end, nobody has needed it for a while, or the build is another.
 * @param folder where its clients look for it
 * @returns why it ended
 */
export async function keepServer(folder: string, { jobs, idle, warmUp }: KeepOptions): Promise<string> {
  if (join(folder, '4194304.sock').length > LONGEST_SOCKET)
    failWith(`the path of ${folder} is too long for a socket`, 'set XDG_RUNTIME_DIR to a shorter folder');
  makePrivate(dirname(folder));
  rmSync(folder, { recursive: true, force: true });
  makePrivate(folder);
  const build = buildOf(BUNDLE);
  const started = new Date().toISOString();
  const children = new Map<ChildProcess, Served | null>();
  let lastUse = Date.now();
  let failures = 0;

  const tell = (): void => {
    const processes = [...children].flatMap(([c, s]) => (s === null ? [] : [{ pid: c.pid!, ...s }]));
    const state: ServerState = { pid: process.pid, started, idle, processes };
    const file = stateFile(folder);
    writeFileSync(`${file}.part`, JSON.stringify(state), { mode: 0o600 });
    renameSync(`${file}.part`, file);
  };

  return new Promise((done) => {
    let ending = false;
    const end = (why: string): void => {
      if (ending) return;
      ending = true;
      clearInterval(looking);
      for (const c of children.keys()) c.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
      done(why);
    };
    const begin = (): void => {
      const child = fork(SCRIPT, ['server-process', folder, ...(warmUp ? [] : ['--no-warm-up'])], {
        env: { ...process.env, ORRERY_SERVER: 'off' },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      children.set(child, null);
      child.on('message', (served: Served) => {
        failures = 0;
        lastUse = Date.now();
        children.set(child, served);
        tell();
        if (served.memory > MOST_MEMORY) child.kill();
      });
      child.on('exit', () => {
        const failed = children.get(child) === null;
        children.delete(child);
        if (ending) return;
        for (const of of ['sock', 'lock']) rmSync(join(folder, `${child.pid}.${of}`), { force: true });
        if (failed && ++failures >= MOST_FAILURES) return end('its processes end as soon as they start');
        tell();
        begin();
      });
    };
    const looking = setInterval(
      () => {
        let now: string | null = null;
        try {
          now = buildOf(BUNDLE);
        } catch {
          // The build is being made anew.
        }
        if (now !== build) end('orrery was built anew');
        else if ([...children.values()].includes(null)) lastUse = Date.now();
        else if (Date.now() - lastUse > idle * 60_000) end(`nobody needed it for ${idle} minutes`);
      },
      Math.min(LOOK, idle * 15_000),
    );
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => end('it was stopped'));
    for (let n = 0; n < jobs; n++) begin();
    tell();
  });
}
