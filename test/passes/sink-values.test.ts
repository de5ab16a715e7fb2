import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frequencyOf } from '../../src/analysis/flow/frequency.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { sinkValues } from '../../src/passes/registers/sink-values.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();
const lines = (fn: Fn): string =>
  printFn(fn, { locs: false })
    .split('\n')
    .filter((l) => /^BB| /.test(l) && !l.startsWith('  .'))
    .map((l) => l.trim().replace(/ +/g, ' '))
    .join('\n');
const body = (text: string): string => lines(parseFn(text, isa));

function after(text: string): string {
  const fn = parseFn(text, isa);
  expect(verifySsa(fn)).toEqual([]);
  const out = sinkValues(fn, testContext(fn));
  expect(verifySsa(out)).toEqual([]);
  expect(sinkValues(out, testContext(out))).toBe(out);
  return lines(out);
}

const branch = `BB0:
  IMAD R21, R22, R23, R22
  SHL R24, R21, 3
  @P26 BRA BB2
BB1:
  STG [RD25], R22
  STG [RD25+4], R24
BB2:
  STG [RD25+8], R22
  STG [RD25+12], R23
  EXIT`;

describe('sinking of values', () => {
  it('moves a chain before its only user, operands first', () => {
    expect(after(branch)).toBe(
      body(`BB0:
  @P26 BRA BB2
BB1:
  STG [RD25], R22
  IMAD R21, R22, R23, R22
  SHL R24, R21, 3
  STG [RD25+4], R24
BB2:
  STG [RD25+8], R22
  STG [RD25+12], R23
  EXIT`),
    );
  });

  it('leaves values that both paths need or that are on every path, loads, and warp operations', () => {
    const both = branch.replace('[RD25+8], R22', '[RD25+8], R24');
    expect(after(both)).toBe(body(both));
    for (const load of ['LDG R24, [RD25+16]', 'VOTE.ALL R24, P27', 'ATOMG.ADD R24, [RD25], R22'])
      expect(after(branch.replace('SHL R24, R21, 3', load))).toContain(`${load.split(',')[0]},`);
    const certain = 'BB0:\n  SHL R21, R22, 3\n  BRA BB1\nBB1:\n  STG [RD25], R21\n  EXIT';
    expect(after(certain)).toBe(body(certain));
  });

  it('leaves a value whose operands would take more room than it does', () => {
    const last = branch.replace('[RD25+8], R22', '[RD25+8], R28').replace('[RD25+12], R23', '[RD25+12], R28');
    // R22 lives until BB1 anyway, R23 takes the place of R21; a third operand has none.
    expect(after(last)).toMatch(/BB1:[\s\S]*IMAD[\s\S]*BB2/);
    const third = last.replace('R23, R22', 'R23, R29');
    expect(after(third)).toMatch(/IMAD[\s\S]*BB1/);
  });

  it('counts uses that control comes to, whatever is between them, and what a function returns', () => {
    const tail = (at: number): string => `STG [RD25+${at}], R22\n  STG [RD25+${at + 4}], R23\n  EXIT`;
    const unreached = `BB0:
  IMAD R21, R22, R23, R22
  @P26 BRA BB3
BB1:
  STG [RD25], R21
  ${tail(32)}
BB2:
  STG [RD25+4], R21
  EXIT
BB3:
  @P27 BRA BB5
BB4:
  STG [RD25+8], R21
  ${tail(40)}
BB5:
  ${tail(48)}`;
    expect(after(unreached)).toBe(body(unreached));
    const given = branch.replace('EXIT', 'RET');
    const text = `.func f\n  .return b32 r size 4 align 4 at 0 reg R24\n{\n${given}\n}`;
    const fn = parseFn(text, isa);
    expect(lines(sinkValues(fn, testContext(fn)))).toMatch(/SHL R24[\s\S]*BB1/);
    const free = parseFn(text.replace(/ +\.return.*\n/, ''), isa);
    expect(lines(sinkValues(free, testContext(free)))).toMatch(/BB1[\s\S]*SHL R24/);
  });

  it('leaves uniform registers, which lanes that left a loop share with those that are in it', () => {
    const warp = `BB0:
  MOV UR1, RZ
BB1:
  MOVPHI UR30, {BB0: UR1, BB1: UR31}
  IADD3 UR31, UR30, 1, RZ
  IADD3 R32, UR30, 2, RZ
  ISETP.LT P33, R22, UR31
  STG [RD25], R22
  @P33 BRA BB1
BB2:
  STG [RD25+4], R32
  EXIT`;
    expect(after(warp)).toBe(body(warp));
  });

  it('counts a phi as a use at the end of the predecessor', () => {
    const join = `BB0:
  IMAD R21, R22, R23, R22
  @P26 BRA BB2
BB1:
  STG [RD25], R22
  BRA BB2
BB2:
  MOVPHI R24, {BB0: R22, BB1: R21}
  STG [RD25+8], R24
  STG [RD25+12], R23
  EXIT`;
    expect(after(join)).toMatch(/BB1:\nSTG [^\n]*\nIMAD R21, R22, R23, R22\nBRA BB2/);
    const other = join.replace('BB0: R22', 'BB0: R21');
    expect(after(other)).toBe(body(other));
  });

  it('enters no loop, and leaves one', () => {
    const loop = (inside: string, behind: string): string => `BB0:
  SHL R21, R22, 3
  @P26 BRA BB3
BB1:
  MOVPHI R30, {BB0: R22, BB1: R31}
  IADD3 R31, R30, 1, RZ
  SHL R32, R30, 2
  ISETP.LT P33, R31, R23
  STG [RD25], ${inside}
  @P33 BRA BB1
BB2:
  STG [RD25+4], ${behind}
  EXIT
BB3:
  EXIT`;
    // Between the loop and its block there is none to stand in.
    expect(after(loop('R21', 'R31'))).toBe(body(loop('R21', 'R31')));
    // Not even one that hardly ever ran, by a profile: another run may go round in it.
    const plain = parseFn(loop('R21', 'R31'), isa);
    const counts = [100, 20, 5, 95].map((count, block) => ({ block, count }));
    const rare: Fn = { ...plain, attrs: { ...plain.attrs, counts } };
    expect(frequencyOf(rare).block[1]).toBeLessThan(frequencyOf(rare).block[0]);
    expect(sinkValues(rare, testContext(rare))).toBe(rare);
    expect(after(loop('R31', 'R32'))).toMatch(/BB2:\nSHL R32, R30, 2\nSTG \[RD25\+0x4\], R32/);
  });

  it('keeps what random functions do, and computes nothing more often', () => {
    let sunk = 0;
    fc.assert(
      fc.property(
        fc.oneof(randomFn({ defined: true }), randomFn({ defined: true, returns: true })),
        (input) => {
          const fn = constructSsa(input, isa);
          const ctx = testContext(fn);
          const out = sinkValues(fn, ctx);
          sunk += ctx.remarks.length;
          expect(verifyFn(out)).toEqual([]);
          expect(verifySsa(out)).toEqual([]);
          expect(sameBehaviour(input, leaveSsa(out, isa))).toBeNull();
          const cost = (f: Fn): number =>
            f.blocks.reduce((sum, b, i) => sum + b.ins.length * (frequencyOf(f).block[i] ?? 0), 0);
          expect(cost(out)).toBeLessThanOrEqual(cost(fn) + 1e-9);
        },
      ),
      { numRuns: runs(800), seed: 77 },
    );
    expect(sunk).toBeGreaterThan(10);
  });
});
