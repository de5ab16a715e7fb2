import { lstatSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { ROOT } from '../../spec/node-cache.ts';
import { failWith } from '../terminal/ui.ts';

/*
 * What is known of the server of this build from outside. A server is there as long as somebody listens on its socket, which the system
 * knows, even while the process is paused; numbers of processes that are written down say nothing, since the system uses them again.
 */

interface Places {
  buildOf(bundle: string): string;
  serverFolder(build: string): string;
  readonly KEEPER: string;
  readonly STATE: string;
}

const places = createRequire(import.meta.url)(join(ROOT, 'bin', 'server-folder.cjs')) as Places;
export const { buildOf, KEEPER, STATE } = places;

/** Path of the command line. */
export const SCRIPT = join(ROOT, 'bin', 'orrery.js');
export const BUNDLE = join(ROOT, 'dist', 'bundle', 'main.cjs');

/** The folder of the server of this build. */
export const folderOfServer = (): string => places.serverFolder(buildOf(BUNDLE));

/** What a process of the server says to the one that keeps it. */
export interface Served {
  /** Commands that it has run. */
  readonly commands: number;
  /** Bytes of memory that it holds. */
  readonly memory: number;
  /** Seconds of processor time that it has used. */
  readonly seconds: number;
  /** Whether it has rehearsed: from then on commands cost least. */
  readonly warm: boolean;
}

/** What a server is doing: in schemas/output/server-status.schema.json. */
export interface ServerState {
  readonly pid: number;
  /** When it was started: ISO 8601. */
  readonly started: string;
  /** Minutes without a command after which it ends. */
  readonly idle: number;
  /** Those that take commands now. */
  readonly processes: readonly (Served & { readonly pid: number; readonly busy: boolean })[];
}

/** What a server and its clients know each other by: each is told to the other side alone. */
export interface Tokens {
  readonly client: string;
  readonly server: string;
}

/**
 * Whether a folder is the user's own, and nobody else may enter it: others could put a socket there that answers as they like. True also
 * where it is gone, as that of a server that has just ended.
 */
export function isPrivate(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found === undefined || (found.uid === process.getuid!() && (found.mode & 0o077) === 0);
}

/** Ends the command where a folder is not the user's own. */
export function refuseForeign(folder: string): void {
  if (!isPrivate(folder))
    failWith(`${folder} is not yours alone`, 'it must have your user as its owner, and mode 700: remove it');
}

/** What a server has written into its folder; null where there is nothing. */
export function writtenIn(folder: string): { readonly pid: number; readonly tokens: Tokens } | null {
  try {
    const { pid, tokens } = JSON.parse(readFileSync(join(folder, STATE), 'utf8'));
    return typeof tokens.client === 'string' && typeof tokens.server === 'string' ? { pid, tokens } : null;
  } catch {
    return null;
  }
}

/** Whether somebody listens in the folder of a server, if only a process that is paused. */
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

/** How long a server may take to say something, in milliseconds. */
const PATIENCE = 2000;

/**
 * Asks the server of a folder for its state, or to end.
 * @returns its state, once it has said it, and ended if it was to; 'silent' where it is there and says nothing; null where there is none
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

/** What a server says of itself; 'silent' where somebody else says it. */
function stateIn(text: string, tokens: Tokens): ServerState | 'silent' {
  try {
    const said = JSON.parse(text) as { readonly server: string; readonly state: ServerState };
    return said.server === tokens.server ? said.state : 'silent';
  } catch {
    return 'silent';
  }
}
