import { describe, expect, it } from 'vitest';
import { Budgets } from '../../src/engine/budgets.ts';
import { FunctionPlans } from '../../src/engine/function-plans.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { type RegisteredPass, runPlan } from '../../src/engine/run.ts';
import type { Program } from '../../src/ir/program.ts';
import { printFn, printProgram } from '../../src/ir/text.ts';
import { passes } from '../../src/passes/registry.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import type { Plan } from '../../src/spec/plan.ts';
import type { PlanRequest } from '../../src/spec/resolve.ts';
import { branchyPtx } from '../support/branchy.ts';
import { planWith } from '../support/specs.ts';

const base = await planOf({});
/** The same kernel twice. */
const twice = lowered(branchyPtx('k', 'other'));

function lowered(ptx: string): Program {
  return lowerPtx(parsePtx(ptx, 'x.ptx').module, { isa: base.isa, paramBase: 0x160, sm: 'sm_80' }).program;
}
async function planOf(change: Partial<PlanRequest>, mine?: string): Promise<Plan> {
  return (await planWith({ order: 'binary', ...change }, mine)).plan!;
}
/** A plan with a knob that is set for some kernels only. */
const planFor = (kernels: string, knobs: string, set: string[] = []): Promise<Plan> =>
  planOf(
    { recipes: ['mine'], set },
    `kind: recipe\ntitle: t\nwhen: { kernel: '${kernels}' }\nknobs: { ${knobs} }\n`,
  );
const record = (program: Program, p: Plan, id: string) =>
  runPipeline(program, p).records.find((r) => r.phase.id === id)!;
const OFF = 'DisableMergeEquivalentConditionalFlow: true';

describe('knobs for some kernels only', () => {
  it('a pattern that covers no kernel changes nothing, whatever it sets', async () => {
    const plainText = printProgram(runPipeline(twice, base).last);
    for (const knobs of [
      OFF,
      'MergeEquivalentConditionalFlowBudget: 0',
      'GeneralOptimizationBudget: 0',
      'OptBudget: 0',
    ]) {
      const j = runPipeline(twice, await planFor('no-such-kernel*', knobs));
      expect(printProgram(j.last), knobs).toBe(plainText);
      expect(j.records.every((r) => r.shutFor.length === 0)).toBe(true);
    }
  });

  it('a gate that a knob shuts is shut for the kernels of the pattern, and the journal says so', async () => {
    const j = runPipeline(twice, await planFor('oth?r', OFF));
    const r = j.records.find((x) => x.phase.id === 'OriBranchOpt')!;
    expect([r.outcome, r.why, r.functionsChanged]).toEqual(['ran', '', 1]);
    expect(r.shutFor).toEqual([{ fn: 'other', why: 'knob DisableMergeEquivalentConditionalFlow is set' }]);
    // Each kernel comes out as where its value holds for all.
    const on = runPipeline(twice, base).last;
    const off = runPipeline(twice, await planOf({ set: ['DisableMergeEquivalentConditionalFlow'] })).last;
    expect(printFn(j.last.functions[0])).toBe(printFn(on.functions[0]));
    expect(printFn(j.last.functions[1])).toBe(printFn(off.functions[1]));
    expect(printFn(on.functions[1])).not.toBe(printFn(off.functions[1]));
  });

  it('a gate that is shut for all says why, to each its own reason', async () => {
    const all = record(twice, await planFor('*', OFF), 'OriBranchOpt');
    expect([all.outcome, all.why, all.shutFor]).toEqual([
      'skipped',
      'knob DisableMergeEquivalentConditionalFlow is set',
      [],
    ]);
    const both = await planFor('other', OFF, ['GeneralOptimizationBudget=0']);
    expect(record(twice, both, 'OriBranchOpt').why).toBe(
      'budget GeneralOptimizationBudget is spent (k); knob DisableMergeEquivalentConditionalFlow is set (other)',
    );
  });

  it('a budget for some kernels is counted for these, and limits no other', async () => {
    const budget = (n: number) => `MergeEquivalentConditionalFlowBudget: ${n}`;
    const free = record(twice, base, 'OriBranchOpt');
    const rewrites = (r: typeof free, fn: string) =>
      r.remarks.filter((m) => m.kind === 'passed' && m.fn === fn).length;
    expect(rewrites(free, 'other')).toBeGreaterThan(1);
    const r = record(twice, await planFor('other', budget(1)), 'OriBranchOpt');
    expect(rewrites(r, 'k')).toBe(rewrites(free, 'k'));
    expect(rewrites(r, 'other')).toBe(1);
    // Unconditional, it is one budget for both.
    const shared = await planOf({ set: ['MergeEquivalentConditionalFlowBudget=1'] });
    const s = record(twice, shared, 'OriBranchOpt');
    expect(rewrites(s, 'k') + rewrites(s, 'other')).toBe(1);
  });

  it('a gate takes one unit of a budget, not one for each kernel', async () => {
    const asking = base.phases.filter((p) => p.gate.budget.includes('GeneralOptimizationBudget'));
    const running = runPipeline(twice, base).records.filter(
      (r) => r.outcome === 'ran' && asking.includes(r.phase),
    );
    const p = await planOf({ set: [`GeneralOptimizationBudget=${running.length}`] });
    expect(runPipeline(twice, p).records.some((r) => r.why.includes('is spent'))).toBe(false);
    const less = await planOf({ set: [`GeneralOptimizationBudget=${running.length - 1}`] });
    expect(runPipeline(twice, less).records.filter((r) => r.why.includes('is spent')).length).toBe(1);
  });

  it('a spent OptBudget lowers the level of the kernels that it is for, also for passes', async () => {
    const p = await planFor('other', 'OptBudget: 0');
    const r = record(twice, p, 'OriBranchOpt');
    expect([r.level, r.shutFor]).toEqual([
      3,
      [{ fn: 'other', why: 'level 1 (OptBudget is spent) is not in 2..5' }],
    ]);
    const levels = new Map<string, number>();
    runPlan(twice, p, {
      passes: new Map([
        ...passes,
        [
          'analyze-control-flow',
          {
            ...passes.get('analyze-control-flow')!,
            pass: (fn, ctx) => (levels.set(fn.name, ctx.level), fn),
          },
        ],
      ]),
      rules: () => ({ key: 'nothing', open: () => () => {} }),
    });
    expect([...levels]).toEqual([
      ['k', 3],
      ['other', 1],
    ]);
  });

  it('a knob of the folder works for the kernels of its pattern', async () => {
    const texts = (p: Plan) => runPipeline(twice, p).last.functions.map((f) => printFn(f));
    const [a, b] = texts(await planFor('other', 'FPFoldDisable: true'));
    expect(a).toBe(texts(base)[0]);
    expect(b).toBe(texts(await planOf({ set: ['FPFoldDisable'] }))[1]);
    expect(b).not.toBe(texts(base)[1]);
  });
});

describe('knob 862 bounds the rounds of phase 28', () => {
  /** How often its first pass runs over each function, if it changes each of the first seven times. */
  const rounds = (plan: Plan): Record<string, number> => {
    const seen: Record<string, number> = { k: 0, other: 0 };
    const steps = new Map([
      ...passes,
      [
        'sink-values',
        {
          ...passes.get('sink-values')!,
          pass: (fn) => (++seen[fn.name] > 7 ? fn : { ...fn, attrs: { ...fn.attrs } }),
        },
      ],
      ['rematerialize', { ...passes.get('rematerialize')!, pass: (fn) => fn }],
    ] as const satisfies [string, RegisteredPass][]);
    runPlan(twice, plan, { passes: steps, startAt: 'SinkRemat', until: 'SinkRemat' });
    return seen;
  };
  /** A plan whose phases take any program. */
  const at5 = async (set: string[], mine?: string): Promise<Plan> => {
    const plan = await planOf({ level: 5, set, recipes: mine === undefined ? [] : ['mine'] }, mine);
    return { ...plan, phases: plan.phases.map((p) => ({ ...p, requires: [] })) };
  };

  it.each([
    ['5 by default', [], 5],
    ['its value', ['Knob862=2'], 2],
    ['until nothing changes', ['Knob862=0'], 8],
    ['until nothing changes', ['Knob862=-1'], 8],
  ])('%s: %j', async (_, set, times) => {
    expect(rounds(await at5(set))).toEqual({ k: times, other: times });
  });

  it('for each function its own', async () => {
    const mine = 'kind: recipe\ntitle: t\nwhen: { kernel: other }\nknobs: { Knob862: 3 }\n';
    expect(rounds(await at5([], mine))).toEqual({ k: 5, other: 3 });
  });
});

it('what is left of a budget is reported for each function', async () => {
  const p = await planFor('a*', 'OptBudget: 2', ['GeneralOptimizationBudget=3']);
  const b = new Budgets(new FunctionPlans(p, twice));
  expect(b.left('OptBudget', 'abc')).toBe(2);
  expect(b.left('OptBudget', 'x')).toBe(Infinity);
  expect(b.left('MergeEquivalentConditionalFlowBudget', 'x')).toBe(Infinity);
  const taken = ['abc', 'x', 'a', 'x', 'aa'].map((fn) => b.take('OptBudget', fn));
  expect(taken).toEqual([true, true, true, true, false]);
  const copy = b.copy();
  expect(copy.take('GeneralOptimizationBudget', 'x')).toBe(true);
  expect([copy.left('GeneralOptimizationBudget', 'a'), b.left('GeneralOptimizationBudget', 'a')]).toEqual([
    2, 3,
  ]);
});

it('a pattern is the same here as in specs', async () => {
  const plans = async (when: string) =>
    new FunctionPlans(await planFor(when, 'OptBudget: 1'), { ...twice, functions: [] });
  const p = await plans('a[b]*');
  expect([p.knob('OptBudget', 'a[b]c'), p.knob('OptBudget', 'ab')]).toEqual([1, null]);
  // A pattern that a backtracking matcher does not come to an end with.
  const slow = await plans(`${'*a'.repeat(30)}b`);
  expect(slow.knob('OptBudget', 'a'.repeat(2000))).toBeNull();
});
