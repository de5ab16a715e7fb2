import { type ChildProcess, fork } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ROOT } from '../spec/node-cache.ts';
import type { Served } from './server-process.ts';
import { failWith } from './ui.ts';

/** What a server is doing: `server.json` in its folder, and in schemas/output/server-status.schema.json. */
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

/** Whether there is a process of this number. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return (e as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** How often a server checks whether it is still wanted, in milliseconds. It says then that it is there. */
const CHECK = 5000;
/** A state that is older was left behind by a server that was killed, whatever process has its number now. */
const STALE = 4 * CHECK;

/** The server that uses a folder; null where there is none, or only what one has left there that was killed. */
export function serverIn(folder: string): ServerState | null {
  try {
    const file = stateFile(folder);
    const state = JSON.parse(readFileSync(file, 'utf8')) as ServerState;
    return isAlive(state.pid) && Date.now() - statSync(file).mtimeMs < STALE ? state : null;
  } catch {
    return null;
  }
}

/** Whether a client is having a command run. */
const isBusy = (folder: string): boolean =>
  readdirSync(folder).some((name) => {
    if (!name.endsWith('.lock')) return false;
    try {
      return isAlive(Number(readFileSync(join(folder, name), 'utf8')));
    } catch {
      // It has just been given back.
      return false;
    }
  });

/** Bytes of memory after which a process makes way for a new one: what it keeps of past commands is worth less than that. */
const MOST_MEMORY = 1.5 * 2 ** 30;
/** Why a server ends that nobody can find any more. */
const GONE = 'its folder is gone';
/** So many processes in a row that end before they take a command end the server. */
const MOST_FAILURES = 3;

/**
 * Makes the folder of a server, with its first state, at once: of two servers that begin at the same time one gets it.
 * @returns whether it is this one
 */
function claim(folder: string, state: ServerState): boolean {
  const own = `${folder}.${process.pid}`;
  makePrivate(own);
  writeFileSync(stateFile(own), JSON.stringify(state), { mode: 0o600 });
  for (;;)
    try {
      renameSync(own, folder);
      return true;
    } catch {
      if (serverIn(folder) === null && existsSync(folder)) {
        rmSync(folder, { recursive: true, force: true });
        continue;
      }
      rmSync(own, { recursive: true, force: true });
      return false;
    }
}

/** Ends a process and what it has started. */
function endGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** What is asked of a server. */
export interface KeepOptions {
  /** Number of processes: of commands at the same time. */
  readonly jobs: number;
  /** Minutes without a command after which it ends. */
  readonly idle: number;
  /** Seconds of processor time for which each of its processes runs the bundled kernels before it is needed. */
  readonly warmUp: number;
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
  if (Buffer.byteLength(join(folder, '4194304.sock')) > LONGEST_SOCKET)
    failWith(`the path of ${folder} is too long for a socket`, 'set XDG_RUNTIME_DIR to a shorter folder');
  makePrivate(dirname(folder));
  const build = buildOf(BUNDLE);
  const started = new Date().toISOString();
  if (!claim(folder, { pid: process.pid, started, idle, processes: [] }))
    failWith('a server is running already', '`orrery server stop` ends it');
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
      for (const c of children.keys()) endGroup(c);
      rmSync(folder, { recursive: true, force: true });
      done(why);
    };
    const begin = (): void => {
      const child = fork(SCRIPT, ['server-process', folder, String(warmUp)], {
        env: { ...process.env, ORRERY_SERVER: 'off' },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        // A group of its own: what a command has started ends with it.
        detached: true,
      });
      children.set(child, null);
      child.on('message', (served: Served) => {
        failures = 0;
        lastUse = Date.now();
        children.set(child, served);
        if (!existsSync(folder)) return end(GONE);
        tell();
        if (served.memory > MOST_MEMORY && !isBusy(folder)) endGroup(child);
      });
      child.on('exit', () => {
        const failed = children.get(child) === null;
        children.delete(child);
        if (ending) return;
        if (!existsSync(folder)) return end(GONE);
        for (const kind of ['sock', 'lock']) rmSync(join(folder, `${child.pid}.${kind}`), { force: true });
        if (failed && ++failures >= MOST_FAILURES) return end('its processes end as soon as they start');
        tell();
        begin();
      });
    };
    const looking = setInterval(
      () => {
        if (!existsSync(folder)) return end(GONE);
        let now: string | null = null;
        try {
          now = buildOf(BUNDLE);
        } catch {
          // The build is being made anew.
        }
        tell();
        if (isBusy(folder)) lastUse = Date.now();
        else if (now !== build) end('orrery was built anew');
        else if ([...children.values()].includes(null)) lastUse = Date.now();
        else if (Date.now() - lastUse > idle * 60_000) end(`nobody needed it for ${idle} minutes`);
      },
      Math.min(CHECK, idle * 15_000),
    );
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => end('it was stopped'));
    for (let n = 0; n < jobs; n++) begin();
    tell();
  });
}
