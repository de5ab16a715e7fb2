import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../bin/orrery.js', import.meta.url));
const server = (...words: string[]) =>
  spawnSync(process.execPath, [script, 'server', ...words], { stdio: 'ignore' });

/**
 * Starts a server for the suite that runs the commands of tests: cold, each command would compile its code anew (a fifth of the processor
 * time of the ten files that start most commands). Its output equals that of a separate process (checked by test/cli/server.test.ts, whose
 * own commands do not use it). If it cannot start, or with ORRERY_SERVER=off, or for a few files, commands run separately; it costs a
 * second to start.
 *
 * @returns a function that stops it
 */
export default function startServer(): (() => void) | undefined {
  const files = process.argv.slice(2).some((word) => !word.startsWith('-') && word !== 'run');
  if (files || process.env['ORRERY_SERVER'] === 'off') return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'orrery-tests-'));
  process.env['XDG_RUNTIME_DIR'] = folder;
  process.env['ORRERY_TESTS_SERVER'] = folder;
  // If the suite is killed, the server ends by itself.
  server('start', '--jobs', String(availableParallelism()), '--idle', '20', '--no-warm-up');
  return () => {
    server('stop');
    rmSync(folder, { recursive: true, force: true });
  };
}
