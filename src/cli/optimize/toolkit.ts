import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { visible } from '../../ir/quote.ts';
import { ROOT } from '../../spec/node.ts';
import { makeWhole } from '../input/files.ts';
import { failWith, out } from '../terminal/ui.ts';

/**
 * `orrery toolkit`: makes a CUDA toolkit of links in which `bin/ptxas` is `orrery ptxas`. nvcc looks for ptxas in its own folder before
 * PATH (`nvcc --dryrun` shows it), so it finds ours.
 */
export function toolkit(folder: string, o: { readonly from?: string; readonly json?: boolean }): void {
  const from = o.from === undefined ? found() : resolve(o.from);
  const real = join(from, 'bin', 'ptxas');
  if (!existsSync(join(from, 'bin', 'nvcc')) || !existsSync(real))
    failWith(`there is no bin/nvcc and bin/ptxas in ${from}`, '--from names the folder of a CUDA toolkit');
  const to = resolve(folder);
  const there = statSync(to, { throwIfNoEntry: false });
  if (there !== undefined && (!there.isDirectory() || readdirSync(to).length > 0))
    failWith(
      `${folder} is ${there.isDirectory() ? 'not empty' : 'no folder'}`,
      'name a folder that does not exist yet',
    );
  makeWhole(folder, (aside) => {
    mkdirSync(aside);
    mkdirSync(join(aside, 'bin'));
    for (const name of readdirSync(from))
      if (name !== 'bin') symlinkSync(join(from, name), join(aside, name));
    for (const name of readdirSync(join(from, 'bin')))
      if (name !== 'ptxas') symlinkSync(join(from, 'bin', name), join(aside, 'bin', name));
    const quoted = (s: string) => `'${s.replaceAll("'", "'\\''")}'`;
    const ours = join(aside, 'bin', 'ptxas');
    writeFileSync(
      ours,
      [
        '#!/bin/sh',
        `[ -n "$ORRERY_PTXAS" ] || ORRERY_PTXAS=${quoted(real)}`,
        'export ORRERY_PTXAS',
        `exec ${quoted(process.execPath)} ${quoted(join(ROOT, 'bin', 'orrery.js'))} ptxas "$@"`,
        '',
      ].join('\n'),
    );
    chmodSync(ours, 0o755);
  });
  const [nvcc, ptxas] = ['nvcc', 'ptxas'].map((name) => join(to, 'bin', name));
  if (o.json === true) return out(JSON.stringify({ version: 1, folder: to, from, nvcc, ptxas }, null, 2));
  out(visible(nvcc));
}

/** The toolkit of the nvcc on PATH, as reported by nvcc itself, since the one on PATH may be a script that calls the real one. */
function found(): string {
  const r = spawnSync('nvcc', ['--dryrun', '-x', 'cu', '-c', '/dev/null', '-o', '/dev/null'], {
    encoding: 'utf8',
  });
  const here = /_HERE_=(.*)/.exec(`${r.stdout ?? ''}${r.stderr ?? ''}`)?.[1];
  if (here !== undefined) return dirname(here.trim());
  for (const p of (process.env.PATH ?? '').split(delimiter))
    if (existsSync(join(p, 'nvcc'))) return dirname(dirname(realpathSync(join(p, 'nvcc'))));
  return failWith('there is no nvcc on PATH', '--from names the folder of a CUDA toolkit');
}
