import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
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

it('the same sources with new times are those of the build', () => {
  const { isStale, sourceHash } = createRequire(import.meta.url)('../../bin/newest.cjs') as {
    isStale(root: string): boolean;
    sourceHash(root: string): string;
  };
  const root = join(dir, 'clone');
  for (const folder of ['src', 'dist']) mkdirSync(join(root, folder), { recursive: true });
  const [file, built] = [join(root, 'src', 'a.ts'), join(root, 'dist', '.built')];
  writeFileSync(file, 'export {};');
  writeFileSync(built, `${sourceHash(root)}\n`);
  utimesSync(built, 1000, 1000);
  expect(isStale(root)).toBe(false);
  writeFileSync(file, 'export { };');
  expect(isStale(root)).toBe(true);
});

it('npx does not build where there is a build, since it hides why one fails', () => {
  const root = join(dir, 'npx');
  for (const folder of ['bin', 'dist']) mkdirSync(join(root, folder), { recursive: true });
  cpSync(join(ROOT, 'bin', 'prepare.mjs'), join(root, 'bin', 'prepare.mjs'));
  writeFileSync(join(root, 'bin', 'build.mjs'), 'process.exit(1);');
  const status = (npmCommand: string): number | null =>
    spawnSync(process.execPath, [join(root, 'bin', 'prepare.mjs')], {
      env: { ...process.env, npm_command: npmCommand },
    }).status;
  expect(status('exec')).toBe(1);
  writeFileSync(join(root, 'dist', '.built'), '');
  expect([status('exec'), status('ci')]).toEqual([0, 1]);
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  expect(scripts.prepare).toBe('node bin/prepare.mjs');
});
