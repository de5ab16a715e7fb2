import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { paramBase } from '../../src/read.ts';
import { hasWork } from '../../src/spec/phases.ts';
import { whole } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const kernels = new URL('../kernels/', import.meta.url);

/*
 * What a row lists and no test kernel makes its phase read, because nothing there depends on the knob; each with a test in which its pass
 * does read it.
 */
const UNASKED: Readonly<Record<string, string>> = {
  // The resolver reads it for the phase.
  'ApplyNvOptRecipes NamedPhases': 'spec/spec-plan.test.ts',
  'MergeEquivalentConditionalFlow MergeEquivalentConditionalFlowBudget': 'passes/merge-flow.test.ts',
  // PTX has no marks of uniform branches.
  'DoSwitchOptFirst Knob351': 'ori/target-uniform-budget.ori',
  'OriLoopSimplification LoopInversionBudget': 'ori/loops-invert-budget.ori',
  // Only copies of cycles with several entries ask for it, which SingleEntryLimit must allow.
  'OriLoopSimplification GeneralOptimizationBudget': 'ori/loops-single-entry-budget.ori',
  // No test kernel has a sum of two products with a common factor.
  'OriReassociateAndCommon DistributeAndReassociateMulBudget': 'ori/distribution-budget.ori',
  // It matters at level 1.
  'PlaceBlocksInSourceOrder DisableSourceOrder': 'passes/place-blocks.test.ts',
  // Of the two phases with its pass, this one takes values alone unless its parameters are changed.
  'OriHoistInvariantsLate Knob484': 'ori/hoist-count.ori',
  'OriLinearReplacement Knob579': 'ori/predicate-twice.ori',
  'GeneralOptimizeLate Knob603': 'spec/knobs-general-optimize.test.ts',
  'OriLoopFusion PerformLoopFusionBudget': 'ori/fusion-budget.ori',
  // Only machine code has control words.
  'ProcessO0WaitsAndSBs OptBudget': 'codegen/phases.test.ts',
};

/**
 * Two levels and targets; the third has few registers, so that there is something to recompute, and the last the other ways to hoist and to
 * unroll. Each with kernels that together make phases read all that is read at all: the others are run where something was not read, and
 * where all cases are tried, as by night, which also finds what `UNASKED` names without need.
 */
const SETTINGS = [
  { level: 3, sm: 'sm_80', set: [], first: [] },
  { level: 5, sm: 'sm_90', set: [], first: ['float-compare', 'hopper-elect', 'random-numbers'] },
  {
    level: 3,
    sm: 'sm_80',
    set: ['RematEarlyEnable=1', 'RematMaxRegCount=8'],
    first: ['block-helpers', 'late-cleaning', 'printf-assert'],
  },
  {
    level: 3,
    sm: 'sm_80',
    set: ['HoistByScore', 'UnrollFactorTable'],
    first: [
      ...['hash-table', 'histogram', 'mbarrier', 'memory-order', 'nbody'],
      ...['nested-conditions', 'sobel', 'spmv-csr', 'switch-sparse'],
    ],
  },
] as const;

it('each knob that a row lists is read by its phase, over all test kernels', async () => {
  const asked = new Set<string>();
  const listed = new Set<string>();
  const plans = await Promise.all(
    SETTINGS.map(async ({ level, sm, set }) => (await planWith({ order: 'binary', level, sm, set })).plan!),
  );
  for (const plan of plans)
    for (const p of plan.phases.filter(hasWork))
      for (const k of p.knobs) if (!plan.knobs.get(k)!.unread) listed.add(`${p.id} ${k}`);
  const missing = (): string[] => [...listed].filter((x) => !asked.has(x));
  const run = (isFirst: boolean): void => {
    for (const [i, { sm, first }] of SETTINGS.entries())
      for (const name of readdirSync(kernels)) {
        const file = new URL(`${name}/${name}.${sm}.ptx`, kernels);
        if (!existsSync(file) || (first as readonly string[]).includes(name) !== isFirst) continue;
        const plan = plans[i];
        const { module } = parsePtx(readFileSync(file, 'utf8'), name);
        const { program } = lowerPtx(module, { isa: plan.isa, paramBase: paramBase(plan), sm });
        for (const { phase, knobsRead } of runPipeline(program, plan).records)
          for (const k of knobsRead) asked.add(`${phase.id} ${k}`);
      }
  };
  run(true);
  if (whole || missing().some((x) => UNASKED[x] === undefined)) run(false);
  expect(missing().sort()).toEqual(Object.keys(UNASKED).sort());
});

it('the catalog names as readers just the phases that do something and list the knob', async () => {
  const { plan } = await planWith({ order: 'binary' });
  const busy = plan!.phases.filter(hasWork);
  const ids = new Set(busy.map((p) => p.id));
  const catalog = parse(readFileSync(new URL('../../knobs/catalog.yaml', import.meta.url), 'utf8')).knobs as {
    [name: string]: { readonly readers?: readonly string[]; readonly unread?: boolean };
  };
  // OptBudget belongs to the level accessor, which has no list.
  const named = Object.entries(catalog).filter(([k, { unread }]) => unread !== true && k !== 'OptBudget');
  const wrong = named.flatMap(([name, { readers = [] }]) => {
    const said = readers.filter((r) => ids.has(r)).sort();
    const listed = busy.filter((p) => p.knobs.includes(name)).map((p) => p.id);
    return said.join() === listed.sort().join() ? [] : [[name, said, listed]];
  });
  expect(wrong).toEqual([]);
});

it('what no test kernel makes a phase read, another test does', () => {
  for (const [what, file] of Object.entries(UNASKED)) {
    const knob = what.split(' ')[1];
    expect([what, readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').includes(knob)]).toEqual([
      what,
      true,
    ]);
  }
});
