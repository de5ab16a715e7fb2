import { describe, expect, it } from 'vitest';
import {
  catalogChanges,
  declarationChanges,
  equalExceptTexts,
  groupChanges,
} from '../src/review/declarations.ts';
import type { SpecFile } from '../src/spec/document.ts';
import { loadShipped } from '../src/spec/node.ts';
import type { Specs } from '../src/spec/specs.ts';

const base = await loadShipped();

/** A spec with one thing changed in its data. */
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

  it('types, ranges, readers and defaults are told at their lines', () => {
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

  it('a default that a plan has is told by the plan, and texts are told by nobody', () => {
    const other = withKnobs((k) => void (k.ContractProducts.default = true));
    expect(told(other, ['ContractProducts'])).toEqual([]);
    expect(told(withKnobs((k) => void (k.ContractProducts.effect = 'x')))).toEqual([]);
  });

  it('a knob comes, and one goes', () => {
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
    expect(change.note).toBe(`gone: ${gone}; what is gone is not checked any more`);
    expect(declarationChanges(head, base)).toMatchObject([{ alarm: false, note: `new: ${gone}` }]);
  });

  it('the condition of a group is told, and texts change nothing', () => {
    const withGroup = (change: (d: Record<string, unknown>) => void): Specs => ({
      ...base,
      rules: new Map(base.rules).set(
        'contraction',
        changed(base.rules!.get('contraction')!, change as never),
      ),
    });
    const other = withGroup((d) => void (d.when = 'knob(FPFoldDisable)'));
    expect(groupChanges(base, other, new Map())).toMatchObject([
      { kind: 'rules', name: 'contraction.when', after: 'knob(FPFoldDisable)' },
    ]);
    expect(equalExceptTexts(base, other)).toBe(false);
    const titled = withGroup((d) => void ((d.rules as { title: string }[])[0].title = 'another'));
    expect(groupChanges(base, titled, new Map())).toEqual([]);
    expect(equalExceptTexts(base, titled)).toBe(true);
  });
});
