import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ROOT, schemasStamp } from '../../spec/node-cache.ts';
import { forgetFiles } from '../../spec/node-files.ts';
import { beginCommand, Exit, endCommand } from '../command-state.ts';
import { type Served, writtenIn } from './server-ask.ts';

/** A request of a client (bin/client.cjs): a line of JSON. */
interface Request {
  /** Words of the command line, without node and script. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly umask: number;
  /** Whether standard output and standard error are terminals. */
  readonly terminals: readonly [boolean, boolean];
  /** Width of the terminal. */
  readonly columns?: number;
  /** The token of the client. */
  readonly client: string;
}

/** Parses a request; null if it is not from a client of this server. */
function requestIn(text: string, token: string): Request | null {
  try {
    const request = JSON.parse(text) as Partial<Request> | null;
    return request?.client === token && Array.isArray(request.argv) && typeof request.cwd === 'string'
      ? (request as Request)
      : null;
  } catch {
    return null;
  }
}

/** Kind of a frame: h the token of the server, o standard output, e standard error, x the exit code. */
type Frame = 'h' | 'o' | 'e' | 'x';

/** Encodes a frame: a letter, the length in four bytes, and the content. */
function frame(kind: Frame, content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content as string);
  const head = Buffer.alloc(5);
  head.write(kind, 'latin1');
  head.writeUInt32LE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Seconds of processor time that this process has used. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

/**
 * Runs a command as its client would: in its folder, with its environment and its terminals.
 *
 * @param print takes output for standard output (o) and standard error (e)
 * @returns its exit code
 */
async function serve(
  request: Omit<Request, 'client'>,
  run: () => Promise<void>,
  print: (kind: 'o' | 'e', content: string | Uint8Array) => void,
): Promise<number> {
  const { argv, cwd, env, umask, terminals, columns } = request;
  process.chdir(cwd);
  process.umask(umask);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv = [...process.argv.slice(0, 2), ...argv];
  process.exitCode = undefined;
  for (const [stream, kind, terminal] of [
    [process.stdout, 'o', terminals[0]],
    [process.stderr, 'e', terminals[1]],
  ] as const)
    Object.assign(stream, {
      isTTY: terminal,
      columns: terminal ? columns : undefined,
      write: (content: string | Uint8Array) => {
        print(kind, content);
        return true;
      },
    });
  beginCommand();
  forgetFiles();
  try {
    await run();
  } catch (e) {
    if (!(e instanceof Exit)) throw e;
    process.exitCode = e.code;
  }
  endCommand();
  return Number(process.exitCode ?? 0);
}

/** Bundled kernels, in the order of their names. */
function bundledKernels(): string[] {
  const kernels = join(ROOT, 'test', 'kernels');
  return readdirSync(kernels, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sm_80.ptx'))
    .sort()
    .map((name) => join(kernels, name));
}

/**
 * Runs the commands of clients, one after another, until the keeper ends.
 *
 * @param folder where its socket is put, named by the process id
 * @param run runs the command of `process.argv`
 * @param warmUp seconds of processor time for warming up
 */
export async function serverProcess(folder: string, run: () => Promise<void>, warmUp: number): Promise<void> {
  const schemas = schemasStamp();
  let commands = 0;
  const leave = process.exit.bind(process) as () => never;
  const tokens = writtenIn(folder)?.tokens ?? leave();
  // The end of a command does not end this process.
  process.exit = ((code?: number) => {
    throw new Exit(code ?? Number(process.exitCode ?? 0));
  }) as typeof process.exit;
  const surroundings = {
    cwd: ROOT,
    env: { ...process.env } as Record<string, string>,
    umask: process.umask(),
    terminals: [false, false],
  } as const;
  /** Optimizes a kernel only to warm up. */
  const rehearse = async (kernel: string): Promise<void> => {
    const argv = ['opt', kernel, '--emit', 'ptx'];
    await serve({ ...surroundings, argv }, run, () => {});
  };
  const kernels = bundledKernels();
  await rehearse(kernels[0]);

  const report = (): void => {
    const state: Served = {
      commands,
      memory: process.memoryUsage.rss(),
      seconds: processorSeconds(),
      warm,
    };
    process.send?.(state);
  };
  let warm = false;
  let last = Promise.resolve();
  const listener = createServer((socket) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.write(frame('h', tokens.server));
    socket.on('data', (part: string) => {
      text += part;
      if (!text.endsWith('\n')) return;
      const request = requestIn(text, tokens.client);
      if (request === null) return void socket.destroy();
      last = last.then(async () => {
        // Data validated under other schemas are cached in this process: leave the command to another one.
        if (schemasStamp() !== schemas) return leave();
        const send = (kind: Frame, content: string | Uint8Array): void => {
          if (!socket.destroyed) socket.write(frame(kind, content));
        };
        send('x', String(await serve(request, run, send)));
        socket.end();
        commands++;
        await settle();
        report();
      });
    });
  });
  process.on('disconnect', leave);
  listener.listen(join(folder, `${process.pid}.sock`), report);
  // One kernel at a time, so that a client that arrives meanwhile waits for that one alone.
  for (const kernel of kernels) {
    if (processorSeconds() > warmUp) break;
    last = last.then(() => rehearse(kernel));
    await last;
    await settle();
  }
  warm = true;
  report();
}
