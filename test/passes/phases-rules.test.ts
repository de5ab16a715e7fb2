import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { printProgram } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { flatSteps, groupsOf, type Plan } from '../../src/spec/plan.ts';
import { planWith } from '../support/specs.ts';

/*
 * Which phase runs which rules is data: each phase with rules has an effect that no other phase has before it, so removing it changes the
 * result.
 */
const plan = (await planWith({ order: 'binary' })).plan!;
// Phase 78 is required: it expands what the target lacks (target-operations.test.ts). Phase 137 handles what other stages of expansion
// leave (long-operations.test.ts).
const withRules = plan.phases.filter((p) => groupsOf(p).length > 0 && !p.required && p.index !== 137);

function optimized(kernel: string, p: Plan) {
  const text = readFileSync(new URL(`../kernels/${kernel}/${kernel}.${p.sm}.ptx`, import.meta.url), 'utf8');
  const paramBase = Number(p.backend.facts['param-base']);
  const { program } = lowerPtx(parsePtx(text, kernel).module, { isa: p.isa, paramBase, sm: p.sm });
  return runPipeline(program, p);
}

/** For each phase with rules, a test kernel whose final code the phase changes; for sm_80 unless another target is given. */
const SHOWS: Readonly<Record<string, string>> = {
  GeneralOptimizeEarly: 'carry-chain',
  OriStrengthReduce: 'divmod',
  GeneralOptimize: 'divmod',
  OriLinearReplacement: 'bit-tricks',
  GeneralOptimizeMid: 'state-machine',
  GeneralOptimizeLate: 'gauss-solve sm_90',
  GeneralOptimizeLate2: 'crc',
  LateArchOptimizeFirst: 'late-cleaning',
  LateArchOptimizeSecond: 'divmod',
};

/** A phase with rules whose work on test kernels later cleaning would do too: what it changes where it stands. */
const SHOWS_EARLY: Readonly<Record<string, string>> = { GeneralOptimizeMid2: 'switch-dense' };

/** Checks that a phase changes a kernel where it stands. */
function changesThere(id: string, kernel: string): void {
  const { records } = optimized(kernel, plan);
  expect(records.find((r) => r.phase.id === id)!.functionsChanged).toBeGreaterThan(0);
}

/** Checks that the code of a kernel is another one without a phase. */
async function shows(id: string, where: string): Promise<void> {
  const [kernel, sm = 'sm_80'] = where.split(' ');
  const withIt = (await planWith({ order: 'binary', sm })).plan!;
  const without = (await planWith({ order: 'binary', sm, disable: [id] })).plan!;
  expect(printProgram(optimized(kernel, withIt).last)).not.toBe(
    printProgram(optimized(kernel, without).last),
  );
}

describe('a phase with rules', () => {
  it('is identified by its rule groups', () => {
    expect(withRules.map((p) => p.index).sort((a, b) => a! - b!)).toEqual([
      13, 21, 29, 31, 37, 46, 58, 65, 75, 81,
    ]);
    const sets = withRules.map((p) => groupsOf(p).join());
    expect(new Set(sets).size).toBe(sets.length);
    for (const p of withRules)
      expect(flatSteps(p.steps).flatMap((s) => (s.kind === 'pass' ? [s.pass] : []))).toEqual(
        expect.arrayContaining(['copy-propagation', 'constant-folding', 'constant-guards', 'dead-results']),
      );
  });
  it('is one that shows', () => {
    expect(withRules.map((p) => p.id).sort()).toEqual(Object.keys({ ...SHOWS, ...SHOWS_EARLY }).sort());
  });
  it.each(Object.entries(SHOWS_EARLY))('with rules, %s changes %s where it stands', changesThere);
  it.each(Object.entries(SHOWS))('with rules, %s shows in the code of %s when it is taken away', shows);
});

/** The same for phases that number values, copy or remove. */
const CLEANS: Readonly<Record<string, string>> = {
  ReplaceUniformsWithImm: 'hopper-elect sm_90',
  OriPerformLiveDeadFirst: 'carry-chain',
  GvnCse: 'float-special',
  OriReassociateAndCommon: 'bit-tricks',
  OriReplaceEquivMultiDefMov: 'text-codecs',
  OriRemoveRedundantMultiDefMov: 'late-cleaning',
  LateOriCommoning: 'text-codecs',
  OriPerformLiveDeadFourth: 'late-cleaning',
};

/** Phases whose work later runs of the same pass would do too: what each changes where it stands. */
const CLEANS_EARLY: Readonly<Record<string, string>> = {
  EarlyOriSimpleLiveDead: 'carry-chain',
  OriPerformLiveDeadSecond: 'late-cleaning',
  OriPerformLiveDeadThird: 'late-cleaning',
};

describe('a phase without rules', () => {
  it.each(Object.entries(CLEANS))('without rules, %s shows in the code of %s when it is taken away', shows);
  it.each(Object.entries(CLEANS_EARLY))('%s changes %s where it stands', changesThere);
});
