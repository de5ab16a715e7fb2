// Makes a fresh or changed clone ready: installs packages if they are missing or older than the lock file, and builds
// if a source is newer than the last build. Uses nothing but Node, because nothing else is there yet.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newest } from './newest.cjs';

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
const built = mtime(join(root, 'dist/.built'));
const sources = Math.max(newest(join(root, 'src')), mtime(join(root, 'tsconfig.build.json')));
if (built < sources) run('building', ['run', '--silent', 'build']);
