import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { grouped } from '../../ir/counts.ts';
import { jobsOf } from '../input/jobs.ts';
import { table } from '../terminal/table.ts';
import { failWith, out } from '../terminal/ui.ts';
import { answers, askServer, folderOfServer, SCRIPT, writtenIn } from './server-ask.ts';
import { type KeepOptions, keepServer } from './server-keeper.ts';

/** Options of a server. */
export interface ServerOptions {
  readonly jobs?: string;
  readonly idle?: string;
  /** Seconds; false: no warm-up. */
  readonly warmUp?: string | false;
}

/** Default for the minutes without a command after which a server ends. */
const IDLE = 60;
/** Default for the seconds of processor time that a process spends on warming up: V8 optimizes code that has run often. */
const WARM_UP = 6;
/** How long starting and stopping may take, and the interval between checks, in milliseconds. */
const PATIENCE = 30_000;
const CHECK = 25;

function minutesOf(text: string | undefined): number {
  if (text === undefined) return IDLE;
  const n = Number(text);
  if (!(n > 0 && Number.isFinite(n)))
    failWith(`--idle ${text} is not a valid time`, 'it is a number of minutes above 0');
  return n;
}

function warmUpOf(text: string | false | undefined): number {
  if (text === undefined) return WARM_UP;
  const n = text === false ? 0 : Number(text);
  if (!(n >= 0 && Number.isFinite(n)))
    failWith(`--warm-up ${text} is not a valid time`, 'it is a number of seconds');
  return n;
}

const isReady = async (folder: string, jobs: number): Promise<boolean> => {
  const s = await askServer(folder, 'status');
  return s !== null && s !== 'silent' && s.processes.length === jobs;
};

/**
 * Waits until a condition is true.
 *
 * @returns whether it became true in time
 */
async function until(holds: () => Promise<boolean>): Promise<boolean> {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(CHECK))
    if (await holds()) return true;
  return holds();
}

/** Whether a process with this id exists. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return (e as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Ends the command because a server exists but does not answer. */
function failUnresponsive(folder: string): never {
  const pid = writtenIn(folder)?.pid;
  const name = pid === undefined ? '' : `: process ${pid}, if it is still that`;
  failWith(
    `a server is there and does not answer${name}`,
    'it may be paused: `kill -CONT` lets a process go on, `kill -9` ends it',
  );
}

function notOnWindows(): void {
  if (process.platform === 'win32')
    failWith('there is no server on Windows', 'commands run without one, and give the same');
}

/** The options of a server that is not running yet. */
async function toKeep(o: ServerOptions): Promise<KeepOptions & { readonly folder: string }> {
  notOnWindows();
  const options = { jobs: jobsOf(o.jobs, 1), idle: minutesOf(o.idle), warmUp: warmUpOf(o.warmUp) };
  const folder = folderOfServer();
  const there = await askServer(folder, 'status');
  if (there === 'silent') failUnresponsive(folder);
  if (there !== null)
    failWith(`a server is running already: process ${there.pid}`, '`orrery server stop` ends it');
  return { ...options, folder };
}

/** `orrery server start`: starts the server in the background. */
export async function startServer(o: ServerOptions): Promise<void> {
  const { folder, jobs, idle, warmUp } = await toKeep(o);
  const child = spawn(
    process.execPath,
    [
      SCRIPT,
      ...['server', 'run', '--jobs', String(jobs), '--idle', String(idle), '--warm-up', String(warmUp)],
    ],
    { detached: true, stdio: 'ignore' },
  );
  let ended = false;
  child.on('exit', () => {
    ended = true;
  });
  child.unref();
  await until(async () => ended || (await isReady(folder, jobs)));
  if (!(await isReady(folder, jobs)))
    failWith('the server does not start', '`orrery server run` says why: it is the same in this terminal');
  out(
    `server ${child.pid} runs the commands of this build: ${jobs === 1 ? 'one' : `${jobs}`} at a time, until ${idle} minutes pass without any`,
  );
}

/** `orrery server run`: runs the server in this terminal. */
export async function runServer(o: ServerOptions): Promise<void> {
  const { folder, ...options } = await toKeep(o);
  out(`the server has ended: ${await keepServer(folder, options)}`);
  // A client may keep a connection open.
  process.exit();
}

/** `orrery server stop`: ends the server. */
export async function stopServer(): Promise<void> {
  notOnWindows();
  const folder = folderOfServer();
  const there = await askServer(folder, 'stop');
  if (there === 'silent') failUnresponsive(folder);
  if (there === null) return out('no server of this build is running');
  // It has just reported this process id itself.
  if (!(await until(async () => !(await answers(folder)) && !isAlive(there.pid)))) failUnresponsive(folder);
  out(`server ${there.pid} has ended`);
}

/** `orrery server status`: prints the state of the server. */
export async function serverStatus(o: { readonly json?: boolean }): Promise<void> {
  notOnWindows();
  const folder = folderOfServer();
  const state = await askServer(folder, 'status');
  if (state === 'silent') failUnresponsive(folder);
  if (o.json === true) return out(JSON.stringify({ version: 1, server: state }, null, 2));
  if (state === null) return out('no server of this build is running: `orrery server start` starts one');
  out(`server ${state.pid}, since ${state.started}; it ends after ${state.idle} minutes without a command\n`);
  out(
    table(
      [
        ['process', 'commands', 'memory', 'CPU', ''],
        ...state.processes.map((p) => [
          String(p.pid),
          grouped(p.commands),
          `${grouped(Math.round(p.memory / 2 ** 20))} MB`,
          `${p.seconds.toFixed(1)} s`,
          p.busy ? 'busy' : p.warm ? '' : 'getting warm',
        ]),
      ],
      'lrrrl',
    ),
  );
}
