import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { visible } from '../../ir/quote.ts';
import { COMMANDS } from '../../lsp/server/lenses.ts';
import { Server, type ServerHost } from '../../lsp/server/serve.ts';
import { kindOf } from '../../lsp/specs/places.ts';
import { WorkerBackground } from '../../lsp/work/background.ts';
import { readSpecText } from '../../spec/node.ts';
import { ROOT } from '../../spec/node-cache.ts';
import type { WorkerRole } from '../input/workers.ts';
import { keptText, knownVerdicts } from '../rules/verdicts.ts';
import { failWith } from '../terminal/ui.ts';
import { ORRERY_VERSION } from '../version.ts';

/** `orrery lsp`: serves one editor on standard input and output until it says `exit` or the streams close. */
export async function lsp(o: { readonly stdio?: boolean }): Promise<void> {
  if (o.stdio !== true && process.stdin.isTTY === true)
    failWith(
      'an editor starts this server: there is nothing to type here',
      'docs/editors.md shows how Neovim, Helix, Emacs, VS Code and JetBrains do',
    );
  // Only messages of the protocol belong on standard output.
  console.log = console.error;
  // Other commands do not pay for these packages: they are in no bundle, and are loaded here.
  const load = createRequire(join(ROOT, 'package.json'));
  const protocol = load('vscode-languageserver/node') as typeof import('vscode-languageserver/node');
  const { TextDocument } = load(
    'vscode-languageserver-textdocument',
  ) as typeof import('vscode-languageserver-textdocument');
  const connection = protocol.createConnection(process.stdin, process.stdout);
  const background = (): WorkerBackground =>
    new WorkerBackground(startWorker, (text) => connection.console.error(visible(text)));
  const known = knownVerdicts();
  const host: ServerHost = {
    version: ORRERY_VERSION,
    texts: TextDocument,
    checks: background(),
    measures: background(),
    verdictOf: (hash) => {
      const found = known(hash);
      return found === undefined ? undefined : keptText(found);
    },
    command: runCommand,
    refusal: (message) => new protocol.ResponseError(protocol.LSPErrorCodes.RequestFailed, message),
    cancelled: () => new protocol.ResponseError(protocol.LSPErrorCodes.RequestCancelled, 'cancelled'),
    exit: (clean) => process.exit(clean ? 0 : 1),
  };
  new Server(connection, host).listen();
  await new Promise<never>(() => {});
}

/** A thread that does jobs of the server. */
const startWorker = (): Worker =>
  new Worker(join(ROOT, 'bin', 'orrery.js'), {
    argv: ['lsp'],
    env: { ...process.env, ORRERY_WORKER: '1' },
    workerData: { role: 'lsp' satisfies WorkerRole },
    // What a job prints must not get between messages of the protocol.
    stdout: true,
  });

/** Words of an arm of `orrery ab` for a spec. */
const ARMS: Readonly<Record<string, string>> = { order: 'order', recipe: 'recipe', 'knob-set': 'knobs' };

/** Runs a command of a client as a process of its own. */
const runCommand: ServerHost['command'] = async (name, args, { path, kernels, folder }) => {
  if (name === COMMANDS.ab) {
    const kind = kindOf(readSpecText(path)) ?? '';
    if (!Object.hasOwn(ARMS, kind)) return { message: 'only orders, recipes and knob sets are compared' };
    if (kernels.length === 0) return { message: 'the setting orrery.kernels names no kernels to compare' };
    const page = join(mkdtempSync(join(tmpdir(), 'orrery-lsp-')), 'ab.html');
    const words = ['ab', 'base', `${ARMS[kind]}:${path}`, '--kernels', ...kernels, '--no-ptxas', '-o', page];
    const { code, said } = await orrery(words, folder);
    if (code !== 0 && !said.includes('wrote ')) return { message: said.trim() };
    return { message: said.trim(), show: pathToFileURL(page).href };
  }
  if (name === COMMANDS.line) {
    const { said } = await orrery(['opt', path, '--why', String(args[0] ?? 1)], folder);
    return { message: said.trim() };
  }
  if (name === COMMANDS.run) {
    const launches = args.filter((x): x is string => typeof x === 'string' && /\.ya?ml$/.test(x));
    if (launches.length === 0) return { message: `no launch beside ${basename(path)} runs this kernel` };
    const { said } = await orrery(['run', ...launches, '--counters'], folder);
    return { message: said.trim() };
  }
  if (name === COMMANDS.explore) return explore(path, folder);
  return null;
};

/** Longest time in milliseconds that a command of a client may take. */
const PATIENCE = 600_000;
/** Characters of output that are kept. */
const MOST_OUTPUT = 100_000;

/** What the server has started: it ends with the server. */
const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill();
});
// A signal without a listener ends the process at once.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

/** Starts a command of Orrery. */
function started(words: readonly string[], cwd: string, timeout?: number) {
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...words], {
    cwd,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout,
  });
  children.add(child);
  child.on('close', () => children.delete(child));
  return child;
}

function orrery(words: readonly string[], cwd: string): Promise<{ code: number | null; said: string }> {
  return new Promise((done) => {
    const child = started(words, cwd, PATIENCE);
    let said = '';
    const hear = (part: Buffer): void => {
      if (said.length < MOST_OUTPUT) said += part.toString();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('error', (e) => done({ code: 1, said: e.message }));
    child.on('close', (code) => done({ code, said }));
  });
}

type Explored = { readonly message: string; readonly show?: string };

/** The explorers that run, by the file that they are on. */
const explorers = new Map<string, Promise<Explored>>();

/** Starts the explorer on a file, unless it runs already. */
function explore(path: string, cwd: string): Promise<Explored> {
  const known = explorers.get(path);
  if (known !== undefined) return known;
  const made = new Promise<Explored>((done) => {
    const child = started(['explore', path], cwd);
    let said = '';
    let isKnown = false;
    const hear = (part: Buffer): void => {
      // What it says later is read, so that it can go on, and dropped.
      if (isKnown || said.length > MOST_OUTPUT) return;
      said += part.toString();
      // A part may end within the address: its line has to be whole.
      const address = /(http:\/\/\S+)\s/.exec(said)?.[1];
      if (address === undefined) return;
      isKnown = true;
      done({ message: `the explorer is at ${address}`, show: address });
    };
    const ended = (why: string): void => {
      explorers.delete(path);
      done({ message: why });
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('error', (e) => ended(e.message));
    child.on('close', () => ended(said.trim() || 'the explorer ended'));
  });
  explorers.set(path, made);
  return made;
}
