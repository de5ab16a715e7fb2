import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const orrery = fileURLToPath(new URL('../../bin/orrery.js', import.meta.url));

/** Runs the command line within one gigabyte and `timeout` milliseconds, in a folder that also holds its cache. */
export const limitedCommand = (args: readonly string[], cwd: string, timeout: number) =>
  spawnSync(process.execPath, ['--max-old-space-size=1024', orrery, ...args], {
    cwd,
    encoding: 'utf8',
    input: '',
    timeout,
    env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(cwd, 'cache'), ORRERY_REPRO: '' },
  });
