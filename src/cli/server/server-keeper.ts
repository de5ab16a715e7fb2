import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { discard } from '../../spec/node-discard.ts';
import { makeFolders, PRIVATE, writeReplacing } from '../../spec/node-write.ts';
import { failWith } from '../terminal/ui.ts';
import {
  answers,
  BUNDLE,
  buildOf,
  KEEPER,
  refuseForeign,
  SCRIPT,
  type Served,
  type ServerState,
  STATE,
  type Tokens,
  writtenIn,
} from './server-ask.ts';

/** Interval in milliseconds at which a server checks whether it is still needed. */
const CHECK = 5000;
/** Memory in bytes above which a process is replaced by a new one: its caches of past commands are worth less than that. */
const MOST_MEMORY = 1.5 * 2 ** 30;
/** Reason for the end of a server that clients can no longer find. */
const GONE = 'its folder is gone';
/** Number of consecutive processes that end before they take a command, after which the server ends. */
const MOST_FAILURES = 3;
/** Maximum length of a socket path: 104 bytes with the terminating 0 on macOS, 108 on Linux. */
const LONGEST_SOCKET = 103;
/** Maximum bytes of a request to the keeper. */
const LONGEST_QUESTION = 1000;

/** Makes a folder that nobody else may write to; if that is impossible, the command ends. */
function makePrivate(folder: string): void {
  makeFolders(folder, 0o700);
  refuseForeign(folder);
}

/** An unpredictable name next to a folder, short enough for a socket in it. */
const siblingName = (folder: string): string => join(dirname(folder), `.${randomBytes(8).toString('hex')}`);

/** Removes the folder of a server that no longer answers, and never that of one that does. */
async function removeDeadFolder(folder: string): Promise<void> {
  const away = siblingName(folder);
  try {
    // Another server may have started there since the check: its folder is put back.
    renameSync(folder, away);
    if (await answers(away)) renameSync(away, folder);
  } catch {
    // Another process was faster.
  }
  discard(away);
}

/**
 * Creates the folder of a server, in which it already listens, atomically: of two servers that start at the same time, one gets it.
 *
 * @returns the listening server; null if another server has the folder
 */
async function claim(folder: string, text: string): Promise<Server | null> {
  const own = siblingName(folder);
  makePrivate(own);
  writeReplacing(join(own, STATE), text, PRIVATE);
  const listener = createServer();
  await new Promise<void>((done, fail) => {
    listener.once('error', fail);
    listener.listen(join(own, KEEPER), done);
  });
  for (;;)
    try {
      renameSync(own, folder);
      return listener;
    } catch {
      if (existsSync(folder) && !(await answers(folder))) {
        await removeDeadFolder(folder);
        continue;
      }
      listener.close();
      discard(own);
      return null;
    }
}

/** Ends a process that has not been reaped yet, and its children. */
function endGroup(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

/** Options of a server. */
export interface KeepOptions {
  /** Number of processes, that is of simultaneous commands. */
  readonly jobs: number;
  /** Minutes without a command after which it ends. */
  readonly idle: number;
  /** Seconds of processor time for which each of its processes runs the bundled kernels in advance. */
  readonly warmUp: number;
}

/**
 * Keeps processes that run commands, until it is told to end, has been idle too long, or the build has changed.
 *
 * @param folder where its clients look for it
 * @returns why it ended
 */
export async function keepServer(folder: string, options: KeepOptions): Promise<string> {
  if (Buffer.byteLength(join(folder, '4194304.sock')) > LONGEST_SOCKET)
    failWith(`the path of ${folder} is too long for a socket`, 'set XDG_RUNTIME_DIR to a shorter folder');
  makePrivate(dirname(folder));
  const [client, server] = [0, 1].map(() => randomBytes(32).toString('hex'));
  const tokens: Tokens = { client, server };
  const listener = await claim(folder, JSON.stringify({ pid: process.pid, tokens }));
  if (listener === null) failWith('a server is running already', '`orrery server stop` ends it');
  return new Keeper(folder, options, tokens, listener).run();
}

/** The processes of a server, and their states. */
class Keeper {
  private readonly folder: string;
  private readonly options: KeepOptions;
  private readonly tokens: Tokens;
  private readonly listener: Server;
  private readonly build = buildOf(BUNDLE);
  private readonly started = new Date().toISOString();
  /** Last reported state of each; null for one that has not started. */
  private readonly children = new Map<ChildProcess, Served | null>();
  /** Connections of the clients that have a process. */
  private readonly busy = new Map<ChildProcess, Socket>();
  private lastUse = Date.now();
  private failures = 0;
  private done: ((why: string) => void) | null = null;

  constructor(folder: string, options: KeepOptions, tokens: Tokens, listener: Server) {
    this.folder = folder;
    this.options = options;
    this.tokens = tokens;
    this.listener = listener;
  }

  run(): Promise<string> {
    return new Promise((done) => {
      const looking = setInterval(() => this.look(), Math.min(CHECK, this.options.idle * 15_000));
      this.done = (why) => {
        clearInterval(looking);
        done(why);
      };
      this.listener.on('connection', (socket) => this.handleClient(socket));
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
        process.on(signal, () => this.end('it was stopped'));
      for (let n = 0; n < this.options.jobs; n++) this.begin();
    });
  }

  private end(why: string): void {
    const { done } = this;
    if (done === null) return;
    this.done = null;
    for (const c of this.children.keys()) endGroup(c);
    this.listener.close();
    if (this.isOurs()) rmSync(this.folder, { recursive: true, force: true });
    done(why);
  }

  /** Whether clients find this server in its folder. */
  private isOurs(): boolean {
    return writtenIn(this.folder)?.tokens.server === this.tokens.server;
  }

  private look(): void {
    if (!this.isOurs()) return this.end(GONE);
    let now: string | null = null;
    try {
      now = buildOf(BUNDLE);
    } catch {
      // The build is being replaced.
    }
    if (this.busy.size > 0) this.lastUse = Date.now();
    else if (now !== this.build) this.end('orrery was built anew');
    else if ([...this.children.values()].includes(null)) this.lastUse = Date.now();
    else if (Date.now() - this.lastUse > this.options.idle * 60_000)
      this.end(`it was idle for ${this.options.idle} minutes`);
  }

  private begin(): void {
    const child = fork(SCRIPT, ['server-process', this.folder, String(this.options.warmUp)], {
      env: { ...process.env, ORRERY_SERVER: 'off' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // Its own process group, so that children of a command end with it.
      detached: true,
    });
    this.children.set(child, null);
    child.on('message', (served: Served) => {
      this.failures = 0;
      this.lastUse = Date.now();
      this.children.set(child, served);
      if (served.memory > MOST_MEMORY && !this.busy.has(child)) endGroup(child);
    });
    child.on('exit', () => {
      const failed = this.children.get(child) === null;
      this.children.delete(child);
      this.busy.get(child)?.destroy();
      this.busy.delete(child);
      if (this.done === null) return;
      discard(join(this.folder, `${child.pid}.sock`));
      if (!this.isOurs()) return this.end(GONE);
      if (failed && ++this.failures >= MOST_FAILURES)
        return this.end('its processes end as soon as they start');
      this.begin();
    });
  }

  private state(): ServerState {
    const processes = [...this.children].flatMap(([c, s]) =>
      s === null ? [] : [{ pid: c.pid!, ...s, busy: this.busy.has(c) }],
    );
    return { pid: process.pid, started: this.started, idle: this.options.idle, processes };
  }

  /** Handles a connection of a client that knows the token. */
  private handleClient(socket: Socket): void {
    let text = '';
    /** Handler of the next line: a client that gave up while this process was paused sends none. */
    let next: ((line: string) => void) | null = (line) => {
      next = null;
      switch (this.question(line)) {
        case 'run': {
          const child = [...this.children].find(([c, s]) => s !== null && !this.busy.has(c))?.[0];
          if (child !== undefined) next = this.assign(child, socket);
          return this.say(socket, { process: child?.pid ?? null }, child === undefined);
        }
        case 'status':
          return this.say(socket, { state: this.state() });
        case 'stop':
          next = () => this.end('it was stopped');
          return this.say(socket, { state: this.state() }, false);
        default:
          socket.destroy();
      }
    };
    socket.setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.on('data', (part: string) => {
      text += part;
      if (text.length > LONGEST_QUESTION) return void socket.destroy();
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) next?.(line);
    });
  }

  /**
   * Assigns a process to a client. If the client ends before its command is done, the process ends too.
   *
   * @returns the handler of further lines of that client
   */
  private assign(child: ChildProcess, socket: Socket): (line: string) => void {
    let begun = false;
    this.busy.set(child, socket);
    socket.on('close', () => {
      if (this.busy.get(child) !== socket) return;
      this.busy.delete(child);
      if (begun) endGroup(child);
    });
    return (line) => {
      if (line === 'begin') begun = true;
      else if (line === 'done' && this.busy.get(child) === socket) this.busy.delete(child);
    };
  }

  /** The request of a client; undefined if it does not know the token, or is malformed. */
  private question(text: string): unknown {
    try {
      const request = JSON.parse(text) as { do?: unknown; client?: unknown } | null;
      return request?.client === this.tokens.client ? request.do : undefined;
    } catch {
      return undefined;
    }
  }

  private say(socket: Socket, what: object, last = true): void {
    const line = `${JSON.stringify({ server: this.tokens.server, ...what })}\n`;
    if (last) socket.end(line);
    else socket.write(line);
  }
}
