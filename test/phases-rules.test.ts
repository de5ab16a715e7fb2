import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runPipeline } from '../src/engine/pipeline.ts';
import { printProgram } from '../src/ir/text.ts';
import { lowerPtx } from '../src/ptx/lower/index.ts';
import { parsePtx } from '../src/ptx/parse.ts';
import { flatSteps, groupsOf, type Plan } from '../src/spec/plan.ts';
import { planWith } from './support/specs.ts';

/*
 * Which phase runs which rules is data: each phase with rules has something to do that no other does before it, so that taking it
 * away shows.
 */
const plan = (await planWith({ order: 'binary' })).plan!;
// Phase 78 is required: it expands what the target lacks (target-operations.test.ts). Phase 137 takes what other stages of expansion left
// (long-operations.test.ts).
const withRules = plan.phases.filter((p) => groupsOf(p).length > 0 && !p.required && p.index !== 137);

function optimized(kernel: string, p: Plan) {
  const text = kernel.includes('\n')
    ? kernel
    : readFileSync(new URL(`./kernels/${kernel}/${kernel}.${p.sm}.ptx`, import.meta.url), 'utf8');
  const paramBase = Number(p.backend.facts['param-base']);
  const { program } = lowerPtx(parsePtx(text, kernel).module, { isa: p.isa, paramBase, sm: p.sm });
  return runPipeline(program, p);
}

/** A store within a range: two branches on values that differ from lane to lane, which phase 38 makes one. */
const RANGE = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .b64 %rd, %o; .reg .b32 %x, %t; .reg .pred %p, %q;
ld.param.u64 %rd, [a]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.s64 %rd, %rd, %o; ld.global.u32 %x, [%rd];
setp.lt.s32 %p, %x, 3; @%p bra E; setp.gt.s32 %q, %x, 9; @%q bra E;
st.global.u32 [%rd], %t; st.global.u32 [%rd+4], %t;
E: ret; }`;

/** A test kernel of whose code each phase with rules leaves something else, for sm_80 where no other target stands with it. */
const SHOWS: Readonly<Record<string, string>> = {
  GeneralOptimizeEarly: 'carry-chain',
  OriStrengthReduce: 'divmod',
  GeneralOptimize: 'divmod',
  OriLinearReplacement: 'bit-tricks',
  GeneralOptimizeMid: 'state-machine',
  GeneralOptimizeLate: 'gauss-solve sm_90',
  GeneralOptimizeLate2: 'crc',
  LateArchOptimizeFirst: 'text-codecs',
  LateArchOptimizeSecond: 'divmod',
};

/** Phases whose work the next ones with the same rules do if they are taken away, and a text in which they find some. */
const REDONE: Readonly<Record<string, string>> = { GeneralOptimizeMid2: RANGE };

describe('a phase with rules', () => {
  it('is told apart from the others by its groups', () => {
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
  it('is one that shows, or whose work is done later without it', () => {
    expect(withRules.map((p) => p.id).sort()).toEqual([...Object.keys(SHOWS), ...Object.keys(REDONE)].sort());
  });
  it.each(Object.entries(SHOWS))('%s shows in the code of %s when it is taken away', async (id, shows) => {
    const [kernel, sm = 'sm_80'] = shows.split(' ');
    const withIt = (await planWith({ order: 'binary', sm })).plan!;
    const without = (await planWith({ order: 'binary', sm, disable: [id] })).plan!;
    expect(printProgram(optimized(kernel, withIt).last)).not.toBe(
      printProgram(optimized(kernel, without).last),
    );
  });
  it.each(Object.entries(REDONE))(
    '%s changes something, which is done later without it',
    async (id, text) => {
      const without = (await planWith({ order: 'binary', disable: [id] })).plan!;
      const a = optimized(text, plan);
      expect(a.records.find((r) => r.phase.id === id)!.functionsChanged).toBeGreaterThan(0);
      expect(printProgram(optimized(text, without).last)).toBe(printProgram(a.last));
    },
  );
});
