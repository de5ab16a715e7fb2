import { createServer } from 'node:net';
import { join } from 'node:path';
import { ROOT, schemasStamp } from '../spec/node-cache.ts';
import { forgetFiles } from '../spec/node-files.ts';
import { beginCommand, endCommand } from './command-state.ts';

/** What a client (bin/client.cjs) asks for: a line of JSON. */
interface Request {
  /** Words of the command line, without node and script. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether standard output and standard error are terminals. */
  readonly terminals: readonly [boolean, boolean];
  /** Width of the terminal. */
  readonly columns?: number;
}

/** What a process of the server says to the one that keeps it. */
export interface Served {
  /** Commands that it has run. */
  readonly commands: number;
  /** Bytes of memory that it holds. */
  readonly memory: number;
}

/** Thrown where a command ends the process that runs it. */
class Exit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** Standard output, standard error, or the exit code. */
type Frame = 'o' | 'e' | 'x';

/** A letter, the length in four bytes, and as many bytes. */
function frame(kind: Frame, content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content as string);
  const head = Buffer.alloc(5);
  head.write(kind, 'latin1');
  head.writeUInt32LE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

/**
 * Runs a command as its client would: in its folder, with its environment and its terminals.
 * @param print takes what it prints on standard output (o) and standard error (e)
 * @returns its exit code
 */
async function serve(
  request: Request,
  run: () => Promise<void>,
  print: (kind: 'o' | 'e', content: string | Uint8Array) => void,
): Promise<number> {
  const { argv, cwd, env, terminals, columns } = request;
  process.chdir(cwd);
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

/** What is compiled and read before the first client comes: most commands need no more. */
const WARM_UP = ['opt', join(ROOT, 'test', 'kernels', 'saxpy', 'saxpy.sm_90.ptx'), '--check', 'auto'];

/**
 * Runs the commands of clients, one after the other, until the process that keeps it ends.
 * @param folder where its socket is put, named by the number of the process
 * @param run runs the command of `process.argv`
 */
export async function serverProcess(folder: string, run: () => Promise<void>): Promise<void> {
  const schemas = schemasStamp();
  let commands = 0;
  const leave = process.exit.bind(process) as () => never;
  // The end of a command is not the end of this process.
  process.exit = ((code?: number) => {
    throw new Exit(code ?? Number(process.exitCode ?? 0));
  }) as typeof process.exit;
  const environment = process.env as Readonly<Record<string, string>>;
  await serve(
    { argv: WARM_UP, cwd: ROOT, env: { ...environment }, terminals: [false, false] },
    run,
    () => {},
  );

  const report = (): void => {
    const state: Served = { commands, memory: process.memoryUsage.rss() };
    process.send?.(state);
  };
  let last = Promise.resolve();
  const listener = createServer((socket) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.on('data', (part: string) => {
      text += part;
      if (!text.endsWith('\n')) return;
      const request = JSON.parse(text) as Request;
      last = last.then(async () => {
        // What was valid under other schemas is kept in this process: leave it to another one.
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
}
