import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frequencyOf } from '../../src/analysis/flow/frequency.ts';
import { Pool } from '../../src/analysis/registers/liveness.ts';
import { freeRegisters } from '../../src/analysis/registers/occupancy.ts';
import { pressureOf } from '../../src/analysis/registers/pressure.ts';
import { compare, planOf } from '../../src/core.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { rematerialize } from '../../src/passes/registers/rematerialize.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { kernelNames, kernelOf } from '../support/kernel-set.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { runs } from '../support/size.ts';
import { planWith, shipped } from '../support/specs.ts';

const isa = testIsa();
type Options = NonNullable<Parameters<typeof testContext>[1]>;
const lines = (fn: Fn): string =>
  printFn(fn, { locs: false })
    .split('\n')
    .filter((l) => /^BB| /.test(l) && !l.startsWith('  .'))
    .map((l) => l.trim().replace(/ +/g, ' '))
    .join('\n');
const mostOf = (fn: Fn): number => pressureOf(fn).most[Pool.R];

interface Done {
  readonly text: string;
  readonly most: number;
  readonly remarks: readonly string[];
}
/** What becomes of a function in SSA if registers are short of `most`. */
function done(text: string, most: number, options: Options = {}): Done {
  const fn = parseFn(text, isa);
  expect(verifySsa(fn)).toEqual([]);
  const ctx = testContext(fn, {
    ...options,
    params: { 'max-cost': 1, lookback: 8, ...options.params },
    knobs: { RematMaxRegCount: most, ...options.knobs },
  });
  const out = rematerialize(fn, ctx);
  expect(verifyFn(out)).toEqual([]);
  expect(verifySsa(out)).toEqual([]);
  expect(mostOf(out)).toBeLessThanOrEqual(mostOf(fn));
  if (lines(out) === lines(fn)) expect(out).toBe(fn);
  return { text: lines(out), most: mostOf(out), remarks: ctx.remarks.map((r) => `${r.kind} ${r.name}`) };
}
const count = (d: Done, word: string): number => d.text.split(word).length - 1;

const crowd = `LDG R10, [RD25+16]
  LDG R11, [RD25+20]
  LDG R12, [RD25+24]
  LDG R13, [RD25+28]
  STG.V4 [RD25+32], {R10, R11, R12, R13}`;
/** R21 and R23 live through a crowd of four. */
const through = `BB0:
  SHL R21, R22, 3
  S2R.TID.X R23
  ${crowd}
BB1:
  STG [RD25], R21
  STG [RD25+4], R22
  STG [RD25+8], R23
  EXIT`;
/** The same for one value that two blocks need, so that it is computed once more than before. */
const twice = (x: string): string => `BB0:
  ${x}
  ${crowd}
BB1:
  STG [RD25], R21
  @P26 BRA BB3
BB2:
  STG [RD25+4], R21
BB3:
  STG [RD25+8], R22
  EXIT`;
/** R21 between its definition and its use in one block. */
const apart = `BB0:
  SHL R21, R22, 3
  ${crowd}
  STG [RD25], R21
  STG [RD25+4], R22
  EXIT`;
/** R22 ends right in front of the use of R21. */
const ended = `BB0:
  SHL R21, R22, 3
  ${crowd}
BB1:
  STG [RD25+4], R22
  STG [RD25], R21
  EXIT`;
/** For 64 warps of 32 threads on an SM, 8 registers each. */
const limits = {
  'warp-size': 32,
  'warps-per-sm': 64,
  'threads-per-sm': 2048,
  'ctas-per-sm': 32,
  'registers-per-sm': 16384,
  'register-allocation-unit': 32,
  'min-registers': 1,
  'max-registers': 255,
  subpartitions: 4,
};

describe('rematerialization', () => {
  it('recomputes values after code with high register pressure, no more of them than it must', () => {
    expect(done(through, 9).text).toBe(lines(parseFn(through, isa)));
    expect(done(through, 8)).toMatchObject({ most: 8, remarks: ['passed recomputed'] });
    const both = done(through, 7);
    expect(both.most).toBe(7);
    const [above, below] = both.text.split('BB1:');
    expect(above).not.toMatch(/SHL|S2R/);
    expect(below).toMatch(
      /SHL R(\d+), R22, 3\nSTG \[RD25\], R\1\nSTG \[RD25\+0x4\], R22\nS2R.TID.X R(\d+)\nSTG \[RD25\+0x8\], R\2/,
    );
  });

  it('stops at the lowest target that can be reached, and says so if there is none', () => {
    expect(done(through, 2)).toMatchObject({ most: 7 });
    const stays = through.replace('SHL R21, R22, 3', 'LDG R21, [RD25+64]').replace('S2R.TID.X', 'S2R.WARPID');
    expect(done(stays, 2)).toMatchObject({ most: 9, remarks: ['missed pressure'] });
  });

  it('leaves alone what may be something else at another place, or for other lanes', () => {
    for (const x of [
      'CS2R.CLOCK R23',
      'S2R.WARPID R23',
      'S2R.SMID R23',
      'ACTIVEMASK R23',
      'LDG R23, [RD25+64]',
      'LDG.VOLATILE R23, [RD25+64]',
      'LDS R23, [R22]',
      'ATOMG.ADD R23, [RD25], R22, RZ',
      'SHFL.IDX R23, P27, R22, 0, 31, -1',
      'VOTE.ALL R23, P27, P28, -1',
      'IADD3 R23, UR30, 1, RZ',
      '@P28 IADD3 R23, R22, 1, RZ',
    ]) {
      const text = through.replace('S2R.TID.X R23', x);
      expect([x, done(text, 7).most]).toEqual([x, 8]);
    }
    for (const x of ['LDC R23, c[0x0][0x160]', 'MOV R23, 7', 'S2R.CTAID.Y R23', 'LOP3 R23, R22, 5, RZ, 192'])
      expect([x, done(through.replace('S2R.TID.X R23', x), 7).most]).toEqual([x, 7]);
  });

  it('lets no operand live longer: it is live there, or is computed again too', () => {
    const sum = through.replace('S2R.TID.X R23', 'IADD3 R23, R22, R24, RZ');
    // R24 ends at the sum; kept for later, it would take the place of R23.
    expect(done(sum, 7).most).toBe(8);
    const alive = sum.replace('EXIT', 'STG [RD25+12], R24\n  EXIT');
    expect(done(alive, 8).most).toBe(8);
    const chain = sum.replace('IADD3 R23', 'S2R.TID.Y R24\n  IADD3 R23');
    const made = done(chain, 7);
    expect(made.most).toBe(7);
    expect(made.text).toMatch(
      /BB0:\nLDG[^B]*BB1:[^B]*S2R.TID.Y R(\d+)\nIADD3 R(\d+), R22, R\1\n[^B]*STG \[RD25\+0x8\], R\2/,
    );
    // Both take their cycles.
    const least = (text: string): number =>
      Array.from({ length: 99 }, (_, k) => k + 1).find(
        (k) => done(text, 7, { params: { 'max-cycles': k } }).most === 7,
      )!;
    const [read, add] = ['S2R.TID.Y R23', 'IADD3 R23, R22, 1, RZ'].map((x) =>
      least(through.replace('S2R.TID.X R23', x)),
    );
    expect(least(chain)).toBe(read + add);
    // An address is a load, a shift and a sum; what is higher stays.
    const high = (...lines: string[]): number =>
      done(through.replace('S2R.TID.X R23', ['S2R.TID.Y R30', 'SHL R31, R30, 2', ...lines].join('\n  ')), 7)
        .most;
    expect(high('IADD3 R23, R22, R31, RZ')).toBe(7);
    expect(high('IADD3 R32, R22, R31, RZ', 'LOP3 R23, R32, 255, RZ, 192')).toBe(8);
    // More operands than results have no room in between.
    const wide = through.replace(
      'S2R.TID.X R23',
      'S2R.TID.Y R24\n  S2R.TID.Z R29\n  IADD3 R23, R24, R29, RZ',
    );
    expect(done(wide, 7).most).toBeLessThanOrEqual(8);
  });

  it('computes in front of a loop what is used in it, where the loop itself has room', () => {
    const loop = `BB0:
  SHL R21, R22, 3
  ${crowd}
BB1:
  MOVPHI R30, {BB0: R22, BB1: R31}
  IADD3 R31, R30, R21, RZ
  ISETP.LT P33, R31, R22
  STG [RD25], R31
  @P33 BRA BB1
BB2:
  STG [RD25+4], R22
  EXIT`;
    // There is no block between the crowd and the loop, so each round would compute it.
    expect(done(loop, 7, { params: { 'max-cost': 0 } }).most).toBe(8);
    const landing = loop
      .replace('BB1:', 'BB4:\n  STG [RD25+60], R22\nBB1:')
      .replace('MOVPHI R30, {BB0', 'MOVPHI R30, {BB4');
    const { text, most } = done(landing, 7, { params: { 'max-cost': 0 } });
    expect(most).toBe(7);
    expect(text).toMatch(/BB4:[^B]*SHL[^B]*BB1:/);
  });

  it('recomputes a phi operand at the end of its predecessor', () => {
    const join = `BB0:
  SHL R21, R22, 3
  ${crowd}
  @P26 BRA BB2
BB1:
  STG [RD25], R22
BB2:
  MOVPHI R24, {BB0: R22, BB1: R21}
  STG [RD25+8], R24
  STG [RD25+12], R22
  EXIT`;
    const { text, most } = done(join, 7);
    expect(most).toBe(7);
    expect(text).toMatch(/BB1:\nSTG [^\n]*\nSHL R(\d+), R22, 3\nBB2:\nMOVPHI R24, \{BB0: R22, BB1: R\1\}/);
  });

  it('does nothing where the back end states no limits', () => {
    const fn = parseFn(through, isa);
    expect(rematerialize(fn, testContext(fn, { params: { 'max-cost': 1 } }))).toBe(fn);
  });

  it('asks the occupancy of the kernel how many registers are free', () => {
    expect(freeRegisters(limits, { threads: 256, shared: 0 })).toBe(8);
    // sm_80: 65536 registers for 2048 threads, but for 1024 where blocks hold 100 KB of 164 KB: one of 1024 threads.
    const sm80 = {
      ...limits,
      'registers-per-sm': 65536,
      'register-allocation-unit': 256,
      'shared-kb': [0, 164],
      'shared-allocation-unit': 128,
      'reserved-shared-per-cta': 1024,
    };
    expect(freeRegisters(sm80, { threads: 1024, shared: 0 })).toBe(32);
    expect(freeRegisters(sm80, { threads: 1024, shared: 102400 })).toBe(64);
    const fn = parseFn(through, isa);
    const out = rematerialize(fn, testContext(fn, { facts: { limits }, params: { 'max-cost': 1 } }));
    expect(mostOf(out)).toBe(8);
    const less = testContext(fn, { facts: { limits }, params: { 'max-cost': 1, slack: 1 } });
    expect(mostOf(rematerialize(fn, less))).toBe(7);
  });

  it('does as many rewrites as it may, each of them by itself', () => {
    for (const [left, most] of [
      [0, 9],
      [1, 8],
      [2, 7],
    ])
      expect(done(through, 7, { rewrites: { left } }).most).toBe(most);
  });
});

describe('knobs of rematerialization', () => {
  const free = { facts: { limits }, knobs: { RematMaxRegCount: null } };
  const cost = { params: { 'max-cost': 0.1 } };
  const predicates = `BB0:
  ISETP.LT P31, R22, 5
  ISETP.LT P32, R22, 6
  ISETP.LT P33, R22, 7
  SEL R34, R22, 5, P32
  SEL R35, R34, 6, P33
  STG [RD25], R35
BB1:
  SEL R36, R22, 7, P31
  STG [RD25+4], R36
  EXIT`;
  const none = 'passed recomputed';
  it.each<[string, string, Options, Record<string, number>, (d: Done) => unknown, unknown, unknown]>([
    ['RematEnable', through, {}, { RematEnable: 0 }, (d) => d.most, 7, 9],
    ['RematBudget', through, {}, { RematBudget: 1 }, (d) => d.most, 7, 8],
    ['RematMaxRegCount', through, {}, { RematMaxRegCount: 8 }, (d) => d.most, 7, 8],
    ['RematCostInstLimit', through, {}, { RematCostInstLimit: 0 }, (d) => d.most, 7, 9],
    ['RematConservativeRegSlack', through, free, { RematConservativeRegSlack: 1 }, (d) => d.most, 8, 7],
    ['RematRegTargetFactor', through, free, { RematRegTargetFactor: 0.9 }, (d) => d.most, 8, 7],
    [
      'RematRegTargetTrialLimit',
      through,
      { knobs: { RematMaxRegCount: 2 } },
      { RematRegTargetTrialLimit: 1 },
      (d) => d.most,
      7,
      9,
    ],
    [
      'RematBackOffRegTargetFactor',
      through,
      { knobs: { RematMaxRegCount: 4 } },
      { RematBackOffRegTargetFactor: 2 },
      (d) => d.most,
      7,
      8,
    ],
    [
      'RematAbsCostFactor',
      twice('SHL R21, R22, 3'),
      cost,
      { RematAbsCostFactor: 10 },
      (d) => count(d, 'SHL'),
      2,
      1,
    ],
    ['MovWeightForRemat', twice('MOV R21, 7'), cost, { MovWeightForRemat: 6 }, (d) => count(d, 'MOV'), 2, 1],
    [
      'RematLdcCost',
      twice('LDC R21, c[0x0][0x160]'),
      cost,
      { RematLdcCost: 6 },
      (d) => count(d, 'LDC'),
      2,
      1,
    ],
    ['RematMemCost', twice('LDC R21, [table+4]'), cost, { RematMemCost: 6 }, (d) => count(d, 'LDC'), 2, 1],
    ['RematPlacementLookback', ended, {}, { RematPlacementLookback: 0 }, (d) => d.most, 7, 8],
    ['RematMinDistance', apart, {}, { RematMinDistance: 32 }, (d) => d.most, 7, 8],
    [
      'RematStressTest',
      through,
      { knobs: { RematMaxRegCount: 99 } },
      { RematStressTest: 1 },
      (d) => d.most,
      9,
      7,
    ],
    [
      'RematEnablePReg',
      predicates,
      { params: { 'max-predicates': 2 } },
      { RematEnablePReg: 1 },
      (d) => /BB1:\s*ISETP/.test(d.text),
      false,
      true,
    ],
    ['Knob356', through, {}, { Knob356: 5 }, (d) => d.remarks.filter((r) => r !== none), [], ['note large']],
  ])('%s', (_, text, options, knobs, of, without, withIt) => {
    expect(of(done(text, 7, options))).toEqual(without);
    expect(of(done(text, 7, { ...options, knobs: { ...options.knobs, ...knobs } }))).toEqual(withIt);
  });

  it.each<[string, string, number, number, number]>([
    ['SinkRematEnable', through, 0, 8, 9],
    ['SinkRematBudget', through, 0, 8, 9],
    ['SinkRematAbsCostLimit', through, 0, 8, 9],
    ['SinkRematMinDefPlaceDist', apart, 32, 7, 8],
  ])('%s', (knob, text, value, without, withIt) => {
    const tight = { ...limits, 'registers-per-sm': text !== through ? 14336 : 16384 };
    const sink = (knobs: Options['knobs']): number =>
      done(text, 99, { facts: { limits: tight }, params: { family: 'sink' }, knobs }).most;
    expect([sink({}), sink({ [knob]: value })]).toEqual([without, withIt]);
  });

  it('SinkRematAlways recomputes where registers suffice, but nothing that is dear', () => {
    const sink = (knobs: Options['knobs']): number =>
      done(through, 99, { params: { family: 'sink' }, knobs }).most;
    expect([
      sink({}),
      sink({ SinkRematAlways: true }),
      sink({ SinkRematAlways: true, SinkRematAbsCostLimit: 0 }),
    ]).toEqual([9, 7, 9]);
  });

  it('the early phase runs where RematEarlyEnable asks for it, and the sinking one at level 5', async () => {
    const { program } = await kernelOf('mandelbrot');
    const ran = async (id: string, level: 3 | 5, ...set: string[]): Promise<boolean> => {
      const { plan } = await planWith({ order: 'binary', level, sm: 'sm_80', set });
      return runPipeline(program, plan!).records.some((r) => r.phase.id === id && r.outcome === 'ran');
    };
    expect(await ran('OriDoRematEarly', 3)).toBe(false);
    expect(await ran('OriDoRematEarly', 3, 'RematEarlyEnable=1')).toBe(true);
    expect(await ran('SinkRemat', 3)).toBe(false);
    expect(await ran('SinkRemat', 5)).toBe(true);
  });
});

describe('rematerialization anywhere', () => {
  it('keeps what random functions do, raises no pressure, and costs no more than it may', () => {
    let made = 0;
    fc.assert(
      fc.property(
        fc.oneof(randomFn({ defined: true }), randomFn({ defined: true, returns: true })),
        fc.constantFrom<Record<string, number>>(
          { RematStressTest: 1 },
          { RematMaxRegCount: 0 },
          { RematMaxRegCount: 4 },
          { RematMaxRegCount: 6, RematMinDistance: 2 },
        ),
        (input, knobs) => {
          const fn = constructSsa(input, isa);
          const share = 0.5;
          const ctx = testContext(fn, { knobs, params: { 'max-cost': share } });
          const out = rematerialize(fn, ctx);
          made += ctx.remarks.filter((r) => r.kind === 'passed').length;
          expect(verifyFn(out)).toEqual([]);
          expect(verifySsa(out)).toEqual([]);
          expect(sameBehaviour(input, leaveSsa(out, isa))).toBeNull();
          if (knobs.RematStressTest === 1) return;
          expect(mostOf(out)).toBeLessThanOrEqual(mostOf(fn));
          const cost = (f: Fn): number =>
            f.blocks.reduce(
              (sum, b, i) =>
                sum +
                b.ins.filter((x) => !x.op.name.endsWith('MOVPHI')).length * (frequencyOf(f).block[i] ?? 0),
              0,
            );
          expect(cost(out)).toBeLessThanOrEqual(cost(fn) * (1 + share) + 1e-9);
        },
      ),
      { numRuns: runs(600), seed: 69 },
    );
    expect(made).toBeGreaterThan(100);
  });

  const sample = kernelNames.filter((_, k) => k % 8 === 0);
  it.each(sample)(
    '%s computes the same under stress, and without a limit on cost',
    { timeout: 60_000 },
    async (name) => {
      const { program } = await kernelOf(name);
      for (const set of [['RematStressTest=1'], ['RematMaxRegCount=0', 'RematAbsCostFactor=0']]) {
        const plan = planOf(shipped, { sm: 'sm_80', level: 3, set });
        const { last } = runPipeline(program, plan);
        for (const f of program.functions.filter((x) => x.kind === 'entry'))
          expect(compare(program, last, f.name, plan)).toMatchObject({ same: true });
      }
    },
  );
});
