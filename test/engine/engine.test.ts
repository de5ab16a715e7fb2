import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { callGraphOf } from '../../src/analysis/calls/call-graph.ts';
import { host as names, runPipeline } from '../../src/engine/pipeline.ts';
import { timingRecords } from '../../src/engine/report.ts';
import { type RegisteredPass, type RunOptions, runPlan } from '../../src/engine/run.ts';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import { mapBlocks, mapIns, withFunctions } from '../../src/ir/edit.ts';
import type { Fn } from '../../src/ir/program.ts';
import { printProgram } from '../../src/ir/text.ts';
import type { Pass, ProgramPass } from '../../src/passes/pass.ts';
import { passes } from '../../src/passes/registry.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import type { SpecFile } from '../../src/spec/document.ts';
import { loadShipped, makePlan } from '../../src/spec/node.ts';
import type { Plan } from '../../src/spec/plan.ts';

const specs = await loadShipped();
async function plan(
  o: { level?: number; set?: string[]; disable?: string[]; order?: string } = {},
): Promise<Plan> {
  const r = await makePlan(
    {
      level: o.level ?? 3,
      sm: 'sm_80',
      order: o.order ?? 'binary',
      knobSets: [],
      set: o.set ?? [],
      disable: o.disable ?? [],
    },
    names,
    specs,
  );
  return r.plan!;
}
const base = await plan();
const text = readFileSync(
  new URL('../kernels/state-machine/state-machine.sm_80.ptx', import.meta.url),
  'utf8',
);
const input = lowerPtx(parsePtx(text, 'x.ptx').module, {
  isa: base.isa,
  paramBase: 0x160,
  sm: 'sm_80',
}).program;
const outcome = (p: Plan, id: string) => {
  const r = runPipeline(input, p).records.find((x) => x.phase.id === id)!;
  return r.outcome === 'ran' ? 'ran' : r.why;
};

describe('gates', () => {
  it('levels, knobs and budgets decide, and say why not', async () => {
    expect(outcome(base, 'OriBranchOpt')).toBe('ran');
    expect(outcome(await plan({ level: 1 }), 'OriBranchOpt')).toBe('level 1 is not in 2..5');
    expect(outcome(await plan({ set: ['DisableMergeEquivalentConditionalFlow'] }), 'OriBranchOpt')).toBe(
      'knob DisableMergeEquivalentConditionalFlow is set',
    );
    expect(outcome(await plan({ set: ['GeneralOptimizationBudget=0'] }), 'OriBranchOpt')).toBe(
      'budget GeneralOptimizationBudget is spent',
    );
    expect(outcome(await plan({ disable: ['OriBranchOpt'] }), 'OriBranchOpt')).toBe(
      'disabled on the command line',
    );
    const empty = base.phases.map((p) => (p.id === 'OriBranchOpt' ? { ...p, steps: [] } : p));
    expect(outcome({ ...base, phases: empty }, 'OriBranchOpt')).toBe('nothing is bound to it yet');
    expect(outcome(base, 'AdvancedPhaseAfterConvUnSup')).toBe('isNoOp: nothing fills the hook');
  });

  it('a phase whose isNoOp holds is not executed, but leaves its record', () => {
    const phases = base.phases.map((p) => (p.id === 'OriBranchOpt' ? { ...p, noOp: true } : p));
    const begun: string[] = [];
    const j = runPipeline(input, { ...base, phases }, { onBegin: (p) => void begun.push(p.id) });
    const record = j.records.find((r) => r.phase.id === 'OriBranchOpt')!;
    expect([record.outcome, record.why, record.blocksChanged]).toEqual(['skipped', 'isNoOp', 0]);
    expect(begun).not.toContain('OriBranchOpt');
    expect(begun).toContain('AnalyzeControlFlow');
    expect(timingRecords(j).filter((t) => t.name === 'OriBranchOpt')).toEqual([
      { index: 15, name: 'OriBranchOpt', time: 0, flags: 3 },
    ]);
  });

  it('phase 3 runs from level 1 on, and knob 235 switches it off without a change of any result', async () => {
    expect(outcome(await plan({ level: 0 }), 'AnalyzeControlFlow')).toBe('level 0 is not in 1..5');
    for (const level of [1, 2, 3, 4, 5]) {
      const on = await plan({ level });
      const off = await plan({ level, set: ['DisableSourceOrder'] });
      expect(outcome(on, 'AnalyzeControlFlow')).toBe('ran');
      expect(outcome(off, 'AnalyzeControlFlow')).toBe('knob DisableSourceOrder is set');
      const [a, b] = [on, off].map((p) => runPipeline(input, p));
      expect(a.last).not.toBe(input);
      expect(printProgram(a.last)).toBe(printProgram(b.last));
    }
  });

  it('phase 3 runs at level 1 alone under a knob, which is the literal test of seed 002', async () => {
    const set = ['AnalyzeAtLevelOneOnly'];
    for (const level of [2, 3, 4, 5])
      expect(outcome(await plan({ level, set }), 'AnalyzeControlFlow')).toBe(
        `level ${level} is not 1, and knob AnalyzeAtLevelOneOnly is set`,
      );
    expect(outcome(await plan({ level: 1, set }), 'AnalyzeControlFlow')).toBe('ran');
    expect(outcome(await plan({ level: 3, set: [`${set}=false`] }), 'AnalyzeControlFlow')).toBe('ran');
    // What the accessor gives is compared, not the level of the plan.
    expect(outcome(await plan({ level: 3, set: [...set, 'OptBudget=0'] }), 'AnalyzeControlFlow')).toBe('ran');
  });

  it('GeneralOptimizationBudget, once it is spent, closes the gate of every phase that lists it', async () => {
    const p = await plan({ level: 5, set: ['GeneralOptimizationBudget=0'] });
    // Phase 18 reads it for one of its parts.
    const listed = p.phases.filter(
      (x) =>
        x.steps.length > 0 &&
        x.knobs.includes('GeneralOptimizationBudget') &&
        x.id !== 'OriLoopSimplification',
    );
    expect(listed.map((x) => x.id)).toEqual(
      expect.arrayContaining(['OriRemoveRedundantBarriers', 'OriDoPredication', 'OptimizeSyncInstructions']),
    );
    for (const { id } of listed)
      expect([id, outcome(p, id)]).toEqual([id, 'budget GeneralOptimizationBudget is spent']);
  });

  it('phases 29 and 37 ask knob 487 first, and so use a unit of it where they then do not run', async () => {
    // The units that the phases up to one take: the least number that leaves its gate another reason, or none.
    const unitsTo = async (id: string, change: { set?: string[]; disable?: string[] }): Promise<number> => {
      for (let n = 0; ; n++) {
        const set = [...(change.set ?? []), `GeneralOptimizationBudget=${n}`];
        if (!outcome(await plan({ ...change, set }), id).includes('budget')) return n;
      }
    };
    const late = 'OriDoPredication';
    const all = await unitsTo(late, {});
    // Knob 231 also shuts phase 26, which asks it first.
    expect(await unitsTo(late, { set: ['DisableRedundantBarrierRemoval'] })).toBe(all - 1);
    expect(await unitsTo(late, { set: ['MembarFlowControl=0'] })).toBe(all);
    expect(await unitsTo(late, { disable: ['GeneralOptimize'] })).toBe(all - 1);
    // Both ask the level after it, and at level 1 it is what shuts them.
    const none = { level: 1, set: ['GeneralOptimizationBudget=0'] };
    for (const id of ['GeneralOptimize', 'GeneralOptimizeMid'])
      expect(outcome(await plan(none), id)).toBe('budget GeneralOptimizationBudget is spent');
    expect(outcome(await plan(none), 'OriBranchOpt')).toBe('level 1 is not in 2..5');
    // A unit of OptBudget is used only where the checks before it hold.
    const closed = await plan({ set: ['MembarFlowControl=0', 'OptBudget=1000'] });
    const read = runPipeline(input, closed).records.find((r) => r.phase.id === 'GeneralOptimize')!.knobsRead;
    expect(read).toEqual([
      'GeneralOptimizationBudget',
      'DisableRedundantBarrierRemoval',
      'MembarFlowControl',
    ]);
  });

  it('OptBudget limits how often gates see the level', async () => {
    // Phase 3 takes the first unit, so that with one unit the gate of phase 15 sees level 1.
    expect(outcome(await plan({ set: ['OptBudget=1'] }), 'OriBranchOpt')).toMatch(
      /level 1 \(OptBudget is spent\)/,
    );
    expect(outcome(await plan({ set: ['OptBudget=100'] }), 'OriBranchOpt')).toBe('ran');
    // Spent, it is 1, at -O0 too (seeds 000 and 003), where AnalyzeControlFlow asks for at least 1.
    expect(outcome(await plan({ level: 0 }), 'AnalyzeControlFlow')).toBe('level 0 is not in 1..5');
    expect(outcome(await plan({ level: 0, set: ['OptBudget=0'] }), 'AnalyzeControlFlow')).toBe('ran');
  });
});

describe('journal', () => {
  it('has a record for every phase, and shares snapshots that did not change', () => {
    const j = runPipeline(input, base);
    expect(j.records.map((r) => r.phase.id)).toEqual(base.phases.map((p) => p.id));
    let before = input;
    for (const r of j.records) {
      if (r.blocksChanged === 0) expect(r.program === before, r.phase.id).toBe(true);
      before = r.program;
    }
    expect(j.last).toBe(before);
  });
});

/** Stands for rule groups where a test is about something else. */
const keep: RunOptions['rules'] = () => ({ key: 'nothing', open: () => () => {} });

describe('passes that misbehave are caught', () => {
  const with_ = (pass: Pass) =>
    new Map<string, RegisteredPass>([...passes, ['branch-opt', { name: 'branch-opt', pass, summary: '' }]]);

  it('a pass that is not registered, named with the phase that is bound to it', () => {
    const without = new Map([...passes].filter(([name]) => name !== 'branch-opt'));
    expect(() => runPlan(input, base, { passes: without, rules: keep })).toThrow(
      "phase OriBranchOpt is bound to 'branch-opt', which is not a registered pass",
    );
  });

  it('an undeclared knob or fact', () => {
    expect(() =>
      runPlan(input, base, { passes: with_((fn, ctx) => (ctx.knob('SchedTexLatency'), fn)), rules: keep }),
    ).toThrow('without declaring it');
    expect(() =>
      runPlan(input, base, { passes: with_((fn, ctx) => (ctx.fact('nothing.here'), fn)), rules: keep }),
    ).toThrow(/declaring it/);
  });

  it('a program that the verifier refuses, named by phase, block and rule', () => {
    const broken = with_((fn) =>
      mapBlocks(fn, (b) => mapIns(b, (i) => (i.op.name === 'EXIT' || i.op.name === 'RET' ? null : i))),
    );
    try {
      runPlan(input, base, { passes: broken, rules: keep, verify: true });
      expect.unreachable();
    } catch (e) {
      expect(e).toBeInstanceOf(DiagnosticError);
      expect((e as DiagnosticError).diagnostics[0].message).toBe(
        'phase OriBranchOpt (branch-opt) left an invalid program',
      );
      expect((e as DiagnosticError).diagnostics[0].notes![0]).toMatch(/fall-off/);
    }
  });
});

describe('passes over the whole program', () => {
  const module = lowerPtx(
    parsePtx(
      `.version 9.0
.target sm_80
.address_size 64
.func (.reg .u32 r) used(.reg .u32 a) { add.u32 r, a, 1; ret; }
.func (.reg .u32 r) unused(.reg .u32 a) { add.u32 r, a, 2; ret; }
.visible .entry k(.param .u64 p) { .reg .u64 %d; .reg .u32 %a, %b; ld.param.u64 %d, [p]; mov.u32 %a, 1;
call (%b), used, (%a); st.global.u32 [%d], %b; ret; }
`,
      'm.ptx',
    ).module,
    { isa: base.isa, paramBase: 0x160, sm: 'sm_80' },
  ).program;
  const bound = (programPass: ProgramPass) =>
    new Map<string, RegisteredPass>([
      ...passes,
      ['branch-opt', { name: 'branch-opt', programPass, summary: '' }],
    ]);
  /** Removes device functions that no function of the module calls or names. */
  const dropUncalled: ProgramPass = (program, ctx) => {
    const g = callGraphOf(program);
    const keeps = (f: Fn, i: number): boolean =>
      f.kind === 'entry' || g.addressTaken[i] === 1 || g.callerStart[i] < g.callerStart[i + 1];
    const functions = program.functions.filter((f, i) => {
      if (keeps(f, i) || !ctx.functions.includes(f)) return true;
      ctx.of(f).remark('passed', 'uncalled', `nothing calls ${f.name}`);
      return false;
    });
    return functions.length === program.functions.length ? program : withFunctions(program, functions);
  };

  it('see it once, and what they change is in the journal and the cache', () => {
    let runs = 0;
    const opts = {
      passes: bound((program, ctx) => {
        runs++;
        expect(ctx.functions).toEqual(program.functions);
        return dropUncalled(program, ctx);
      }),
      rules: keep,
      verify: true,
      cache: new Map(),
      inputKey: 'module',
    };
    const j = runPlan(module, base, opts);
    expect(j.last.functions.map((f) => f.name)).toEqual(['used', 'k']);
    // The phase is bound at several places of the order; only the first finds anything.
    const told = j.records.flatMap((r) => r.remarks.filter((m) => m.name === 'uncalled'));
    expect(told.map((m) => [m.fn, m.message])).toEqual([['unused', 'nothing calls unused']]);
    expect(j.last.functions[1].blocks.length).toBeGreaterThan(0);
    const before = runs;
    expect(runPlan(module, base, opts).last).toBe(j.last);
    expect(runs).toBe(before);
  });

  it('may not touch functions for which the phase is not open', async () => {
    const shut: SpecFile = {
      file: 'shut.yaml',
      text: '',
      kind: 'knob-set',
      data: { when: { kernel: 'unused' }, knobs: { DisableMergeEquivalentConditionalFlow: true } },
    };
    const request = { level: 3, sm: 'sm_80', order: 'binary', knobSets: ['shut'], set: [], disable: [] };
    const { plan } = await makePlan(request, names, { ...specs, knobSets: new Map([['shut', shut]]) });
    const only = plan!;
    const ran = runPlan(module, only, { passes: bound(dropUncalled), rules: keep });
    expect(ran.records.find((r) => r.phase.id === 'OriBranchOpt')!.shutFor.map((s) => s.fn)).toEqual([
      'unused',
    ]);
    expect(ran.last.functions.map((f) => f.name)).toEqual(['used', 'unused', 'k']);
    const careless: ProgramPass = (program) => withFunctions(program, program.functions.slice(0, 1));
    expect(() => runPlan(module, only, { passes: bound(careless), rules: keep })).toThrow(
      /changed function 'unused', for which it is not open/,
    );
    const curious: ProgramPass = (program, ctx) => (ctx.of(program.functions[1]), program);
    expect(() => runPlan(module, only, { passes: bound(curious), rules: keep })).toThrow(
      /is not open for function/,
    );
  });
});
