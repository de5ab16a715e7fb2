import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../bin/orrery.js', import.meta.url));
const server = (...words: string[]) =>
  spawnSync(process.execPath, [script, 'server', ...words], { stdio: 'ignore' });

/**
 * A server of the suite's own runs the commands that tests start: cold, each would compile its code anew (of the ten files that
 * start most, a fifth of the processor time). It gives what a command gives alone (test/cli/server.test.ts, whose own commands do run alone),
 * and where it cannot start, every command runs alone. With ORRERY_SERVER=off, or for some files of the suite, all do: it costs a second.
 * @returns what ends it
 */
export default function startServer(): (() => void) | undefined {
  const files = process.argv.slice(2).some((word) => !word.startsWith('-') && word !== 'run');
  if (files || process.env['ORRERY_SERVER'] === 'off') return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'orrery-tests-'));
  process.env['XDG_RUNTIME_DIR'] = folder;
  process.env['ORRERY_TESTS_SERVER'] = folder;
  // Should the suite be killed, it ends by itself.
  server('start', '--jobs', String(availableParallelism()), '--idle', '5', '--no-warm-up');
  return () => {
    server('stop');
    rmSync(folder, { recursive: true, force: true });
  };
}
