import { describe, expect, it } from 'vitest';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { constantOperands } from '../../src/passes/values/constant-operands.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';

const isa = testIsa();
const lines = (fn: Fn): string[] =>
  printFn(fn, { locs: false })
    .split('\n')
    .filter((l) => /^ +@?!?[A-Z]/.test(l))
    .map((l) => l.trim().replace(/ +/g, ' '));

/** Instructions after the pass; `same` if it changes nothing. */
function after(body: string, has = true): string[] | 'same' {
  const fn = parseFn(`BB0:\n${body}\n  EXIT`, isa);
  const context = {
    ...testContext(fn),
    fact: (path: string) => (path === 'capabilities.constant-operands' ? has : undefined),
  };
  const out = constantOperands(fn, context);
  expect(constantOperands(out, { ...context, ...testContext(out), fact: context.fact })).toBe(out);
  return out === fn ? 'same' : lines(out).slice(0, -1);
}

describe('operands from the constant bank', () => {
  const fma = '  LDC R1, c[0x0][0x160]\n  FFMA R4, R1, R2, R3\n  STG [RD6], R4';
  it('take the place of a loaded parameter, where the target has them', () => {
    expect(after(fma)).toEqual(['FFMA R4, c[0x0][0x160], R2, R3', 'STG [RD6], R4']);
    expect(after(fma, false)).toBe('same');
  });

  it('stand in all uses or in none', () => {
    const compares =
      '  LDC R1, c[0x0][0x160]\n  ISETP.LT P8, R2, R1\n  IADD3 R3, -R1, R2, RZ\n  STG [RD6], R3';
    expect(after(compares)).toEqual([
      'ISETP.LT P8, R2, c[0x0][0x160]',
      'IADD3 R3, -c[0x0][0x160], R2',
      'STG [RD6], R3',
    ]);
    expect(after(`${compares}\n  STG [RD6+4], R1`)).toBe('same');
  });

  it('stand alone: not beside an immediate, a symbol, or each other', () => {
    expect(after('  LDC R1, c[0x0][0x160]\n  IMAD R3, R1, 4, R2\n  STG [RD6], R3')).toBe('same');
    expect(after('  LDC R1, c[0x0][0x160]\n  IMAD R3, R1, R1, R2\n  STG [RD6], R3')).toBe('same');
    expect(
      after('  LDC R1, c[0x0][0x160]\n  LDC R2, c[0x0][0x164]\n  FMUL R3, R1, R2\n  STG [RD6], R3'),
    ).toEqual(['LDC R2, c[0x0][0x164]', 'FMUL R3, c[0x0][0x160], R2', 'STG [RD6], R3']);
    // The table of a logic operation is no operand of the machine, and zero is a register.
    expect(after('  LDC R1, c[0x0][0x160]\n  LOP3 R3, R1, R2, RZ, 192\n  STG [RD6], R3')).toEqual([
      'LOP3 R3, c[0x0][0x160], R2, RZ, 192',
      'STG [RD6], R3',
    ]);
  });

  it('are whole registers at a fixed place', () => {
    expect(after(fma.replace('LDC ', 'LDC.U8 '))).toBe('same');
    expect(after(fma.replace('0x160]', 'R9+0x160]'))).toBe('same');
    expect(after('  LDC.B64 RD1, c[0x0][0x168]\n  IADD3.64 RD3, RD1, RD2, RZ\n  STG [RD6], RD3')).toEqual([
      'IADD3.64 RD3, c[0x0][0x168], RD2',
      'STG [RD6], RD3',
    ]);
  });

  it('leave what the function returns', () => {
    const text = `.func f
.return b32 r size 4 align 4 at 0 reg R1
{
BB0:
  LDC R1, c[0x0][0x160]
  FADD R4, R1, R3
  STG [RD6], R4
  RET
}`;
    const fn = parseFn(text, isa);
    expect(constantOperands(fn, { ...testContext(fn), fact: () => true })).toBe(fn);
  });

  it('replace a value, not a variable', () => {
    expect(after('  MOV R1, R2\n  @P7 LDC R1, c[0x0][0x160]\n  FADD R4, R1, R3\n  STG [RD6], R4')).toBe(
      'same',
    );
    expect(after('  MOV R1, R2\n  LDC R1, c[0x0][0x160]\n  FADD R4, R1, R3\n  STG [RD6], R4')).toBe('same');
    expect(after('  LDC R1, c[0x0][0x160]\n  MOV R4, R1\n  STG [RD6], R4')).toBe('same');
  });
});
