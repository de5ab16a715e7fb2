import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { host, runPipeline } from '../../src/engine/pipeline.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { loadShipped } from '../../src/spec/node.ts';
import { loadLaunch } from '../../src/spec/node-launch.ts';
import { resolve } from '../../src/spec/resolve.ts';
import { randomProfile } from '../support/random-profile.ts';
import { shuffledOrder } from '../support/shuffle.ts';
import { often, runs, seeds } from '../support/size.ts';

/*
 * Any legal order of phases, at any level, keeps every kernel correct. Orders are made by seeded random edits of a shipped one; block
 * counts are arbitrary too. Orders that violate a constraint or an IR property do not resolve and are not run. Then all phases are shuffled
 * as far as constraints and properties allow: an unstated requirement of a phase shows here, and becomes a constraint with its reason.
 * ORRERY_TEST_SIZE=80 makes 2,000 shuffles, with ORRERY_TEST_PART=1/40 the first 50 of them; ORRERY_SHUFFLE_SEED=<number> repeats a
 * failed one alone.
 */
const root = fileURLToPath(new URL('../kernels/', import.meta.url));
const NAMES = [
  'state-machine',
  'nested-conditions',
  'irreducible',
  'loops',
  'switch-dense',
  'device-functions',
  'scan-block',
];
const specs = await loadShipped();
const base = { level: 3, sm: 'sm_80', order: 'binary', knobSets: [], set: [], disable: [] };
const { plan } = resolve(specs, base, host);
const readKernel = async (n: string) => ({
  program: lowerPtx(parsePtx(readFileSync(`${root}${n}/${n}.sm_80.ptx`, 'utf8'), n).module, {
    isa: plan!.isa,
    paramBase: 0x160,
    sm: 'sm_80',
  }).program,
  launch: await loadLaunch(`${root}${n}/launch.yaml`),
});
const kernels = await Promise.all(NAMES.map(readKernel));
const bound = plan!.phases.filter((p) => p.steps.length > 0).map((p) => p.id);
const all = plan!.phases.map((p) => p.id);

it('random legal orders keep every kernel right, with profiles and without', () => {
  let legal = 0;
  let counted = 0;
  const edit = fc.oneof(
    fc.record({ move: fc.constantFrom(...bound), after: fc.constantFrom(...all) }),
    fc.record({ insert: fc.constantFrom(...bound), before: fc.constantFrom(...all) }),
    fc.record({ insertPass: fc.constantFrom(...host.passes), after: fc.constantFrom(...all) }),
    fc.record({ drop: fc.constantFrom(...bound) }),
  );
  fc.assert(
    fc.property(
      fc.array(edit, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 0, max: 5 }),
      fc
        .nat(NAMES.length - 1)
        .chain((n) => fc.record({ which: fc.constant(n), profile: randomProfile(kernels[n].program) })),
      (edits, level, { which, profile }) => {
        const order = { ...specs.orders.get('binary')!, data: { kind: 'order', extends: 'binary', edits } };
        const r = resolve(
          { ...specs, orders: new Map([...specs.orders, ['fuzz', order]]) },
          { ...base, level, order: 'fuzz', profile },
          host,
        );
        if (r.plan === null) return;
        legal++;
        const { program, launch } = kernels[which];
        const { last } = runPipeline(program, r.plan, { verify: true });
        if (last.functions.some((f) => f.attrs.counts.length > 0)) counted++;
        const ran = runLaunch(last, r.plan.isa, launch, 0x160, { budget: 2_000_000 });
        expect([ran.status, ran.error]).toEqual(['ok', null]);
        const open = judgeKernel(program, last, launch.kernel, 0x160, { seeds: [1], budget: 20_000 });
        expect(open.differences).toEqual([]);
      },
    ),
    { numRuns: runs(60), seed: 2026 },
  );
  // A fuzzer whose every order is refused would prove nothing.
  expect(legal).toBeGreaterThan(often(20));
  expect(counted).toBeGreaterThan(often(8));
});

/** All test kernels for the target, read when they are asked for. */
const ALL = readdirSync(root)
  .filter((n) => existsSync(`${root}${n}/${n}.sm_80.ptx`) && existsSync(`${root}${n}/launch.yaml`))
  .sort();
const loaded = new Map<string, Promise<(typeof kernels)[number]>>();
function kernelOf(name: string): Promise<(typeof kernels)[number]> {
  let k = loaded.get(name);
  if (k === undefined) loaded.set(name, (k = readKernel(name)));
  return k;
}

it('shuffles that keep the constraints keep every kernel right: what one phase needs of another is declared', async () => {
  const failed: string[] = [];
  let moved = 0;
  const only = process.env['ORRERY_SHUFFLE_SEED'];
  const list = only === undefined ? seeds(10) : [Number(only)];
  for (const seed of list) {
    const ids = shuffledOrder(specs, 'binary', plan!.phases, seed);
    expect(ids, `shuffle ${seed} found no way`).not.toBeNull();
    const shuffled = { ...specs.orders.get('binary')!, data: { kind: 'order', phases: ids! } };
    const orders = new Map([...specs.orders, ['shuffle', shuffled]]);
    const r = resolve(
      { ...specs, orders },
      { ...base, level: [2, 3, 4, 5, 3, 1][seed % 6], order: 'shuffle' },
      host,
    );
    // What the shuffle takes for legal, the resolver does.
    expect([seed, r.issues.filter((i) => i.severity === 'error').map((i) => i.message)]).toEqual([seed, []]);
    moved += ids!.filter((id, i) => id !== all[i]).length;
    for (const name of [ALL[seed % ALL.length], ALL[(seed * 31 + 7) % ALL.length]]) {
      const { program, launch } = await kernelOf(name);
      try {
        const { last } = runPipeline(program, r.plan!, { verify: true });
        const ran = runLaunch(last, r.plan!.isa, launch, 0x160, { budget: 2_000_000 });
        if (ran.status !== 'ok' && !(await tooLong(name)))
          failed.push(`${seed} ${name}: ${ran.status} ${ran.error}`);
        const open = judgeKernel(program, last, launch.kernel, 0x160, { seeds: [1], budget: 20_000 });
        if (open.differences.length > 0) failed.push(`${seed} ${name}: ${open.differences[0]}`);
      } catch (e) {
        failed.push(`${seed} ${name}: ${e instanceof Error ? e.message : String(e)}`);
      }
    }
  }
  expect(failed).toEqual([]);
  expect(moved / list.length).toBeGreaterThan(100);
});

/** A launch that needs more than the budget as it was lowered says nothing here. */
async function tooLong(name: string): Promise<boolean> {
  const { program, launch } = await kernelOf(name);
  return runLaunch(program, plan!.isa, launch, 0x160, { budget: 2_000_000 }).status !== 'ok';
}
