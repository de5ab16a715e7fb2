import { expect, it } from 'vitest';
import { parseFn } from '../../src/ir/text.ts';
import { dependentTextures } from '../../src/passes/reports/dependent-textures.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';

const fetch = (to: string, at: string): string =>
  `FOREIGN_LOAD.GLOBAL {${to}}, "tex.1d.v2.u32.s32 {<d0>, <d1>}, [<s0:64>, {<s1>}]", {RD20, ${at}}`;
const report = (...lines: string[]): string => {
  const fn = parseFn(`.entry k\n{\nBB0:\n${lines.join('\n')}\nEXIT\n}`, testIsa());
  const ctx = testContext(fn);
  expect(dependentTextures(fn, ctx)).toBe(fn);
  return ctx.reports.join('\n');
};

it('texture fetches are counted, and those that wait for one another', () => {
  expect(report('IADD3 R1, R2, R3')).toBe('# no texture fetches');
  expect(report(fetch('R1, R2', 'R3'))).toBe('# 1 texture fetch; none waits for another');
  expect(report(fetch('R1, R2', 'R3'), fetch('R4, R5', 'R6'))).toBe(
    '# 2 texture fetches; none waits for another',
  );
  // The place of the third depends on the first, through a sum and a load; the second is on its own, and the last waits for both.
  const sum = 'IADD3 R7, R1, 4\nIMAD_WIDE.U32 RD8, R7, 4, RD20\nLDG R10, [RD8]';
  const chain = [fetch('R1, R2', 'R3'), fetch('R4, R5', 'R6'), sum, fetch('R11, R12', 'R10')];
  expect(report(...chain)).toBe('# 3 texture fetches; 2 of them wait for one another, to the one in BB0');
  expect(report(...chain, 'IADD3 R13, R4, R12\nBB1:', fetch('R14, R15', 'R13'))).toBe(
    '# 4 texture fetches; 3 of them wait for one another, to the one in BB1',
  );
});

it('a loop counts once', () => {
  expect(
    report('BB1:', fetch('R3, R2', 'R3'), 'ISETP.LT P30, R3, R40\n@P30 BRA BB1\nBB2:', fetch('R4, R5', 'R2')),
  ).toBe('# 2 texture fetches; 2 of them wait for one another, to the one in BB2');
});
