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

/** What only phase 11 makes of a required shape: `__block_size__` of CUDA. */
const SHAPED = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) .reqntid 96 {
.reg .b64 %rd, %o; .reg .b32 %t, %n, %c;
ld.param.u64 %rd, [a]; mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %c, %ctaid.x;
mad.lo.u32 %t, %c, %n, %t; mul.wide.u32 %o, %t, 4; add.s64 %rd, %rd, %o; st.global.u32 [%rd], %t; ret; }`;

/** A remainder whose sign ranges tell (phase 29): the sum with zero that is left goes in phase 37, and what that leaves is for 75. */
const REMAINDER = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) {
.reg .b64 %rd, %o; .reg .b32 %n, %x, %q, %m, %d; .reg .pred %p;
ld.param.u64 %rd, [a]; ld.param.u32 %n, [n]; mov.u32 %x, %tid.x; setp.ge.s32 %p, %x, %n; @%p ret;
mul.wide.u32 %o, %x, 8; add.s64 %rd, %rd, %o;
div.s32 %q, %x, 32; st.global.u32 [%rd+4], %q; shl.b32 %m, %q, 5; sub.s32 %d, %x, %m; and.b32 %n, %x, 2047; st.global.u32 [%rd+8], %n; st.global.u32 [%rd], %d; ret; }`;

/** A kernel of whose code each phase with rules leaves something else: a test kernel, for sm_80 where no other target stands with it, or a text. */
const SHOWS: Readonly<Record<string, string>> = {
  GeneralOptimizeEarly: 'carry-chain',
  OriStrengthReduce: 'divmod',
  GeneralOptimize: 'divmod',
  OriLinearReplacement: 'bit-tricks',
  GeneralOptimizeMid: 'state-machine',
  GeneralOptimizeMid2: 'reduce-shared',
  GeneralOptimizeLate: 'gauss-solve sm_90',
  GeneralOptimizeLate2: 'crc',
  LateArchOptimizeFirst: 'REMAINDER',
  LateArchOptimizeSecond: 'divmod',
};

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
  it('is one that shows', () => {
    expect(withRules.map((p) => p.id).sort()).toEqual(Object.keys(SHOWS).sort());
  });
  it.each(Object.entries(SHOWS))('%s shows in the code of %s when it is taken away', async (id, shows) => {
    const [name, sm = 'sm_80'] = shows.split(' ');
    const kernel = name === 'REMAINDER' ? REMAINDER : name;
    const withIt = (await planWith({ order: 'binary', sm })).plan!;
    const without = (await planWith({ order: 'binary', sm, disable: [id] })).plan!;
    expect(printProgram(optimized(kernel, withIt).last)).not.toBe(
      printProgram(optimized(kernel, without).last),
    );
  });
  it('so does phase 11, where the source requires a shape', async () => {
    const without = (await planWith({ order: 'binary', disable: ['ReplaceUniformsWithImm'] })).plan!;
    expect(printProgram(optimized(SHAPED, plan).last)).not.toContain('NTID');
    expect(printProgram(optimized(SHAPED, without).last)).toContain('NTID');
  });
});
