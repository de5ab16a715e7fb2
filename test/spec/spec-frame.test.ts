import fc from 'fast-check';
import { expect, test } from 'vitest';
import { host } from '../../src/engine/pipeline.ts';
import { hashText } from '../../src/ir/hash.ts';
import { canonical } from '../../src/spec/canonical.ts';
import { loadShipped } from '../../src/spec/node.ts';
import { stepData } from '../../src/spec/plan.ts';
import { type PlanRequest, resolve } from '../../src/spec/resolve.ts';
import type { Specs } from '../../src/spec/specs.ts';
import type { KnobsSpec } from '../../src/spec/types.generated.ts';
import { often, runs } from '../support/size.ts';

/* Plans that share their common parts equal those made separately. */

const specs = await loadShipped();

/** The same documents as other objects, for which nothing cached for the originals is found. */
const apart = (s: Specs): Specs => {
  const map = <T>(m: ReadonlyMap<string, T>) => new Map(m);
  return {
    ...s,
    phases: { ...s.phases },
    knobs: { ...s.knobs },
    orders: map(s.orders),
    backends: map(s.backends),
    recipes: map(s.recipes),
    rules: map(s.rules ?? new Map()),
  };
};

const rows = Object.entries(specs.knobs.data.knobs as Record<string, KnobsSpec.Knob>);
const ids = (specs.phases.data.phases as readonly { name: string }[]).map((p) => p.name);
const targets = [...specs.backends.values()].flatMap((f) =>
  f.data.sm === undefined ? [] : [String(f.data.sm)],
);
const few = <T>(from: readonly T[], maxLength: number) => fc.array(fc.constantFrom(...from), { maxLength });

/** Settings of all kinds of knobs, those that switch phases and wrong ones among them. */
const setting = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(fc.constantFrom(...rows), fc.nat(40)).map(([[name], n]) => `${name}=${n}`),
  },
  fc.constantFrom(...ids).map((id) => `DisablePhases=${id}`),
  fc.constantFrom('NoSuchKnob=1', 'GeneralOptimizationBudget=many', 'GeneralOptimizationBudget'),
);

const request: fc.Arbitrary<PlanRequest> = fc.record({
  level: fc.constantFrom(null, 0, 2, 3, 3, 3, 7),
  sm: fc.constantFrom('sm_90', 'sm_90', ...targets, 'sm_1'),
  order: fc.constantFrom('binary', ...specs.orders.keys(), 'nowhere'),
  recipe: fc.constantFrom(null, null, ...specs.recipes.keys()),
  knobSets: few([...specs.knobSets.keys()], 2),
  set: fc.array(setting, { maxLength: 4 }),
  disable: few(ids, 1),
  rules: few([...specs.rules!.keys()], 1),
});

/** Plans of functions are made when they are asked for: those for which every test holds are compared too. */
const withoutVariants = ({ plan, issues }: ReturnType<typeof resolve>) => {
  if (plan === null) return { plan, issues };
  const { variant, ...rest } = plan;
  const { variant: _, ...all } = variant(plan.tests.map((_, i) => i));
  return { plan: rest, all, issues };
};

test('a plan is the same after others as alone, with all that is said of it', () => {
  let plans = 0;
  fc.assert(
    fc.property(request, fc.array(setting, { maxLength: 3 }), (r, more) => {
      for (const set of [r.set, [...r.set, ...more], r.set]) {
        const shared = resolve(specs, { ...r, set }, host);
        const alone = resolve(apart(specs), { ...r, set }, host);
        expect(withoutVariants(shared)).toEqual(withoutVariants(alone));
        if (shared.plan !== null) plans++;
      }
    }),
    { numRuns: runs(60), seed: 1 },
  );
  expect(plans).toBeGreaterThan(often(30));
});

test('the hash is that of everything that decides what the plan does, and nothing else', () => {
  for (const set of [[], ['GeneralOptimizationBudget=3'], ['ContractProducts=true']]) {
    const r = { level: 3, sm: 'sm_90', order: 'binary', knobSets: [], set, disable: [] };
    const p = resolve(specs, r, host).plan!;
    const running = p.phases
      .filter((x) => x.disabled === null)
      .map((x) => [x.id, x.steps.map(stepData), x.gate, x.noOp, x.progress]);
    const values = [...p.knobs.values()]
      .filter((k) => k.value !== null)
      .map((k) => [k.name, k.value])
      .sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
    const groups = [...p.rules].map(([name, g]) => [name, g.hash]);
    const skeleton = hashText(canonical([p.level, p.backend.facts, p.isa.hash, running, groups]));
    expect(p.hash).toBe(hashText(canonical([skeleton, values, null])));
  }
});
