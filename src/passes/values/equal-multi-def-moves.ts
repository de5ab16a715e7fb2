import { isValue } from '../../analysis/calls/effects.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { Kind, NO_REG, type Operand, regFile, sameOperand, withReg } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';

/** Maximum number of instructions compared to prove two phis equal; the counters and sums of a loop take a few. */
const MOST_STEPS = 32;
/** Maximum number of phis of one block with which one phi is compared, so that a block with many phis stays cheap. */
const MOST_OTHERS = 8;

/**
 * Phase 52, OriReplaceEquivMultiDefMov: of two moves with several definitions that always give the same value, one is
 * removed. In SSA these are two phis of a block, even if they are equal only around a loop, each updated in the same
 * way.
 *
 *     before                                   after
 *     BB1:                                     BB1:
 *           MOVPHI R1, {BB0: R9, BB1: R3}            MOVPHI R1, {BB0: R9, BB1: R3}
 *           MOVPHI R2, {BB0: R9, BB1: R4}            IADD3 R3, R1, 4
 *           IADD3 R3, R1, 4                          IADD3 R4, R1, 4
 *           IADD3 R4, R2, 4                          STG [RD5], R4
 *           STG [RD5], R4                        @P6 BRA BB1
 *       @P6 BRA BB1
 *
 * The proof assumes that the phis are equal on entry and compares their operands from each predecessor: the same
 * register, the same operation on operands that are equal in this sense, or phis of one block under the same
 * assumption. The instructions that become equal are merged later by value numbering.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application changes nothing, except
 * for what exceeded the bounds.
 * Bound: a phi is compared with at most 8 others of its block, with at most 32 instructions each.
 */
export const equalMultiDefMoves: Pass = (fn, ctx) => {
  const meets = (b: readonly Instr[]): boolean => b.length > 1 && isPhi(b[0]) && isPhi(b[1]);
  if (!fn.blocks.some((b) => meets(b.ins))) return fn;
  return edit(fn, (d) => mergeEqual(d, ctx));
};

function mergeEqual(d: Draft, ctx: PassContext): void {
  for (const b of d.layout()) {
    const kept: Ins[] = [];
    for (const n of d.phis(b)) {
      const first = kept.slice(-MOST_OTHERS).find((m) => new Equality(d).phis(m, n));
      if (first === undefined || d.isReturned(d.at(n).dst[0]) || !ctx.mayRewrite('equal', d.id(b), d.at(n))) {
        kept.push(n);
        continue;
      }
      const ins = d.at(n);
      ctx.remark('passed', 'equal', `${printInstr(ins)}: always the same as ${printInstr(d.at(first))}`, {
        block: d.id(b),
        ins,
      });
      d.remove(n);
      d.replaceUses(ins.dst[0], d.at(first).dst[0]);
    }
  }
}

/** A proof that two values are equal: its assumptions, and the remaining steps. */
class Equality {
  private readonly d: Draft;
  private readonly assumed = new Map<number, number>();
  private steps = MOST_STEPS;

  constructor(d: Draft) {
    this.d = d;
  }

  /** Two phis of one block. */
  phis(m: Ins, n: Ins): boolean {
    const x = this.d.at(m);
    const y = this.d.at(n);
    if (x.op !== y.op || x.mods !== y.mods || x.src.length !== y.src.length) return false;
    if (regFile(x.dst[0]) !== regFile(y.dst[0])) return false;
    const old = this.assumed.get(y.dst[0]);
    if (old !== undefined) return old === x.dst[0];
    this.assumed.set(y.dst[0], x.dst[0]);
    for (let k = 0; k < x.src.length; k += 2) {
      const from = y.src.findIndex((o, i) => i % 2 === 0 && o.lo === x.src[k].lo);
      if (from < 0 || !this.operands(x.src[k + 1], y.src[from + 1])) return false;
    }
    return true;
  }

  private operands(a: Operand, b: Operand): boolean {
    if (sameOperand(a, b)) return true;
    if (a.reg === NO_REG || b.reg === NO_REG || !sameOperand(a, withReg(b, a.reg))) return false;
    if (this.assumed.get(b.reg) === a.reg) return true;
    if (this.steps-- <= 0) return false;
    const m = this.d.def(a.reg);
    const n = this.d.def(b.reg);
    if (m < 0 || n < 0 || m === n) return false;
    const x = this.d.at(m);
    const y = this.d.at(n);
    if (isPhi(x)) return isPhi(y) && this.d.block(m) === this.d.block(n) && this.phis(m, n);
    return x.dst.indexOf(a.reg) === y.dst.indexOf(b.reg) && this.values(x, y);
  }

  private values(x: Instr, y: Instr): boolean {
    if (!isValue(x) || x.op !== y.op || x.mods !== y.mods || x.guard !== y.guard || x.guardNot !== y.guardNot)
      return false;
    if (x.src.length !== y.src.length || x.otherwise.length > 0 || y.otherwise.length > 0) return false;
    if (!allInSsa(x) || !allInSsa(y)) return false;
    return x.src.every((o, k) => o.kind !== Kind.Label && this.operands(o, y.src[k]));
  }
}
