import { describe, expect, it } from 'vitest';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { hoistInvariants } from '../../src/passes/loops/hoist-invariants.ts';
import type { Pass } from '../../src/passes/pass.ts';
import { gvnCse } from '../../src/passes/values/gvn-cse.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { nestedLoops } from '../support/nested-loops.ts';

const isa = testIsa();
const lines = (fn: Fn): string =>
  printFn(fn, { locs: false })
    .split('\n')
    .filter((l) => !/^[.{}]/.test(l) && !l.startsWith('  .'))
    .join('\n');
const body = (text: string): string => lines(parseFn(text, isa));

/** Text after a pass on a function in SSA, which must stay in SSA. */
function after(pass: Pass, text: string, times = 1): string {
  let fn = parseFn(text, isa);
  expect(verifySsa(fn)).toEqual([]);
  for (let k = 0; k < times; k++) fn = pass(fn, testContext(fn));
  expect(verifyFn(fn, undefined, { controlLast: true })).toEqual([]);
  expect(verifySsa(fn), printFn(fn)).toEqual([]);
  return lines(fn);
}

describe('value numbering', () => {
  it('finds sums with exchanged operands, and loads of the same memory state', () => {
    expect(
      after(
        gvnCse,
        `BB0:
  IADD3 R1, R2, R3, RZ
  LDG R4, [RD5]
  @P6 BRA BB2
BB1:
  IADD3 R7, R3, R2, RZ
  LDG R8, [RD5]
  IADD3 R9, R7, R8, RZ
  STG [RD5], R9
  LDG R10, [RD5]
  STG [RD5], R10
  EXIT
BB2:
  IADD3 R11, R3, R2, RZ
  STG [RD5+4], R11
  EXIT`,
      ),
    ).toBe(
      body(`BB0:
  IADD3 R1, R2, R3, RZ
  LDG R4, [RD5]
  @P6 BRA BB2
BB1:
  IADD3 R9, R1, R4, RZ
  STG [RD5], R9
  LDG R10, [RD5]
  STG [RD5], R10
  EXIT
BB2:
  STG [RD5+4], R1
  EXIT`),
    );
  });

  it('knows that three addends may stand in any order, and three inputs of a table may not', () => {
    const text = `BB0:
  IADD3 R1, R2, -R3, R4
  IADD3 R5, R4, R2, -R3
  IADD3 R6, R4, -R2, R3
  LOP3 R7, R2, R3, R4, 0xca
  LOP3 R8, R4, R3, R2, 0xca
  STG.V4 [RD9], {R5, R6, R7, R8}
  STG [RD9+16], R1
  EXIT`;
    expect(after(gvnCse, text)).toBe(body(text.replace(/ +IADD3 R5.*\n/, '').replace('{R5', '{R1')));
  });

  it('leaves alone what is in registers that are not in SSA', () => {
    // The first load's register holds something else when it would be read again.
    const text = `BB0:
  LDG.B128 RQ1, [RD2]
  STG.B128 [RD3], RQ1
  LDG.B128 RQ1, [RD2+16]
  LDG.B128 RQ4, [RD2]
  STS.B128 [R5], RQ4
  STS.B128 [R5+16], RQ1
  EXIT`;
    expect(after(gvnCse, text)).toBe(body(text));
  });

  it('does not make a uniform register of a general one', () => {
    const text = `BB0:
  IADD3 R1, R2, R3, RZ
  IADD3 UR4, R2, R3, RZ
  @P5 BRA BB2
BB1:
  MOV UR6, 1
BB2:
  MOVPHI UR7, {BB0: UR4, BB1: UR6}
  MOVPHI R8, {BB0: 1, BB1: 2}
  MOVPHI UR9, {BB0: 1, BB1: 2}
  STG [RD10], R1
  STG [RD10+4], UR7
  STG [RD10+8], R8
  STG [RD10+12], UR9
  EXIT`;
    expect(after(gvnCse, text)).toBe(body(text));
  });

  it('asks for the guard and the value where it is false', () => {
    const text = `BB0:
  @P1 IADD3 R2 else R3, R4, 1, RZ
  @!P1 IADD3 R5 else R3, R4, 1, RZ
  @P1 IADD3 R6 else R4, R4, 1, RZ
  IADD3 R7, R4, 1, RZ
  STG [RD8], R2
  STG [RD8+4], R5
  STG [RD8+8], R6
  STG [RD8+12], R7
  EXIT`;
    expect(after(gvnCse, text)).toBe(body(text));
    expect(after(gvnCse, text.replace('@!P1 ', '@P1 '))).toContain('STG [RD8+0x4], R2');
  });
});

/** A loop of one block that is left by a condition of its own. */
const loop = (before: string, inside: string): string => `BB0:
${before}
BB1:
${inside}
  IADD3 R20, R19, 1, RZ
  ISETP.LT P21, R20, R18
  @P21 BRA BB1
BB9:
  EXIT`;

describe('hoisting of invariants', () => {
  const inside = `  MOVPHI R19, {BB0: R17, BB1: R20}
  IMAD R1, R2, R3, RZ
  LDG R4, [RD5]
  STS [R6], R1
  STS [R6+4], R4`;

  it('moves values, and loads from blocks that run for certain, to the end of the block in front', () => {
    expect(after(hoistInvariants, loop('  MOV R17, 0', inside), 2)).toBe(
      body(
        loop('  MOV R17, 0\n  IMAD R1, R2, R3, RZ\n  LDG R4, [RD5]', inside.replace(/ +(IMAD|LDG).*\n/g, '')),
      ),
    );
  });

  it('puts nothing in front of a call or a guarded exit that stands before the loop', () => {
    for (const end of ['  CALL {R3}, &f, &, {R17}', '  @P8 EXIT', '  @P8 RET']) {
      const text = loop(`  MOV R17, 0\n${end}`, inside);
      const out = after(hoistInvariants, text).split('\n');
      const at = (what: string): number => out.findIndex((l) => l.includes(what));
      expect(at('IMAD R1')).toBeGreaterThan(at(end.trim().split(' ').slice(0, 2).join(' ').split(',')[0]));
      expect(at('LDG R4')).toBeGreaterThan(at('IMAD R1'));
      expect(at('MOVPHI')).toBeGreaterThan(at('LDG R4'));
    }
  });

  it('outside of SSA moves what is one value, and nothing that a loop makes again', () => {
    const text = `BB0:
  MOV R19, 0
BB1:
  IMAD R1, R2, R3, RZ
  IADD3 R7, R1, R19, RZ
  IADD3 R8, R7, R9, RZ
  IADD3 R9, R3, 1, RZ
  MOV R10, R2
  @P4 IMAD R10, R3, R3, RZ
  STG [RD5], R8
  STG [RD5+4], R10
  IADD3 R19, R19, 1, RZ
  ISETP.LT P21, R19, R18
  @P21 BRA BB1
BB2:
  EXIT`;
    const fn = parseFn(text, isa);
    const out = lines(hoistInvariants(fn, testContext(fn)));
    // R9 is read before it is made, R10 has two definitions, R7 and R8 hang on R19.
    expect(out).toBe(
      body(
        text.replace('  IMAD R1, R2, R3, RZ\n', '').replace('R19, 0\n', 'R19, 0\n  IMAD R1, R2, R3, RZ\n'),
      ),
    );
    const clobbered = text
      .replace('BB2:', '  IADD3 R2, R2, 1, RZ\nBB2:')
      .replace('  @P21 BRA BB1\n', '')
      .replace('1, RZ\nBB2:', '1, RZ\n  @P21 BRA BB1\nBB2:');
    const changing = parseFn(clobbered, isa);
    expect(lines(hoistInvariants(changing, testContext(changing)))).toBe(body(clobbered));
  });

  it('hoists no load above an exit in the first iteration', () => {
    const text = `BB0:
  MOV R17, 0
BB1:
  MOVPHI R19, {BB0: R17, BB2: R20}
  ISETP.GE P7, R19, R8
  @P7 EXIT
BB2:
  LDG R4, [RD5]
  STS [R6], R4
  IADD3 R20, R19, 1, RZ
  ISETP.LT P21, R20, R18
  @P21 BRA BB1
BB9:
  EXIT`;
    expect(after(hoistInvariants, text)).toBe(body(text));
    const returns = text.replace('@P7 EXIT', '@P7 RET');
    expect(after(hoistInvariants, returns)).toBe(body(returns));
    const calls = text.replace('  @P7 EXIT', '  CALL {}, &f, &, {R19}');
    expect(after(hoistInvariants, calls)).toBe(body(calls));
    // Without an exit on the way it is loaded once.
    const certain = text.replace('  @P7 EXIT', '  @P7 BRA BB2');
    expect(after(hoistInvariants, certain)).not.toBe(body(certain));
  });

  it('leaves a load that some iterations skip', () => {
    const text = `BB0:
  MOV R17, 0
BB1:
  MOVPHI R19, {BB0: R17, BB3: R20}
  @P7 BRA BB3
BB2:
  LDG R4, [RD5]
  STS [R6], R4
BB3:
  IADD3 R20, R19, 1, RZ
  ISETP.LT P21, R20, R18
  @P21 BRA BB1
BB9:
  EXIT`;
    expect(after(hoistInvariants, text)).toBe(body(text));
  });

  it('leaves alone what reads registers that are not in SSA', () => {
    const text = loop(
      '  MOV R17, 0\n  LDG.B128 RQ1, [RD5+64]',
      `  MOVPHI R19, {BB0: R17, BB1: R20}
  STS.B128 [R6], RQ1
  LDG.B128 RQ1, [RD5]
  STS.B128 [R6+16], RQ1
  LDG.B128 RQ1, [RD5+32]`,
    );
    expect(after(hoistInvariants, text)).toBe(body(text));
  });

  it('takes out of the outer loop what the inner one has to leave, with all that hangs on it', () => {
    const text = `BB0:
  MOV R17, 0
BB1:
  MOVPHI R19, {BB0: R17, BB6: R20}
BB2:
  MOVPHI R32, {BB1: R19, BB4: R33, BB5: R33}
  IADD3 R33, R32, 1, RZ
  @P7 BRA BB5
BB4:
  LDG R4, [RD5]
  IADD3 R40, R4, R2, RZ
  IADD3 R41, R40, R33, RZ
  STS [R6], R41
  @P34 BRA BB2
BB7:
  BRA BB6
BB5:
  BRA BB2
BB6:
  IADD3 R20, R19, 1, RZ
  ISETP.LT P21, R20, R18
  @P21 BRA BB1
BB9:
  EXIT`;
    // Some rounds of the inner loop do not load, but each of the outer loop does.
    expect(after(hoistInvariants, text)).toBe(
      body(
        text
          .replace('  LDG R4, [RD5]\n  IADD3 R40, R4, R2, RZ\n', '')
          .replace('R17, 0\n', 'R17, 0\n  LDG R4, [RD5]\n  IADD3 R40, R4, R2, RZ\n'),
      ),
    );
  });

  it('visits a loop-variant instruction once, whatever the nesting depth', () => {
    /** How often the sources of an instruction in the innermost of some loops are read. */
    const looks = (depth: number): number => {
      const fn = nestedLoops(depth, `  IMAD R50, R${96 + 4 * depth}, R18, RZ\n  STS [R6], R50`);
      expect(verifySsa(fn)).toEqual([]);
      const seen = fn.blocks.flatMap((b) => b.ins).find((x) => x.op.name === 'IMAD')!;
      const { src } = seen;
      let reads = 0;
      Object.defineProperty(seen, 'src', {
        get: () => {
          reads++;
          return src;
        },
      });
      expect(hoistInvariants(fn, testContext(fn))).toBe(fn);
      return reads;
    };
    expect(looks(40)).toBe(looks(3));
  });

  it('takes a load out of a whole nest at once', () => {
    const text = `BB0:
  MOV R17, 0
BB1:
  MOVPHI R19, {BB0: R17, BB4: R20}
  @P9 BRA BB8
BB8:
  MOV R30, 0
  @P9 BRA BB2
BB7:
  MOV R31, 1
BB2:
  MOVPHI R32, {BB7: R31, BB8: R30, BB2: R33}
  LDG R4, [RD5]
  STS [R6], R4
  IADD3 R33, R32, 1, RZ
  ISETP.LT P34, R33, R18
  @P34 BRA BB2
BB4:
  IADD3 R20, R19, 1, RZ
  ISETP.LT P21, R20, R18
  @P21 BRA BB1
BB9:
  EXIT`;
    const once = after(hoistInvariants, text);
    expect(once.split('\n').slice(0, 3).join()).toContain('LDG R4, [RD5]');
    expect(after(hoistInvariants, text, 2)).toBe(once);
  });
});
