import { describe, expect, it } from 'vitest';
import { runPipeline } from '../src/engine/pipeline.ts';
import { lowerPtx } from '../src/ptx/lower/index.ts';
import { parsePtx } from '../src/ptx/parse.ts';
import type { Plan } from '../src/spec/plan.ts';
import type { PlanRequest } from '../src/spec/resolve.ts';
import { planWith } from './support/specs.ts';

/*
 * The knobs that the page on the GeneralOptimize bundles lists: each set to each kind of value, and what a kernel shows of it.
 */
const planOf = async (set: readonly string[], change: Partial<PlanRequest> = {}): Promise<Plan> => {
  const { plan, diagnostics } = await planWith({ order: 'binary', set, ...change });
  expect(diagnostics.map((d) => d.message)).toEqual([]);
  return plan!;
};

const kernel = (regs: string, body: string): string => `.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) {\n.reg .b64 %rd; .reg .b32 %x; ${regs}
ld.param.u64 %rd, [a]; ld.param.u32 %x, [n];\n${body}\nret; }`;

/** How often a phase made a remark. */
const said = async (
  text: string,
  phase: string,
  remark: string,
  set: readonly string[],
  change: Partial<PlanRequest> = {},
): Promise<number> => {
  const plan = await planOf(set, change);
  const { program } = lowerPtx(parsePtx(text, 'x.ptx').module, {
    isa: plan.isa,
    paramBase: 0x160,
    sm: plan.sm,
  });
  const record = runPipeline(program, plan).records.find((r) => r.phase.id === phase)!;
  return record.remarks.filter((m) => m.name === remark).length;
};

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
