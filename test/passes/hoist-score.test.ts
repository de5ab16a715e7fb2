import { describe, expect, it } from 'vitest';
import { parseFn } from '../../src/ir/text.ts';
import {
  hoistBudget,
  isSmallNest,
  isWorthHoisting,
  type Question,
  weightOf,
} from '../../src/passes/loops/hoist-score.ts';
import type { KnobValue } from '../../src/passes/pass.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';
import { planWith } from '../support/specs.ts';

const block = (...lines: string[]) => parseFn(`.entry k\n{\nBB0:\n${lines.join('\n')}\nEXIT\n}`, testIsa());
const context = (knobs: Record<string, KnobValue> = {}) => testContext(block(), { knobs });
/** The only block of an outermost loop, in the first run. */
const first: Question = {
  run: 0,
  budget: 22,
  alone: true,
  inner: false,
  latches: 1,
  header: 100,
  body: 0,
  safe: true,
};

/** The numbers are those of the page on loops (reference passes-c). */
describe('hoisting by score', () => {
  it.each<[string, Partial<Question>, Record<string, KnobValue>, number]>([
    ['the only block', {}, {}, 22],
    ['the only block, later', { run: 1, budget: 100 }, {}, 100],
    ['HoistLoopInvBudget', {}, { HoistLoopInvBudget: 7 }, 7],
    ['one of several', { alone: false }, {}, 10],
    ['HoistBudget', { alone: false }, { HoistBudget: 40 }, 40],
    ['the last run', { run: 3, alone: false }, {}, 1000],
    ['an inner loop', { inner: true }, {}, 2.2],
    ['knob 380', { inner: true }, { Knob380: 4 }, 5.5],
    ['one of two latches', { alone: false, latches: 2 }, {}, 5],
    ['the only block, below the wide mode', {}, { HoistCBOMode: 1 }, 22],
    ['the only block in the wide mode', {}, { HoistCBOMode: 2 }, 200],
    ['the only block in the wide mode, later', { run: 1, budget: 100 }, { HoistCBOMode: 2 }, 300],
    ['HoistLoopInvBudget in the wide mode', {}, { HoistCBOMode: 2, HoistLoopInvBudget: 7 }, 7],
    ['one of several in the wide mode', { alone: false }, { HoistCBOMode: 2 }, 10],
  ])('the budget of %s', (_, change, knobs, budget) => {
    expect(hoistBudget({ ...first, ...change }, context(knobs))).toBeCloseTo(budget, 9);
  });

  // An invariant load of a constant, with five instructions: 1 + 5 points in the first run, 1 + 1 if it is not safe; it is slow: 2.
  const { ins } = block('LDC R1, c[0x3][0x10]', 'IADD3 R2, R2, R1', 'ISETP.LT P9, R2, R3', 'IADD3 R4, R4, 1')
    .blocks[0];
  it.each<[string, Partial<Question>, KnobValue, boolean]>([
    ['6 * 41 / (5 * 5 * 5) < 2', {}, 41, false],
    ['6 * 42 / (5 * 5 * 5) > 2', {}, 42, true],
    ['2 * 4 / (1 * 5) < 2', { safe: false }, 4, false],
    ['2 * 5 / (1 * 5) = 2', { safe: false }, 5, true],
    // Later runs divide by a third of the body and the header: 5 * (300 / 3 + 20) = 600.
    ['6 * 199 / 600 < 2', { run: 1, header: 20, body: 300 }, 199, false],
    ['6 * 200 / 600 = 2', { run: 1, header: 20, body: 300 }, 200, true],
  ])('a slow invariant: %s', (_, change, budget, worth) => {
    const knobs = { HoistLoopInvBudget: budget };
    expect(isWorthHoisting(ins, (at) => at === 0, { ...first, ...change }, context(knobs))).toBe(worth);
  });

  it.each<[string, string, Partial<Question>, KnobValue, boolean]>([
    // A predicate has 60 points in the first run and 150 later (12 and 30 if it is not safe); a double's result counts once, others twice.
    ['60 * 4 / (5 * 5 * 6) < 2', 'LDG R8, [RD10]', {}, 4, false],
    ['60 * 5 / (5 * 5 * 6) = 2', 'LDG R8, [RD10]', {}, 5, true],
    ['12 * 1 / (1 * 6) = 2', 'LDG R8, [RD10]', { safe: false }, 1, true],
    ['150 * 1 / (5 * 15) = 2', 'LDG R8, [RD10]', { run: 1, header: 15 }, 1, true],
    ['150 * 1 / (5 * 16) < 2', 'LDG R8, [RD10]', { run: 1, header: 16 }, 1, false],
    ['30 * 1 / (1 * 15) = 2', 'LDG R8, [RD10]', { run: 1, header: 15, safe: false }, 1, true],
    ['150 * 1 / (5 * 30) = 1', 'DADD RD8, RD10, RD12', { run: 1, header: 30 }, 1, true],
    ['150 * 1 / (5 * 31) < 1', 'DADD RD8, RD10, RD12', { run: 1, header: 31 }, 1, false],
  ])('an invariant predicate beside something slow: %s', (_, slow, change, budget, worth) => {
    const all = block('ISETP.LT P9, R2, R3', slow, 'IADD3 R4, R4, 1', 'IADD3 R4, R4, 2', 'IADD3 R4, R4, 3')
      .blocks[0].ins;
    const knobs = { HoistLoopInvBudget: budget };
    expect(isWorthHoisting(all, (at) => at === 0, { ...first, ...change }, context(knobs))).toBe(worth);
  });

  it('a loop that holds others weighs less behind its header than twice the header', async () => {
    const { plan } = await planWith({});
    const rate = plan!.knobs.get('MaxMidHeaderSizeRateForAggressiveHoist')!.value!;
    const isSmall = (body: number, by: KnobValue = rate): boolean =>
      isSmallNest({ header: 31, body }, context({ MaxMidHeaderSizeRateForAggressiveHoist: by }));
    expect([isSmall(61), isSmall(62), isSmall(92, 3), isSmall(93, 3)]).toEqual([true, false, true, false]);
  });

  it('predicates weigh 1, other instructions 30', () => {
    expect(weightOf(block('ISETP.LT P9, R2, R3', 'IADD3 R4, R4, 1').blocks[0].ins.slice(0, 2))).toBe(31);
  });

  it('decides in the pass, with the budget of its run', () => {
    const fn = parseFn(
      `.entry k
{
BB0:
  MOV R1, 0
BB1:
  MOVPHI R2, {BB0: R1, BB1: R5}
  LDC R3, c[0x3][0x10]
  IADD3 R5, R2, R3
  ISETP.LT P8, R5, R7
  @P8 BRA BB1
BB2:
  STG [RD10], R5
  EXIT
}`,
      testIsa(),
    );
    const hoisted = (params: object, knobs = {}) => {
      const ctx = testContext(fn, { params: { ...params }, knobs: { HoistByScore: true, ...knobs } });
      runPass('hoist-invariants', fn, ctx);
      return ctx.remarks.map((r) => r.name);
    };
    // 6 * 41 / (5 * 5 * 5); in the last run 6 * 100 b / (5 * (2 + 3 * 30)).
    expect(hoisted({ run: 0, budget: 41 })).toEqual([]);
    expect(hoisted({ run: 0, budget: 42 })).toEqual(['hoisted']);
    expect(hoisted({ run: 3, budget: 1 })).toEqual([]);
    expect(hoisted({ run: 3, budget: 2 })).toEqual(['hoisted']);
    expect(hoisted({ run: 0, budget: 0 }, { HoistByScore: null })).toEqual(['hoisted']);
  });
});
