import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { host as names } from '../../src/engine/pipeline.ts';
import { type Diagnostic, DiagnosticError, renderDiagnostic } from '../../src/ir/diagnostic.ts';
import { readSpec } from '../../src/spec/document.ts';
import { loadShipped, loadSpec, makePlan, schemaOf } from '../../src/spec/node.ts';
import { passesOf } from '../../src/spec/plan.ts';
import { type PlanRequest, resolve } from '../../src/spec/resolve.ts';
import { generatedTypes } from '../../src/tools/generate-types.ts';
import { runs } from '../support/size.ts';

const specs = await loadShipped();
const base: PlanRequest = {
  level: 3,
  sm: 'sm_80',
  order: 'seed',
  knobSets: [],
  set: [],
  disable: [],
};
const dir = mkdtempSync(join(tmpdir(), 'orrery-spec-'));
afterAll(() => rmSync(dir, { recursive: true }));
const write = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};
const shown = (d: Diagnostic, text: string) =>
  renderDiagnostic({ ...d, file: d.file.split('/').pop() ?? '' }, text);
const planOf = async (r: Partial<PlanRequest>) => makePlan({ ...base, ...r }, names, specs);
const messages = async (r: Partial<PlanRequest>) =>
  (await planOf(r)).diagnostics.map((d) => [d.message, ...(d.notes ?? [])].join(' | '));

describe('reading a spec', () => {
  const faults = (text: string) =>
    readSpec('mine.yaml', text, schemaOf).diagnostics.map((d) => shown(d, text));

  it('reports every fault of a file at once, with frames and near misses', () => {
    expect(faults('kind: order\nextend: seed\nedits:\n  - { mov: A, after: B }\n')).toMatchSnapshot();
    expect(faults('kind: knob-set\nknobs: 3\ntitel: x\n')).toMatchSnapshot();
  });

  it('explains YAML that does not parse, a missing and an unknown kind', () => {
    expect(faults('kind: order\n  edits: [\n')[0]).toMatch(/^error: .*\n {2}--> mine.yaml:\d+:\d+/);
    expect(faults('edits: []\n')).toMatchSnapshot();
    expect(faults('kind: ordr\n')).toMatchSnapshot();
    expect(faults('- 1\n')).toMatchSnapshot();
  });

  it('never throws, whatever the text', () => {
    const good = readFileSync(new URL('../../pipelines/orders/late-branches.yaml', import.meta.url), 'utf8');
    fc.assert(
      fc.property(fc.nat(good.length), fc.string({ maxLength: 4 }), (at, junk) => {
        const text = good.slice(0, at) + junk + good.slice(at);
        const { spec, diagnostics } = readSpec('x.yaml', text, schemaOf);
        expect(spec !== null || diagnostics.length > 0).toBe(true);
        for (const d of diagnostics) expect(d.line).toBeGreaterThan(0);
      }),
      { numRuns: runs(200), seed: 11 },
    );
  });
});

describe('orders', () => {
  it('shipped orders resolve without a word, for every target and level', async () => {
    for (const order of specs.orders.keys())
      for (const b of specs.backends.values())
        if (typeof b.data.sm === 'string')
          expect(await messages({ order, sm: b.data.sm, level: 2 })).toEqual([]);
  });

  it('the error of a broken constraint names the reason, the edit and the nearest legal place', async () => {
    const text =
      'kind: order\nextends: seed\nedits:\n  - { move: OriBranchOpt, before: SetControlFlowOpLastInBB }\n';
    const file = write('broken.yaml', text);
    const { plan, diagnostics } = await planOf({ order: file });
    expect(plan === null).toBe(true);
    expect(diagnostics.filter((d) => d.severity === 'error').map((d) => shown(d, text))).toMatchSnapshot();
  });

  it('the error of a missing IR property says who provides it', async () => {
    const text =
      'kind: order\nextends: seed\nedits:\n  - { move: OriPerformLiveDeadFirst, before: SetControlFlowOpLastInBB }\n';
    const { diagnostics } = await planOf({ order: write('property.yaml', text) });
    const d = diagnostics.find((x) => x.code === 'ir-property');
    expect(d === undefined ? diagnostics.map((x) => x.code) : shown(d, text)).toMatchSnapshot();
  });

  it('edits by name: insert twice gives an id of its own, drop by level, insertPass', async () => {
    const file = write(
      'edits.yaml',
      'kind: order\nextends: binary\nedits:\n  - { insert: OriBranchOpt, after: OriPerformLiveDeadSecond }\n  - { drop: OriPerformLiveDeadThird, levels: [1], why: cheap build }\n  - { insertPass: live-dead, before: FinalInspectionPass }\n',
    );
    const at1 = (await planOf({ order: file, level: 1 })).plan!;
    const at3 = (await planOf({ order: file })).plan!;
    const ids = at3.phases.map((p) => p.id);
    expect(ids[ids.indexOf('OriPerformLiveDeadSecond') + 1]).toBe('OriBranchOpt#2');
    expect(ids[ids.indexOf('FinalInspectionPass') - 1]).toBe('live-dead');
    expect(at1.phases.find((p) => p.id === 'OriPerformLiveDeadThird')!.disabled?.why).toBe(
      'dropped by the order: cheap build',
    );
    expect(at3.phases.find((p) => p.id === 'OriPerformLiveDeadThird')!.disabled).toBeNull();
    expect(at1.hash).not.toBe(at3.hash);
  });

  it('a cycle of extends and unknown names are errors', async () => {
    const a = write('a.yaml', `kind: order\nextends: ${join(dir, 'b.yaml')}\nedits: []\n`);
    write('b.yaml', `kind: order\nextends: ${a}\nedits: []\n`);
    expect((await messages({ order: a }))[0]).toMatch(/extends itself/);
    expect(await messages({ order: 'sed' })).toEqual(["there is no order 'sed' | did you mean 'seed'?"]);
    const text = 'kind: order\nextends: seed\nedits:\n  - { move: OriBranchOpts, after: OriSanitize }\n';
    expect(
      (await planOf({ order: write('typo.yaml', text) })).diagnostics.map((d) => shown(d, text)),
    ).toMatchSnapshot();
  });

  it('moves keep the set of phases, and a plan comes out only if nothing is broken', async () => {
    const order = specs.orders.get('binary')!;
    const ids = order.data.phases as string[];
    await fc.assert(
      fc.asyncProperty(fc.nat(ids.length - 1), fc.nat(ids.length - 1), async (i, j) => {
        if (i === j) return;
        const file = {
          ...order,
          data: { kind: 'order', extends: 'binary', edits: [{ move: ids[i], after: ids[j] }] },
        };
        const r = resolve(
          { ...specs, orders: new Map([...specs.orders, ['mine', file as never]]) },
          { ...base, order: 'mine' },
          names,
        );
        expect(r.plan === null).toBe(r.issues.some((x) => x.severity === 'error'));
        if (r.plan !== null) {
          expect(r.plan.phases.map((p) => p.id).sort()).toEqual([...ids].sort());
          expect(r.plan.phases.map((p) => p.position)).toEqual(ids.map((_, k) => k));
        }
      }),
      { numRuns: runs(60), seed: 3 },
    );
  });
});

describe('knobs, recipes, gates', () => {
  it('the last source wins, and the plan remembers who lost', async () => {
    const set = write('set.yaml', 'kind: knob-set\nknobs: { MergeEquivalentConditionalFlowBudget: 5 }\n');
    const { plan } = await planOf({ knobSets: [set], set: ['mergeequivalentconditionalflowbudget=7'] });
    const k = plan!.knobs.get('MergeEquivalentConditionalFlowBudget')!;
    expect([k.value, k.origin.source, k.overridden.map((o) => [o.value, o.origin.source])]).toEqual([
      7,
      'command-line',
      [
        [null, 'catalog'],
        [5, 'knob-set'],
      ],
    ]);
  });

  it('wrong values and names are errors', async () => {
    expect(
      await messages({ set: ['OptBudget=-1', 'OptBudgett=1', 'DisableSourceOrder=maybe', 'OptBudget=x'] }),
    ).toMatchSnapshot();
  });

  it('a knob that no phase reads is a warning', async () => {
    expect(await messages({ set: ['SchedTexLatency=3'] })).toEqual([
      'knob SchedTexLatency is set (command-line), but no phase that runs reads it',
    ]);
  });

  it('a recipe fills a hook, and only a hook', async () => {
    const good = (await planOf({ recipes: ['inline'] })).plan!;
    const hook = good.phases.find((p) => p.id === 'AdvancedPhaseAfterConvUnSup')!;
    expect([hook.noOp, passesOf(hook)]).toEqual([false, ['inline-functions']]);
    const bad = write('bad.yaml', 'kind: recipe\nhooks:\n  OriBranchOpt: [{ pass: live-ded }]\n');
    expect((await messages({ recipes: [bad] })).map((m) => m.split(' | ')[0])).toEqual([
      "phase 'OriBranchOpt' is not a hook",
      "there is no pass 'live-ded'",
    ]);
    expect((await messages({ recipes: ['inline'], sm: 'sm_75' }))[0]).toMatch(
      /is for sm_80, .* not for sm_75/,
    );
  });

  it('a required phase cannot be switched off; others can, by name or by DisablePhases', async () => {
    expect((await messages({ disable: ['SetControlFlowOpLastInBB'] }))[0].split(' | ')[0]).toBe(
      "phase 'SetControlFlowOpLastInBB' is required and cannot be switched off (disabled on the command line)",
    );
    const { plan } = await planOf({ disable: ['OriBranchOpt'], set: ['DisablePhases=LiveDeadF+nosuch'] });
    expect(plan!.phases.filter((p) => p.disabled !== null).map((p) => p.id)).toEqual([
      'OriBranchOpt',
      'OriPerformLiveDeadFirst',
      'OriPerformLiveDeadFourth',
    ]);
  });

  it('unknown targets and levels are errors', async () => {
    expect(await messages({ sm: 'sm_81' })).toEqual([
      expect.stringMatching(/^there is no back end for 'sm_81' \| did you mean/),
    ]);
    expect((await messages({ level: 9 }))[0]).toBe('optimization level 9 is not 0 to 5');
  });
});

it('a spec is read once and then comes from the cache, until its text changes', async () => {
  vi.stubEnv('XDG_CACHE_HOME', join(dir, 'cache'));
  onTestFinished(() => void vi.unstubAllEnvs());
  const file = write('cached.yaml', 'kind: knob-set\nknobs: { OptBudget: 1 }\n');
  const a = await loadSpec(file);
  const b = await loadSpec(file);
  expect(b.data).toEqual(a.data);
  write('cached.yaml', 'kind: knob-set\nknobs: { OptBudget: 2 }\n');
  expect((await loadSpec(file)).data).toEqual({ kind: 'knob-set', knobs: { OptBudget: 2 } });
  write('cached.yaml', 'kind: knob-set\nknob: 1\n');
  await expect(loadSpec(file)).rejects.toBeInstanceOf(DiagnosticError);
});

it('generated types are current', async () => {
  expect(readFileSync(new URL('../../src/spec/types.generated.ts', import.meta.url), 'utf8')).toBe(
    await generatedTypes(),
  );
});
