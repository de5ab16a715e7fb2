import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';

const dir = mkdtempSync(join(tmpdir(), 'orrery-stale-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it('a command that fails says when the sources are newer than what was built', () => {
  for (const part of ['bin', 'package.json']) cpSync(join(ROOT, part), join(dir, part), { recursive: true });
  for (const part of ['dist', 'pipelines', 'knobs', 'schemas'])
    symlinkSync(join(ROOT, part), join(dir, part));
  const said = (): string =>
    spawnSync(process.execPath, [join(dir, 'bin', 'orrery.js'), 'opt', 'nothing.ptx'], { encoding: 'utf8' })
      .stderr;
  // As a package, without sources.
  expect(said()).toBe('error: cannot read nothing.ptx: there is no such file\n');
  mkdirSync(join(dir, 'src', 'ir'), { recursive: true });
  const file = join(dir, 'src', 'ir', 'new.ts');
  writeFileSync(file, '');
  expect(said()).toMatch(/no such file\n {2}src has changed since orrery was built: `npm run build`/);
  utimesSync(file, 0, 0);
  expect(said()).toBe('error: cannot read nothing.ptx: there is no such file\n');
});
