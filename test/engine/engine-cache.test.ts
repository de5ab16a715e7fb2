import { describe, expect, it } from 'vitest';
import type { CachedPhase, CacheEntry } from '../../src/engine/cache.ts';
import type { EditStep } from '../../src/engine/edits.ts';
import type { Journal } from '../../src/engine/journal.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { type RegisteredPass, type RunOptions, runPlan } from '../../src/engine/run.ts';
import { mapBlocks, mapIns, withIns } from '../../src/ir/edit.ts';
import { printProgram } from '../../src/ir/text.ts';
import type { Pass } from '../../src/passes/pass.ts';
import { passes } from '../../src/passes/registry.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { loadShipped, makePlan } from '../../src/spec/node.ts';
import { groupsOf, type Plan } from '../../src/spec/plan.ts';
import type { PlanRequest } from '../../src/spec/resolve.ts';
import { branchyPtx } from '../support/branchy.ts';
import { passNames, plain, planWith } from '../support/specs.ts';

const text = branchyPtx('k');
const planOf = async (change: Partial<PlanRequest> = {}, mine?: string): Promise<Plan> =>
  (await planWith({ order: 'binary', ...change }, mine)).plan!;
const base = await planOf();
const lowered = (p: Plan) =>
  lowerPtx(parsePtx(text, 'x.ptx').module, { isa: p.isa, paramBase: 0x160, sm: 'sm_80' }).program;
const input = lowered(base);

const newCache = () => new Map<string, CacheEntry>();
const ran = (j: Journal) => j.records.filter((r) => r.outcome === 'ran');
/** Results of a run that a cache must not change. */
const outcome = (j: Journal) => ({
  text: printProgram(j.last),
  records: j.records.map((r) => ({
    id: r.phase.id,
    outcome: r.outcome,
    level: r.level,
    knobs: r.knobsRead,
    facts: r.factsRead,
    remarks: r.remarks,
    reports: r.reports.map((x) => x.text),
    changed: [r.functionsChanged, r.blocksChanged, r.instructionsBefore, r.instructionsAfter],
  })),
});

describe('a prefix cache', () => {
  it('gives a second run everything, and records that say the same', () => {
    const cache = newCache();
    const first = runPipeline(input, base, { cache, inputKey: 'k' });
    expect(ran(first).some((r) => r.cached)).toBe(false);
    // Another object for the same input: what is shared with it, is.
    const again = runPipeline(lowered(base), base, { cache, inputKey: 'k' });
    expect(ran(again).every((r) => r.cached)).toBe(true);
    expect(again.last).toBe(first.last);
    expect(outcome(again)).toEqual(outcome(first));
    expect(outcome(first)).toEqual(outcome(runPipeline(input, base)));
    expect(first.records.some((r) => r.knobsRead.length > 0 && r.outcome === 'ran')).toBe(true);
  });

  it('keeps what phases do that do not read the knob that differs, although they may', async () => {
    const cache = newCache();
    runPipeline(input, base, { cache, inputKey: 'k' });
    const other = await planOf({ set: ['MergeEquivalentConditionalFlowBudget=0'] });
    const part = runPipeline(input, other, { cache, inputKey: 'k' });
    // GeneralOptimizeEarly declares the knob, and OriBranchOpt reads it.
    const declares = part.records.find((r) => r.phase.id === 'GeneralOptimizeEarly')!;
    expect(declares.phase.knobs).toContain('MergeEquivalentConditionalFlowBudget');
    const list = ran(part);
    const at = list.findIndex((r) => r.phase.id === 'OriBranchOpt');
    expect(list.slice(0, at + 1).map((r) => r.cached)).toEqual([...Array(at).fill(true), false]);
    expect(outcome(part)).toEqual(outcome(runPipeline(input, other)));
  });

  it('is for every target and level at which the same was read', async () => {
    const cache = newCache();
    const two = await planOf({ level: 2 });
    const low = new Set(ran(runPipeline(input, two, { cache, inputKey: 'k' })).map((r) => r.phase.id));
    // No pass before the phases that only level 3 runs asks for the level.
    const three = runPipeline(input, base, { cache, inputKey: 'k' });
    const late = ran(three).findIndex((r) => !low.has(r.phase.id));
    expect(late).toBeGreaterThan(0);
    expect(
      ran(three)
        .slice(0, late)
        .every((r) => r.cached),
    ).toBe(true);
    expect(outcome(three)).toEqual(outcome(runPipeline(input, base)));
    const hopper = await planOf({ sm: 'sm_90' });
    const there = runPipeline(input, hopper, { cache, inputKey: 'k' });
    expect(ran(there)[0].cached).toBe(true);
    expect(outcome(there)).toEqual(outcome(runPipeline(input, hopper)));
    // Conditions of rules ask for the target; required phases have groups with a switch that is off.
    const rules = ran(there).find((r) => groupsOf(r.phase).length > 0 && !r.phase.required)!;
    expect(rules.cached).toBe(false);
  });

  it('tells apart what budgets have left, and takes what the first run took', async () => {
    const cache = newCache();
    const set = (n: number) => planOf({ set: [`MergeEquivalentConditionalFlowBudget=${n}`] });
    for (const n of [0, 1, 2, 3, 1, 0, 50, 3]) {
      const p = await set(n);
      const got = runPipeline(input, p, { cache, inputKey: 'k' });
      expect(outcome(got), `budget ${n}`).toEqual(outcome(runPipeline(input, p)));
    }
  });

  it('gives what no cache gives over many plans in turn', async () => {
    const cache = newCache();
    const some =
      "kind: knob-set\ntitle: t\nwhen: { kernel: 'k*' }\nknobs: { FPFoldDisable: true, OptBudget: 4 }\n";
    let used = 0;
    for (const level of [3, 1, 2])
      for (const sm of ['sm_80', 'sm_75'])
        for (const set of [[], ['FPFoldDisable'], ['RulePriorityBands'], ['OptBudget=3']])
          for (const knobSets of [[], ['mine']]) {
            if (knobSets.length > 0 && set.includes('FPFoldDisable')) continue;
            const p = await planOf({ level, sm, set, knobSets }, some);
            const got = runPipeline(input, p, { cache, inputKey: 'k' });
            expect(outcome(got), `${level} ${sm} ${set} ${knobSets}`).toEqual(outcome(runPipeline(input, p)));
            used += ran(got).filter((r) => r.cached).length;
          }
    expect(used).toBeGreaterThan(200);
  });

  it('does not hold for other parameters, another file or table of opcodes', () => {
    const cache = newCache();
    runPipeline(input, base, { cache, inputKey: 'k' });
    const cachedOnes = (p: Plan, opts: Partial<RunOptions> = {}, program = input) =>
      ran(runPlan(program, p, { passes, rules: keep, cache, inputKey: 'k', ...opts }));
    const params: Plan = {
      ...base,
      phases: base.phases.map((p) => ({
        ...p,
        steps: p.steps.map((s) => (s.kind === 'pass' ? { ...s, params: { x: 1 } } : s)),
      })),
    };
    // Phases of rules alone do what they did, if the program before them says the same.
    const withParams = cachedOnes(params).filter((r) => r.phase.steps.some((s) => s.kind === 'pass'));
    expect(withParams.length).toBeGreaterThan(5);
    expect(withParams.some((r) => r.cached)).toBe(false);
    expect(cachedOnes(base, {}, { ...input, name: 'y.ptx' }).some((r) => r.cached)).toBe(false);
    expect(cachedOnes({ ...base, isa: { ...base.isa, hash: 'other' } }).some((r) => r.cached)).toBe(false);
  });

  it('a pass that reads more knobs if one is set has a result for each case', async () => {
    // Reads the second knob only if the first is set.
    const bent: Pass = (fn, ctx) => {
      if (ctx.knob('DisableMergeEquivalentConditionalFlow') === true) return fn;
      const n = ctx.knob('MergeEquivalentConditionalFlowBudget');
      return n === null ? fn : mapBlocks(fn, (b) => (b.ins.length === n ? withIns(b, []) : b));
    };
    let runs = 0;
    const own = new Map<string, RegisteredPass>([
      ...passes,
      ['branch-opt', { name: 'branch-opt', pass: (f, c) => (runs++, bent(f, c)), summary: '' }],
    ]);
    const cache = newCache();
    const go = (p: Plan) => {
      // The gate reads the first knob too: the pass is to see it.
      const open = { ...p, phases: p.phases.map((x) => ({ ...x, gate: { ...x.gate, unset: [] } })) };
      const opts = { passes: own, rules: keep, until: 'OriBranchOpt' };
      const cached = runPlan(input, open, { ...opts, cache, inputKey: 'k' });
      const before = runs;
      expect(outcome(cached)).toEqual(outcome(runPlan(input, open, opts)));
      runs = before;
    };
    const off = 'DisableMergeEquivalentConditionalFlow';
    const budget = 'MergeEquivalentConditionalFlowBudget';
    const sizes = [...new Set(input.functions[0].blocks.map((b) => b.ins.length))].slice(0, 2);
    for (const set of [[], [off], [`${budget}=${sizes[0]}`], [`${budget}=${sizes[1]}`]])
      go(await planOf({ set }));
    expect(runs).toBe(4);
    for (const set of [[], [off], [off, `${budget}=${sizes[0]}`], [`${budget}=${sizes[1]}`]])
      go(await planOf({ set }));
    expect(runs).toBe(4);
  });

  it('a phase that changed nothing is none of the prefix', async () => {
    const cache = newCache();
    runPipeline(input, base, { cache, inputKey: 'k' });
    const idle = ran(runPipeline(input, base)).find((r, i) => i > 3 && r.blocksChanged === 0)!;
    const without = await planOf({ disable: [idle.phase.id] });
    const j = runPipeline(input, without, { cache, inputKey: 'k' });
    expect(ran(j).every((r) => r.cached)).toBe(true);
  });

  it('keeps reports without making them', () => {
    const cache = newCache();
    let made = 0;
    const own = new Map<string, RegisteredPass>([
      ...passes,
      [
        'report-initial',
        {
          name: 'report-initial',
          summary: '',
          pass: (fn, ctx) => {
            ctx.report(() => `${++made}: ${fn.name}`);
            return fn;
          },
        },
      ],
    ]);
    const reports = () =>
      runPlan(input, base, { passes: own, rules: keep, cache, inputKey: 'k' }).records.flatMap(
        (r) => r.reports,
      );
    const all = runPlan(input, base, { passes: own, rules: keep, inputKey: 'k' }).records.flatMap(
      (r) => r.reports,
    ).length;
    expect([made, all > 1]).toEqual([0, true]);
    const first = reports();
    const second = reports();
    expect([made, first.length]).toEqual([0, all]);
    expect(second[0].text).toBe('1: k');
    expect([first[0].text, second[0].text, made]).toEqual(['1: k', '1: k', 1]);
  });

  it('shared by two loads of the shipped specs gives what no cache gives', async () => {
    const cache = newCache();
    const results: string[] = [];
    for (let k = 0; k < 2; k++) {
      const { plan } = await makePlan({ ...plain, order: 'binary' }, passNames, await loadShipped());
      // The second run takes what comes before the first rules from the first run, and goes on with it.
      const half = plan!.phases.findIndex((x) => groupsOf(x).length > 0);
      const part = k === 0 ? { ...plan!, phases: plan!.phases.slice(0, half) } : plan!;
      results.push(printProgram(runPipeline(lowered(plan!), part, { cache, inputKey: 'k' }).last));
    }
    expect(results[1]).toBe(printProgram(runPipeline(input, base).last));
  });
});

describe('checking', () => {
  const broken = new Map<string, RegisteredPass>([
    ...passes,
    [
      'branch-opt',
      {
        name: 'branch-opt',
        pass: (fn) =>
          mapBlocks(fn, (b) => mapIns(b, (i) => (i.op.name === 'EXIT' || i.op.name === 'RET' ? null : i))),
        summary: '',
      },
    ],
  ]);

  it('an unchecked result is checked when it is used', () => {
    const cache = newCache();
    const opts = { passes: broken, rules: keep, cache, inputKey: 'k', until: 'OriBranchOpt' };
    runPlan(input, base, opts);
    for (let k = 0; k < 2; k++)
      expect(() => runPlan(input, base, { ...opts, verify: true })).toThrow(/left an invalid program/);
  });

  it('a result says whether it was checked, and is checked once', () => {
    const cache = newCache();
    const opts = { cache, inputKey: 'k' };
    const results = () => [...cache.values()].filter((e): e is CachedPhase => e.kind === 'result');
    const said = () => new Set(results().flatMap((e) => (e.program === null ? [] : [e.verified])));
    runPipeline(input, base, opts);
    expect([...said()]).toEqual(['no']);
    runPipeline(input, base, { ...opts, verify: true });
    // What phase 6 changes and all that comes after it ends its blocks by control operations.
    expect([...said()].filter((v) => !v.includes('control-last'))).toEqual([]);
    const checked = results();
    runPipeline(input, base, { ...opts, verify: true });
    expect(results().every((e, i) => e === checked[i])).toBe(true);
  });
});

/** Stands for rule groups where a test is about something else. */
function keep(): EditStep {
  return { key: 'nothing', open: () => () => {} };
}
