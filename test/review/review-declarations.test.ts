import { describe, expect, it, vi } from 'vitest';
import { host } from '../../src/engine/pipeline.ts';
import { annotations } from '../../src/review/annotations.ts';
import {
  catalogChanges,
  declarationChanges,
  equalExceptTexts,
  groupChanges,
} from '../../src/review/declarations.ts';
import { otherChanges } from '../../src/review/documents.ts';
import { reviewMarkdown } from '../../src/review/render-markdown.ts';
import { reviewText } from '../../src/review/render-text.ts';
import { type Differences, differences } from '../../src/review/review.ts';
import { reviewed as asReview } from '../../src/review/reviewed.ts';
import type { Jury } from '../../src/review/rules.ts';
import type { SpecFile } from '../../src/spec/document.ts';
import { loadShipped, specOf } from '../../src/spec/node.ts';
import type { Specs } from '../../src/spec/specs.ts';

const base = await loadShipped();

/** A spec with one change in its data. */
function changed(f: SpecFile, change: (data: never) => void): SpecFile {
  const data = structuredClone(f.data);
  change(data as never);
  return { ...f, data };
}

type Rows = { knobs: Record<string, Record<string, unknown>> };
const withKnobs = (change: (knobs: Rows['knobs']) => void): Specs => ({
  ...base,
  knobs: changed(base.knobs, (d: Rows) => change(d.knobs)),
});
const lineOf = (f: SpecFile, text: string) => f.text.split('\n').findIndex((l) => l.includes(text)) + 1;

describe('what a catalog declares', () => {
  const told = (head: Specs, plans: readonly string[] = []) => catalogChanges(base, head, new Set(plans));

  it('types, ranges, readers and defaults are reported at their lines', () => {
    const at = `${base.knobs.file}:${lineOf(base.knobs, 'GeneralOptimizationBudget:')}`;
    const one = (key: string, value: unknown) =>
      told(withKnobs((k) => void (k.GeneralOptimizationBudget[key] = value)));
    expect(one('type', 'INT')).toMatchObject([
      { kind: 'knob', name: 'GeneralOptimizationBudget.type', before: 'BDGT', after: 'INT', place: at },
    ]);
    expect(one('range', [0, 9])).toMatchObject([{ after: '[0,9]', place: at }]);
    expect(one('default', 3)).toMatchObject([{ before: 'null', after: '3', place: at }]);
    const { readers } = (base.knobs.data as unknown as Rows).knobs.GeneralOptimizationBudget;
    const [gone, ...rest] = readers as string[];
    expect(one('readers', [...rest, 'OriCopyProp'])).toMatchObject([
      { name: 'GeneralOptimizationBudget.readers', note: `new: OriCopyProp; gone: ${gone}` },
    ]);
  });

  it('a default that a plan has is reported by the plan, and changed texts are not reported', () => {
    const other = withKnobs((k) => void (k.ContractProducts.default = true));
    expect(told(other, ['ContractProducts'])).toEqual([]);
    expect(told(withKnobs((k) => void (k.ContractProducts.effect = 'x')))).toEqual([]);
  });

  it('a knob is added, and one is removed', () => {
    const head = withKnobs((k) => {
      k.Mine = { ...k.ContractProducts };
      delete k.ContractProducts;
    });
    expect(told(head)).toMatchObject([
      { name: 'ContractProducts', before: 'there', after: 'nothing', place: '' },
      { name: 'Mine', before: 'nothing', after: 'new' },
    ]);
  });
});

describe('what phases and groups of rules declare', () => {
  it('a property that is not required any more is an alarm', () => {
    type Table = { phases: { name: string; requires?: string[] }[] };
    let name = '';
    let gone = '';
    const head = {
      ...base,
      phases: changed(base.phases, (d: Table) => {
        const row = d.phases.find((p) => (p.requires ?? []).length > 1)!;
        name = row.name;
        gone = row.requires!.pop()!;
      }),
    };
    const [change, ...more] = declarationChanges(base, head);
    expect(more).toEqual([]);
    expect(change).toMatchObject({ kind: 'phase', name: `${name}.requires`, alarm: true });
    expect(change.note).toBe(`gone: ${gone}; what is gone is no longer checked`);
    expect(declarationChanges(head, base)).toMatchObject([{ alarm: false, note: `new: ${gone}` }]);
  });

  it('the condition of a group is reported, and texts change nothing', () => {
    const withGroup = (change: (d: Record<string, unknown>) => void): Specs => ({
      ...base,
      rules: new Map(base.rules).set(
        'contraction',
        changed(base.rules!.get('contraction')!, change as never),
      ),
    });
    const other = withGroup((d) => void (d.when = 'knob(FPFoldDisable)'));
    expect(groupChanges(base, other, () => [], new Map())).toMatchObject([
      { kind: 'rules', name: 'contraction.when', after: 'knob(FPFoldDisable)' },
    ]);
    expect(equalExceptTexts(base, other)).toBe(false);
    const titled = withGroup((d) => void ((d.rules as { title: string }[])[0].title = 'another'));
    expect(groupChanges(base, titled, () => [], new Map())).toEqual([]);
    expect(equalExceptTexts(base, titled)).toBe(true);
  });
});

/** Nobody judges rules. */
const NOBODY: Jury = { ask: async () => ({ verdict: null }), accepted: new Set(), stored: [{}, {}] };

describe('where a change is stated', () => {
  const textOf = async (f: SpecFile, ...edits: readonly (readonly [RegExp, string])[]) => {
    let { text } = f;
    for (const [what, by] of edits) {
      expect(text).toMatch(what);
      text = text.replace(what, by);
    }
    return specOf(f.file, text, f.kind);
  };
  const noBudgets = { base: null, head: null };
  /** The differences, without proofs. */
  const reviewed = (head: Specs) =>
    differences(['base', 'head'], base, head, { sm: 'sm_90', level: 3 }, NOBODY, noBudgets);
  /** Places of the changes of some kinds, by name. */
  const placesOf = async (head: Specs, kinds: readonly string[]) => {
    const { changes, faults } = await reviewed(head);
    expect(faults).toEqual([]);
    return Object.fromEntries(changes.filter((c) => kinds.includes(c.kind)).map((c) => [c.name, c.place]));
  };
  const line = (f: SpecFile, text: string) => {
    const n = lineOf(f, text);
    expect(n).toBeGreaterThan(0);
    return `${f.file}:${n}`;
  };

  it('what a phase runs, and when, is at the key of its row', async () => {
    const phases = await textOf(
      base.phases,
      [/(name: OriDoPredication,[\s\S]*?levels: \[)2, 3, 4, 5\]/, '$13]'],
      [/(steps: \[\{ pass: late-commoning, params: \{ max-pressure: )\d+/, '$163'],
      [/(many-uses: 4 \} \}, )\{ pass: forward-stores \}, (\{ pass: dead-stores \},\s+\{ repeat)/, '$1$2'],
      [/(repeat: \[\{ use: clean \}, \{ rules: \[float), convert/, '$1'],
    );
    const rowsWith = (text: string) => line(phases, text);
    const places = await placesOf({ ...base, phases }, ['phase']);
    expect(places).toMatchObject({
      OriDoPredication: rowsWith('gate: { levels: [3], asksLevel: true, unset: [DisablePredication]'),
      LateOriCommoning: rowsWith('max-pressure: 63'),
      GeneralOptimizeMid: rowsWith('many-uses: 4 } }, { pass: dead-stores }'),
    });
    expect(Object.values(places)).toContain(rowsWith('{ rules: [float] }'));
  });

  it('faults leave open whether plans differ, and each plan is reported', async () => {
    const was = base.orders.get('binary')!;
    const wrong = await textOf(was, [/- OriBranchOpt .*/, '- OriBranchOptt']);
    const told: string[] = [];
    const scope = { sm: 'sm_90', level: 3 };
    const head = { ...base, orders: new Map(base.orders).set('binary', wrong) };
    const r = await differences(['base', 'head'], base, head, scope, NOBODY, noBudgets, (t) => told.push(t));
    expect(r.faults.length).toBeGreaterThan(0);
    expect(r.differs).toBeNull();
    expect(told.filter((t) => t.startsWith('plan '))).toHaveLength(r.plans.length);
    expect(told[0]).toBe(`plan 1 of ${r.plans.length}: sm_90 -O3`);
  });

  it('what rules do to one another is found again only where that can have changed', async () => {
    const check = vi.spyOn(host as { checkRules: NonNullable<typeof host.checkRules> }, 'checkRules');
    const groups = async (head: Specs) => {
      check.mockClear();
      expect((await reviewed(head)).faults).toEqual([]);
      return new Set(check.mock.calls.map(([, group]) => group));
    };
    // A commit has other names of files than the folder with which it is compared.
    const named = (f: SpecFile): SpecFile => ({ ...f, file: `ref:${f.file}` });
    const catalog = await textOf(base.knobs, [/(ContractProducts: .*default: )null/, '$1true']);
    expect(await groups({ ...base, knobs: named(catalog), phases: named(base.phases) })).toEqual(new Set());
    const isa = await Promise.all(
      base.isa.map((f) =>
        f.file.endsWith('integer.yaml') ? textOf(f, [/observed: 9\b/, 'observed: 8']) : Promise.resolve(f),
      ),
    );
    expect(await groups({ ...base, isa })).toEqual(new Set(base.rules?.keys()));
    check.mockRestore();
  });

  it('a step that a list of steps lost is at the list', async () => {
    const phases = await textOf(base.phases, [/, \{ pass: dead-results \}\]/, ']']);
    const places = Object.values(await placesOf({ ...base, phases }, ['phase']));
    expect(new Set(places)).toEqual(new Set([line(phases, '  clean: [')]));
  });

  it('a phase that moved, or that the order drops, is at the line of the order', async () => {
    const was = base.orders.get('binary')!;
    const moved = await textOf(was, [/( {2}- OriDoPredication .*\n)(.*\n)/, '$2$1']);
    expect(await placesOf({ ...base, orders: new Map(base.orders).set('binary', moved) }, ['order'])).toEqual(
      {
        OriDoPredication: line(moved, '- OriDoPredication '),
      },
    );
  });

  it('what is gone is where the base has it, and no annotation points there', async () => {
    const constraints = await textOf(base.constraints, [
      / {2}- before: ConvertUnsupportedOps\n {4}after: SetControlFlowOpLastInBB\n[\s\S]*?\n(?= {2}- before)/,
      '',
    ]);
    const group = base.rules!.get('shifts')!;
    const shifts = await textOf(group, [/ {2}- \{ id: shift-sign-extend,[\s\S]*?\n(?= {2}- )/, '']);
    const r = await reviewed({ ...base, constraints, rules: new Map(base.rules).set('shifts', shifts) });
    const of = (kind: string) => r.changes.filter((c) => c.kind === kind && c.after === 'nothing');
    const [at] = of('constraint');
    expect(base.constraints.text.split('\n')[Number(at.basePlace.split(':').at(-1)) - 1]).toBe(
      '  - before: ConvertUnsupportedOps',
    );
    expect(at.place).toBe('');
    expect(of('rules')).toMatchObject([
      { name: 'shifts: shift-sign-extend', place: '', basePlace: line(group, 'id: shift-sign-extend,') },
    ]);
    const plain = (x: string) => x;
    const shown = (d: Differences) =>
      asReview(d, null, null, { none: 'not asked for', ptxas: null, leftOut: 0, more: [] });
    const text = reviewText(shown(r), { good: plain, bad: plain, bold: plain, dim: plain }, () => '');
    expect(text).toContain(`  at the base: ${at.basePlace}`);
    expect(reviewMarkdown(shown(r))).toContain(`<br>at the base: ${at.basePlace}`);
    const warning = annotations(shown(r), '').find((x) => x.startsWith('::warning'));
    expect(warning).toMatch(/^::warning title=constraint::/);
    expect(warning).toContain(`it was at ${at.basePlace}`);
  });
});

describe('what no plan has', () => {
  type Fault = { name: string; levels: number[]; wrong: string };
  const withFaults = (change: (faults: Fault[]) => void): Specs => ({
    ...base,
    ptxasFaults: changed(base.ptxasFaults!, (d: { faults: Fault[] }) => change(d.faults)),
  });
  const told = (head: Specs) => otherChanges(base, head, [], ['sm_90 -O3']);

  it('a fault of ptxas that is not avoided any more, or less, is an alarm', () => {
    const [first] = base.ptxasFaults!.data.faults as Fault[];
    const at = `${base.ptxasFaults!.file}:${lineOf(base.ptxasFaults!, `name: ${first.name}`)}`;
    expect(told(withFaults((f) => void f.shift()))).toMatchObject([
      { name: `fault of ptxas ${first.name}`, after: 'nothing', alarm: true, basePlace: at },
    ]);
    expect(told(withFaults((f) => void f[0].levels.pop()))).toMatchObject([
      { name: `fault of ptxas ${first.name}.levels`, alarm: true, place: at },
    ]);
    const more = withFaults((f) => void f.push({ ...first, name: 'another' }));
    expect(told(more)).toMatchObject([{ name: 'fault of ptxas another', after: 'new', alarm: false }]);
    expect(told(withFaults((f) => void (f[0].wrong = 'x')))).toMatchObject([{ alarm: false }]);
    expect(told(base)).toEqual([]);
  });

  it('what stands for PTX that is carried is reported, and the order of its rows', () => {
    type Carried = { title: string; ptx: string[]; as?: string };
    const withRows = (change: (rows: Carried[]) => void): Specs => ({
      ...base,
      isa: base.isa.map((f) =>
        f.data.foreign === undefined ? f : changed(f, (d: { foreign: Carried[] }) => change(d.foreign)),
      ),
    });
    const as = (rows: Carried[]) => rows.find((r) => r.ptx[0] === 'ldmatrix.*')!;
    expect(told(withRows((r) => void (as(r).as = 'FOREIGN_LANES')))).toMatchObject([
      { name: 'carried PTX ldmatrix.*.as', after: 'FOREIGN_LANES', where: ['sm_90 -O3'] },
    ]);
    expect(told(withRows((r) => void r.reverse()))).toMatchObject([
      { name: 'carried PTX', note: 'the first row that matches is used' },
    ]);
    expect(told(withRows((r) => void (r[0].title = 'x')))).toEqual([]);
    expect(told(withRows((r) => void r.pop()))).toHaveLength(1);
  });
});

describe('no row hides another', () => {
  const jury: Jury = {
    ask: async () => ({ verdict: { verdict: 'verified', instances: 1 } as never }),
    accepted: new Set(),
    stored: [{}, {}],
  };
  const told = async (head: Specs) => {
    const r = await differences(['a', 'b'], base, head, { sm: 'sm_90', level: 3 } as never, jury, {
      base: null,
      head: null,
    });
    return r.changes.map((c) => [c.name, c.after, c.alarm]);
  };

  it('of two constraints, faults of ptxas or carried instructions of one name, both are reported', async () => {
    type Constraints = { constraints: { before: string; after: string; severity?: string }[] };
    const twice = changed(
      base.constraints,
      (d: Constraints) => void d.constraints.unshift({ ...d.constraints[0], severity: 'warning' }),
    );
    const [{ before, after }] = (base.constraints.data as unknown as Constraints).constraints;
    expect(await told({ ...base, constraints: twice })).toEqual([
      [`${before} before ${after}`, 'warning', true],
      [`${before} before ${after} #2`, 'error', false],
    ]);
    type Faults = { faults: { name: string; levels: number[] }[] };
    const faults = changed(
      base.ptxasFaults!,
      (d: Faults) => void d.faults.unshift({ ...d.faults[0], levels: [0] }),
    );
    const [{ name }] = (base.ptxasFaults!.data as unknown as Faults).faults;
    expect((await told({ ...base, ptxasFaults: faults })).map(([n]) => n)).toEqual([
      `fault of ptxas ${name}.levels`,
      `fault of ptxas ${name} #2`,
    ]);
    type Foreign = { foreign: { ptx: string[] }[] };
    const at = base.isa.findIndex((f) => 'foreign' in f.data);
    const isa = [...base.isa];
    isa[at] = changed(
      isa[at],
      (d: Foreign) => void d.foreign.unshift({ ...d.foreign[0], none: 'x' } as never),
    );
    const ptx = (base.isa[at].data as unknown as Foreign).foreign[0].ptx.join(' ');
    expect((await told({ ...base, isa })).map(([n]) => n)).toEqual([
      `carried PTX ${ptx}.none`,
      `carried PTX ${ptx} #2`,
    ]);
  });

  it('a property that holds from the start, and the order of rules, are reported', async () => {
    type Phases = { properties: Record<string, { initial?: boolean; means: string }> };
    const phases = (change: (d: Phases) => void) => ({
      ...base,
      phases: changed(base.phases, change as never),
    });
    expect(await told(phases((d) => void (d.properties.legal.initial = true)))).toEqual([
      ['properties.legal.initial', 'true', true],
    ]);
    expect(await told(phases((d) => void (d.properties.legal.means = 'x')))).toEqual([]);
    const group = base.rules!.get('select')!;
    type Rules = { rules: { id: string }[] };
    const swapped = changed(group, ({ rules }: Rules) => {
      [rules[4], rules[5]] = [rules[5], rules[4]];
    });
    const id = (swapped.data as unknown as Rules).rules[4].id;
    expect(await told({ ...base, rules: new Map(base.rules).set('select', swapped) })).toEqual([
      [`select: ${id}`, 'another place', false],
    ]);
  });
});
