import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import { kernelAndLaunchFiles, kernelFiles } from '../../src/lab/files.ts';
import { loadModules } from '../../src/lab/kernels.ts';
import { textInPlace } from '../../src/lab/refs.ts';
import { isVerdict } from '../../src/rules/prove/verdict.ts';
import { ROOT } from '../../src/spec/node-cache.ts';

const kernels = fileURLToPath(new URL('../kernels/', import.meta.url));
const below = (name: string, files: readonly string[]) =>
  files.map((f) => f.slice(f.indexOf(join(name, ''))));

describe('files of kernels', () => {
  it('a pattern that ends as launch files do names these, any other pattern kernels', () => {
    expect(below('saxpy', kernelAndLaunchFiles(['saxpy/*.yaml'], kernels))).toEqual([
      'saxpy/launch-stride.yaml',
      'saxpy/launch.yaml',
    ]);
    expect(below('saxpy', kernelAndLaunchFiles(['**/saxpy/launch.yaml'], kernels))).toEqual([
      'saxpy/launch.yaml',
    ]);
    const all = ['saxpy/saxpy.sm_75.ptx', 'saxpy/saxpy.sm_80.ptx', 'saxpy/saxpy.sm_90.ptx'];
    for (const pattern of ['saxpy/*', 'saxpy'])
      expect(below('saxpy', kernelAndLaunchFiles([pattern], kernels))).toEqual(all);
  });

  it('a pattern of launch files gives what their names give', async () => {
    const names = ['divmod', 'saxpy'].map((name) => join(kernels, name, 'launch.yaml'));
    const read = async (patterns: readonly string[]) =>
      (await loadModules(patterns, kernels)).map((m) => [m.file, m.launches.map((l) => l.file)]);
    const found = await read(['divmo?/launch.yaml', 'saxp*/launch.yaml']);
    expect(found).toEqual(await read(names));
    expect(found).toHaveLength(2);
  });

  it('what only takes kernels finds no launch files, and both say what they take', () => {
    expect(() => kernelFiles(['saxpy/*.yaml'], kernels)).toThrow(/no kernel matches 'saxpy/);
    try {
      kernelAndLaunchFiles(['saxpy/none*.yaml'], kernels);
      expect.unreachable();
    } catch (e) {
      expect((e as { diagnostics: { notes: string[] }[] }).diagnostics[0].notes[0]).toContain(
        'launch files end in .yaml',
      );
    }
  });

  it('what another tool would take for a pattern is said to be none', () => {
    try {
      kernelFiles(['[a-m]*/*.ptx'], kernels);
      expect.unreachable();
    } catch (e) {
      expect((e as { diagnostics: { notes: string[] }[] }).diagnostics[0].notes[0]).toBe(
        'patterns support *, ? and **; brackets and braces have no special meaning',
      );
    }
  });
});

describe('files of a folder that a review compares', () => {
  it('are regular ones of that folder', () => {
    const place = mkdtempSync(join(tmpdir(), 'orrery-place-'));
    const other = join(mkdtempSync(join(tmpdir(), 'orrery-other-')), 'verdicts.json');
    writeFileSync(other, '{"secret":1}');
    const at = (name: string): string => join(place, name);
    writeFileSync(at('plain'), '{}');
    mkdirSync(at('folder'));
    symlinkSync(other, at('link'));
    symlinkSync('/dev/zero', at('device'));
    expect([textInPlace(place, 'plain'), textInPlace(place, 'none')]).toEqual(['{}', null]);
    for (const name of ['folder', 'link', 'device'])
      expect(() => textInPlace(place, name), name).toThrow(DiagnosticError);
    // It would be waited for.
    expect(spawnSync('mkfifo', [at('pipe')]).status).toBe(0);
    expect(() => textInPlace(place, 'pipe')).toThrow(DiagnosticError);
    for (const f of [place, dirname(other)]) rmSync(f, { recursive: true });
  });
});

describe('a commit that a review compares', () => {
  it('has specs and verdicts of the sizes and forms that files have', async () => {
    const place = mkdtempSync(join(tmpdir(), 'orrery-commit-'));
    cpSync(join(ROOT, 'pipelines', 'phases.yaml'), join(place, 'pipelines', 'phases.yaml'), {
      recursive: true,
    });
    mkdirSync(join(place, 'pipelines', 'rules'));
    writeFileSync(join(place, 'pipelines', 'rules', 'large.yaml'), `kind: rules\n${'#'.repeat(4 << 20)}`);
    const git = (...args: string[]): void => {
      const r = spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: place });
      expect([args, r.status]).toEqual([args, 0]);
    };
    git('init', '-q', '-b', 'main');
    git('add', '-A');
    git('-c', 'commit.gpgsign=false', 'commit', '-qm', 'specs');
    const script = `
      import { specsAt } from ${JSON.stringify(pathToFileURL(join(ROOT, 'dist', 'lab', 'refs.js')).href)};
      await specsAt('main').catch((e) => console.log(e.diagnostics[0].message));`;
    const r = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: place,
      encoding: 'utf8',
    });
    expect(r.stdout).toMatch(
      /^'pipelines\/rules\/large\.yaml' of commit 'main' has \d+ bytes, more than the 4194304/,
    );
    rmSync(place, { recursive: true });
    const plain = { verdict: 'verified', instances: 1, hash: 'x' };
    // Comparing what is nested a hundred thousand times would use up the stack.
    expect([isVerdict(plain), isVerdict({ ...plain, more: [[]] })]).toEqual([true, false]);
  });
});
