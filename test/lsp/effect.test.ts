import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runAb } from '../../src/lab/ab.ts';
import { parseArm } from '../../src/lab/arms.ts';
import { loadModules } from '../../src/lab/kernels.ts';
import { Plans } from '../../src/lab/plans.ts';
import { effectText } from '../../src/lsp/server/lenses.ts';
import { effectOf } from '../../src/lsp/work/effect.ts';
import { firesOf } from '../../src/lsp/work/fires.ts';
import { ROOT } from '../../src/spec/node-cache.ts';

/* The effect that lenses show, against `orrery ab`, which computes it in another way. */

const dir = mkdtempSync(join(tmpdir(), 'orrery-effect-'));
afterAll(() => rmSync(dir, { recursive: true }));
const KERNELS = ['test/kernels/saxpy/saxpy.sm_90.ptx', 'test/kernels/early-return/early-return.sm_90.ptx'];

test('is that of `orrery ab`, for the whole and for each entry', async () => {
  const file = join(dir, 'mine.yaml');
  writeFileSync(
    file,
    'kind: order\nextends: binary\nedits:\n  - { drop: OriDoPredication, why: x }\n  - { drop: NOP, why: x }\n',
  );
  const partial: number[] = [];
  const effects = await effectOf(
    file,
    KERNELS,
    ROOT,
    () => Promise.resolve(true),
    (e) => partial.push(e[0].compared),
  );
  const base = { level: null, sm: null, order: 'binary', knobSets: [], set: [], disable: [] };
  const ab = await runAb(
    await loadModules(KERNELS, ROOT),
    [parseArm('base'), parseArm(`order:${file}`)],
    new Plans(base),
    { measure: {}, repeat: 0, minEffect: 0, seed: 1, clock: () => 0 },
  );
  const by = ab.metrics.find((m) => m.metric.name === 'warp-instructions')!;
  const [whole, first, second] = effects;
  expect(whole.changed).toBe(ab.kernels.filter((k) => k.why !== null).length);
  expect(whole.changed).toBeGreaterThan(0);
  expect([whole.compared, whole.of, whole.by]).toEqual([
    ab.kernels.length,
    ab.kernels.length,
    'warp-instructions',
  ]);
  expect(whole.mean).toBeCloseTo(by.ratio!, 12);
  const ratios = ab.kernels.map((k) => k.values['warp-instructions'][1] / k.values['warp-instructions'][0]);
  expect(whole.worst).toBeCloseTo(Math.max(1, ...ratios), 12);
  // All of it comes from the first entry.
  expect({ ...first, path: [] }).toEqual(whole);
  expect([second.path, second.changed, second.mean]).toEqual([['edits', 1], 0, 1]);
  expect(effectText(whole, false)).toMatch(
    /^changes \d of \d kernels, executed [-+]\d+\.\d\d %, (worst|none)/,
  );
  expect(partial).toHaveLength(2);
});

test('is not measured to the end for a text that has changed', async () => {
  const file = join(dir, 'other.yaml');
  writeFileSync(file, 'kind: knob-set\nknobs: { OptBudget: 0 }\n');
  let asked = 0;
  const effects = await effectOf(
    file,
    KERNELS,
    ROOT,
    () => Promise.resolve(asked++ === 0),
    () => {},
  );
  expect([effects, asked]).toEqual([[], 2]);
});

test('rules that fire are counted', async () => {
  const file = join(ROOT, 'pipelines/rules/wide-mad.yaml');
  const fires = await firesOf(
    file,
    KERNELS.slice(0, 1),
    ROOT,
    () => Promise.resolve(true),
    () => {},
  );
  // `orrery opt --why 47` tells that the rule makes the address in saxpy.
  expect(fires.find((f) => f.rule === 'mad-wide')).toMatchObject({ kernels: 2, of: 2 });
  expect(fires.find((f) => f.rule === 'mad-wide')!.times).toBeGreaterThan(1);
  expect(fires.some((f) => f.times === 0)).toBe(true);
});
