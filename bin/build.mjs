// Builds aside, and puts the result in the place of the last build when it is whole: commands go on working while a build runs, and one
// that fails leaves the last build as it was.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceHash } from './newest.cjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
// Two builds at the same time do not write into one folder; bin/orrery.js knows a build that runs by the name.
const next = join(root, `dist.next-${process.pid}`);
const old = join(root, `dist.old-${process.pid}`);

function run(command, args) {
  const r = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (r.status === 0) return;
  rmSync(next, { recursive: true, force: true });
  process.exit(r.status ?? 1);
}

/** Does a process with this id run? */
function runs(pid) {
  try {
    return process.kill(pid, 0);
  } catch (e) {
    return e.code === 'EPERM';
  }
}
// What builds that were killed left behind.
for (const name of readdirSync(root)) {
  const pid = /^dist\.(?:next|old)-(\d+)$/.exec(name)?.[1];
  if (pid !== undefined && !runs(Number(pid))) rmSync(join(root, name), { recursive: true, force: true });
}

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    rmSync(next, { recursive: true, force: true });
    process.exit(1);
  });
// What changes while it is compiled is not known to be in the build.
const hash = sourceHash(root);
run(process.execPath, [
  join(root, 'node_modules/typescript/bin/tsc'),
  '-p',
  'tsconfig.build.json',
  '--outDir',
  next,
]);
for (const tool of ['build-specs', 'build-schemas', 'bundle', 'build-web'])
  run(process.execPath, [join(next, 'tools', `${tool}.js`)]);
// Marks the end of a successful build, for ensure.mjs.
writeFileSync(join(next, '.built'), `${hash}\n`);
if (existsSync(dist)) renameSync(dist, old);
renameSync(next, dist);
rmSync(old, { recursive: true, force: true });
// The first run stores compiled code for later runs (bin/orrery.js); this one compiles what most commands need.
const sample = join(root, 'test/kernels/saxpy/saxpy.sm_90.ptx');
spawnSync(process.execPath, [join(root, 'bin/orrery.js'), 'opt', sample, '--check', 'auto', '--stat']);
