import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';
import { command } from '../support/commands.ts';

/* The package as users get it: packed, unpacked in its own folder, and used from there. */

const dir = mkdtempSync(join(tmpdir(), 'orrery-package-'));
const app = join(dir, 'app');
const installed = join(app, 'node_modules', 'orrery');
const saxpy = join(ROOT, 'test', 'kernels', 'saxpy');

const npm = (...args: string[]) =>
  spawnSync(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

/** What the package holds. */
let files: readonly string[];
/** Kernels of the package that stay: without an argument, `rules coverage` optimizes all. */
const FEW = ['interpreter', 'saxpy', 'histogram'];
const kernelsOf = (folder: string): string[] =>
  readdirSync(join(folder, 'test', 'kernels'), { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.ptx'))
    .sort();

beforeAll(() => {
  const packed = npm('pack', '--ignore-scripts', '--json', '--pack-destination', dir);
  expect(packed.stderr === '' || packed.status === 0).toBe(true);
  mkdirSync(join(app, 'node_modules'), { recursive: true });
  const file = readdirSync(dir).find((f) => f.endsWith('.tgz'))!;
  expect(spawnSync('tar', ['xzf', join('..', file)], { cwd: app }).status).toBe(0);
  renameSync(join(app, 'package'), installed);
  // What the registry would give: the dependencies that the package declares, and nothing else.
  for (const name of Object.keys(manifest.dependencies)) {
    const to = join(app, 'node_modules', name);
    mkdirSync(dirname(to), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), to, 'junction');
  }
  writeFileSync(join(app, 'package.json'), '{ "type": "module" }');
  cpSync(join(saxpy, 'saxpy.sm_90.ptx'), join(app, 'kernel.ptx'));
  files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
  expect(kernelsOf(installed)).toEqual(kernelsOf(ROOT));
  for (const name of readdirSync(join(installed, 'test', 'kernels')))
    if (!FEW.includes(name)) rmSync(join(installed, 'test', 'kernels', name), { recursive: true });
}, 120_000);
afterAll(() => rmSync(dir, { recursive: true }));

const orrery = async (...args: string[]): Promise<{ code: number | null; out: string }> => {
  const { code, said } = await command(process.execPath, [join(installed, 'bin', 'orrery.js'), ...args], {
    cwd: app,
    env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
  });
  return { code, out: said };
};

describe('the package', () => {
  test('holds what runs, and nothing of one machine', () => {
    expect(files.filter((f) => f.endsWith('.map') || /main\.cjs\./.test(f) || f.includes('.cu'))).toEqual([]);
    expect(files).toContain(join('dist', 'bundle', 'main.cjs'));
    for (const f of ['index.html', 'index.css', 'index.js', 'worker.js', 'specs.json'])
      expect(files).toContain(join('dist', 'web', f));
  });

  const runs = async (line: string, says: RegExp): Promise<void> => {
    const { code, out } = await orrery(...line.split(' '));
    expect([code, out]).toEqual([
      line.startsWith('ptxas') ? expect.any(Number) : 0,
      expect.stringMatching(says),
    ]);
    expect(out).not.toMatch(/^\s+at .*\.c?js:\d+/m);
  };
  // By itself: the first command stores the code that it compiles for all that follow.
  test('orrery start', () => runs('start', /equal.*: 1 kernel left the same memory/));

  test.concurrent.each([
    ['opt kernel.ptx --check auto --emit ptx -o out.ptx', /equal: /],
    ['run node_modules/orrery/test/kernels/saxpy/launch.yaml', /^ok /m],
    ['phases', /FinalInspectionPass/],
    ['plan --order binary', /binary\.yaml/],
    ['cfg kernel.ptx --format svg --function saxpy -o cfg.svg', /^$/],
    ['trace kernel.ptx -o trace.html', /trace\.html: \d+ of 159 phases changed/],
    ['check kernel.ptx node_modules/orrery/pipelines/orders/binary.yaml', /good .*kernel\.ptx[\s\S]*good /],
    ['rules prove', /rules: \d+ verified.* 0 asked/],
    ['rules coverage', /^3 files, .* rules fired$/m],
    ['ptxas --help', /./],
  ])('orrery %s', runs);

  test('a rule without a verdict needs a solver, which the message names', async () => {
    const { code, out } = await orrery('rules', 'prove', '--rule', 'above-is-at-least');
    expect([code, out]).toEqual([1, expect.stringMatching(/npm install z3-solver/)]);
  });
});

/** Code blocks of docs/library.md that begin with the name of a file. */
const examples = new Map(
  [
    ...readFileSync(join(ROOT, 'docs', 'library.md'), 'utf8').matchAll(
      /^```js\n\/\/ (\S+)\n([\s\S]*?)^```/gm,
    ),
  ].map((m) => [m[1], m[2]]),
);
const example = async (file: string) => {
  writeFileSync(join(app, file), examples.get(file)!);
  return import(/* @vite-ignore */ pathToFileURL(join(app, file)).href);
};
const ptx = readFileSync(join(saxpy, 'saxpy.sm_90.ptx'), 'utf8');

describe('the library', () => {
  test('the example of orrery/core', async () => {
    const { optimized } = await example('optimize.mjs');
    const r = optimized(ptx);
    expect(r.ptx).toMatch(/\.visible \.entry saxpy/);
    expect(r.changed).toContain('GeneralOptimizeEarly');
    const without = 'kind: order\nextends: binary\nedits:\n  - { drop: GeneralOptimizeMid, why: to see }\n';
    expect(() => optimized(ptx, { 'mine.yaml': without })).not.toThrow();
    expect(() => optimized(ptx, { 'mine.yaml': without.replace('drop', 'dorp') })).toThrow(/mine\.yaml:4:/);
    expect(() => optimized(`${ptx}\nnonsense`)).toThrow(/kernel\.ptx:\d+:1: /);
  });

  test('the example of orrery/assemble', async () => {
    const { cubinOf } = await example('assemble.mjs');
    const file = join(app, 'k.ptx');
    writeFileSync(file, ptx);
    expect((await orrery('asm', 'k.ptx', '-o', 'k.cubin')).code).toBe(0);
    const { cubin, registers } = cubinOf(ptx, 'sm_90');
    expect(readFileSync(join(app, 'k.cubin')).equals(cubin)).toBe(true);
    expect(registers.every((n: number) => n > 4 && n < 32)).toBe(true);
    expect(() => cubinOf(ptx.replace('sm_90', 'sm_75'), 'sm_75')).toThrow(/not written for sm_75 yet/);
    const video = readFileSync(join(ROOT, 'test/kernels/saturate-video/saturate-video.sm_80.ptx'), 'utf8');
    expect(() => cubinOf(video, 'sm_80')).toThrow(/^line \d+: VSIMD4\.ABSDIFF: it has no machine code yet/);
  });

  test('the example of orrery', async () => {
    const { instructionsOf } = await example('simulate.mjs');
    const r = await instructionsOf(join(saxpy, 'launch.yaml'));
    expect(r.status).toBe('ok');
    expect(r.after).toBeLessThanOrEqual(r.before);
    expect(r.before).toBeGreaterThan(100);
  });

  test('types: the examples and a wrong use', () => {
    const use = (body: string) => `import { openSpecs, planOf, readPtx, optimize } from 'orrery/core';
import { shipped } from 'orrery/specs';
import { loadLaunch, type Plan } from 'orrery';
const specs = openSpecs(shipped);
const plan: Plan = planOf(specs, { sm: 'sm_90' });
const last: string = optimize(readPtx('', plan).program, plan).last.name;
${body}
export { last, loadLaunch };
`;
    writeFileSync(join(app, 'right.ts'), use(''));
    writeFileSync(join(app, 'wrong.ts'), use('planOf(specs, { level: 3 });'));
    const { stdout } = spawnSync(
      process.execPath,
      [
        join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'),
        ...['--noEmit', '--strict', '--target', 'es2023', '--module', 'nodenext', '--types', ''],
        ...['right.ts', 'wrong.ts'],
      ],
      { cwd: app, encoding: 'utf8' },
    );
    expect(stdout).not.toContain('right.ts');
    expect(stdout).toMatch(/^wrong\.ts\(7,\d+\): error TS2345/);
  });

  test('orrery/assemble runs where there is no Node', async () => {
    const entry = join(app, 'browser-code.mjs');
    writeFileSync(
      entry,
      `${examples.get('assemble.mjs')}\nglobalThis.result = cubinOf(globalThis.ptx, 'sm_90');\n`,
    );
    const bundle = await rolldown({ input: entry, platform: 'browser', onLog: () => undefined });
    const { output } = await bundle.generate({ format: 'iife' });
    await bundle.close();
    const world = vm.createContext({ ptx, performance, TextEncoder, TextDecoder, structuredClone });
    vm.runInContext(output[0].code, world);
    expect((world as { result: { registers: number[] } }).result.registers.length).toBe(2);
  });

  test('orrery/core runs where there is no Node', async () => {
    const entry = join(app, 'browser.mjs');
    writeFileSync(entry, `${examples.get('optimize.mjs')}\nglobalThis.result = optimized(globalThis.ptx);\n`);
    const bundle = await rolldown({ input: entry, platform: 'browser', onLog: () => undefined });
    const { output } = await bundle.generate({ format: 'iife' });
    await bundle.close();
    const world = vm.createContext({ ptx, performance, TextEncoder, structuredClone });
    vm.runInContext(output[0].code, world);
    expect((world as { result: { ptx: string } }).result.ptx).toMatch(/\.visible \.entry saxpy/);
    expect(vm.runInContext('typeof process + typeof require', world)).toBe('undefinedundefined');
  });
});

describe('the lock file', () => {
  interface Locked {
    readonly resolved?: string;
    readonly optionalDependencies?: Readonly<Record<string, string>>;
  }
  const text = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, Locked>> };

  test('has every platform of every package, so that npm ci takes it everywhere', () => {
    const missing = Object.entries(packages).flatMap(([at, p]) =>
      Object.keys(p.optionalDependencies ?? {}).filter(
        (o) =>
          packages[`node_modules/${o}`] === undefined && packages[`${at}/node_modules/${o}`] === undefined,
      ),
    );
    expect(missing).toEqual([]);
    expect(Object.keys(packages).length).toBeGreaterThan(50);
  });

  test('names no registry, and versions are exact', () => {
    expect(Object.entries(packages).filter(([, p]) => p.resolved !== undefined)).toEqual([]);
    const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter((v) => !/^\d+\.\d+\.\d+$/.test(v))).toEqual([]);
  });
});
