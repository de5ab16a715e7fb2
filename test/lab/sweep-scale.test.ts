import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { runPool } from '../../src/lab/pool.ts';
import { cellsTogether, shardOf } from '../../src/lab/sweep.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { WARM } from '../support/warm.ts';

const dir = mkdtempSync(join(tmpdir(), 'orrery-scale-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** A worker that answers n with its square; `deadly` says how it dies, by task: before it answers, or once. */
const worker = (deadly: string, flag: string) =>
  new Worker(
    `const { parentPort } = require('node:worker_threads');
    const { existsSync, writeFileSync } = require('node:fs');
    parentPort.on('message', (tasks) => {
      if (tasks === null) return parentPort.close();
      for (const t of tasks) { ${deadly} parentPort.postMessage([[t, t * t]]); }
    });`.replaceAll('FLAG', JSON.stringify(flag)),
    { eval: true },
  );
const tasks = Array.from({ length: 40 }, (_, i) => i);
const together = (left: readonly number[], workers: number) =>
  Math.max(1, Math.floor(left.length / (2 * workers)));
const flagFile = (name: string) => join(dir, name);

describe('a pool of workers', () => {
  it.each([1, 2, 3])('does every task once with %i', async (workers) => {
    const got: number[][] = [];
    const onResult = (t: number, r: number) => got.push([t, r]);
    const start = () => worker('', '');
    expect(await runPool({ tasks, workers, start, together, onResult })).toBe(true);
    expect(got.sort((a, b) => a[0] - b[0])).toEqual(tasks.map((t) => [t, t * t]));
    expect(await runPool({ tasks: [], workers, start, together, onResult })).toBe(true);
  });

  it.each([
    ['ends', 'process.exit(3)'],
    ['throws', 'throw new Error("broken")'],
  ])('a worker that %s loses nothing but what it had not answered', async (what, how) => {
    const flag = flagFile(what);
    const once = `if (t === 17 && !existsSync(FLAG)) { writeFileSync(FLAG, ''); ${how}; }`;
    const got: number[] = [];
    const onResult = (t: number) => got.push(t);
    const all = await runPool({ tasks, workers: 2, start: () => worker(once, flag), together, onResult });
    expect(all).toBe(true);
    expect(existsSync(flag)).toBe(true);
    // Answers that were under way when it died are either heard, or given again; none is missing.
    expect([...new Set(got)].sort((a, b) => a - b)).toEqual(tasks);
  });

  it('gives up on a task that crashes its worker, and says why', async () => {
    let begun = 0;
    const start = () => {
      begun++;
      return worker('if (t === 5) throw new Error("five is too much");', '');
    };
    const run = runPool({ tasks, workers: 2, start, together, onResult: () => {} });
    await expect(run).rejects.toThrow('five is too much');
    expect(begun).toBeLessThanOrEqual(3);
  });

  it('stops on request, and passes on what listeners throw', async () => {
    let n = 0;
    const opts = { tasks, workers: 2, start: () => worker('', ''), together };
    expect(await runPool({ ...opts, onResult: () => n++, stop: () => n >= 7 })).toBe(false);
    expect(n).toBe(7);
    const full = () => {
      throw new Error('the disk is full');
    };
    await expect(runPool({ ...opts, onResult: full })).rejects.toThrow('the disk is full');
  });

  it('shards are all cells, each once; rows of cells are of one module', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: 1, max: 20 }), (count, n) => {
        const all = Array.from({ length: n }, (_, i) => shardOf(count, i + 1, n));
        expect(all.flat()).toEqual(Array.from({ length: count }, (_, i) => i));
        expect(Math.max(...all.map((s) => s.length)) - Math.min(...all.map((s) => s.length))).toBeLessThan(2);
      }),
    );
    const cells = tasks.map((arm) => ({ arm, file: arm < 5 ? 'a' : 'b' }));
    expect(cellsTogether(cells, tasks, 2)).toBe(5);
    expect(cellsTogether(cells, tasks.slice(5), 2)).toBe(8);
    expect(cellsTogether(cells, [39], 2)).toBe(1);
  });
});

const bin = join(ROOT, 'bin', 'orrery.js');
const orrery = (...args: readonly string[]) => {
  // Of several workers, each is a thread that a command begins anew.
  const env = args.includes('-j') ? process.env : { ...process.env, ...WARM };
  const r = spawnSync(process.execPath, [bin, ...args], { cwd: dir, encoding: 'utf8', env });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const read = (name: string) => readFileSync(join(dir, name), 'utf8');

describe('a sweep by several', { timeout: 240_000 }, () => {
  const kernel = (k: string) => join(ROOT, 'test', 'kernels', k, `${k}.sm_80.ptx`);
  const experiment = join(dir, 'some.experiment.yaml');
  writeFileSync(
    experiment,
    `kind: experiment
base: { set: { GeneralOptimizationBudget: 0, GeneralOptimizeLate2Budget: 0 } }
factors:
  knobs: { GeneralOptimizationBudget: [default, 3, 100], FPFoldDisable: [default, true] }
  switches: [GeneralOptimizeMid]
kernels: [${['saxpy', 'float-compare', 'nested-conditions'].map(kernel).join(', ')}]
`,
  );
  const files = (name: string) => ['-o', `${name}.jsonl`, '--best', `${name}.yaml`];
  const whole = orrery('sweep', experiment, ...files('whole'));

  it('is that by one, with a cache and without', () => {
    expect(whole).toMatchObject({ code: 0, err: '' });
    for (const more of [
      ['-j', '2', '--cache', 'cache'],
      ['--cache', 'cache'],
    ]) {
      const r = orrery('sweep', experiment, ...files('two'), '--restart', ...more);
      expect(r).toMatchObject({ code: 0, err: '' });
      expect(r.out.replaceAll('two', 'whole')).toBe(whole.out);
      expect(read('two.jsonl')).toBe(read('whole.jsonl'));
      expect(read('two.yaml').replaceAll('two', 'whole')).toBe(read('whole.yaml'));
    }
  });

  it.each([
    ['killed', 'SIGKILL', null],
    ['interrupted', 'SIGINT', 130],
    ['ended', 'SIGTERM', 143],
  ] as const)('ends with the same where it was %s', async (name, signal, code) => {
    const args = ['sweep', experiment, ...files(name), '-j', '2'];
    const file = `${name}.jsonl`;
    const lines = () => (existsSync(join(dir, file)) ? read(file).split('\n').length : 0);
    const child = spawn(process.execPath, [bin, ...args], { cwd: dir, stdio: 'ignore' });
    const ended = new Promise((done) => child.on('close', done));
    while (lines() < 5 && child.exitCode === null) await new Promise((next) => setTimeout(next, 2));
    child.kill(signal);
    expect(await ended).toBe(code);
    expect(lines()).toBeGreaterThanOrEqual(5);
    // Whoever goes on need not be as many.
    expect(orrery(...(code === null ? args : args.slice(0, -2))).code).toBe(0);
    expect(read(file)).toBe(read('whole.jsonl'));
  });

  it('figures of two versions of ptxas, or of two builds, do not come together', () => {
    const small = join(dir, 'ptxas.experiment.yaml');
    writeFileSync(
      small,
      `kind: experiment\nfactors: { switches: [GeneralOptimizeMid] }\nkernels: [${kernel('saxpy')}]\nmetrics: [ptxas.registers]\n`,
    );
    const by = (version: string, ...args: readonly string[]) => {
      const ptxas = join(dir, `ptxas-${version}`);
      writeFileSync(
        ptxas,
        `#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release ${version}, V${version}.9"; exit; fi
for last; do :; done
: > "$last"
echo "ptxas info    : Compiling entry function 'saxpy' for 'sm_80'"
echo "ptxas info    : Used ${version.length + version.charCodeAt(0)} registers"
`,
        { mode: 0o755 },
      );
      const r = spawnSync(process.execPath, [bin, ...args], {
        cwd: dir,
        encoding: 'utf8',
        env: { ...process.env, ...WARM, ORRERY_PTXAS: ptxas },
      });
      return { code: r.status, err: r.stderr };
    };
    const one = ['sweep', small, '-o', 'ptxas.jsonl', '--best', 'ptxas.yaml'];
    expect(by('11.8', ...one)).toEqual({ code: 0, err: '' });
    const head = JSON.parse(read('ptxas.jsonl').split('\n')[0]);
    expect(head.makers).toEqual({ orrery: expect.stringMatching(/^[0-9a-f]{16}$/), ptxas: '11.8.9' });
    expect(by('11.8', ...one)).toEqual({ code: 0, err: '' });
    const mixed = 'these results are from a run with ptxas 11.8.9, but this run uses ptxas 13.0.9';
    expect(by('13.0', ...one)).toEqual({ code: 1, err: expect.stringContaining(mixed) });
    const joined = by('13.0', 'merge', small, 'ptxas.jsonl', '-o', 'no.jsonl');
    expect(joined).toEqual({ code: 1, err: expect.stringContaining(mixed) });
    const text = read('ptxas.jsonl').replace(/"identity":"\w+"/, '"identity":"0"');
    writeFileSync(join(dir, 'ptxas.jsonl'), text.replace(head.makers.orrery, '0123456789abcdef'));
    expect(by('11.8', ...one).err).toContain('these results are from another build of orrery');
  });

  it('merge joins shards; one that is missing, or of another sweep, is an error', () => {
    for (const i of [1, 2, 3])
      expect(orrery('sweep', experiment, '--shard', `${i}/3`)).toMatchObject({ code: 0, err: '' });
    const parts = [3, 1, 2].map((i) => `some.results.${i}-of-3.jsonl`);
    const r = orrery('merge', experiment, ...parts, ...files('merged'));
    expect(r.code).toBe(0);
    expect(read('merged.jsonl')).toBe(read('whole.jsonl'));
    const table = (s: string) => s.slice(0, s.indexOf('\nresults: '));
    expect(table(r.out)).toBe(table(whole.out));
    expect(table(r.out).length).toBeGreaterThan(100);
    const less = orrery('merge', experiment, ...parts.slice(1), ...files('less'));
    expect(less.code).toBe(1);
    expect(less.err).toMatch(/12 of 36 cells are in none of the files/);
    expect(existsSync(join(dir, 'less.jsonl'))).toBe(false);
    writeFileSync(
      join(dir, 'other.jsonl'),
      read('whole.jsonl').replace(/"identity":"\w+"/, '"identity":"0"'),
    );
    expect(orrery('merge', experiment, 'other.jsonl').err).toMatch(/results of another experiment/);
    expect(orrery('merge', experiment, 'othre.jsonl').err).toMatch(
      /cannot read the file: there is no such file[\s\S]*did you mean 'other.jsonl'/,
    );
    for (const bad of ['0/3', '4/3', 'x/y'])
      expect(orrery('sweep', experiment, '--shard', bad).err).toMatch(/is not a shard/);
    expect(orrery('sweep', experiment, '-j', '0').err).toMatch(/is not a number of workers/);
  });
});
