import fc from 'fast-check';
import { expect, it } from 'vitest';
import { negatedComparison } from '../../src/analysis/values/expressions.ts';
import { edit } from '../../src/ir/draft/index.ts';
import { withDst } from '../../src/ir/edit.ts';
import { movesOf } from '../../src/ir/moves.ts';
import { imm, Mod, NO_REG, PT, RegFile, reg } from '../../src/ir/operand.ts';
import { type Fn, instr } from '../../src/ir/program.ts';
import { parseFn, printInstr } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { gvnCse } from '../../src/passes/values/gvn-cse.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();

it.each([
  ['ISETP.LT P1, R2, R3', 'ISETP.GE P1, R2, R3'],
  ['ISETP.EQ.U64 P1, RD2, RD3', 'ISETP.NE.U64 P1, RD2, RD3'],
  ['FSETP.LT.FTZ P1, -R2, |R3|', 'FSETP.GEU.FTZ P1, -R2, |R3|'],
  ['FSETP.NAN P1, R2, R3', 'FSETP.NUM P1, R2, R3'],
  ['FSETP.NE P1, R2, R3', 'FSETP.EQU P1, R2, R3'],
  // What combines its result, or gives two, has no opposite.
  ['ISETP.LT P1, R2, R3, P4', null],
  ['ISETP.LT P1, R2, R3, !P4', null],
  ['ISETP.LT.OR P1, R2, R3, P4', null],
  ['ISETP.LT.OR P1, R2, R3', null],
  ['ISETP.LT.XOR P1, R2, R3, P4', null],
  ['ISETP.LT P1, P5, R2, R3, PT', null],
  ['IADD3 R1, R2, R3', null],
])('the opposite of %s is %s', (text, opposite) => {
  const only = (line: string) => parseFn(`BB0:\n${line}\nEXIT`, isa).blocks[0].ins[0];
  const other = negatedComparison(only(text));
  expect(other && printInstr(other)).toBe(opposite && printInstr(only(opposite)));
});

/** Each comparison as it and not its opposite. */
const twice = (fn: Fn): Fn =>
  edit(fn, (d) => {
    const { logic } = movesOf(isa);
    for (const b of d.layout())
      for (let n = d.first(b), next: number; n >= 0; n = next) {
        next = d.next(n);
        const x = d.at(n);
        const other = x.guard === NO_REG ? negatedComparison(x) : null;
        if (other === null || x.dst[0] === NO_REG) continue;
        const [p, q] = [d.freshReg(RegFile.P), d.freshReg(RegFile.P)];
        d.replace(n, withDst(x, [p, ...x.dst.slice(1)]));
        const both = instr(logic, 0, [x.dst[0]], [reg(p), reg(q, Mod.Not), PT, imm(0xc0)]);
        d.insertAfter(d.insertAfter(n, withDst(other, [q, ...x.dst.slice(1)])), both);
      }
  });

it('opposite comparisons of random functions become negated copies, and nothing behaves differently', () => {
  let opposite = 0;
  fc.assert(
    fc.property(randomFn({ defined: true }), (input) => {
      const ssa = twice(constructSsa(input, isa));
      expect(verifySsa(ssa)).toEqual([]);
      const ctx = testContext(ssa, { params: { negated: true } });
      const out = gvnCse(ssa, ctx);
      expect(verifyFn(out)).toEqual([]);
      expect(verifySsa(out)).toEqual([]);
      expect(sameBehaviour(input, leaveSsa(out, isa))).toBe(null);
      opposite += ctx.remarks.filter((r) => r.message.includes('the opposite of')).length;
    }),
    { numRuns: runs(400), seed: 49 },
  );
  expect(opposite).toBeGreaterThan(50);
});
