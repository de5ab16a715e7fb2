import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, it } from 'vitest';
import { measure } from '../../src/cli/lab/measure.ts';
import { recipeNameOf, tune } from '../../src/cli/lab/tune.ts';
import { captured } from '../../src/cli/terminal/ui.ts';
import type { DiagnosticError } from '../../src/ir/diagnostic.ts';
import {
  costOf,
  goalOf,
  isBetter,
  type KernelValues,
  missing,
  outcomeText,
  type Score,
  scoreOf,
} from '../../src/lab/tune/goal.ts';
import { type Search, search } from '../../src/lab/tune/search.ts';
import { loadSpec, ROOT } from '../../src/spec/node.ts';
import { runs } from '../support/size.ts';

const dir = mkdtempSync(join(tmpdir(), 'orrery-tune-'));
afterAll(() => rmSync(dir, { recursive: true }));

describe('goals', () => {
  const all = { ptxas: true, launched: true };
  const none = { ptxas: false, launched: false };

  it('name the metric that tells them best, or the one that stands for it', () => {
    const named = (text: string, known = all) => goalOf(text, known).metric.name;
    expect(['registers', 'code<=-10%', 'executed', 'occupancy>=50', 'cycles'].map((t) => named(t))).toEqual([
      'ptxas.registers',
      'ptxas.code-bytes',
      'warp-instructions',
      'ptxas.occupancy',
      'cycles',
    ]);
    expect(['registers<=64', 'code', 'executed', 'occupancy'].map((t) => named(t, none))).toEqual([
      'pressure.R',
      'code-bytes',
      'weighted',
      'occupancy',
    ]);
  });

  it.each([
    ['registers<=', /is not a goal/],
    ['registers>=64', /registers is better the less/],
    ['occupancy<=50', /occupancy is better the more/],
    ['speed', /there is no metric 'speed'/],
    ['compile-time', /is not an exact metric of a kernel/],
    ['cycles', /'cycles' cannot be measured/],
    ['ptxas.stack<=0', /'ptxas.stack' cannot be measured/],
  ])('%s', (text, said) => {
    expect(() => goalOf(text, none)).toThrow(said);
  });

  it('of a metric that needs launches: what does not is named', () => {
    try {
      goalOf('cycles', none);
      expect.unreachable();
    } catch (e) {
      const [fault] = (e as DiagnosticError).diagnostics;
      expect(fault.notes).toContain('`executed` is estimated without one');
    }
  });

  it('that many kernels miss are summarized', () => {
    const kernels = ['a', 'b', 'c', 'd', 'e'].map((kernel) => ({
      kernel,
      base: { 'ptxas.registers': 100 },
      values: { 'ptxas.registers': 80 },
    }));
    expect(outcomeText(goalOf('registers<=64', all), kernels)).toMatch(
      /^NOT reached by 5 of 5: a has 80 \(100 before\), .* and 2 more$/,
    );
  });

  it('are judged kernel by kernel where they set a bound, and by the geometric mean where they do not', () => {
    const kernels: KernelValues[] = [
      {
        kernel: 'a',
        base: { 'ptxas.registers': 100, weighted: 10 },
        values: { 'ptxas.registers': 80, weighted: 20 },
      },
      {
        kernel: 'b',
        base: { 'ptxas.registers': 50, weighted: 10 },
        values: { 'ptxas.registers': 50, weighted: 5 },
      },
    ];
    const absolute = goalOf('registers<=64', all);
    expect(missing(absolute, kernels).map((k) => k.kernel)).toEqual(['a']);
    expect(missing(goalOf('registers<=-10%', all), kernels).map((k) => k.kernel)).toEqual(['b']);
    const registers = goalOf('registers', all);
    expect(costOf(registers.metric, kernels)).toBeCloseTo(Math.sqrt(0.8), 12);
    const [missed, cost, executed] = scoreOf([absolute, registers], goalOf('executed', none).metric, kernels);
    expect([missed, cost, executed]).toEqual([(80 - 64) / 64, costOf(registers.metric, kernels), 1]);
  });
});

describe('the search', () => {
  /** Costs of sets of changes: each adds its own, and pairs add what they do together. */
  const landscape = (alone: readonly number[], pairs: Readonly<Record<string, number>> = {}) => {
    const judged: string[] = [];
    const cost = (set: readonly number[]) =>
      100 +
      set.reduce((s, i) => s + alone[i], 0) +
      Object.entries(pairs).reduce(
        (s, [k, v]) => s + (k.split('+').every((i) => set.includes(Number(i))) ? v : 0),
        0,
      );
    const over: Search<number> = {
      start: [0, cost([]), 0],
      stages: 1,
      offers: async (chosen) => alone.map((_, i) => i).filter((i) => !chosen.includes(i)),
      judge: async (set): Promise<Score> => {
        judged.push([...set].sort().join('+'));
        return [0, cost(set), 0];
      },
      enough: () => false,
      late: () => false,
    };
    return { over, judged, cost };
  };

  it('finds the best of all sets where changes do not depend on each other', async () => {
    for (let seed = 1; seed < 40; seed++) {
      const alone = Array.from({ length: 7 }, (_, i) => ((seed * 37 + i * i * 101) % 23) - 11);
      const { over, cost } = landscape(alone);
      const sets = Array.from({ length: 1 << alone.length }, (_, m) =>
        alone.map((_, i) => i).filter((i) => (m >> i) & 1),
      );
      const best = Math.min(...sets.map(cost));
      const found = await search(over);
      expect([found.score[1], found.ended]).toEqual([best, 'nothing helps']);
      expect(found.chosen.every((i) => alone[i] < 0)).toBe(true);
    }
  });

  it('does not take what helps alone but not beside what was taken', async () => {
    const { over } = landscape([-10, -9, -1], { '0+1': 12 });
    expect((await search(over)).chosen).toEqual([0, 2]);
  });

  it('leaves out in the end what others made needless', async () => {
    // The first is best alone; the other two together are better without it.
    const { over } = landscape([-10, -6, -6], { '0+1': 5, '0+2': 5 });
    const found = await search(over);
    expect([[...found.chosen].sort(), found.score[1]]).toEqual([[1, 2], 88]);
  });

  it('ends when the time is up, with the best so far, and where it is enough', async () => {
    const short = landscape([-1, -5, -9]);
    let left = 2;
    const cut = await search({ ...short.over, late: () => left-- <= 0 });
    expect([cut.chosen, cut.ended]).toEqual([[1], 'time']);
    const { over } = landscape([-1, -5, -9]);
    const first = await search({ ...over, enough: (s) => s[1] <= 92 });
    expect([first.chosen, first.ended]).toEqual([[2], 'enough']);
  });

  it('takes no change that is only better where the goals are equal', async () => {
    const { over } = landscape([0]);
    const found = await search({ ...over, judge: async (set) => [0, 100, -set.length] });
    expect(found.chosen).toEqual([]);
    expect(isBetter([0, 100, -1], [0, 100, 0])).toBe(true);
  });
});

describe('orrery tune', () => {
  const kernelOf = (name: string) => join(ROOT, `test/kernels/${name}/${name}.sm_90.ptx`);
  const off = ['DisableMergeEquivalentConditionalFlow'];
  const tuned = (kernel: string, o: Partial<Parameters<typeof tune>[1]>) =>
    captured(() => tune([kernelOf(kernel)], { budget: '60s', launches: true, ptxas: false, ...o }));
  const instructionsOf = async (kernel: string, o: { set?: string[]; recipe?: string[] }) => {
    const asked = { launches: true, ptxas: false, opt: true, metrics: 'instructions', json: true, ...o };
    const r = await captured(() => measure([kernelOf(kernel)], asked));
    const { modules } = JSON.parse(r.out) as {
      modules: { kernels: { kernel: string; values: Record<string, number> }[] }[];
    };
    return modules[0].kernels.map((k) => k.values.instructions);
  };

  it.each(['atomics-float', 'nested-conditions', 'vector-access'].slice(0, runs(1)))(
    'writes a recipe that does what it says, by a measurement of its own: %s',
    async (kernel) => {
      const file = join(dir, `${kernel}.yaml`);
      const r = await tuned(kernel, { set: off, goal: ['instructions<=-1%'], output: file, json: true });
      expect([r.code, r.err]).toEqual([0, '']);
      const found = JSON.parse(r.out) as {
        reached: boolean;
        arm: string;
        kernels: { base: Record<string, number>; values: Record<string, number> }[];
      };
      const schema = JSON.parse(
        readFileSync(join(ROOT, 'schemas/output/tune.schema.json'), 'utf8'),
      ) as object;
      const valid = new Ajv({ allowUnionTypes: true }).compile(schema);
      expect([valid(found), valid.errors]).toEqual([true, null]);
      expect(found.kernels.map((k) => k.base.instructions)).toEqual(
        await instructionsOf(kernel, { set: off }),
      );
      expect(found.kernels.map((k) => k.values.instructions)).toEqual(
        await instructionsOf(kernel, { recipe: [file] }),
      );
      for (const k of found.kernels) expect(k.values.instructions).toBeLessThan(k.base.instructions);
      expect(readFileSync(file, 'utf8')).toMatch(
        /^# Tuned for instructions<=-1%\. Found by `orrery tune`\.$/m,
      );
      expect((await loadSpec(file, 'recipe')).data).toMatchObject({
        sm: ['sm_90'],
        knobs: expect.anything(),
      });
    },
  );

  it('says how near it came where a goal cannot be reached', async () => {
    const goal = ['instructions<=1'];
    const r = await tuned('atomics-float', { goal, budget: '0.2s', output: join(dir, 'never.yaml') });
    expect(r.code).toBe(2);
    expect(r.out).toMatch(/^goal {4}instructions<=1: NOT reached by \d of \d: \w+ has \d+ \(\d+ before\)/);
    expect(r.out).toMatch(/the time was up|no further change helps/);
  });

  it('shows the largest kernel beside the total', async () => {
    const output = join(dir, 'wide.yaml');
    const r = await tuned('mandelbrot', { goal: ['pressure.R<=1', 'code'], set: off, output });
    expect(r.code).toBe(2);
    const of = (label: string) =>
      new RegExp(`^${label.replace(/[.()]/g, '\\$&')} {2,}(\\d+) `, 'm').exec(r.out)?.slice(1).map(Number)[0];
    const [total, largest] = [of('pressure.R'), of('pressure.R (largest)')];
    expect(r.out).toMatch(/^metric \(total\) /m);
    expect(r.out).toMatch(/^occupancy \(mean\) /m);
    expect(largest).toBeGreaterThan(total! / 2 - 1);
    expect(largest).toBeLessThan(total!);
  });

  it('names the recipe after kernel and target', () => {
    expect([['k/a.sm_80.ptx'], ['k/a.sm_90.ptx'], ['a.ori'], ['a.ptx', 'b.ptx']].map(recipeNameOf)).toEqual([
      'a.sm_80.tuned.yaml',
      'a.sm_90.tuned.yaml',
      'a.tuned.yaml',
      'kernels.tuned.yaml',
    ]);
  });

  it.each([
    [{}, /--goal is missing/],
    [{ goal: ['code'], budget: 'soon' }, /--budget soon is not a time/],
    [{ goal: ['code'], only: 'nothing*' }, /no kernel/],
  ])('%j is one error', async (o, said) => {
    const r = await tuned('atomics-float', o);
    expect([r.code, r.out]).toEqual([1, '']);
    expect(r.err).toMatch(said);
  });
});
