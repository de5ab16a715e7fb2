import { describe, expect, it } from 'vitest';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { guardedSelects } from '../../src/passes/flow/guarded-selects.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';

const isa = testIsa();
const lines = (fn: Fn): string[] =>
  printFn(fn, { locs: false })
    .split('\n')
    .filter((l) => /^ +@?!?[A-Z]/.test(l))
    .map((l) => l.trim().replace(/ +/g, ' '));

/** Instructions after the pass and, beside them, after leaving SSA; `same` if the pass changes nothing. */
function after(text: string): { out: string[]; left: string[] } | 'same' {
  const fn = parseFn(text, isa);
  expect(verifySsa(fn)).toEqual([]);
  const out = guardedSelects(fn, testContext(fn));
  expect(verifySsa(out)).toEqual([]);
  expect(guardedSelects(out, testContext(out))).toBe(out);
  return out === fn ? 'same' : { out: lines(out), left: lines(leaveSsa(out, isa)) };
}
const block = (body: string): ReturnType<typeof after> => after(`BB0:\n${body}\n  STG [RD8], R4\n  EXIT`);

describe('guarded selections', () => {
  const shift = '  SHR.U32 R1, R0, 1\n  LOP3 R2, R1, R9, RZ, 60\n  SEL R4, R2, R1, P3';
  it('compute one side in place, and need no copy of the other', () => {
    const r = block(shift);
    expect(r).not.toBe('same');
    if (r === 'same') return;
    expect(r.out.join('\n')).toMatch(/@P3 LOP3 R4 else R1, R1, R9, RZ, 60/);
    expect(r.left).toHaveLength(4);
    expect(r.left[1]).toMatch(/^@P3 LOP3 (R\d+), \1, R9, RZ, 60$/);
  });

  it('take either side, and a negated condition', () => {
    for (const [sel, guard] of [
      ['R2, R1, !P3', '@!P3'],
      ['R1, R2, P3', '@!P3'],
      ['R1, R2, !P3', '@P3'],
    ]) {
      const r = block(shift.replace('R2, R1, P3', sel));
      expect(r !== 'same' && r.out[1]).toMatch(new RegExp(`^${guard} LOP3 R4`));
    }
  });

  it('leave a side that something else reads, or that lives on', () => {
    expect(block(`${shift}\n  STG [RD8+4], R2`)).toBe('same');
    expect(block(`${shift}\n  STG [RD8+4], R1`)).toBe('same');
    expect(block(shift.replace('SEL', 'STG [RD8+4], R1\n  SEL'))).not.toBe('same');
  });

  it('leave a side in another file of registers', () => {
    expect(
      block('  MOV UR1, 7\n  LOP3 UR3, UR1, UR1, RZ, 60\n  LOP3 R2, R0, R9, RZ, 60\n  SEL R4, R2, UR3, P3'),
    ).toBe('same');
  });

  it('leave constants, loads, and what two sides of a loop share', () => {
    expect(block('  MOV R1, 7\n  LOP3 R2, R0, R9, RZ, 60\n  SEL R4, R2, R1, P3')).toBe('same');
    expect(block('  MOV R1, 7\n  LDG R2, [RD8]\n  SEL R4, R2, R1, P3')).toBe('same');
    // R1 comes from in front of the loop, where it would be overwritten in the first round.
    const around = `BB0:
  SHR.U32 R1, R0, 1
BB1:
  LOP3 R2, R9, R9, RZ, 60
  SEL R4, R2, R1, P3
  STG [RD8], R4
  ISETP.LT P5, R4, R9
  @P5 BRA BB1
BB2:
  EXIT`;
    expect(after(around)).toBe('same');
  });

  it('leave a side with very many uses', () => {
    const uses = (n: number): string =>
      Array.from({ length: n }, (_, i) => `  STG [RD8+${8 + 4 * i}], R1`).join('\n');
    const with_ = (n: number) => block(shift.replace('  SEL', `${uses(n)}\n  SEL`));
    expect(with_(20)).not.toBe('same');
    expect(with_(40)).toBe('same');
  });

  it('keep what is added up in a loop in one register', () => {
    const r = after(`BB0:
  MOV R0, 0
BB1:
  MOVPHI R1, {BB0: R0, BB1: R4}
  IADD3 R2, R1, R9, RZ
  SEL R4, R2, R1, P3
  ISETP.LT P5, R4, R9
  @P5 BRA BB1
BB2:
  STG [RD8], R4
  EXIT`);
    expect(
      r !== 'same' && r.left.filter((l) => !l.includes('BRA')).map((l) => l.replace(/R\d+/, 'R')),
    ).toHaveLength(5);
    expect(r !== 'same' && r.left[1]).toMatch(/^@P3 IADD3 (R\d+), \1, R9$/);
  });
});
