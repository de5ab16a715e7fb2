import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runAb } from '../../src/lab/ab.ts';
import { parseArm } from '../../src/lab/arms.ts';
import { loadModules } from '../../src/lab/kernels.ts';
import { Plans } from '../../src/lab/plans.ts';
import { ROOT } from '../../src/spec/node-cache.ts';

const plans = new Plans({ level: 3, sm: null, order: 'binary', knobSets: [], set: [], disable: [] });

it('a phase that others pass has neither changed a kernel nor moved', async () => {
  const modules = await loadModules([join(ROOT, 'test/kernels/late-cleaning/late-cleaning.sm_90.ptx')]);
  const { kernels } = await runAb(
    modules,
    [parseArm('base'), parseArm('move:SinkCodeIntoBlock@after:GenerateMovPhi')],
    plans,
    {
      measure: { launches: false },
      repeat: 0,
      minEffect: 0.02,
      seed: 1,
      heap: () => 0,
      clock: () => 0,
      progress: () => {},
    },
  );
  // GvnCse changes another kernel, and its result comes from the run of the other arm.
  const why = kernels.find((k) => k.kernel === 'sweep')?.why;
  expect(why?.phase).toBe('SinkCodeIntoBlock');
  expect(why?.because).toEqual(['position: 77 -> 27']);
});
