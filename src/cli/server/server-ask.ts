import { lstatSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { ROOT } from '../../spec/node-cache.ts';
import { failWith } from '../terminal/ui.ts';

/*
 * Queries the server of this build from outside. A server exists as long as a process listens on its socket, which the system knows, even
 * while the process is paused; stored process ids prove nothing, since the system reuses them.
 */

interface Places {
  buildOf(bundle: string): string;
  serverFolder(build: string): string;
  readonly KEEPER: string;
  readonly STATE: string;
}

const places = createRequire(import.meta.url)(join(ROOT, 'bin', 'server-folder.cjs')) as Places;
export const { buildOf, KEEPER, STATE } = places;

/** Path of the script of the command line. */
export const SCRIPT = join(ROOT, 'bin', 'orrery.js');
export const BUNDLE = join(ROOT, 'dist', 'bundle', 'main.cjs');

/** The folder of the server of this build. */
export const folderOfServer = (): string => places.serverFolder(buildOf(BUNDLE));

/** State that a process of the server reports to its keeper. */
export interface Served {
  /** Number of commands that it has run. */
  readonly commands: number;
  /** Bytes of memory that it holds. */
  readonly memory: number;
  /** Seconds of processor time that it has used. */
  readonly seconds: number;
  /** Whether it is warmed up: from then on commands run fastest. */
  readonly warm: boolean;
}

/** State of a server: schemas/output/server-status.schema.json. */
export interface ServerState {
  readonly pid: number;
  /** When it was started: ISO 8601. */
  readonly started: string;
  /** Minutes without a command after which it ends. */
  readonly idle: number;
  /** Processes that accept commands. */
  readonly processes: readonly (Served & { readonly pid: number; readonly busy: boolean })[];
}

/** Secrets by which a server and its clients recognize each other: each is known only to the other side. */
export interface Tokens {
  readonly client: string;
  readonly server: string;
}

/**
 * Whether a folder belongs to the user and is inaccessible to others: they could put a socket there that gives any answer. Also true if it
 * is gone, as that of a server that has just ended.
 */
export function isPrivate(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found === undefined || (found.uid === process.getuid!() && (found.mode & 0o077) === 0);
}

/** Ends the command if a folder does not belong to the user. */
export function refuseForeign(folder: string): void {
  if (!isPrivate(folder))
    failWith(`${folder} is not yours alone`, 'it must have your user as its owner, and mode 700: remove it');
}

/** Contents of the file that a server has written into its folder; null if there is none. */
export function writtenIn(folder: string): { readonly pid: number; readonly tokens: Tokens } | null {
  try {
    const { pid, tokens } = JSON.parse(readFileSync(join(folder, STATE), 'utf8'));
    return typeof tokens.client === 'string' && typeof tokens.server === 'string' ? { pid, tokens } : null;
  } catch {
    return null;
  }
}

/** Whether a process listens in the folder of a server, even if it is paused. */
export const answers = (folder: string): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(join(folder, KEEPER));
    socket.on('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.on('error', (e: NodeJS.ErrnoException) =>
      done(!['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(e.code ?? '')),
    );
  });

/** How long in milliseconds to wait for an answer of a server. */
const PATIENCE = 2000;

/**
 * Requests the state of the server of a folder, or its end.
 *
 * @returns its state, after it has ended if that was requested; 'silent' if it exists but does not answer; null if there is none
 */
export async function askServer(
  folder: string,
  what: 'status' | 'stop',
): Promise<ServerState | 'silent' | null> {
  if (!(await answers(folder))) return null;
  for (const own of [dirname(folder), folder]) refuseForeign(own);
  const known = writtenIn(folder);
  if (known === null) return 'silent';
  return new Promise((done) => {
    const socket = connect(join(folder, KEEPER));
    let text = '';
    let state: ServerState | 'silent' = 'silent';
    const timer = setTimeout(() => socket.destroy(), PATIENCE);
    socket.setEncoding('utf8');
    socket.on('data', (part: string) => {
      text += part;
      if (state !== 'silent' || !text.endsWith('\n')) return;
      clearTimeout(timer);
      state = stateIn(text, known.tokens);
      if (state === 'silent') socket.destroy();
      else if (what === 'stop') socket.write('yes\n');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      done(state);
    });
    socket.write(`${JSON.stringify({ do: what, client: known.tokens.client })}\n`);
  });
}

/** The state in an answer of a server; 'silent' if the answer is not from that server. */
function stateIn(text: string, tokens: Tokens): ServerState | 'silent' {
  try {
    const reply = JSON.parse(text) as { readonly server: string; readonly state: ServerState };
    return reply.server === tokens.server ? reply.state : 'silent';
  } catch {
    return 'silent';
  }
}
