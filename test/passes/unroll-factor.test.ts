import { describe, expect, it } from 'vitest';
import { parseFn } from '../../src/ir/text.ts';
import { knownFactor, tabledFactor } from '../../src/passes/loops/unroll-factor.ts';
import type { KnobValue } from '../../src/passes/pass.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';

const nothing = parseFn('.entry k\n{\nBB0:\n  EXIT\n}', testIsa());
const context = (knobs: Record<string, KnobValue> = {}) => testContext(nothing, { knobs });

/** The numbers are those of the page on loops (reference passes-c). */
describe('the factor of a loop, by the table of the reference', () => {
  const SEVERAL = { LoopUnrollUnknownMultiBlock: true };
  it.each([
    // Without textures, the budget is 22.
    [21, 0, 1, false, {}, 4],
    [22, 0, 1, false, {}, 2],
    [70, 0, 1, false, {}, 2],
    // Twice 71 is more than UnrollBudget.
    [71, 0, 1, false, {}, 0],
    [71, 0, 1, false, { UnrollBudget: 142 }, 2],
    // Five more for each texture fetch, up to 100; up to a cost of 49, a loop with fetches is small.
    [49, 1, 1, false, { UnrollBudget: 200 }, 4],
    [50, 5, 1, false, { UnrollBudget: 200 }, 2],
    [50, 6, 1, false, { UnrollBudget: 200 }, 4],
    [99, 30, 1, false, { UnrollBudget: 400 }, 4],
    [100, 30, 1, false, { UnrollBudget: 400 }, 2],
    // Knob 900 replaces that budget.
    [30, 0, 1, false, { Knob900: 31 }, 4],
    [30, 0, 1, false, { Knob900: 30 }, 2],
    [10, 0, 1, false, { Knob900: 10 }, 2],
    // Several blocks.
    [10, 0, 2, false, {}, 0],
    [10, 0, 2, false, SEVERAL, 4],
    [10, 0, 2, true, {}, 4],
    [10, 1, 2, true, {}, 2],
    [10, 1, 2, false, SEVERAL, 4],
    // UnrollUnknownCount.
    [10, 0, 1, false, { UnrollUnknownCount: 8 }, 8],
    [30, 0, 1, false, { UnrollUnknownCount: 8 }, 2],
  ])('cost %i, %i textures, %i blocks, hot %s, %j: %i', (cost, textures, blocks, hot, knobs, factor) => {
    expect(tabledFactor({ cost, textures }, blocks, hot, context(knobs))).toBe(factor);
  });

  it.each([
    [100n, 14, {}, 10],
    [9n, 14, {}, 9],
    [100n, 71, {}, 1],
    [100n, 14, { UnrollBudget: 28 }, 2],
  ])('%i known iterations of cost %i, %j: %i', (iterations, cost, knobs, factor) => {
    expect(knownFactor(iterations, { cost, textures: 0 }, context(knobs))).toBe(factor);
  });

  const loop = (body: string, profile = '') =>
    parseFn(
      `.entry k
  .param u32 n size 4 align 4 at 0 reg R9
${profile}{
BB0:
  MOV R1, 0
BB1:
${body}
  IADD3 R1, R1, 1
  ISETP.LT P8, R1, R9
  @P8 BRA BB1
BB2:
  EXIT
}`,
      testIsa(),
    );
  const said = (body: string, knobs: Record<string, KnobValue>, facts: Record<string, unknown> = {}) => {
    const fn = loop(body);
    const given = { params: { partial: false }, knobs: { UnrollFactorTable: true, ...knobs }, facts };
    const ctx = testContext(fn, given);
    runPass('loop-unrolling', fn, ctx);
    return ctx.remarks.map((r) => r.message.replace('the loop at BB1', 'it'));
  };
  const stores = (n: number) => Array.from({ length: n }, (_, k) => `  STG [RD4+${4 * k}], R1`).join('\n');

  it('constants that an operand can name cost nothing', () => {
    const body = `${stores(18)}\n  LDC R12, c[0x3][0x10]\n  STG [RD4+96], R12`;
    expect(said(body, {})).toEqual(['it: 2 iterations of 23 instructions at once']);
    const operands = { 'capabilities.constant-operands': true };
    expect(said(`${stores(17)}\n  LDC R12, c[0x3][0x10]\n  STG [RD4+96], R12`, {}, operands)).toEqual([
      'it: 4 iterations of 22 instructions at once',
    ]);
  });

  it('texture fetches allow larger copies', () => {
    const fetch =
      '  FOREIGN_LOAD.GLOBAL {R20, R21}, "tex.1d.v2.u32.s32 {<d0>, <d1>}, [<s0:64>, {<s1>}]", {RD20, R1}\n';
    expect(said(stores(24), {})).toEqual(['it: 2 iterations of 27 instructions at once']);
    expect(said(fetch + stores(23), {})).toEqual(['it: 4 iterations of 27 instructions at once']);
  });

  it('a knob that forces a factor is stronger, and only the table unrolls by itself', () => {
    expect(said(stores(3), { Knob896: 3 })).toEqual(['it: 3 iterations of 6 instructions at once']);
    expect(said(stores(3), { Knob896: 3, Knob429: 3 })).toEqual([
      'it: 8 iterations of 6 instructions at once',
    ]);
    expect(said(stores(3), { UnrollFactorTable: null, Knob896: 3 })).toEqual([
      'it: 3 iterations of 6 instructions at once',
    ]);
    expect(said(stores(3), { UnrollFactorTable: null })).toEqual([]);
  });

  it.each([
    // In a profile: how often the loop was entered, its header ran, and its latch.
    [1, 1000, 1000, ['it: 4 iterations of 7 instructions at once']],
    [1, 999, 999, []],
    // More than three iterations for each entry are needed.
    [400, 1201, 1201, ['it: 4 iterations of 7 instructions at once']],
    [400, 1199, 1199, []],
  ])(
    'a loop of several blocks is hot if entered %i times, header %i, latch %i',
    (entered, header, latch, expected) => {
      const fn = parseFn(
        `.entry k
  .param u32 n size 4 align 4 at 0 reg R9
  .count BB0 1
  .count BB4 ${entered}
  .count BB1 ${header}
  .count BB2 ${header}
  .count BB3 ${latch}
  .count BB6 ${entered}
  .count BB5 1
{
BB0:
BB4:
  MOV R1, 0
BB1:
  STG [RD4], R1
  ISETP.EQ P10, R1, 7
  @P10 BRA BB3
BB2:
  STG [RD4+4], R1
BB3:
  IADD3 R1, R1, 1
  ISETP.LT P8, R1, R9
  @P8 BRA BB1
BB6:
  LDG R15, [RD4+8]
  ISETP.EQ P16, R15, 0
  @P16 BRA BB4
BB5:
  EXIT
}`,
        testIsa(),
      );
      const ctx = testContext(fn, { params: { partial: false }, knobs: { UnrollFactorTable: true } });
      runPass('loop-unrolling', fn, ctx);
      expect(
        ctx.remarks.filter((r) => r.kind === 'passed').map((r) => r.message.replace('the loop at BB1', 'it')),
      ).toEqual(expected);
      const why =
        'the loop at BB1 is not unrolled (0x8000000C): it has several blocks, and an unknown trip count';
      if (expected.length === 0) expect(ctx.remarks.map((r) => r.message)).toContain(why);
    },
  );
});
