import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { ptxTable } from '../../src/cli/optimize/emit.ts';
import { classTable } from '../../src/cli/optimize/report.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, parseProgram } from '../../src/ir/text.ts';
import { noisyPair } from '../../src/lab/ab.ts';
import { armOfData, armsOfRange, armText, parseArm } from '../../src/lab/arms.ts';
import { occupancyOf } from '../../src/lab/backend-occupancy.ts';
import { branchDivergenceOf } from '../../src/lab/branch-divergence.ts';
import { estimateCycles } from '../../src/lab/estimate.ts';
import type { Experiment } from '../../src/lab/experiment.ts';
import { loadModules, lowerModule } from '../../src/lab/kernels.ts';
import { compileValues, type MachineRunner, Measurer } from '../../src/lab/measure.ts';
import { METRICS, metricOf, totalOf } from '../../src/lab/metrics.ts';
import { Plans } from '../../src/lab/plans.ts';
import { headline } from '../../src/lab/render/sweep.ts';
import { change, columns, numbers, percent, stacked } from '../../src/lab/render/table.ts';
import { staticValues } from '../../src/lab/statics.ts';
import {
  bootstrapMean,
  geometricMean,
  median,
  randomOf,
  spearman,
  student,
} from '../../src/lab/statistics.ts';
import type { ArmScore, SweepReport } from '../../src/lab/sweep-report.ts';
import { blockWeights } from '../../src/lab/weights.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { shipped } from '../support/specs.ts';

const isa = testIsa();
const entry = (body: string): Fn => parseFn(`.entry k\n{\n${body}\n}`, isa);

const plans = new Plans({
  level: 3,
  sm: null,
  order: 'binary',
  knobSets: [],
  set: [],
  disable: [],
});

it('has a value of every metric that there is', async () => {
  const [module] = await loadModules([join(ROOT, 'test/kernels/saxpy/saxpy.sm_80.ptx')]);
  const plan = await plans.plan({ name: 'base' }, module.target);
  const input = lowerModule(module, plan);
  // What ptxas says of a kernel, without ptxas.
  const use = { registers: 8, spillStores: 0, spillLoads: 0, stack: 0, code: 128, instructions: 8 };
  const measurer = new Measurer(module, input, {
    table: ptxTable(shipped),
    ptxas: {
      version: 'none',
      level: 3,
      assemble: () => ({
        functions: input.program.functions.map((f) => ({ name: f.name, ...use })),
        cubin: new Uint8Array(),
      }),
      machine: () => Promise.resolve({ executed: 9, stalls: 99, why: '' }),
    },
  });
  const journal = runPipeline(input.program, plan, { heap: () => 0 });
  const [kernel] = await measurer.kernels(journal.last, plan);
  const values = { ...compileValues(journal), ...kernel.values };
  expect(METRICS.map((m) => m.name).filter((name) => values[name] === undefined)).toEqual([]);
  expect(Object.keys(values).filter((name) => metricOf(name) === undefined)).toEqual([]);
});

it('a launch that machine code gets wrong counts as one that failed, and has no figures where code has no meaning', async () => {
  const [module] = await loadModules([join(ROOT, 'test/kernels/saxpy/saxpy.sm_80.ptx')]);
  const plan = await plans.plan({ name: 'base' }, module.target);
  const input = lowerModule(module, plan);
  const use = { registers: 8, spillStores: 0, spillLoads: 0, stack: 0, code: 128, instructions: 8 };
  const withMachine = (machine: MachineRunner) =>
    new Measurer(module, input, {
      table: ptxTable(shipped),
      ptxas: {
        version: 'none',
        level: 3,
        assemble: () => ({
          functions: input.program.functions.map((f) => ({ name: f.name, ...use })),
          cubin: new Uint8Array(),
        }),
        machine,
      },
    }).kernels(input.program, plan);
  const [wrong] = await withMachine(() => Promise.resolve({ executed: 9, stalls: 99, why: 'y[0] is 1' }));
  expect(wrong.launches.filter((l) => !l.ok)).toMatchObject([
    { file: expect.stringMatching(/, machine code$/), why: 'y[0] is 1', executed: 9 },
  ]);
  const [unknown] = await withMachine(() => Promise.resolve(null));
  expect(unknown.launches.every((l) => l.ok)).toBe(true);
  expect(Object.keys(unknown.values).filter((n) => n.startsWith('machine.'))).toEqual([]);
});

describe('arms', () => {
  it('are read as they are written short', () => {
    expect(parseArm('--set X=1 recipe:mine.yaml -O2')).toEqual({
      name: '--set X=1 recipe:mine.yaml -O2',
      set: ['X=1'],
      recipe: ['mine.yaml'],
      level: 2,
    });
    expect(parseArm('Y=a=b sm_90 knobs:s knobs:t move:P@after:Q ref:HEAD~1')).toMatchObject({
      set: ['Y=a=b'],
      sm: 'sm_90',
      knobs: ['s', 't'],
      moves: [{ phase: 'P', at: 'after', anchor: 'Q' }],
      ref: 'HEAD~1',
    });
    expect(parseArm('base')).toEqual({ name: 'base' });
    expect(armsOfRange('main..topic')?.map((a) => a.ref)).toEqual(['main', 'topic']);
    expect(armsOfRange('X=1..2')).toBeNull();
  });

  it('come back from their text, and are the same as data', () => {
    const text = 'level:1 order:seed recipe:r knobs:s set:X=1 disable:P rules:g move:A@before:B';
    expect(armText(parseArm(text))).toBe(text);
    const data = {
      level: 1,
      order: 'seed',
      recipe: ['r'],
      knobs: ['s'],
      set: { X: 1 },
      disable: ['P'],
      rules: ['g'],
      move: ['A@before:B'],
    };
    expect(armText(armOfData(data))).toBe(text);
    expect(armOfData({ set: { L: [1, 2], U: null } }).set).toEqual(['L=1,2', 'U=unset']);
  });

  it.each([
    ['recip:x', /did you mean 'recipe:'/],
    ['move:P', /gives no place/],
    ['level:9', /levels are 0 to 5/],
    ['--set', /has no value/],
    ['what', /is not part of an arm/],
    ['recipe=mine.yaml', /^there is no knob 'recipe'.* write recipe:mine\.yaml/],
  ])('%s is refused with what helps', (text, says) => {
    const said = () => {
      try {
        parseArm(text);
      } catch (e) {
        const d = (e as { diagnostics: { message: string; notes: string[] }[] }).diagnostics[0];
        return `${d.message} ${d.notes.join(' ')}`;
      }
    };
    expect(said()).toMatch(says);
  });
});

describe('statistics', () => {
  it('known values', () => {
    expect(
      geometricMean([
        [1, 2],
        [4, 2],
        [0, 3],
      ]),
    ).toBeCloseTo(1);
    expect(geometricMean([[0, 1]])).toBeNull();
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    // Kendall and Gibbons, Rank Correlation Methods: 1 - 6 sum d^2 / (n (n^2 - 1)) without ties.
    const xs = [7, 6, 3, 8, 2, 10, 4, 1, 5, 9];
    const ys = [8, 4, 5, 9, 1, 7, 3, 2, 6, 10];
    const d2 = xs.reduce((s, x, i) => s + (x - ys[i]) ** 2, 0);
    expect(spearman(xs, ys)).toBeCloseTo(1 - (6 * d2) / 990);
    // Two of four tied: ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
    expect(spearman([1, 5, 5, 9], [10, 20, 30, 40])).toBeCloseTo(4.5 / Math.sqrt(4.5 * 5));
  });

  it("Student's quantiles are those of the tables", () => {
    for (const [n, t] of [
      [2, 4.303],
      [4, 2.776],
      [9, 2.262],
      [30, 2.042],
    ])
      expect(student(n) / t).toBeCloseTo(1, n < 4 ? 1 : 2);
  });

  it.each([5, 15, 40])(
    'a bootstrap interval of %i pairs holds the mean about as often as it says',
    (pairs) => {
      const random = randomOf(7);
      const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      let inside = 0;
      for (let i = 0; i < 200; i++) {
        const { low, high } = bootstrapMean(
          Array.from({ length: pairs }, () => 3 + normal()),
          i,
        );
        if (low <= 3 && 3 <= high) inside++;
      }
      // 190 of 200; chance alone moves it by about 3 either way.
      expect(inside).toBeGreaterThan(180);
      expect(inside).toBeLessThan(200);
    },
  );

  it('a noisy metric: only what stands out of its noise, and counts, is a change', () => {
    const random = randomOf(3);
    const runs = (factor: number) =>
      Array.from({ length: 12 }, () =>
        Array.from({ length: 5 }, () => {
          const t = 10 + 5 * random();
          return [t, t * factor * (1 + 0.02 * (random() - 0.5))] as const;
        }),
      );
    const time = metricOf('compile-time')!;
    const opts = { minEffect: 0.02, seed: 1 };
    expect(noisyPair(time, runs(1), opts).significant).toBe(false);
    const slower = noisyPair(time, runs(1.1), opts);
    expect(slower.significant).toBe(true);
    expect(slower.interval[0]).toBeLessThan(1.1);
    expect(slower.interval[1]).toBeGreaterThan(1.09);
    // Certain, and too small to matter.
    expect(noisyPair(time, runs(1.01), opts).significant).toBe(false);
  });
});

describe('static metrics', () => {
  let sm: Record<string, Plan> = {};
  beforeAll(async () => {
    const names = ['sm_75', 'sm_80', 'sm_86', 'sm_90'];
    sm = Object.fromEntries(await Promise.all(names.map(async (n) => [n, await plans.plan({ name: n }, n)])));
  });

  // What cudaOccMaxActiveBlocksPerMultiprocessor of cuda_occupancy.h (CUDA 13.0) answers: threads, registers, shared bytes.
  it.each([
    ['sm_75', 32, 16, 0, 16],
    ['sm_75', 256, 64, 0, 4],
    ['sm_75', 1024, 32, 0, 1],
    ['sm_75', 224, 56, 10000, 4],
    ['sm_80', 128, 255, 0, 2],
    ['sm_80', 512, 40, 40000, 3],
    ['sm_80', 192, 128, 0, 2],
    ['sm_86', 128, 32, 0, 12],
    ['sm_86', 96, 72, 3000, 9],
    ['sm_86', 48, 33, 1, 16],
    ['sm_90', 64, 40, 0, 24],
    ['sm_90', 256, 65, 20000, 3],
    ['sm_90', 1024, 33, 1000, 1],
  ] as const)(
    '%s holds blocks of %i threads, %i registers, %i bytes: %i',
    (name, threads, registers, shared, blocks) => {
      expect(occupancyOf(sm[name].backend, { threads, registers, shared }).blocks).toBe(blocks);
    },
  );

  it('the registers of ptxas leave warps, in steps: 33 as few as 40', async () => {
    const [module] = await loadModules([join(ROOT, 'test/kernels/saxpy/saxpy.sm_80.ptx')]);
    const plan = sm.sm_80;
    const input = lowerModule(module, plan);
    const of = async (registers: number): Promise<number> => {
      const use = { registers, spillStores: 0, spillLoads: 0, stack: 0, code: 0, instructions: 0 };
      const assemble = () => ({
        functions: input.program.functions.map(({ name }) => ({ name, ...use })),
        cubin: new Uint8Array(),
      });
      const ptxas = { assemble, version: '', level: 3 };
      const opts = { launches: false, ptxas, table: ptxTable(shipped) };
      const [k] = await new Measurer(module, input, opts).kernels(input.program, plan);
      return k.values['ptxas.occupancy'];
    };
    // 65,536 registers, eight at a time for each thread, and 64 warps at most; in blocks of 256 threads.
    expect(await Promise.all([32, 33, 40, 64, 128, 255].map(of))).toEqual([100, 75, 75, 50, 25, 12.5]);
  });

  it('the total of a percentage is a mean, that of anything else a sum', () => {
    const of = (name: string) => totalOf(metricOf(name)!, [100, 37.5, 50]);
    expect(['occupancy', 'ptxas.occupancy', 'ptxas.registers'].map(of)).toEqual([62.5, 62.5, 187.5]);
  });

  it('a loop in a loop weighs most; a profile knows better', () => {
    const fn = entry(
      'BB0:\nMOV R1, RZ\nBB1:\nIADD3 R1, R1, 1\nBB2:\nIADD3 R1, R1, 2\nISETP.LT P1, R1, 9\n@P1 BRA BB2\nBB3:\nISETP.LT P2, R1, 99\n@P2 BRA BB1\nBB4:\nEXIT',
    );
    const [first, outer, inner, , last] = blockWeights(fn);
    expect([first, last]).toEqual([1, 1]);
    expect(inner / outer).toBeGreaterThan(2);
    expect(outer).toBeGreaterThan(2);
    expect([...blockWeights(fn, { k: { 0: 4, 1: 8, 2: 80, 3: 8, 4: 4 } })]).toEqual([1, 2, 20, 2, 1]);
    // Of another function: no news.
    expect(blockWeights(fn, { other: { 0: 4, 1: 8 } })).toEqual(blockWeights(fn));
  });

  it.each([
    ['a branch on a thread number', 'S2R.TID.X R1', 'R1', 1],
    ['a branch on a block number', 'S2R.CTAID.X R1', 'R1', 0],
    ['a parameter', 'LDC R1, c[0x0][0x160]', 'R1', 0],
    [
      'what a load at a thread number finds',
      'S2R.TID.X R2\nIMAD_WIDE RD3, R2, 4, RZ\nLDG R1, [RD3]',
      'R1',
      1,
    ],
    ['what a load at one place finds', 'LDC.B64 RD3, c[0x0][0x160]\nLDG R1, [RD3]', 'R1', 0],
    ['a vote on a thread number', 'S2R.TID.X R2\nISETP.LT P5, R2, 3\nVOTE.ANY R1, P5, -1', 'R1', 0],
  ])('%s', (_, head, value, points) => {
    const fn = entry(`BB0:\n${head}\nISETP.LT P1, ${value}, 7\n@P1 BRA BB2\nBB1:\nNOP\nBB2:\nEXIT`);
    expect(branchDivergenceOf(fn)).toEqual({ points: points === 1 ? [0] : [], depth: points });
  });

  it('convergence regions nest; those that end at one block are one', () => {
    const nested = entry(
      'BB0:\nS2R.TID.X R1\nISETP.LT P1, R1, 7\n@P1 BRA BB4\nBB1:\nISETP.LT P2, R1, 9\n@P2 BRA BB3\nBB2:\nNOP\nBB3:\nNOP\nBB4:\nEXIT',
    );
    expect(branchDivergenceOf(nested)).toEqual({ points: [0, 1], depth: 2 });
    const ladder = entry(
      'BB0:\nS2R.TID.X R1\nISETP.LT P1, R1, 7\n@P1 BRA BB3\nBB1:\nISETP.LT P2, R1, 9\n@P2 BRA BB3\nBB2:\nNOP\nBB3:\nEXIT',
    );
    expect(branchDivergenceOf(ladder)).toEqual({ points: [0, 1], depth: 1 });
    // Which of two constants R2 holds hangs on the thread, and so does the second branch.
    const chosen = entry(
      'BB0:\nS2R.TID.X R1\nMOV R2, 1\nISETP.LT P1, R1, 7\n@P1 BRA BB2\nBB1:\nMOV R2, 2\nBB2:\nISETP.EQ P2, R2, 1\n@P2 BRA BB4\nBB3:\nNOP\nBB4:\nEXIT',
    );
    expect(branchDivergenceOf(chosen).points).toEqual([0, 2]);
  });

  it('counts a program as it stands there, callees by their calls', () => {
    const { program, diagnostics } = parseProgram(
      `.program "t" version 9.0 target sm_80 address 64
.entry k
{
BB0:
MOV R1, RZ
BB1:
CALL {}, &f, &, {}
IADD3 R1, R1, 1
ISETP.LT P1, R1, 9
@P1 BRA BB1
BB2:
EXIT
}
.func f
{
BB0:
LDG R1, [0x10]
STS [0x20], R1
RET
}
.func unused
{
BB0:
RET
}`,
      isa,
    );
    expect(diagnostics).toEqual([]);
    const profile = { k: { 0: 2, 1: 20, 2: 2 } };
    const v = staticValues(program, program.functions[0], sm.sm_80.backend, {}, profile);
    expect(v).toMatchObject({
      instructions: 9,
      // 1 + 4 in a loop + 1, and three in a function that is called ten times.
      weighted: 1 + 40 + 1 + 30,
      blocks: 4,
      branches: 1,
      'memory.global': 1,
      'memory.shared': 1,
      'memory.local': 0,
      'code-bytes': 9 * 16,
      'instructions.memory': 2,
      'weighted.memory': 20,
    });
  });
});

describe('the estimate of cycles', () => {
  const timing = {
    costs: { alu: 2, lsu: 8, control: 2 },
    latencies: { alu: 4, global: 200, control: 4 },
    subpartitions: 4,
  };
  const fn = entry('BB0:\nLDG R1, [0x10]\nIADD3 R2, R1, 1\nIADD3 R3, R2, 1\nSTG [0x20], R3\nEXIT');
  const run = (warps: number, resident: number) =>
    estimateCycles({ functions: [fn], blocks: { k: { 0: warps } }, resident }, timing);

  it('one warp waits for what it loads, many wait together until a unit is busy', () => {
    // 200 for the load, 4 and 4 for the sums; the store issues at 208, the exit behind it.
    expect(run(1, 1)).toBe(210);
    expect(run(8, 8)).toBe(210);
    // Two accesses of 8 cycles each for a warp, 4 sub-partitions: 4 cycles a warp.
    expect(run(1000, 1000)).toBe(4000);
  });
});

describe('texts', () => {
  it('tables line up and keep to the width, by wrapping and never by cutting', () => {
    const levels = ['-1: +1.45 %', '67: -1.45 %', '1024: -0.20 %'].join(', ');
    const rows = [
      ['factor', 'size', 'levels'],
      ['UnrollFullInstLimit', '1.45 %', levels],
      ['set:ContractProducts=true set:OptBudget=67', '22', ''],
    ];
    expect(columns(rows, 'lrl', 60).split('\n')).toEqual([
      'factor                       size  levels',
      'UnrollFullInstLimit        1.45 %  -1: +1.45 %, 67: -1.45 %,',
      '                                   1024: -0.20 %',
      'set:ContractProducts=true      22',
      'set:OptBudget=67',
    ]);
    expect(columns([['k', 'GvnCse (knob X: unset -> true)']], 'll', 28).split('\n')).toEqual([
      'k  GvnCse (knob X:',
      '   unset -> true)',
    ]);
    // A word is never cut: a long one makes a long line, and what stands beside it follows below.
    const lines = columns(
      [
        ['x'.repeat(90), '1'],
        ['y', '333'],
      ],
      'lr',
      60,
    ).split('\n');
    expect(lines).toEqual(['x'.repeat(90), '     1', 'y  333']);
    const wide = [
      ['k', ...Array.from({ length: 20 }, (_, i) => `column${i}`)],
      ['a', ...Array(20).fill('1')],
    ];
    expect(
      stacked(wide)
        .split('\n')
        .every((l) => l.length <= 100),
    ).toBe(true);
    for (let i = 0; i < 20; i++) expect(stacked(wide)).toContain(`column${i}`);
  });

  it('the headline of a sweep shows by what the best arm is worse', () => {
    const [weighted, registers] = ['weighted', 'pressure.R'].map((n) => metricOf(n)!);
    const best = { name: 'x', ratio: { weighted: 0.9, 'pressure.R': 1.1 } } as unknown as ArmScore;
    const report = { metrics: [weighted, registers], scores: [best], best } as unknown as SweepReport;
    const asIs = (s: string) => s;
    expect(headline({ title: '' } as Experiment, report, asIs, asIs)).toMatch(
      /: x \(-10\.00 %; worse by pressure\.R \+10\.00 %\)$/,
    );
  });

  it('and what makes it the best where the first metric does not', () => {
    const metrics = ['pressure.R', 'weighted', 'code-bytes'].map((n) => metricOf(n)!);
    const ratio = { 'pressure.R': 1, weighted: 0.9, 'code-bytes': 1.1 };
    const best = { name: 'x', ratio } as unknown as ArmScore;
    const report = { metrics, scores: [best], best } as unknown as SweepReport;
    const asIs = (s: string) => s;
    expect(headline({ title: '' } as Experiment, report, asIs, asIs)).toMatch(
      /: x \(0; better by weighted -10\.00 %; worse by code-bytes \+10\.00 %\)$/,
    );
  });

  it('a value and its change stay in one table', () => {
    const rows = [
      ['arm', 'registers', 'change', 'code', 'change'],
      ['base', '12', '0', '1,024', '0'],
    ];
    expect(stacked(rows, 30, 2).split('\n')).toEqual([
      'arm   registers  change',
      'base         12       0',
      '',
      'arm    code  change',
      'base  1,024       0',
    ]);
  });

  it('changes say enough digits', () => {
    expect([change(200, 201), change(5, 5), change(0, 3), percent(1.00002), percent(0.25)]).toEqual([
      '+0.50 %',
      '0',
      '+3',
      '+0.0020 %',
      '-75.00 %',
    ]);
  });

  it('two numbers that differ are shown as different', () => {
    expect([numbers(275.96, 276.15), numbers(1.23456, 1.23461), numbers(10, 8), numbers(5.5, 5.5)]).toEqual([
      ['276', '276.1'],
      ['1.23456', '1.23461'],
      ['10', '8'],
      ['5.5', '5.5'],
    ]);
  });

  it('a table of classes says with its sign what came and what went', () => {
    const before = programOf(entry('BB0:\nIADD3 R1, R2, R3\nNOP\nNOP\nEXIT'));
    const after = programOf(entry('BB0:\nIADD3 R1, R2, R3\nIADD3 R1, R1, R3\nIADD3 R1, R1, R3\nEXIT'));
    const text = stripVTControlCharacters(classTable(before, after));
    expect(text).toMatch(/^integer +1 +3 +\+2 \(\+200 %\)$/m);
    expect(text).toMatch(/^\w+ +3 +1 +-2 \(-66\.67 %\)$/m);
  });

  it('every metric says what it is, once', () => {
    expect(new Set(METRICS.map((m) => m.name)).size).toBe(METRICS.length);
    for (const m of METRICS)
      expect([m.name, m.title.length > 0, m.unit.length > 0]).toEqual([m.name, true, true]);
  });
});
