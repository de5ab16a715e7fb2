import type { Draft, Ins } from '../../ir/draft/index.ts';
import { hasMod, slotWidth } from '../../ir/opcode.ts';
import {
  immOf,
  immValue,
  isZero,
  Kind,
  NO_REG,
  type Operand,
  RZ,
  reg,
  regFile,
  sameOperand,
} from '../../ir/operand.ts';
import { type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { PassContext } from '../pass.ts';

const BUDGET = 'DistributeAndReassociateMulBudget';

/** A factor that two products share, and their other factors. */
interface Shared {
  readonly factor: Operand;
  readonly others: readonly [Operand, Operand];
}

/**
 * Sums of two products of integers with a common factor become one product: a * b + a * c = a * (b + c), exact modulo the width.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           IMAD R4, R1, R2, RZ                 IADD3 R7, R2, R3
 *           IMAD R5, R1, R3, RZ                 IMAD R6, R1, R7, R9
 *           IADD3 R6, R4, R5, R9
 *
 * The products have no other reader, so one operation is saved. A product that a multiply-add takes as its addend has the same effect
 * only if both other factors are constants, which become one.
 *
 * Knob DistributeAndReassociateMulBudget: each sum takes a unit (reference passes-b).
 * Bound: each instruction once.
 */
export function distribute(d: Draft, ctx: PassContext): void {
  const [add, multiply] = ['IADD3', 'IMAD'].map((name) => ctx.isa.byName.get(name)!);
  /** The product that an operand is, if nothing else reads it and the block of `n` computes it; -1 if it is none. */
  const productOf = (o: Operand, n: Ins): Ins => {
    const def = o.kind === Kind.Reg && o.mods === 0 ? d.def(o.reg) : -1;
    if (def < 0 || d.block(def) !== d.block(n) || d.useCount(o.reg) !== 1) return -1;
    const x = d.at(def);
    return isPlain(x) && x.op === multiply && !hasMod(x.op, x.mods, 'HI') && isZero(x.src[2]) ? def : -1;
  };
  const replace = (
    n: Ins,
    gone: readonly Ins[],
    mods: number,
    { factor, others }: Shared,
    rest: Operand,
  ): boolean => {
    const x = d.at(n);
    const at = { block: d.id(d.block(n)), ins: x };
    if (!ctx.mayRewrite('distributed', at.block, x)) return false;
    if (!ctx.budget(BUDGET)) {
      ctx.remark('missed', 'budget-spent', `${BUDGET} is spent`, at);
      return false;
    }
    const width = slotWidth(multiply, mods, multiply.srcs[0]);
    const [b, c] = others;
    let sum: Operand;
    if (b.kind === Kind.Imm && c.kind === Kind.Imm)
      sum = immOf(immValue(b, width) + immValue(c, width), width);
    else {
      const to = d.freshReg(regFile(x.dst[0]));
      d.insertBefore(n, instr(add, x.mods, [to], [b, c, RZ], x.loc));
      sum = reg(to);
    }
    ctx.remark(
      'passed',
      'distributed',
      `${printInstr(x)}: one product with ${sum.kind === Kind.Imm ? 'a constant' : 'a sum'}`,
      at,
    );
    d.replace(n, instr(multiply, mods, x.dst, [factor, sum, rest], x.loc));
    for (const m of gone) d.remove(m);
    return true;
  };
  for (const b of d.layout())
    for (let n = d.first(b), next: Ins; n >= 0; n = next) {
      next = d.next(n);
      const x = d.at(n);
      if (!isPlain(x)) continue;
      if (x.op === add) {
        const found = pairOf(d, x, (o) => productOf(o, n));
        if (found !== null && !replace(n, found.products, found.mods, found.shared, found.rest)) return;
      } else if (x.op === multiply && !hasMod(x.op, x.mods, 'HI')) {
        const m = productOf(x.src[2], n);
        const shared = m < 0 || d.at(m).mods !== x.mods ? null : sharedBy(x, d.at(m));
        if (shared?.others.every((o) => o.kind === Kind.Imm) && !replace(n, [m], x.mods, shared, RZ)) return;
      }
    }
}

const isPlain = (x: Instr): boolean => x.guard === NO_REG && x.dst.length === 1 && allInSsa(x);

/** Two operands of a sum that are products with a common factor, and the third. */
function pairOf(
  d: Draft,
  x: Instr,
  productOf: (o: Operand) => Ins,
): { products: readonly Ins[]; mods: number; shared: Shared; rest: Operand } | null {
  const width = slotWidth(x.op, x.mods, x.op.srcs[0]);
  for (const [i, j, k] of [
    [0, 1, 2],
    [0, 2, 1],
    [1, 2, 0],
  ]) {
    const [m, n] = [productOf(x.src[i]), productOf(x.src[j])];
    if (m < 0 || n < 0 || m === n || d.at(m).mods !== d.at(n).mods) continue;
    const { op, mods } = d.at(m);
    const shared = slotWidth(op, mods, op.srcs[0]) === width ? sharedBy(d.at(m), d.at(n)) : null;
    if (shared !== null) return { products: [m, n], mods, shared, rest: x.src[k] };
  }
  return null;
}

/** The register that two products have as a factor, and their other factors, which a sum can take. */
function sharedBy(m: Instr, n: Instr): Shared | null {
  for (const i of [0, 1])
    for (const j of [0, 1]) {
      const factor = m.src[i];
      const others = [m.src[1 - i], n.src[1 - j]] as const;
      const fits = (o: Operand): boolean => o.kind === Kind.Imm || (o.kind === Kind.Reg && o.mods === 0);
      if (factor.kind === Kind.Reg && sameOperand(factor, n.src[j]) && others.every(fits))
        return { factor, others };
    }
  return null;
}
