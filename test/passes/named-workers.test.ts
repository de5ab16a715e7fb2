import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import type { PlanRequest } from '../../src/spec/resolve.ts';
import { planWith } from '../support/specs.ts';

/* Entries of the executed table without a seed number: their effect at their positions, and that their names switch them. */

/** Which of the phases change a kernel. */
async function changing(
  name: string,
  phases: readonly string[],
  change: Partial<PlanRequest>,
): Promise<string[]> {
  const plan = (await planWith({ order: 'binary', ...change })).plan!;
  const text = readFileSync(new URL(`../kernels/${name}/${name}.sm_80.ptx`, import.meta.url), 'utf8');
  const { program } = lowerPtx(parsePtx(text, 'x.ptx').module, {
    isa: plan.isa,
    paramBase: 0x160,
    sm: 'sm_80',
  });
  const { records } = runPipeline(program, plan);
  const hits = records.filter((r, k) => r.program !== (k === 0 ? program : records[k - 1].program));
  return hits.map((r) => r.phase.id).filter((id) => phases.includes(id));
}

const COMMONING = ['GvnCse', 'OriCommoning'];

it.each([
  ['carry-chain', ['OriCopyProp'], {}, ['OriCopyProp']],
  ['carry-chain', ['OriCopyProp'], { set: ['DisablePhases=OriCopyProp'] }, []],
  ['carry-chain', ['OriCopyProp'], { level: 0 }, []],
  ['divmod', COMMONING, {}, ['GvnCse']],
  ['divmod', COMMONING, { set: ['EnableGvnCseMode=0'] }, ['OriCommoning']],
  ['divmod', COMMONING, { set: ['DisablePhases=GvnCse'] }, ['OriCommoning']],
  ['divmod', COMMONING, { set: ['DisablePhases=GvnCse+OriCommoning'] }, []],
  ['divmod', COMMONING, { set: ['DisablePhases=GvnCse'], level: 1 }, []],
])('%s: of %j, with %j, %j change it', async (name, phases, change, expected) => {
  expect(await changing(name, phases, change as Partial<PlanRequest>)).toEqual(expected);
});
