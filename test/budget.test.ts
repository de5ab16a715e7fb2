import { describe, expect, it } from 'vitest';
import type { AbResult } from '../src/lab/ab.ts';
import { metricOf } from '../src/lab/metrics.ts';
import { brokenLimits, brokenText, budgetOf } from '../src/review/budget.ts';
import { readSpec } from '../src/spec/document.ts';
import { schemaOf } from '../src/spec/node.ts';

const read = (limits: string) => readSpec('b.yaml', `kind: budget\nlimits:\n${limits}`, schemaOf, 'budget');
const budget = (limits: string) => budgetOf(read(limits).spec!);
/** A result with values of kernels, metric by metric; only what limits look at. */
const result = (
  kernels: Readonly<Record<string, Readonly<Record<string, readonly [number, number]>>>>,
  status: AbResult['status'] = 'measured',
): AbResult => ({
  arms: [
    { name: 'a', plans: {} },
    { name: 'b', plans: {} },
  ],
  status,
  differences: [],
  unread: [],
  by: metricOf('weighted')!,
  metrics: [],
  noisy: [],
  minEffect: 0,
  equal: true,
  warnings: [],
  kernels: Object.entries(kernels).map(([kernel, values]) => ({
    file: 'k.ptx',
    kernel,
    label: kernel,
    values,
    verdict: 'unchanged',
    equal: [
      { ok: true, by: 'launch', note: '' },
      { ok: true, by: 'launch', note: '' },
    ],
    why: null,
  })),
});
const texts = async (limits: string, r: AbResult) => brokenLimits(await budget(limits), r).map(brokenText);

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
  ] as const)('%s of %j holds: %s', async (bound, values, holds) => {
    const broken = await texts(`  - { metric: weighted, ${bound} }`, result({ k: { weighted: values } }));
    expect(broken.length === 0).toBe(holds);
  });

  it('knows which way is worse: fewer warps are', async () => {
    const limit = '  - { metric: occupancy, percent: 10 }';
    expect(await texts(limit, result({ k: { occupancy: [50, 100] } }))).toEqual([]);
    expect(await texts(limit, result({ k: { occupancy: [100, 75] } }))).toEqual([
      'limit occupancy never beyond -10 %: k 100 -> 75 (-25.00 %)',
    ]);
  });

  it('holds for each kernel of a pattern, or for their sum', async () => {
    const r = result({
      ab: { weighted: [10, 12] },
      ac: { weighted: [30, 28] },
      b: { weighted: [10, 99] },
    });
    expect(await texts('  - { metric: weighted, kernels: a*, percent: 5 }', r)).toEqual([
      'limit weighted never beyond +5 % for a*: ab 10 -> 12 (+20.00 %)',
    ]);
    expect(await texts('  - { metric: weighted, of: total, kernels: a*, percent: 0 }', r)).toEqual([]);
    expect(await texts('  - { metric: weighted, of: total, by: 5 }', r)).toEqual([
      'limit weighted never beyond +5 in total: total 50 -> 139 (+178 %)',
    ]);
  });

  it('does not let pass what was not measured, and asks nothing where no plan differs', async () => {
    const limits = '  - { metric: weighted, percent: 1 }\n  - { metric: cycles, percent: 1 }';
    const r = brokenLimits(await budget(limits), result({ k: { weighted: [1, 1] } }));
    expect(r).toMatchObject([{ metric: 'cycles', kernel: '', values: null, place: 'b.yaml:4' }]);
    expect(brokenText(r[0])).toContain('no kernel was measured');
    expect(await texts(limits, result({}, 'no effect'))).toEqual([]);
  });

  it.each([
    ['  - { metric: weighted }', /percent/],
    ['  - { metric: weighted, percent: 1, most: 3 }', /percent|most/],
    ['  - { metric: weighted, percent: -1 }', /percent|0/],
  ])('%s is refused', (text, says) => {
    const { spec, diagnostics } = read(text);
    expect(spec).toBe(null);
    expect(diagnostics.map((d) => `${d.message} ${(d.notes ?? []).join(' ')}`).join('\n')).toMatch(says);
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
