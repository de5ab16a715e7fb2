import { describe, expect, it } from 'vitest';
import {
  brokenLimits,
  brokenText,
  budgetOf,
  type LimitedKernels,
  needsAll,
  withLimitsOf,
} from '../../src/review/budget.ts';
import { budgetChanges } from '../../src/review/budget-changes.ts';
import { readSpec } from '../../src/spec/document.ts';
import { schemaOf } from '../../src/spec/node.ts';

const read = (limits: string) => readSpec('b.yaml', `kind: budget\nlimits:\n${limits}`, schemaOf, 'budget');
const budget = (limits: string, own = true) => budgetOf(read(limits).spec!, own);
type Values = Readonly<Record<string, readonly [number, number]>>;
/** Kernels with values under one plan; those without values did not change. */
const result = (kernels: Readonly<Record<string, Values>>, plan = 'sm_90 -O3'): LimitedKernels[] => [
  {
    plan,
    kernels: Object.entries(kernels).map(([kernel, values]) => ({
      kernel,
      label: kernel,
      same: Object.keys(values).length === 0,
      values,
    })),
  },
];
const texts = async (limits: string, r: readonly LimitedKernels[]) =>
  brokenLimits(await budget(limits), r).map(brokenText);

describe('a budget', () => {
  it.each([
    // 2 % of 50 is 1: 51 keeps to it, 52 does not.
    ['percent: 2', [50, 51], true],
    ['percent: 2', [50, 52], false],
    ['percent: 0', [50, 50], true],
    ['percent: 0', [50, 51], false],
    ['percent: 0', [50, 3], true],
    ['percent: 100', [0, 1], false],
    ['percent: 10', [0.3, 0.33], true],
    ['by: 4', [10, 14], true],
    ['by: 4', [10, 15], false],
    ['most: 10', [12, 10], true],
    ['most: 10', [9, 11], false],
    ['least: 5', [9, 4], false],
    // Of two bounds, both must be exceeded: a small kernel may grow by a large part.
    ['percent: 10, by: 4', [10, 14], true],
    ['percent: 10, by: 4', [100, 109], true],
    ['percent: 10, by: 4', [100, 111], false],
  ] as const)('%s of %j holds: %s', async (bound, values, holds) => {
    const broken = await texts(`  - { metric: weighted, ${bound} }`, result({ k: { weighted: values } }));
    expect(broken.length === 0).toBe(holds);
  });

  it('knows which way is worse: fewer warps are', async () => {
    const limit = '  - { metric: occupancy, percent: 10 }';
    expect(await texts(limit, result({ k: { occupancy: [50, 100] } }))).toEqual([]);
    expect(await texts(limit, result({ k: { occupancy: [100, 75] } }))).toEqual([
      'limit occupancy never beyond -10 %: k (sm_90 -O3) 100 -> 75 (-25.00 %)',
    ]);
  });

  it('holds for each kernel of a pattern, or for their sum', async () => {
    const r = result({
      ab: { weighted: [10, 12] },
      ac: { weighted: [30, 28] },
      b: { weighted: [10, 99] },
    });
    expect(await texts('  - { metric: weighted, kernels: a*, percent: 5 }', r)).toEqual([
      'limit weighted never beyond +5 % for a*: ab (sm_90 -O3) 10 -> 12 (+20.00 %)',
    ]);
    expect(await texts('  - { metric: weighted, of: total, kernels: a*, percent: 0 }', r)).toEqual([]);
    expect(await texts('  - { metric: weighted, of: total, by: 5 }', r)).toEqual([
      'limit weighted never beyond +5 in total: total (sm_90 -O3) 50 -> 139 (+178 %)',
    ]);
  });

  it('does not let pass what was not measured, and asks nothing where no plan differs', async () => {
    const limits = '  - { metric: weighted, percent: 1 }\n  - { metric: cycles, percent: 1 }';
    const r = brokenLimits(await budget(limits), result({ k: { weighted: [1, 1] } }));
    expect(r).toMatchObject([{ metric: 'cycles', kernel: '', values: null, place: 'b.yaml:4' }]);
    expect(brokenText(r[0])).toContain('no kernel was measured');
    expect(await texts(limits, [])).toEqual([]);
    // What did not change keeps every limit on how much worse it may become, and those that ship ask nothing that cannot be measured.
    expect(await texts(limits, result({ k: {} }))).toEqual([]);
    expect(brokenLimits(await budget(limits, false), result({ k: { weighted: [1, 1] } }))).toEqual([]);
  });

  it('may be for kernels alone of which nothing better is known', async () => {
    const limit = '  - { metric: weighted, unless: warp-instructions, percent: 5 }';
    const r = result({
      launched: { weighted: [10, 20], 'warp-instructions': [7, 7] },
      other: { weighted: [10, 20] },
    });
    expect(await texts(limit, r)).toEqual([
      'limit weighted never beyond +5 % where warp-instructions is not known: other (sm_90 -O3) 10 -> 20 (+100 %)',
    ]);
  });

  it('needs kernels that did not change only where the head itself is bound, or a share of the sum', async () => {
    const asks = async (limits: string) => needsAll(await budget(limits));
    expect(await asks('  - { metric: weighted, percent: 5 }')).toBe(false);
    expect(await asks('  - { metric: weighted, of: total, percent: 0 }')).toBe(false);
    expect(await asks('  - { metric: weighted, of: total, percent: 1 }')).toBe(true);
    expect(await asks('  - { metric: pressure.R, most: 255 }')).toBe(true);
  });

  it.each([
    ['percent: 5', 'percent: 50', true],
    ['percent: 50', 'percent: 5', false],
    ['percent: 5', 'percent: 5, by: 100', true],
    ['percent: 5, by: 100', 'percent: 5', false],
    ['most: 40', 'most: 48', true],
    ['least: 50', 'least: 75', false],
    ['most: 12.26', 'most: 12.34', true],
    ['most: 50', 'most: 50, unless: cycles', true],
    ['most: 50, unless: cycles', 'most: 50, unless: weighted', true],
    ['most: 50, unless: cycles', 'most: 50', false],
  ])('a limit of %s that becomes %s is an alarm: %s', async (was, is, alarm) => {
    const of = (bound: string) => budget(`  - { metric: pressure.R, ${bound} }`);
    const changes = budgetChanges({ base: await of(was), head: await of(is) });
    expect(changes).toMatchObject([{ kind: 'budget', name: 'limit pressure.R', alarm, place: 'b.yaml:3' }]);
    expect(budgetChanges({ base: await of(was), head: await of(was) })).toEqual([]);
  });

  it('a limit that is gone is an alarm at its line of the base, and one that comes is none', async () => {
    const two = await budget('  - { metric: pressure.R, percent: 1 }\n  - { metric: cycles, percent: 1 }');
    const one = await budget('  - { metric: pressure.R, percent: 1 }');
    expect(budgetChanges({ base: two, head: one })).toMatchObject([
      { name: 'limit cycles', after: 'nothing', alarm: true, place: '', basePlace: 'b.yaml:4' },
    ]);
    expect(budgetChanges({ base: one, head: two })).toMatchObject([{ before: 'nothing', alarm: false }]);
  });

  it('a limit that the head raises holds as the base states it, at the line of the head, until a person accepts it', async () => {
    const [base, head] = [
      await budget('  - { metric: cycles, percent: 1 }\n  - { metric: weighted, percent: 5 }'),
      await budget('  - { metric: weighted, percent: 50 }'),
    ];
    const both = withLimitsOf(
      { ...base, limits: base.limits.map((l) => ({ ...l, place: `main:${l.place}` })) },
      head,
    )!;
    expect(brokenLimits(both, result({ k: { weighted: [10, 11], cycles: [1, 2] } }))).toMatchObject([
      { metric: 'cycles', place: 'b.yaml', basePlace: 'main:b.yaml:3' },
      { metric: 'weighted', limit: 'never beyond +5 %', place: 'b.yaml:3', basePlace: 'main:b.yaml:4' },
    ]);
    const alarms = (accepted: boolean) => budgetChanges({ base, head }, accepted).map((c) => c.alarm);
    expect([alarms(false), alarms(true)]).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it.each([
    ['  - { metric: weighted }', /percent/],
    ['  - { metric: weighted, percent: -1 }', /percent|0/],
  ])('%s is refused', (text, says) => {
    const { spec, diagnostics } = read(text);
    expect(spec).toBe(null);
    expect(diagnostics.map((d) => `${d.message} ${(d.notes ?? []).join(' ')}`).join('\n')).toMatch(says);
  });

  it('a limit is of one kind', async () => {
    await expect(budget('  - { metric: weighted, percent: 1, most: 3 }')).rejects.toMatchObject({
      diagnostics: [{ line: 3, message: 'a limit is one of percent and by, most, least' }],
    });
  });

  it.each([
    ['presure.R', /there is no metric 'presure.R'/],
    ['compile-time', /not an exact metric/],
  ])('%s is no metric for a limit', async (name, says) => {
    await expect(budget(`  - { metric: ${name}, percent: 1 }`)).rejects.toMatchObject({
      diagnostics: [{ line: 3, message: expect.stringMatching(says) }],
    });
  });
});
