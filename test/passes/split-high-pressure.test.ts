import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Pool } from '../../src/analysis/registers/liveness.ts';
import { pressureOf } from '../../src/analysis/registers/pressure.ts';
import { optimize, planOf } from '../../src/core.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { splitHighPressure } from '../../src/passes/registers/split-high-pressure.ts';
import { readPtx } from '../../src/read.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { runs } from '../support/size.ts';
import { planWith, shipped } from '../support/specs.ts';

const isa = testIsa();
const backend = (await planWith({ sm: 'sm_80' })).plan!.backend;
const mostOf = (fn: Fn): number => pressureOf(fn).most[Pool.R];

it('keeps what random functions do, and raises the pressure at no point', () => {
  let made = 0;
  fc.assert(
    fc.property(randomFn({ defined: true }), fc.integer({ min: 1, max: 6 }), (input, registers) => {
      const left = leaveSsa(constructSsa(input, isa), isa);
      const fn = { ...left, attrs: { ...left.attrs, directives: [`.maxnreg ${registers}`] } };
      const ctx = testContext(fn, { backend });
      const out = splitHighPressure(fn, ctx);
      made += ctx.remarks.filter((r) => r.name === 'split').length;
      expect(verifyFn(out)).toEqual([]);
      expect(sameBehaviour(input, out)).toBeNull();
      expect(mostOf(out)).toBeLessThanOrEqual(mostOf(fn));
      if (mostOf(fn) <= registers) expect(out).toBe(fn);
      if (out !== fn) expect(printFn(out)).not.toBe(printFn(fn));
    }),
    { numRuns: runs(300) },
  );
  expect(made).toBeGreaterThan(20);
});

/** A pointer, a constant and the number of the thread that live through sixteen loads, which wait for each other. */
const source = (directive: string): string => {
  const words = Array.from({ length: 16 }, (_, k) => k);
  return `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q) ${directive}
{
.reg .b64 %rd<9>; .reg .b32 %r<40>;
ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r30, %tid.x;
mul.wide.u32 %rd3, %r30, 64; add.s64 %rd3, %rd1, %rd3;
${words.map((k) => `ld.volatile.global.u32 %r${k}, [%rd3+${4 * k}];`).join('\n')}
${words.map((k) => `st.volatile.global.u32 [%rd3+${4 * (15 - k)}], %r${k};`).join('\n')}
st.global.u32 [%rd2], %r30;
ret;
}
`;
};

it.each([
  ['.maxntid 64', '-O3', false],
  ['.maxnreg 19', '-O3', true],
  ['.maxnreg 19', '-O0', false],
] as const)('with %s at %s, phase 138 splits: %s', async (directive, level, splits) => {
  const plan = planOf(shipped, { sm: 'sm_80', level: level === '-O0' ? 0 : 3, disable: ['OriDoRemat'] });
  const { program } = readPtx(source(directive), plan);
  const { records } = optimize(program, plan);
  const own = records.find((r) => r.phase.id === 'OriSplitHighPressureLiveRanges')!;
  expect(own.functionsChanged > 0).toBe(splits);
});

it('splits no more than the points that are too full need', () => {
  const text = (most: number): string => `.entry k
  .directive ".maxnreg ${most}"
{
BB0:
  S2R.TID.X R2
  MOV R3, 77
  MOV R4, 78
  STG [RD5], R2
  STG [RD5+4], R3
  STG [RD5+8], R4
  LDG.V4 {R10, R11, R12, R13}, [RD5]
  STG.V4 [RD5+32], {R10, R11, R12, R13}
BB1:
  STG [RD5+12], R2
  STG [RD5+16], R3
  STG [RD5+20], R4
  EXIT
}`;
  const splits = [9, 8, 7, 6].map((most) => {
    const fn = parseFn(text(most), isa);
    const ctx = testContext(fn, { backend });
    splitHighPressure(fn, ctx);
    return ctx.remarks.filter((r) => r.name === 'split').length;
  });
  expect(splits).toEqual([0, 1, 2, 3]);
});
