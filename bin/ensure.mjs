// Makes a fresh or changed clone ready: installs packages if they are missing or older than the lock file, and builds
// if sources are others than those of the last build. Uses nothing but Node, because nothing else is there yet.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isStale } from './newest.cjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

const mtime = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);

function run(what, args) {
  process.stderr.write(`${what} …\n`);
  const r = spawnSync(npm, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ORRERY_ENSURE: '1' },
  });
  if (r.status !== 0) {
    process.stderr.write(`${r.stdout ?? ''}${r.stderr ?? ''}\n${what} failed: npm ${args.join(' ')}\n`);
    process.exit(1);
  }
}

if (mtime(join(root, 'node_modules/.package-lock.json')) < mtime(join(root, 'package-lock.json')) - 1000)
  run('installing packages', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
if (!existsSync(join(root, 'dist/.built')) || isStale(root)) run('building', ['run', '--silent', 'build']);
