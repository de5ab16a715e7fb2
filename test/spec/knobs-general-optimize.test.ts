import { describe, expect, it } from 'vitest';
import { LineHistory } from '../../src/debug/line-history.ts';
import type { Journal } from '../../src/engine/journal.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { roundCost } from '../../src/engine/round-cost.ts';
import { Draft } from '../../src/ir/draft/index.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseFn, printProgram } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { groupsOf, type Plan, type Step } from '../../src/spec/plan.ts';
import type { PlanRequest } from '../../src/spec/resolve.ts';
import { branchyPtx } from '../support/branchy.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';
import { planWith } from '../support/specs.ts';

/* The knobs listed on the page about the GeneralOptimize bundles: each is set to each kind of value, and its effect on a kernel checked. */
const planOf = async (set: readonly string[], change: Partial<PlanRequest> = {}): Promise<Plan> => {
  const { plan, diagnostics } = await planWith({ order: 'binary', set, ...change });
  expect(diagnostics.map((d) => d.message)).toEqual([]);
  return plan!;
};

const kernel = (regs: string, body: string): string => `.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) {\n.reg .b64 %rd; .reg .b32 %x; ${regs}
ld.param.u64 %rd, [a]; ld.param.u32 %x, [n];\n${body}\nret; }`;

const lowered = (text: string, plan: Plan): Program =>
  lowerPtx(parsePtx(text, 'x.ptx').module, { isa: plan.isa, paramBase: 0x160, sm: plan.sm }).program;

const runOf = (text: string, plan: Plan): Journal => runPipeline(lowered(text, plan), plan);

/** How often a phase made a remark. */
const said = async (
  text: string,
  phase: string,
  remark: string,
  set: readonly string[],
  change: Partial<PlanRequest> = {},
): Promise<number> => {
  const plan = await planOf(set, change);
  const record = runOf(text, plan).records.find((r) => r.phase.id === phase)!;
  return record.remarks.filter((m) => m.name === remark).length;
};

/** Phases that run rules. */
const ALL_RULES = (await planOf([])).phases
  .filter((p) => groupsOf(p).length > 0 && !p.required)
  .map((p) => p.id);

/** A block with nothing but a branch on a condition that every way to it has decided. */
const decided = kernel(
  '.reg .pred %p;',
  'setp.lt.s32 %p, %x, 5; @%p bra A; st.global.u32 [%rd], %x;\nA: @%p bra B; st.global.u32 [%rd+4], %x;\nB:',
);

describe('phase 13', () => {
  it.each([
    [[], 2],
    [['Knob91=1'], 0],
    [['Knob91=2'], 2],
    [['Knob91=0,1,7'], 0],
  ])('knob 91 keeps the branches of the blocks that it names: %j', async (set, threaded) => {
    expect(await said(decided, 'GeneralOptimizeEarly', 'condition-threaded', set)).toBe(threaded);
  });

  it('knob 91 keeps the loops that the blocks head', async () => {
    const loop = kernel(
      '.reg .b32 %i; .reg .pred %p;',
      'mov.u32 %i, 0;\nL: st.global.u32 [%rd], %i; add.s32 %i, %i, 1; setp.lt.s32 %p, %i, 3; @%p bra L;',
    );
    const unrolled = (set: string[]) => said(loop, 'OriLoopUnrolling', 'unrolled', set);
    expect(await unrolled([])).toBe(1);
    expect(await unrolled(['Knob91=1'])).toBe(0);
    expect(await unrolled(['Knob91=0'])).toBe(1);
  });

  it.each([
    ['unset', 2],
    ['0', 0],
    ['1', 1],
    ['2', 2],
  ])('knob 464, %s: each branch that is decided takes a unit', async (value, threaded) => {
    const set = [`MergeEquivalentConditionalFlowBudget=${value}`];
    expect(await said(decided, 'GeneralOptimizeEarly', 'condition-threaded', set)).toBe(threaded);
  });

  it.each([
    ['DisableMergeEquivalentConditionalFlow=true', 0],
    ['DisableMergeEquivalentConditionalFlow=false', 2],
    ['GeneralOptimizationBudget=0', 0],
    ['GeneralOptimizationBudget=100', 2],
    ['OptBudget=0', 2],
  ])('%s', async (set, threaded) => {
    expect(await said(decided, 'GeneralOptimizeEarly', 'condition-threaded', [set])).toBe(threaded);
  });
});

describe('phase 37', () => {
  const words = (n: number) => Array.from({ length: n }, (_, k) => 4 * k);
  /** A local array with so many stores and loads, at constant places. */
  const array = (stores: number, loads: number, type: string): string =>
    kernel(
      '.local .align 8 .b8 v[256]; .reg .b64 %w; .reg .b32 %y;',
      [
        ...words(stores).map((at) => `st.local.${type} [v+${at}], %x; add.s32 %x, %x, 3;`),
        ...words(loads).map(
          (at) => `ld.local.${type} %y, [v+${at % (4 * stores)}]; st.global.u32 [%rd+${at}], %y;`,
        ),
      ].join('\n'),
    );
  const promoted = (text: string, set: readonly string[]) =>
    said(text, 'GeneralOptimizeMid', 'promoted', set, { disable: ['GeneralOptimize', 'Vectorization'] });

  it.each([
    // Knob 135: how many loads and stores.
    [2, 2, 'u32', [], 1],
    [2, 2, 'u32', ['ConvertMemoryToRegIndexedSizeLimit=4'], 1],
    [2, 2, 'u32', ['ConvertMemoryToRegIndexedSizeLimit=3'], 0],
    [2, 2, 'u32', ['ConvertMemoryToRegIndexedSizeLimit=0'], 0],
    [41, 41, 'u32', [], 0],
    [41, 41, 'u32', ['ConvertMemoryToRegIndexedSizeLimit=82'], 1],
    // Knob 133: fewest stores.
    [2, 2, 'u32', ['Knob133=2'], 1],
    [2, 2, 'u32', ['Knob133=3'], 0],
    // Knobs 134 and 132: loads for each store, up to some number of stores.
    [2, 4, 'u32', ['Knob134=2'], 1],
    [2, 5, 'u32', ['Knob134=2'], 0],
    [2, 5, 'u32', ['Knob134=2.5'], 1],
    [2, 5, 'u32', ['Knob134=2', 'Knob132=2'], 0],
    [2, 5, 'u32', ['Knob134=2', 'Knob132=1'], 1],
    // Knob 136 and the weight of copies, 474: 255 registers, and 4 copies.
    [2, 2, 'u32', ['Knob136=0'], 0],
    [2, 2, 'u32', ['Knob136=0.004'], 0],
    [2, 2, 'u32', ['Knob136=0.008'], 1],
    [2, 2, 'u32', ['Knob136=0.008', 'MovWeightForConvertMemToReg=0.5'], 1],
    [2, 2, 'u32', ['Knob136=0.008', 'MovWeightForConvertMemToReg=1'], 0],
    [2, 2, 'u32', ['Knob136=0.016', 'MovWeightForConvertMemToReg=1'], 1],
    // Parts of words are no copies.
    [2, 2, 'u8', ['Knob136=0.008'], 0],
    [2, 2, 'u8', ['Knob136=0.016'], 1],
    [2, 2, 'u32', ['GeneralOptimizationBudget=0'], 0],
    [2, 2, 'u32', ['OptBudget=0'], 0],
  ])('promotes: %i stores, %i loads of %s, %j', async (stores, loads, type, set, times) => {
    expect(await promoted(array(stores, loads, type), set)).toBe(times);
  });

  it('a copied value with more than four uses costs as much as other instructions (knob 474)', async () => {
    const uses = (n: number) =>
      kernel(
        '.local .align 4 .b8 v[4]; .reg .b32 %y;',
        `st.local.u32 [v], %x; ld.local.u32 %y, [v]; ${words(n)
          .map((at) => `st.global.u32 [%rd+${at}], %y;`)
          .join('')}`,
      );
    expect(await promoted(uses(4), ['Knob136=0.004'])).toBe(1);
    expect(await promoted(uses(5), ['Knob136=0.004'])).toBe(0);
  });

  it('takes the cheapest variables first, as long as registers last (knob 136)', async () => {
    const two = kernel(
      '.local .align 4 .b8 v[8]; .local .align 4 .b8 w[4]; .reg .b32 %y, %z;',
      'st.local.u32 [v], %x; st.local.u32 [v+4], %x; st.local.u32 [w], %x; ld.local.u32 %y, [v]; ld.local.u32 %z, [w]; ' +
        'st.global.u32 [%rd], %y; st.global.u32 [%rd+4], %z;',
    );
    expect(await promoted(two, [])).toBe(2);
    expect(await promoted(two, ['Knob136=0.0079'])).toBe(1);
  });

  it('rounds end where one costs less than knob 474', async () => {
    const text = branchyPtx('k');
    const alone = { disable: ALL_RULES.filter((id) => id !== 'GeneralOptimizeMid') };
    const cheap = (set: string[]) => said(text, 'GeneralOptimizeMid', 'rounds-cheap', set, alone);
    expect(await cheap([])).toBe(0);
    expect(await cheap(['MovWeightForConvertMemToReg=0'])).toBe(0);
    expect(await cheap(['MovWeightForConvertMemToReg=1000'])).toBe(1);
  });
});

describe('the weights of phase 37', () => {
  /** A plan with other parameters of a step of a phase. */
  const withStep = (plan: Plan, phase: string, change: (s: Step) => Step): Plan => ({
    ...plan,
    phases: plan.phases.map((p) => (p.id === phase ? { ...p, steps: p.steps.map(change) } : p)),
  });
  const saidBy = (plan: Plan, text: string, remark: string): number =>
    runOf(text, plan)
      .records.find((r) => r.phase.id === 'GeneralOptimizeMid')!
      .remarks.filter((m) => m.name === remark).length;
  const two = (type: string): string =>
    kernel(
      '.local .align 8 .b8 v[256]; .reg .b32 %y;',
      `st.local.${type} [v], %x; st.local.${type} [v+4], %x; ld.local.${type} %y, [v]; st.global.u32 [%rd], %y; ld.local.${type} %y, [v+4]; st.global.u32 [%rd+4], %y;`,
    );

  it.each([
    // Four accesses, as copies 1, where 2 of 255 registers are allowed.
    ['u32', {}, 1],
    ['u32', { 'many-uses': 0 }, 0],
    // Parts of words have the full weight.
    ['u8', {}, 0],
    ['u8', { 'full-weight': 0.25 }, 1],
  ])('promotes %s with %j: %i', async (type, params, times) => {
    const plan = await planOf(['Knob136=0.0079'], { disable: ['GeneralOptimize', 'Vectorization'] });
    const other = withStep(plan, 'GeneralOptimizeMid', (s) =>
      s.kind === 'pass' && s.pass === 'promote-memory' ? { ...s, params: { ...s.params, ...params } } : s,
    );
    expect(saidBy(other, two(type), 'promoted')).toBe(times);
  });

  it.each([
    [1, 0],
    [0.001, 1],
  ])('a round of instructions that cost %f: %i cheap', async (full, times) => {
    const plan = await planOf([], { disable: ALL_RULES.filter((id) => id !== 'GeneralOptimizeMid') });
    const other = withStep(plan, 'GeneralOptimizeMid', (s) =>
      s.kind === 'repeat' ? { ...s, weights: { ...s.weights!, full } } : s,
    );
    expect(saidBy(other, branchyPtx('k'), 'rounds-cheap')).toBe(times);
  });

  it('cheap are the opcodes of the table, where few uses read what they copy', () => {
    const fn = parseFn('BB0:\nMOV R1, R0\nIADD3 R2, R1, R1, R0\nSTG [RD3], R2\nEXIT', testIsa());
    const cost = (change: object, n: number, isThere = true): number =>
      roundCost(0.25, { full: 1, cheap: ['MOV'], 'many-uses': 4, ...change }, testIsa())!.of(
        new Draft(fn, testIsa()),
        n,
        isThere,
      );
    expect(cost({}, 0)).toBe(0.25);
    expect(cost({ cheap: [] }, 0)).toBe(1);
    expect(cost({ 'many-uses': 1 }, 0)).toBe(1);
    expect(cost({}, 1)).toBe(1);
    expect(cost({ full: 3 }, 1)).toBe(3);
    expect(cost({}, 1, false)).toBe(0.25);
  });
});

describe('phase 58', () => {
  /** Two products of the same three values. */
  const pairs = (): string =>
    kernel(
      '.reg .b32 %u, %v, %y, %z;',
      'ld.global.u32 %y, [%rd]; ld.global.u32 %z, [%rd+4];\n' +
        'mul.lo.s32 %u, %x, %y; mul.lo.s32 %u, %u, %z; st.global.u32 [%rd+8], %u;\n' +
        'mul.lo.s32 %v, %z, %x; mul.lo.s32 %v, %v, %y; st.global.u32 [%rd+12], %v;',
    );
  /** As many operations as the window has slots, none a pair. */
  const others = [1, 2, 3, 5, 6, 7]
    .map((k) => `add.s32 %a, %y, ${k}; st.global.u32 [%rd+${12 + 4 * k}], %a;`)
    .join('\n');
  const found = (text: string, set: readonly string[], change: Partial<PlanRequest> = {}) =>
    said(text, 'GeneralOptimizeLate', 'pair-common', set, {
      disable: ['OriReassociateAndCommon'],
      ...change,
    });

  it.each([
    [[], 1],
    // Knob 31.
    [['AllowReassociateCSE=0'], 0],
    [['AllowReassociateCSE=1'], 1],
    [['AllowReassociateCSE=-1'], 1],
    // Knob 603.
    [['Knob603=0'], 0],
    [['Knob603=1'], 1],
    // Knob 605: the pair is whole before its first instruction leaves the window.
    [['ReassociateCSEWindow=0'], 1],
    [['ReassociateCSEWindow=1'], 1],
    [['OptBudget=0'], 0],
  ])('phase 58: %j finds %i pairs', async (set, n) => {
    expect(await found(pairs(), set)).toBe(n);
  });

  it('knob 605 forgets a pair whose first instruction has left the window', async () => {
    const late = kernel(
      '.reg .b32 %u, %v, %y, %z, %a;',
      'ld.global.u32 %y, [%rd]; ld.global.u32 %z, [%rd+4]; mul.lo.s32 %v, %z, %x;\n' +
        `${others}\nmul.lo.s32 %u, %x, %y; mul.lo.s32 %u, %u, %z; st.global.u32 [%rd+8], %u;\n` +
        'mul.lo.s32 %v, %v, %y; st.global.u32 [%rd+12], %v;',
    );
    expect(await found(late, [])).toBe(1);
    expect(await found(late, ['ReassociateCSEWindow=1'])).toBe(0);
  });

  it('runs from level 3 on, and at level 1 if knob 31 is 199', async () => {
    expect(await found(pairs(), [], { level: 2 })).toBe(0);
    expect(await found(pairs(), [], { level: 4 })).toBe(1);
    // The number is that of the reference (opt-levels 2).
    expect(await found(pairs(), ['AllowReassociateCSE=199'], { level: 1 })).toBe(1);
    expect(await found(pairs(), ['AllowReassociateCSE=198'], { level: 1 })).toBe(0);
    // A spent budget leaves level 1.
    expect(await found(pairs(), ['AllowReassociateCSE=199', 'OptBudget=0'])).toBe(1);
  });

  const text = `.entry k
{
BB0:
  LDG.V4 {R1, R2, R3, R4}, [RD20]
  IADD3 R5, R1, R2
  IADD3 R6, R5, R3
  IADD3 R7, R3, R1
  IADD3 R8, R7, R2
  IADD3 R9, R4, R1
  IADD3 R10, R9, 5
  IADD3 R11, R4, 5
  IADD3 R12, R11, R1
  STG.V4 [RD20], {R6, R8, R10, R12}
  EXIT
}`;
  const alone = (params: Record<string, unknown>, knobs: Record<string, number>, target: string): number => {
    const fn = parseFn(text, testIsa());
    const ctx = testContext(fn, { params, knobs, facts: { class: target } });
    runPass('pair-window', fn, ctx);
    return ctx.remarks.filter((r) => r.name === 'pair-common').length;
  };

  it.each([
    ['standard', {}, 'SM80', 2],
    ['aggressive', {}, 'SM80', 0],
    ['minimal', {}, 'SM80', 0],
    ['reduced', {}, 'SM80', 0],
    ['aggressive', { AllowReassociateCSE: 1 }, 'SM80', 2],
    ['reduced', { AllowReassociateCSE: 1 }, 'SM80', 0],
    ['minimal', {}, 'SM50', 2],
    ['reduced', {}, 'SM50', 0],
    ['standard', { AllowReassociateCSE: 0 }, 'SM80', 0],
  ])('at tier %s, with %j, for %s: %i', (tier, knobs, target, n) => {
    expect(alone({ tier }, knobs as Record<string, number>, target)).toBe(n);
  });

  it('its parameters say what a pair may add', () => {
    expect(alone({ immediates: false }, {}, 'SM80')).toBe(1);
    expect(alone({ registers: false }, {}, 'SM80')).toBe(0);
    expect(alone({ registers: true, immediates: true }, {}, 'SM80')).toBe(2);
  });
});

describe('what each step did', () => {
  it('is reported, round by round', async () => {
    const plan = await planOf([]);
    const { program } = lowerPtx(parsePtx(branchyPtx('k'), 'x.ptx').module, {
      isa: plan.isa,
      paramBase: 0x160,
      sm: plan.sm,
    });
    const record = runPipeline(program, plan).records.find((r) => r.phase.id === 'GeneralOptimizeEarly')!;
    const told = record.remarks.filter((m) => m.name === 'rounds-done').map((m) => m.message);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/^round 1: .*copy-propagation \d+ changed/);
    expect(told[0]).toMatch(/dead-results \d+ removed/);
  });

  const local = kernel(
    '.local .align 8 .b8 v[8]; .reg .b32 %y, %t;',
    'mov.u32 %t, %tid.x;\nst.local.u32 [v], %x;\nst.local.u32 [v+4], %t;\nld.local.u32 %y, [v+4]; st.global.u32 [%rd], %y; st.global.u32 [%rd], %x;',
  );

  it('is reported for steps that are not repeated too', async () => {
    const plan = await planOf([], { disable: ['GeneralOptimize'] });
    const told = runOf(local, plan)
      .records.find((r) => r.phase.id === 'GeneralOptimizeMid')!
      .remarks.filter((m) => m.name === 'rounds-done');
    expect(told.map((m) => m.message)).toEqual([
      expect.stringMatching(/^promote-memory in 1 block; dead-stores in 1 block; round 1: /),
    ]);
  });

  it('is reported for a line whose access, made of several, became registers', async () => {
    const plan = await planOf([], { disable: ['GeneralOptimize'] });
    const program = lowered(local, plan);
    const line = local.split('\n').findIndex((l) => l.includes('st.local.u32 [v+4]')) + 1;
    const locs = new Set([...program.locs.keys()].filter((k) => program.locs[k].line === line));
    const history = new LineHistory(program, locs);
    runPipeline(program, plan, { onRewrite: history.rewrite, onPhase: history.phase });
    const step = history.functions[0].steps.find((s) => s.phase === 'GeneralOptimizeMid')!;
    expect(step.rewrites.map((r) => r.name)).toContain('access-promoted');
  });

  it.each([
    [['MembarFlowControl=0'], 'GeneralOptimize', 'not run: knob MembarFlowControl is 0'],
    [
      ['DisableRedundantBarrierRemoval'],
      'GeneralOptimize',
      'not run: knob DisableRedundantBarrierRemoval is set',
    ],
    [
      ['GeneralOptimizationBudget=0'],
      'GeneralOptimizeMid',
      'not run: budget GeneralOptimizationBudget is spent',
    ],
    [['OptBudget=0'], 'GeneralOptimizeLate', 'not run: level 1 (OptBudget is spent) is not in 3..5'],
  ])('with %s, %s says so where it does not run', async (set, phase, says) => {
    const record = runOf(local, await planOf(set)).records.find((r) => r.phase.id === phase)!;
    expect(record.remarks).toEqual([
      { kind: 'missed', name: 'gate-shut', message: says, count: 1, fn: 'k', block: -1, loc: 0 },
    ]);
  });

  it('no gate that is shut without a knob makes a remark', async () => {
    const { records } = runOf(local, await planOf([]));
    expect(records.flatMap((r) => r.remarks).filter((m) => m.name === 'gate-shut')).toEqual([]);
  });

  it('names the knob that stopped it', async () => {
    const cut = (set: string[]) => said(branchyPtx('k'), 'GeneralOptimizeEarly', 'rounds-cut', set);
    expect(await cut([])).toBe(0);
    expect(await cut(['GeneralOptimizeEarlyBudget=0'])).toBe(1);
    expect(await cut(['GeneralOptimizeEarlyBudget=1000'])).toBe(0);
  });
});

describe('phase 29', () => {
  /** A value that is stored, and loaded again; and a sum of floats that are known. */
  const stored = kernel(
    '.local .align 4 .b8 v[4]; .reg .b32 %y; .reg .f32 %f, %g;',
    'st.local.u32 [v], %x; ld.local.u32 %y, [v]; st.global.u32 [%rd], %y;\n' +
      'mov.f32 %f, 0f3F800000; add.f32 %g, %f, %f; st.global.f32 [%rd+4], %g;',
  );
  const forwarded = (set: readonly string[], change: Partial<PlanRequest> = {}) =>
    said(stored, 'GeneralOptimize', 'forwarded', set, change);

  it.each([
    [[], 1],
    // Knob 231.
    [['DisableRedundantBarrierRemoval'], 0],
    [['DisableRedundantBarrierRemoval=false'], 1],
    // Knob 461.
    [['MembarFlowControl=0'], 0],
    [['MembarFlowControl=1'], 1],
    [['MembarFlowControl=-1'], 1],
    // Knob 487: phases 11, 13, 15, 18, 21 and 22 take units before it.
    [['GeneralOptimizationBudget=0'], 0],
    [['GeneralOptimizationBudget=3'], 0],
    [['GeneralOptimizationBudget=100'], 1],
    // Knob 499.
    [['OptBudget=0'], 0],
    [['OptBudget=100'], 1],
  ])('takes what was stored: %j, %i times', async (set, times) => {
    expect(await forwarded(set)).toBe(times);
  });

  it.each([
    [[], false],
    [['LimitFoldFp'], true],
    [['LimitFoldFp=false'], false],
  ])('limit-fold-fp: with %j, the bundles leave sums of floats: %s', async (set, stays) => {
    const { records, last } = runOf(stored, await planOf(set));
    const after = (id: string) => printProgram(records.find((r) => r.phase.id === id)!.program);
    expect(after('GeneralOptimizeLate2').includes('FADD')).toBe(stays);
    // The second level folds them.
    expect(printProgram(last)).not.toContain('FADD');
  });
});

describe('the knobs of the bundles', () => {
  it('that the page lists, and all others that they declare, are read', async () => {
    const plan = await planOf([]);
    const bundles = plan.phases.filter((p) => p.id.startsWith('GeneralOptimize'));
    expect(bundles).toHaveLength(6);
    const declared = new Set(
      bundles.flatMap((p) => [
        ...p.knobs,
        ...p.gate.set,
        ...p.gate.unset,
        ...p.gate.nonzero,
        ...p.gate.budget,
      ]),
    );
    expect([...declared].filter((k) => plan.knobs.get(k)!.unread)).toEqual([]);
    // By number, as the page lists them; limit-fold-fp has none.
    const listed = [31, 135, 214, 231, 461, 464, 474, 487, 499, 605];
    const numbers = [...declared].map((k) => plan.knobs.get(k)!.index);
    expect(listed.filter((n) => !numbers.includes(n))).toEqual([]);
    expect(declared.has('LimitFoldFp')).toBe(true);
  });
});
