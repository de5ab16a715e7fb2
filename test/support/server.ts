import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * One server for the commands of the whole suite, as for those of a developer: half of the time of the suite goes into commands, and a
 * third of theirs into starting. `server.test.ts` holds that a command gives the same with it and without it.
 */
export default function setup(): (() => void) | undefined {
  if (process.platform === 'win32') return undefined;
  const script = fileURLToPath(new URL('../../bin/orrery.js', import.meta.url));
  const runtime = mkdtempSync(join(tmpdir(), 'orrery-suite-'));
  process.env['XDG_RUNTIME_DIR'] = runtime;
  const server = (...args: string[]) =>
    spawnSync(process.execPath, [script, 'server', ...args], { encoding: 'utf8' });
  const { status, stderr } = server('start', '--no-warm-up', '--jobs', String(availableParallelism()));
  if (status !== 0) throw new Error(`the server of the suite does not start:\n${stderr}`);
  return () => {
    if (process.env['ORRERY_TEST_SERVER_STATUS']) console.log(server('status').stdout);
    server('stop');
    rmSync(runtime, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
}
