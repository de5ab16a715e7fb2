import { describe, expect, it } from 'vitest';
import { planOf } from '../../src/core.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { paramBase, readPtx } from '../../src/read.ts';
import { shipped } from '../support/specs.ts';

/*
 * PTX lets ptxas fuse a product and a sum without rounding modifiers (PTX ISA 9.0, 9.7.3), and a plan with inexact rules does so.
 */
const plan = planOf(shipped, { sm: 'sm_80', level: 3 });

/** A kernel that stores `%f4` as computed by the lines from the words `%f1` to `%f3` in memory. */
const kernel = (lines: string) =>
  readPtx(
    `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) {
  .reg .f32 %f<9>;
  .reg .b64 %a;
  ld.param.u64 %a, [a];
  ld.global.f32 %f1, [%a];
  ld.global.f32 %f2, [%a+4];
  ld.global.f32 %f3, [%a+8];
  ${lines}
  st.global.f32 [%a+12], %f4;
  ret;
}
`,
    plan,
    'k',
  ).program;

const judged = (before: string, after: string, inexact: boolean) =>
  judgeKernel(kernel(before), kernel(after), 'k', paramBase(plan), { inexact });

const APART = 'mul.f32 %f5, %f1, %f2; add.f32 %f4, %f5, %f3;';

describe('a product that is fused with a sum', () => {
  it.each(['fma.rn.f32 %f4, %f1, %f2, %f3;', 'fma.rn.f32 %f4, %f2, %f1, %f3;'])(
    '%s is equal where the plan may fuse, and different where it may not',
    (fused) => {
      expect(judged(APART, fused, true)).toMatchObject({ same: true, approximate: true });
      expect(judged(APART, fused, false).same).toBe(false);
    },
  );
  it('is different where PTX asks for both roundings', () => {
    const exact = 'mul.rn.f32 %f5, %f1, %f2; add.rn.f32 %f4, %f5, %f3;';
    expect(judged(exact, 'fma.rn.f32 %f4, %f1, %f2, %f3;', true).same).toBe(false);
  });
  it.each([
    'fma.rn.f32 %f4, %f1, %f3, %f2;',
    'mul.f32 %f6, %f1, 0f3F800080; fma.rn.f32 %f4, %f6, %f2, %f3;',
    'neg.f32 %f6, %f3; fma.rn.f32 %f4, %f1, %f2, %f6;',
    'mul.f32 %f4, %f1, %f2;',
  ])('%s is different all the same', (wrong) => {
    expect(judged(APART, wrong, true).same).toBe(false);
  });
  it('is no excuse for a store that is gone', () => {
    expect(judged(APART, 'fma.rn.f32 %f4, %f1, %f2, %f3; ret;', true).same).toBe(false);
  });
});
