import processes, { type SpawnSyncOptions, type SpawnSyncReturns } from 'node:child_process';
import { mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Options of `spawnSync` that the starter supports; with others, this process starts the command itself. */
const PASSED_ON = ['cwd', 'env', 'encoding', 'input', 'timeout', 'maxBuffer', 'killSignal'];

const PATCHED = Symbol.for('orrery.start-processes');

/**
 * Lets a small process run the `spawnSync` calls of this worker. Forking copies the page tables of the parent, and its later writes are
 * copied page by page: at 2.5 GB, which the suite reaches, that takes 0.13 s for /bin/true instead of 0.004 s, and as much again in both
 * workers afterwards. Commands were a third of the suite's time. Without named pipes (`mkfifo`), nothing changes.
 */
export function startProcessesElsewhere(): void {
  const known = globalThis as { [PATCHED]?: true };
  if (known[PATCHED] === true) return;
  known[PATCHED] = true;
  const { spawnSync } = processes;
  const folder = mkdtempSync(join(tmpdir(), 'orrery-starter-'));
  const [requests, answers] = [join(folder, 'requests'), join(folder, 'answers')];
  if (spawnSync('mkfifo', [requests, answers]).status !== 0) {
    rmSync(folder, { recursive: true });
    return;
  }
  const starter = fileURLToPath(new URL('starter.mjs', import.meta.url));
  processes.spawn(process.execPath, [starter, requests, answers], { stdio: 'ignore' }).unref();
  // Each open waits until the starter has opened its end.
  const [to, from] = [openSync(requests, 'w'), openSync(answers, 'r')];
  rmSync(folder, { recursive: true });

  const take = (size: number): Buffer => {
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size; ) {
      const n = readSync(from, bytes, at, size - at, null);
      if (n === 0) throw new Error('the process that starts commands for tests has ended');
      at += n;
    }
    return bytes;
  };

  const elsewhere = (
    command: string,
    args: readonly string[],
    how: SpawnSyncOptions,
  ): SpawnSyncReturns<string | Buffer> => {
    const { encoding, input = '', cwd = process.cwd(), env = process.env, ...rest } = how;
    const bytes =
      typeof input === 'string'
        ? Buffer.from(input)
        : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
    const request = Buffer.from(
      JSON.stringify({ ...rest, command, args, env, cwd: String(cwd), input: bytes.toString('base64') }),
    );
    const size = Buffer.alloc(4);
    size.writeUInt32LE(request.length, 0);
    const whole = Buffer.concat([size, request]);
    for (let at = 0; at < whole.length; ) at += writeSync(to, whole, at);
    const r = JSON.parse(take(take(4).readUInt32LE(0)).toString());
    const text = (base64: string): string | Buffer => {
      const out = Buffer.from(base64, 'base64');
      return encoding === undefined || encoding === null || encoding === 'buffer'
        ? out
        : out.toString(encoding);
    };
    const [stdout, stderr] = [text(r.stdout), text(r.stderr)];
    const given = {
      pid: r.pid,
      status: r.status,
      signal: r.signal,
      stdout,
      stderr,
      output: [null, stdout, stderr],
    };
    return r.error === undefined
      ? given
      : { ...given, error: Object.assign(new Error(r.error.message), r.error) };
  };

  const patched = (command: string, second?: unknown, third?: unknown) => {
    const args = Array.isArray(second) ? (second as string[]) : [];
    const how = ((Array.isArray(second) ? third : second) ?? {}) as SpawnSyncOptions;
    return Object.keys(how).every((option) => PASSED_ON.includes(option)) && !(how.cwd instanceof URL)
      ? elsewhere(command, args, how)
      : spawnSync(command, args, how);
  };
  processes.spawnSync = patched as typeof spawnSync;
  syncBuiltinESMExports();
}
