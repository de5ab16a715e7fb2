import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { CachedPhase } from '../../src/engine/cache.ts';
import type { Journal } from '../../src/engine/journal.ts';
import { MemoryCache } from '../../src/engine/memory-cache.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { printProgram } from '../../src/ir/text.ts';
import type { Arm } from '../../src/lab/arms.ts';
import { unpackBatch } from '../../src/lab/cache-batch.ts';
import { DiskCache, readBatch } from '../../src/lab/disk-cache.ts';
import { loadModules, lowerModule } from '../../src/lab/kernels.ts';
import { Plans } from '../../src/lab/plans.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { DEFAULT_ORDER } from '../../src/spec/specs.ts';
import { command } from '../support/commands.ts';
import { randomProfile } from '../support/random-profile.ts';
import { allRuns, runs } from '../support/size.ts';
import { compileLate } from '../support/v8-flags.ts';

const dir = mkdtempSync(join(tmpdir(), 'orrery-cache-'));
afterAll(() => rmSync(dir, { recursive: true }));
let folders = 0;
const newFolder = () => join(dir, String(folders++));

const plans = new Plans({
  level: 3,
  sm: 'sm_80',
  order: DEFAULT_ORDER,
  knobSets: [],
  set: [],
  disable: [],
});
const modules = await loadModules(
  ['nested-conditions', 'early-return', 'histogram', 'float-compare'].map((n) =>
    join(ROOT, 'test', 'kernels', n, `${n}.sm_80.ptx`),
  ),
);

const plain = await plans.plan({ name: 'base' }, 'sm_80');
/** All that a run says, its time and memory aside. */
const outcome = (j: Journal) => ({
  text: printProgram(j.last),
  records: j.records.map((r) => ({
    id: r.phase.id,
    outcome: r.outcome,
    why: r.why,
    level: r.level,
    knobs: r.knobsRead,
    facts: r.factsRead,
    remarks: r.remarks,
    reports: r.reports.map((x) => x.text),
    changed: [r.functionsChanged, r.blocksChanged, r.instructionsBefore, r.instructionsAfter],
  })),
});
const batchesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.orc'))
    .map((f) => join(folder, f));

const some = fc.option(fc.integer({ min: 0, max: 40 }), { nil: null, freq: 3 });
const arms: fc.Arbitrary<Arm> = fc
  .record({
    level: fc.constantFrom(1, 2, 3),
    OptBudget: some,
    GeneralOptimizeLateBudget: some,
    MergeEquivalentConditionalFlowBudget: some,
    flags: fc.subarray(['FPFoldDisable', 'RulePriorityBands', 'DisableMergeEquivalentConditionalFlow']),
    disable: fc.subarray(['GvnCse', 'OriStrengthReduce', 'OriHoistInvariantsEarly']),
  })
  .map(({ level, flags, disable, ...budgets }) => ({
    name: 'arm',
    level,
    disable,
    set: [...flags, ...Object.entries(budgets).flatMap(([k, n]) => (n === null ? [] : [`${k}=${n}`]))],
  }));

/** A module, and how often its blocks ran. */
const chosen = fc
  .nat(modules.length - 1)
  .chain((m) =>
    fc.record({ m: fc.constant(m), profile: randomProfile(lowerModule(modules[m], plain).program) }),
  );

describe('results on disk', () => {
  it('are those of a run without them, over random arms', async () => {
    const folder = newFolder();
    let kept = 0;
    let plansRun = 0;
    await fc.assert(
      fc.asyncProperty(arms, chosen, fc.boolean(), async (arm, { m, profile }, verify) => {
        const { plan: made } = await plans.tryPlan(arm, 'sm_80');
        if (made === null) return;
        plansRun++;
        const plan = { ...made, profile };
        const input = lowerModule(modules[m], plan);
        const want = outcome(runPipeline(input.program, plan));
        // A new object for each run is what a new process sees.
        const disk = new DiskCache(folder);
        const cache = disk.shelf(input.key, plan.isa);
        const got = runPipeline(input.program, plan, { cache, inputKey: input.key, verify });
        disk.close();
        expect(outcome(got)).toEqual(want);
        kept += got.records.filter((r) => r.cached).length;
        const again = new DiskCache(folder);
        const all = runPipeline(input.program, plan, {
          cache: again.shelf(input.key, plan.isa),
          inputKey: input.key,
        });
        expect(all.records.filter((r) => r.outcome === 'ran').every((r) => r.cached)).toBe(true);
        expect(outcome(all)).toEqual(want);
      }),
      { numRuns: allRuns(16), seed: 9 },
    );
    expect(plansRun).toBeGreaterThan(8);
    expect(kept).toBeGreaterThan(80);
  });

  it('that were damaged are no results', () => {
    const folder = newFolder();
    const input = lowerModule(modules[0], plain);
    const run = () => {
      const disk = new DiskCache(folder);
      const j = runPipeline(input.program, plain, {
        cache: disk.shelf(input.key, plain.isa),
        inputKey: input.key,
      });
      disk.close();
      return j;
    };
    const want = outcome(run());
    for (const at of [0, 4, 7, 10, 200, -1]) {
      for (const f of batchesBelow(folder)) {
        const bytes = readFileSync(f);
        bytes[at < 0 ? bytes.length + at : at] ^= 0x20;
        writeFileSync(f, bytes);
      }
      const got = run();
      expect(got.records.some((r) => r.cached)).toBe(false);
      expect(outcome(got)).toEqual(want);
    }
    for (const f of batchesBelow(folder)) writeFileSync(f, readFileSync(f).subarray(0, 300));
    expect(outcome(run())).toEqual(want);
  });

  it('of somebody else are no results, whatever stands in their places', () => {
    const input = lowerModule(modules[0], plain);
    const run = (folder: string) => {
      const disk = new DiskCache(folder);
      const j = runPipeline(input.program, plain, {
        cache: disk.shelf(input.key, plain.isa),
        inputKey: input.key,
      });
      disk.close();
      return j.records.filter((r) => r.cached).length;
    };
    const folder = newFolder();
    // Written with another secret: to a checksum alone, these are results.
    vi.stubEnv('XDG_CACHE_HOME', newFolder());
    run(folder);
    expect(run(folder)).toBeGreaterThan(0);
    const [batch] = batchesBelow(folder);
    vi.stubEnv('XDG_CACHE_HOME', newFolder());
    expect(run(folder)).toBe(0);
    expect(run(folder)).toBeGreaterThan(0);
    // A pipe, which would be waited for, and a device, which never ends.
    const shelf = dirname(batch);
    for (const f of batchesBelow(folder)) rmSync(f);
    expect(spawnSync('mkfifo', [join(shelf, '0123456789abcdef.orc')]).status).toBe(0);
    symlinkSync('/dev/zero', join(shelf, '0123456789abcde0.orc'));
    expect(run(folder)).toBe(0);
    // A link in the place of a folder leads nowhere.
    const elsewhere = newFolder();
    mkdirSync(elsewhere);
    rmSync(shelf, { recursive: true });
    symlinkSync(elsewhere, shelf);
    expect([run(folder), readdirSync(elsewhere)]).toEqual([0, []]);
    vi.unstubAllEnvs();
  }, 20_000);

  it('keep to the limit: the least recently used is removed, other files stay', async () => {
    const folder = newFolder();
    mkdirSync(folder);
    writeFileSync(join(folder, 'mine.orc'), 'x'.repeat(5000));
    const runAll = (limit: number, list: typeof modules) => {
      const disk = new DiskCache(folder, limit);
      let kept = 0;
      for (const m of list) {
        const input = lowerModule(m, plain);
        const j = runPipeline(input.program, plain, {
          cache: disk.shelf(input.key, plain.isa),
          inputKey: input.key,
        });
        kept += j.records.filter((r) => r.cached).length;
      }
      disk.close();
      return kept;
    };
    runAll(1 << 30, modules);
    const mine = join(folder, 'mine.orc');
    const files = () => batchesBelow(folder).filter((f) => f !== mine);
    expect(files()).toHaveLength(modules.length);
    const size = () => files().reduce((n, f) => n + statSync(f).size, 0);
    const old = new Date(Date.now() - 7_200_000);
    for (const f of files()) utimesSync(f, old, old);
    const [one] = files();
    const part = join(dirname(one), `.${basename(one)}.0123456789abcdef.part`);
    writeFileSync(part, 'begun');
    utimesSync(part, old, old);
    // The first is used again; then something new does not fit beside all of them.
    expect(runAll(1 << 30, [modules[0]])).toBeGreaterThan(0);
    const limit = size();
    const disk = new DiskCache(folder, limit);
    const input = lowerModule(modules[0], plain);
    const other = await plans.plan({ name: 'x', set: ['FPFoldDisable'], disable: ['GvnCse'] }, 'sm_80');
    runPipeline(input.program, other, { cache: disk.shelf(input.key, other.isa), inputKey: input.key });
    disk.close();
    expect(size()).toBeLessThanOrEqual(limit);
    expect(files().length).toBeLessThan(modules.length + 1);
    expect(statSync(part, { throwIfNoEntry: false })).toBeUndefined();
    expect(readFileSync(mine, 'utf8')).toHaveLength(5000);
    expect(runAll(1 << 30, [modules[0]])).toBeGreaterThan(0);
    runAll(0, [modules[1]]);
    const gone = new DiskCache(folder, 0);
    const shelf = gone.shelf('new', plain.isa);
    shelf.set('k', { kind: 'reads', lists: [] });
    gone.close();
    expect(files()).toEqual([]);
  });

  it('in memory keep to a limit too, what was asked for last stays', () => {
    const input = lowerModule(modules[0], plain);
    const whole = new MemoryCache();
    const first = runPipeline(input.program, plain, { cache: whole, inputKey: 'k' });
    expect(whole.weight).toBeGreaterThan(1000);
    const small = new MemoryCache(whole.weight >> 1);
    const got = runPipeline(input.program, plain, { cache: small, inputKey: 'k' });
    expect(small.weight).toBeLessThanOrEqual(whole.weight >> 1);
    expect(small.size).toBeLessThan(whole.size);
    expect(outcome(got)).toEqual(outcome(first));
    expect(outcome(runPipeline(input.program, plain, { cache: small, inputKey: 'k' }))).toEqual(
      outcome(first),
    );
    const three = new MemoryCache(50);
    for (const k of ['a', 'b', 'c']) three.set(k, { kind: 'reads', lists: [] });
    three.get('a');
    three.set('d', { kind: 'reads', lists: [] });
    expect(['a', 'b', 'c', 'd'].filter((k) => three.get(k) !== undefined)).toEqual(['a', 'c', 'd']);
  });
});

const built = (path: string) => JSON.stringify(pathToFileURL(join(ROOT, 'dist', path)).href);
/** Writes batch after batch; says of each that it is written when it is. Makes one of many now and then. */
const writer = (folder: string, name: string) => `
import { DiskCache } from ${built('lab/disk-cache.js')};
import { loadModules, lowerModule } from ${built('lab/kernels.js')};
import { Plans } from ${built('lab/plans.js')};
import { writeSync } from 'node:fs';
const plans = new Plans({ level: 3, sm: 'sm_80', order: '${DEFAULT_ORDER}', knobSets: [], set: [], disable: [] });
const plan = await plans.plan({ name: 'base' }, 'sm_80');
const [m] = await loadModules([${JSON.stringify(modules[0].file)}]);
const { program } = lowerModule(m, plan);
for (let i = 0; ; i++) {
  const disk = new DiskCache(${JSON.stringify(folder)});
  const shelf = disk.shelf('input', plan.isa);
  for (let k = 0; k < 20; k++) {
    const named = { ...program, name: '${name}-' + i + '-' + k };
    shelf.set('${name}-' + i + '-' + k, { kind: 'result', program: named, reads: [], taken: [], remarks: [], reports: [], functionsChanged: 1, blocksChanged: 1, verified: 'no' });
    const shared = shelf.get('shared')?.lists ?? [];
    shelf.set('shared', { kind: 'reads', lists: [...shared, ['knob ${name}' + i]] });
  }
  disk.close();
  writeSync(1, i + '\\n');
}`;

/** As bin/orrery.js starts: without that, V8 optimizes much that runs once. */
const STARTED = [...compileLate, '--input-type=module', '-e'];

describe('processes that share a cache', () => {
  it('lose nothing that was written when they are killed, at any moment', { timeout: 120_000 }, async () => {
    const folder = newFolder();
    const said = new Map<string, number>();
    const random = fc.sample(fc.integer({ min: 0, max: 60 }), { numRuns: runs(4), seed: 4 });
    for (const [round, ms] of random.entries()) {
      // Two at a time.
      const both = ['a', 'b'].map(async (x) => {
        const name = `${x}${round}`;
        const child = spawn(process.execPath, [...STARTED, writer(folder, name)], {
          cwd: ROOT,
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        let text = '';
        child.stdout.on('data', (b: Buffer) => {
          text += b.toString();
        });
        await once(child.stdout, 'data');
        await new Promise((next) => setTimeout(next, ms));
        child.kill('SIGKILL');
        const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
        expect([code, signal]).toEqual([null, 'SIGKILL']);
        said.set(name, text.split('\n').filter((l) => l !== '').length);
      });
      await Promise.all(both);
    }
    for (const f of batchesBelow(folder)) expect(unpackBatch(readBatch(f)!, plain.isa), f).not.toBeNull();
    const want = printProgram(lowerModule(modules[0], plain).program);
    // The children ran the built code, whose results stand apart from those of the sources.
    const batches = batchesBelow(folder).flatMap((f) => unpackBatch(readBatch(f)!, plain.isa)!);
    const entries = new Map(batches.map(([k, e]) => [k, e]));
    let found = 0;
    for (const [name, n] of said)
      for (let i = 0; i < n; i++)
        for (let k = 0; k < 20; k++) {
          const key = `${name}-${i}-${k}`;
          const e = entries.get(key) as CachedPhase | undefined;
          expect(e?.program?.name, key).toBe(key);
          if (k === 0) expect(printProgram({ ...e!.program!, name: modules[0].file })).toBe(want);
          found++;
        }
    expect(found).toBeGreaterThanOrEqual(2 * random.length * 20);
  });

  it('give each other results that are right', { timeout: 120_000 }, async () => {
    const folder = newFolder();
    const requests = fc
      .sample(arms, { numRuns: runs(4), seed: 2 })
      .map(({ name: _, ...a }, id) => ({ id, ...a }));
    const evaluate = async (list: readonly object[], ...more: string[]) => {
      const args = ['evaluate', '--no-ptxas', '--no-launches', '--per-kernel', '--kernels'];
      const files = modules.slice(0, 2).map((m) => m.file);
      const input = list.map((r) => JSON.stringify(r)).join('\n');
      const all = [join(ROOT, 'bin', 'orrery.js'), ...args, ...files, ...more];
      const { out } = await command(process.execPath, all, { cwd: ROOT, input });
      return out
        .split('\n')
        .filter((l) => l !== '')
        .sort();
    };
    const want = await evaluate(requests);
    expect(want).toHaveLength(requests.length);
    const cache = ['--cache', folder];
    const [a, b] = await Promise.all([
      evaluate(requests, ...cache),
      evaluate(requests.toReversed(), ...cache),
    ]);
    expect(a).toEqual(want);
    expect(b).toEqual(want);
    expect(batchesBelow(folder).length).toBeGreaterThan(0);
    expect(await evaluate(requests, ...cache)).toEqual(want);
  });
});
