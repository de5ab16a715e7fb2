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

/** How often a server checks whether it is still wanted, in milliseconds. */
const CHECK = 5000;
/** Bytes of memory after which a process makes way for a new one: what it keeps of past commands is worth less than that. */
const MOST_MEMORY = 1.5 * 2 ** 30;
/** Why a server ends that nobody can find any more. */
const GONE = 'its folder is gone';
/** So many processes in a row that end before they take a command end the server. */
const MOST_FAILURES = 3;
/** The longest path of a socket: 104 bytes with the 0 at its end on macOS, 108 on Linux. */
const LONGEST_SOCKET = 103;
/** Most bytes of what a client asks of the keeper. */
const LONGEST_QUESTION = 1000;

/** A folder that nobody else may write to; another ends the command. */
function makePrivate(folder: string): void {
  makeFolders(folder, 0o700);
  refuseForeign(folder);
}

/** A name beside a folder that nobody can foresee, short enough for a socket in it. */
const besides = (folder: string): string => join(dirname(folder), `.${randomBytes(8).toString('hex')}`);

/** Takes away the folder of a server that does not answer any more, and never that of one that does. */
async function bury(folder: string): Promise<void> {
  const away = besides(folder);
  try {
    // Another server may have begun there since it was looked at: its folder is put back.
    renameSync(folder, away);
    if (await answers(away)) renameSync(away, folder);
  } catch {
    // Somebody else was faster.
  }
  discard(away);
}

/**
 * Makes the folder of a server, in which it listens already, at once: of two servers that begin at the same time one gets it.
 * @returns what listens; null where another server has the folder
 */
async function claim(folder: string, text: string): Promise<Server | null> {
  const own = besides(folder);
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
        await bury(folder);
        continue;
      }
      listener.close();
      discard(own);
      return null;
    }
}

/** Ends a process that has not been waited for yet, and what it has started. */
function endGroup(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
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

/**
 * Keeps processes that run commands, until it is told to end, nobody has needed it for a while, or the build is another.
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

/** The processes of a server, and what is known of each. */
class Keeper {
  private readonly folder: string;
  private readonly options: KeepOptions;
  private readonly tokens: Tokens;
  private readonly listener: Server;
  private readonly build = buildOf(BUNDLE);
  private readonly started = new Date().toISOString();
  /** What each has said last; null for one that has not begun. */
  private readonly children = new Map<ChildProcess, Served | null>();
  /** The connections of the clients that have a process. */
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
      this.listener.on('connection', (socket) => this.hear(socket));
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

  /** Whether clients find this server where they look for it. */
  private isOurs(): boolean {
    return writtenIn(this.folder)?.tokens.server === this.tokens.server;
  }

  private look(): void {
    if (!this.isOurs()) return this.end(GONE);
    let now: string | null = null;
    try {
      now = buildOf(BUNDLE);
    } catch {
      // The build is being made anew.
    }
    if (this.busy.size > 0) this.lastUse = Date.now();
    else if (now !== this.build) this.end('orrery was built anew');
    else if ([...this.children.values()].includes(null)) this.lastUse = Date.now();
    else if (Date.now() - this.lastUse > this.options.idle * 60_000)
      this.end(`nobody needed it for ${this.options.idle} minutes`);
  }

  private begin(): void {
    const child = fork(SCRIPT, ['server-process', this.folder, String(this.options.warmUp)], {
      env: { ...process.env, ORRERY_SERVER: 'off' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // A group of its own: what a command has started ends with it.
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

  /** Answers a client that knows the token. */
  private hear(socket: Socket): void {
    let text = '';
    /** What the next line is taken for: nobody who gave up while this process was paused sends one. */
    let next: ((line: string) => void) | null = (line) => {
      next = null;
      switch (this.question(line)) {
        case 'run': {
          const child = [...this.children].find(([c, s]) => s !== null && !this.busy.has(c))?.[0];
          if (child !== undefined) next = this.lend(child, socket);
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
   * Gives a process to a client. A client that ends before its command is done, however it ends, takes it along.
   * @returns what hears the lines of that client
   */
  private lend(child: ChildProcess, socket: Socket): (line: string) => void {
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

  /** What a client asks for; undefined where it does not know the token, or makes no sense. */
  private question(text: string): unknown {
    try {
      const asked = JSON.parse(text) as { do?: unknown; client?: unknown } | null;
      return asked?.client === this.tokens.client ? asked.do : undefined;
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
