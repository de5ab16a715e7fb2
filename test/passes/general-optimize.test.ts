import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { parseFn, printProgram } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { hasWork } from '../../src/spec/phases.ts';
import { flatSteps, type Plan } from '../../src/spec/plan.ts';
import type { PlanRequest } from '../../src/spec/resolve.ts';
import { branchyPtx } from '../support/branchy.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';
import { planWith } from '../support/specs.ts';

/** The bundles of seed 001, by seed number. */
const BUNDLES: Readonly<Record<number, string>> = {
  13: 'GeneralOptimizeEarly',
  29: 'GeneralOptimize',
  37: 'GeneralOptimizeMid',
  46: 'GeneralOptimizeMid2',
  58: 'GeneralOptimizeLate',
  65: 'GeneralOptimizeLate2',
};

const planOf = async (change: Partial<PlanRequest> = {}): Promise<Plan> => {
  const { plan, diagnostics } = await planWith({ order: 'binary', ...change });
  expect(diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
  return plan!;
};
const lowered = (text: string, plan: Plan) =>
  lowerPtx(parsePtx(text, 'x.ptx').module, { isa: plan.isa, paramBase: 0x160, sm: plan.sm }).program;
/** 'ran', or why a phase did not. */
const outcome = (plan: Plan, id: string): string => {
  const input = lowered(branchyPtx('k'), plan);
  const r = runPipeline(input, plan).records.find((x) => x.phase.id === id)!;
  return r.outcome === 'ran' ? 'ran' : r.why;
};

it('the bundles stand at their numbers, in that order', async () => {
  for (const order of ['seed', 'binary']) {
    const { phases } = await planOf({ order });
    const bundles = phases.filter((p) => p.id.startsWith('GeneralOptimize'));
    expect(bundles.map((p) => [String(p.index), p.id])).toEqual(Object.entries(BUNDLES));
  }
});

describe('who runs', () => {
  const MERGE = 'DisableMergeEquivalentConditionalFlow';
  const BARRIERS = 'DisableRedundantBarrierRemoval';
  const MEMBAR = 'MembarFlowControl';
  const GENERAL = 'GeneralOptimizationBudget';

  it.each([
    [13, { set: [MERGE] }, `knob ${MERGE} is set`],
    [13, { set: [`${GENERAL}=0`] }, `budget ${GENERAL} is spent`],
    [13, { set: [BARRIERS] }, 'ran'],
    [13, { level: 1 }, 'ran'],
    [29, { set: [BARRIERS] }, `knob ${BARRIERS} is set`],
    [29, { set: [`${GENERAL}=0`] }, `budget ${GENERAL} is spent`],
    [29, { set: [MERGE] }, 'ran'],
    [29, { set: [`${MEMBAR}=0`] }, `knob ${MEMBAR} is 0`],
    [29, { set: [`${MEMBAR}=1`] }, 'ran'],
    [29, { level: 1 }, 'level 1 is not in 2..5'],
    [29, { level: 2 }, 'ran'],
    [37, { set: [`${GENERAL}=0`] }, `budget ${GENERAL} is spent`],
    [37, { level: 1 }, 'level 1 is not in 2..5'],
    [37, { level: 2 }, 'ran'],
    [58, { set: [`${GENERAL}=0`] }, 'ran'],
    [58, { level: 2 }, 'level 2 is not in 3..5'],
    [58, { level: 3 }, 'ran'],
    [65, { set: [`${GENERAL}=0`] }, 'ran'],
    [65, { level: 1 }, 'level 1 is not in 2..5'],
    [65, { level: 2 }, 'ran'],
  ])('phase %i with %j: %s', async (index, change, says) => {
    expect(outcome(await planOf(change), BUNDLES[index])).toBe(says);
  });

  it('once OptBudget is spent, the bundles that ask for a level see 1', async () => {
    const plan = await planOf({ set: ['OptBudget=0'] });
    for (const index of [29, 37, 58, 65])
      expect(outcome(plan, BUNDLES[index])).toMatch(/^level 1 \(OptBudget is spent\) is not in/);
  });

  it('13 and 46 ask for no level, unlike the introduction of seed 001', async () => {
    for (const change of [{ level: 1 }, { set: ['OptBudget=0'] }]) {
      const plan = await planOf(change);
      for (const index of [13, 46]) expect([index, outcome(plan, BUNDLES[index])]).toEqual([index, 'ran']);
    }
  });

  it.each([
    ['GeneralOptimizeMid2', '448', 'light-reoptimize', ['sm_30', 'sm_50', 'sm_60']],
    ['GeneralOptimizeLate2', '392', 'promote-memory', ['sm_30', 'sm_50']],
  ])('%s is there only for targets whose slot %s is %s', async (id, slot, handler, without) => {
    for (const sm of ['sm_30', 'sm_50', 'sm_60', 'sm_70', 'sm_75', 'sm_80', 'sm_89', 'sm_90', 'sm_100']) {
      const plan = await planOf({ sm });
      const input = lowered(branchyPtx('k').replace('.target sm_80', `.target ${sm}`), plan);
      const r = runPipeline(input, plan).records.find((x) => x.phase.id === id)!;
      const says = without.includes(sm) ? `${sm}: slots.${slot} is not "${handler}"` : 'ran';
      expect([sm, r.outcome === 'ran' ? 'ran' : r.why]).toEqual([sm, says]);
    }
  });
});

it('a bundle repeats its steps at most 16 times', async () => {
  const { phases } = await planOf();
  const bundles = phases.filter((p) => hasWork(p) && p.id.startsWith('GeneralOptimize'));
  expect(bundles.map((p) => p.index)).toEqual([13, 29, 37, 46, 58, 65]);
  const rounds = bundles.map((p) => p.steps.flatMap((s) => (s.kind === 'repeat' ? [s.rounds] : [])));
  expect(rounds).toEqual(Array(6).fill([16]));
});

it('a bundle cleans in one order: copies, constants, guards, the dead', async () => {
  const { phases } = await planOf();
  for (const p of phases.filter((x) => hasWork(x) && x.id.startsWith('GeneralOptimize'))) {
    const passesOf = flatSteps(p.steps).flatMap((s) => (s.kind === 'pass' ? [s.pass] : []));
    const at = passesOf.indexOf('copy-propagation');
    expect([p.id, passesOf.slice(at, at + 4)]).toEqual([
      p.id,
      ['copy-propagation', 'constant-folding', 'constant-guards', 'dead-results'],
    ]);
  }
});

it('of the bundles, only phase 13 names the budget of branches', async () => {
  const { phases } = await planOf();
  const named = phases.filter((p) => p.knobs.includes('MergeEquivalentConditionalFlowBudget'));
  expect(named.map((p) => p.id).filter((id) => id.startsWith('GeneralOptimize'))).toEqual([
    'GeneralOptimizeEarly',
  ]);
});

/** Integer operations of which nothing is left, and what they give. */
const ALGEBRA: readonly (readonly [string, 'x' | number])[] = [
  ['add.s32 %y, %x, 0', 'x'],
  ['mul.lo.s32 %y, %x, 1', 'x'],
  ['and.b32 %y, %x, -1', 'x'],
  ['or.b32 %y, %x, 0', 'x'],
  ['xor.b32 %y, %x, 0', 'x'],
  ['div.s32 %y, %x, 1', 'x'],
  ['not.b32 %z, %x; not.b32 %y, %z', 'x'],
  ['selp.b32 %y, %x, %x, %p', 'x'],
  ['mov.b32 %f, %x; selp.f32 %f, %f, %f, %p; mov.b32 %y, %f', 'x'],
  ['add.s32 %z, %x, 3; add.s32 %y, %z, -3', 'x'],
  ['mov.b32 %z, 6; mul.lo.s32 %z, %z, 7; sub.s32 %z, %z, 42; add.s32 %y, %x, %z', 'x'],
  ['setp.eq.s32 %p, %x, %x; selp.b32 %y, %x, 7, %p', 'x'],
  ['mul.lo.s32 %y, %x, 0', 0],
  ['and.b32 %y, %x, 0', 0],
  ['sub.s32 %y, %x, %x', 0],
  ['xor.b32 %y, %x, %x', 0],
];

describe('what integers come to', () => {
  const stored = async (body: string): Promise<readonly string[]> => {
    const plan = await planOf();
    const text = `.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) {
.reg .b64 %rd; .reg .b32 %x, %y, %z; .reg .f32 %f; .reg .pred %p, %q;
ld.param.u64 %rd, [a]; ld.global.u32 %x, [%rd]; setp.gt.s32 %p, %x, 3;
${body}; st.global.u32 [%rd+4], %y; ret; }`;
    return printProgram(runPipeline(lowered(text, plan), plan).last)
      .split('\n')
      .map((l) => l.split(';')[0].trim())
      .filter((l) => /^[A-Z]/.test(l) && !/^(LDC|RET)/.test(l))
      .map((l) =>
        l
          .replaceAll(/\bR\d+/g, 'x')
          .replaceAll(/\bRD\d+/g, 'a')
          .replaceAll(/\bP\d+/g, 'p'),
      );
  };

  it.each(ALGEBRA)('%s is %s', async (body, gives) => {
    const left = gives === 'x' ? ['LDG x, [a]', 'STG [a+0x4], x'] : ['STG [a+0x4], RZ'];
    expect((await stored(body)).filter((l) => !/^BB/.test(l))).toEqual(left);
  });

  it('a product by two is a shift', async () => {
    expect((await stored('mul.lo.s32 %y, %x, 2')).join()).toContain('SHL x, x, 1');
  });

  it.each(['and', 'or'])('of predicates, %s with a constant leaves the other', async (op) => {
    const known = op === 'and' ? 'eq' : 'ne';
    const both = await stored(`setp.${known}.s32 %q, %x, %x; ${op}.pred %q, %p, %q; selp.b32 %y, 5, 6, %q`);
    expect(both).toEqual(await stored('selp.b32 %y, 5, 6, %p'));
  });
});

describe('two conditions are one', () => {
  const decided = (first: string, second: string): boolean => {
    const fn = parseFn(
      `.entry k\n{\nBB0:\n LDC R2, c[0x0][0x160]\n LDC R3, c[0x0][0x164]\n LDC R5, c[0x0][0x168]\n LDC R6, c[0x0][0x16c]\n IADD3 R8, R5, R6, 1\n IADD3 R9, R5, R6, 1\n SHL R14, R8, 2\n SHL R15, R9, 2\n SHL R16, R14, 3\n SHL R17, R15, 3\n LDG R18, [RD7]\n LDG R19, [RD7]\n ${first}\n ${second}\n @P11 BRA BB3
BB1:\n @P12 BRA BB3\nBB2:\n STG [RD7], R5\nBB3:\n EXIT\n}`,
      testIsa(),
    );
    return runPass('equivalent-conditions', fn, testContext(fn)) !== fn;
  };

  it.each([
    ['the same operands', 'FSETP.LT P11, R2, R3', 'FSETP.LT P12, R2, R3', true],
    ['another sign', 'FSETP.LT P11, R2, R3', 'FSETP.LT P12, -R2, R3', false],
    ['an absolute value', 'FSETP.LT P11, R2, R3', 'FSETP.LT P12, |R2|, R3', false],
    ['the same signs', 'FSETP.LT P11, -|R2|, R3', 'FSETP.LT P12, -|R2|, R3', true],
    ['a constant for a register', 'ISETP.LT P11, R2, R3', 'ISETP.LT P12, R2, 3', false],
    ['the opposite', 'ISETP.LT P11, R2, R3', 'ISETP.GE P12, R2, R3', true],
    ['sums that are equal', 'ISETP.LT P11, R8, R3', 'ISETP.LT P12, R9, R3', true],
    ['two operations that are equal', 'ISETP.LT P11, R14, R3', 'ISETP.LT P12, R15, R3', true],
    ['three operations', 'ISETP.LT P11, R16, R3', 'ISETP.LT P12, R17, R3', false],
    ['loads', 'ISETP.LT P11, R18, R3', 'ISETP.LT P12, R19, R3', false],
  ])('with %s: %s, %s', (_, first, second, equal) => {
    expect(decided(first, second)).toBe(equal);
  });
});
