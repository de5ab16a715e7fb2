import { describe, expect, it } from 'vitest';
import { edit } from '../../src/ir/draft/index.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { delaySteps } from '../../src/ssa/delay.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testIsa } from '../support/isa.ts';

const isa = testIsa();
const lines = (fn: Fn): string[] =>
  printFn(fn, { locs: false })
    .split('\n')
    .filter((l) => /^ +@?!?[A-Z]/.test(l))
    .map((l) => l.trim().replace(/ +/g, ' '));

/** A loop around `body` with one phi, R1, whose back-edge value is R2. */
const loop = (body: string, behind = ''): string =>
  `BB0:\n  MOV R0, 64\nBB1:\n  MOVPHI R1, {BB0: R0, BB1: R2}\n${body}\n  @P3 BRA BB1\nBB2:\n${behind}  EXIT`;

/** Instructions of the loop after its phi, with everything delayed that can be; `same` if nothing was moved. */
function delayed(body: string, behind?: string): string[] | 'same' {
  const fn = parseFn(loop(body, behind), isa);
  expect(verifySsa(fn)).toEqual([]);
  const out = edit(fn, delaySteps, isa);
  expect(verifySsa(out)).toEqual([]);
  expect(edit(out, delaySteps, isa)).toBe(out);
  if (out === fn) return 'same';
  const all = lines(out);
  return all.slice(
    all.findIndex((l) => l.startsWith('MOVPHI')) + 1,
    all.findIndex((l) => l.includes('BRA')),
  );
}
const copies = (body: string): number =>
  lines(leaveSsa(parseFn(loop(body), isa), isa)).filter((l) => /^MOV R\d+, R\d+$/.test(l)).length;

describe('steps of loops', () => {
  it('follow the last use of the old value, which saves a copy', () => {
    const body = '  SHR.U32 R2, R1, 1\n  STG [RD4], R1\n  ISETP.GE.U32 P3, R1, 2';
    expect(delayed(body)).toEqual(['STG [RD4], R1', 'ISETP.GE.U32 P3, R1, 2', 'SHR.U32 R2, R1, 1']);
    expect(copies(body)).toBe(0);
  });

  it('take along what hangs on them', () => {
    expect(delayed('  IADD3 R2, R1, 1, RZ\n  ISETP.LT P3, R2, R9\n  STG [RD4], R1')).toEqual([
      'STG [RD4], R1',
      'IADD3 R2, R1, 1',
      'ISETP.LT P3, R2, R9',
    ]);
  });

  it('stay if the last use needs the new value, or is in a later block', () => {
    expect(delayed('  IADD3 R2, R1, 1, RZ\n  IMAD R5, R1, R2, RZ\n  ISETP.LT P3, R5, R9')).toBe('same');
    expect(delayed('  IADD3 R2, R1, 1, RZ\n  ISETP.LT P3, R1, R9', '  STG [RD4], R1\n')).toBe('same');
  });

  it('stay where an effect hangs on them, or they read memory', () => {
    expect(delayed('  IADD3 R2, R1, 1, RZ\n  STG [RD4], R2\n  ISETP.LT P3, R1, R9')).toBe('same');
    expect(delayed('  LDG R2, [RD4]\n  STG [RD4], R1\n  ISETP.LT P3, R1, R9')).toBe('same');
  });

  it('stay where another phi would need the copy', () => {
    // R7 steps to R8 between: R2 = R1 + R7 behind it would read the old R7.
    const text = `BB0:
  MOV R0, 64
  MOV R6, 1
BB1:
  MOVPHI R7, {BB0: R6, BB1: R8}
  MOVPHI R1, {BB0: R0, BB1: R2}
  IADD3 R2, R1, R7, RZ
  SHL R8, R7, 1
  ISETP.LT P3, R1, R8
  @P3 BRA BB1
BB2:
  EXIT`;
    const fn = parseFn(text, isa);
    expect(edit(fn, delaySteps, isa)).toBe(fn);
  });

  it('end with bounded work: what stands far apart stays', () => {
    const between = Array.from({ length: 200 }, (_, i) => `  STG [RD4+${4 * i}], R9`).join('\n');
    expect(delayed(`  SHR.U32 R2, R1, 1\n${between}\n  ISETP.GE.U32 P3, R1, 2`)).toBe('same');
  });
});
