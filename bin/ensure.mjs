// Makes a fresh or changed clone ready: installs packages if they are missing or older than the lock file, and builds
// if a source is newer than the last build. Uses nothing but Node, because nothing else is there yet.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

const mtime = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);

function newest(dir) {
  let t = 0;
  for (const e of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, e.name);
    // Pages are not built: a build for their sake would only get in the way of what runs.
    if (!e.name.endsWith('.md')) t = Math.max(t, e.isDirectory() ? newest(path) : mtime(path));
  }
  return t;
}

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
