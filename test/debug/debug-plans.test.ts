import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bisectPlans, changesOf, type PlanFinding, withChanges } from '../../src/debug/bisect-plans.ts';
import { GOOD, type Judge, openWorlds } from '../../src/debug/judge.ts';
import { MemoryCache } from '../../src/engine/memory-cache.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { printProgram } from '../../src/ir/text.ts';
import { parseArm } from '../../src/lab/arms.ts';
import { planDifferences } from '../../src/lab/plan-differences.ts';
import { Plans } from '../../src/lab/plans.ts';
import { readPtx } from '../../src/read.ts';
import { resolve } from '../../src/spec/resolve.ts';
import { planOf as madeOf, withRecipes } from '../support/recipes.ts';
import { passNames, plain, shipped, specOf } from '../support/specs.ts';

/* Finding the difference that turns a good plan into a bad one. */

const plans = new Plans({ ...plain, order: 'binary', sm: 'sm_80' }, Promise.resolve(shipped));
const planOf = (arm: string) => plans.plan(parseArm(arm), null);
const base = await planOf('base');
const kernel = (name: string) => {
  const text = readFileSync(new URL(`../kernels/${name}/${name}.sm_80.ptx`, import.meta.url), 'utf8');
  const { program, module } = readPtx(text, base, name);
  return { program, module };
};
const cache = new MemoryCache();
/** The output of a plan for a kernel. */
const madeOfKernel = (name: string, plan: typeof base): string =>
  printProgram(runPipeline(kernel(name).program, plan, { inputKey: name, cache }).last);
const recipes = readdirSync(new URL('../../pipelines/recipes/', import.meta.url))
  .filter((f) => f.endsWith('.yaml'))
  .map((f) => f.replace('.yaml', ''));

describe('plans made of parts of two others', () => {
  it.each([
    'level:1',
    'level:2 set:ContractProducts=true',
    'order:seed',
    'disable:GvnCse disable:GeneralOptimize',
    'set:OptBudget=5',
    'move:OriHoistInvariantsEarly@after:GvnCse',
    ...recipes.map((r) => `recipe:${r}`),
  ])('do all that %s does where they have all of it, and nothing where they have none', async (arm) => {
    for (const [a, b] of [
      [base, await planOf(arm)],
      [await planOf(arm), base],
    ]) {
      const all = changesOf(planDifferences(a, b));
      for (const name of ['crc', 'divmod']) {
        const made = (plan: typeof a) => madeOfKernel(name, plan);
        expect(made(withChanges(a, b, all))).toBe(made(b));
        expect(made(withChanges(a, b, []))).toBe(made(a));
      }
      expect(withChanges(a, b, all).phases.map((p) => p.position)).toEqual(
        withChanges(a, b, all).phases.map((_, i) => i),
      );
    }
  });
});

it('a round that depends on the one before differs from an unconditional repetition', async () => {
  const ordered = (edit: string) => {
    const file = specOf('mine.yaml', `kind: order\nextends: binary\nedits:\n  - ${edit}\n`);
    const specs = { ...shipped, orders: new Map([...shipped.orders, ['mine', file]]) };
    return resolve(specs, { ...plain, order: 'mine' }, passNames).plan!;
  };
  const again = ordered('{ insert: OriBranchOpt, after: OriBranchOpt }');
  const round = ordered('{ repeat: OriBranchOpt, rounds: 2 }');
  expect(again.hash).not.toBe(round.hash);
  expect(planDifferences(again, round).map((d) => [d.kind, d.name, d.a, d.b])).toEqual([
    [
      'phase',
      'OriBranchOpt#2',
      expect.not.stringContaining('a change'),
      expect.stringContaining('a change by OriBranchOpt'),
    ],
  ]);
});

it('combined conditions are reported: of one recipe, and by the order of several', async () => {
  const specs = withRecipes({
    five: "mode: 2\nwhen: { kernel: 'k*' }\nknobs: { UnrollFullInstLimit: 5 }",
    six: "mode: 2\nwhen: { kernel: 'k*' }\nknobs: { UnrollFullInstLimit: 6 }",
    left: "when: { kernel: 'a*' }\nknobs: { UnrollFullInstLimit: 1 }",
    right: "when: { kernel: '*b' }\nknobs: { UnrollFullInstLimit: 2 }",
    kernels: 'mode: 2\nknobs: { UnrollFullInstLimit: 1 }',
    devices: 'mode: 3\nknobs: { UnrollFullInstLimit: 2 }',
  });
  const differ = async (a: string[], b: string[]) => {
    const [p, q] = [await madeOf({}, { recipes: a }, specs), await madeOf({}, { recipes: b }, specs)];
    return planDifferences(p, q).map((d) => [d.kind, d.name, d.a, d.b]);
  };
  const both = 'kernel k*, mode 2, kernels';
  expect(await differ(['five'], ['six'])).toEqual([
    ['knob', 'UnrollFullInstLimit', `5 (${both})`, `6 (${both})`],
  ]);
  expect(await differ(['left', 'right'], ['right', 'left'])).toEqual([
    ['knob', 'UnrollFullInstLimit', '2 (kernel a*, kernel *b)', '1 (kernel a*, kernel *b)'],
  ]);
  // No function is a kernel and a device function, so it does not matter which of the two comes first.
  expect(await differ(['kernels', 'devices'], ['devices', 'kernels'])).toEqual([]);
});

describe('bisectPlans', () => {
  const limits = { stopped: () => false };
  const find = (good: typeof base, bad: typeof base, judge: Judge) =>
    bisectPlans(kernel('crc'), good, bad, planDifferences(good, bad), judge, limits);

  it('finds the phases that make the difference together', async () => {
    const { program } = kernel('crc');
    const busy = runPipeline(program, base, {})
      .records.filter((r) => r.blocksChanged > 0 && !r.phase.required)
      .map((r) => r.phase.id);
    const good = await planOf(busy.map((id) => `disable:${id}`).join(' '));
    // Bad is the very code that all phases make together, which takes several of them.
    const text = madeOfKernel('crc', base);
    expect(madeOfKernel('crc', good)).not.toBe(text);
    const judge: Judge = {
      what: 'its text',
      judge: (_, after) =>
        printProgram(after) === text ? { state: 'bad', kind: 'the same', text: 'the same' } : GOOD,
    };
    const f = (await find(good, base, judge)) as PlanFinding;
    expect(f.of).toBe(busy.length);
    expect(f.changes.length).toBeGreaterThan(1);
    expect(f.changes.length).toBeLessThan(busy.length);
    // None of them can be spared, and they are enough.
    const state = async (changes: typeof f.changes) => {
      const plan = withChanges(good, base, changes);
      const { last } = runPipeline(program, plan, { inputKey: 'crc', cache });
      return (await judge.judge({ program, module: null, plan }, last)).state;
    };
    expect(await state(f.changes)).toBe('bad');
    for (const c of f.changes) expect(await state(f.changes.filter((x) => x !== c))).toBe('good');
  });

  it('says where there is nothing to find', async () => {
    const never: Judge = { what: 'no', judge: () => ({ state: 'bad', kind: 'no', text: 'no' }) };
    expect(await find(base, await planOf('level:2'), openWorlds)).toMatchObject({ why: 'bad is good' });
    expect(await find(base, await planOf('level:2'), never)).toMatchObject({ why: 'good is bad' });
    expect(await find(base, await planOf('sm_90'), never)).toMatchObject({ why: 'other program' });
  });
});
