import { isValue } from '../../analysis/calls/effects.ts';
import { type Demanded, demandedOf } from '../../analysis/values/demanded-bits.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { isPredReg, Kind, NO_REG, regIndex, regWidth } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { Bounds } from '../../isa/bounds.ts';
import { boundsProgram, evaluate, operandOf, SPARE, sourceWidth } from '../../isa/bounds-program.ts';
import { bitsOf, DemandedBits } from '../../isa/demanded-bits.ts';
import { EqualSource } from '../../isa/equal-source.ts';
import { inSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';
import { copiesOf } from './kept-operands.ts';

/**
 * Removes operations that change only bits that are never observed: a mask or an extension of a value whose only readers are a narrow
 * store, another mask or a shift that keeps no more bits than it does.
 *
 *     before                                  after
 *     BB0:                                    BB0:
 *           LOP3 R2, R1, 65535, RZ, 0xc0            MOV R2, R1
 *           IADD3 R3, R2, 1                         IADD3 R3, R2, 1
 *           STG.U8 [RD4], R3                        STG.U8 [RD4], R3
 *
 * Where the demanded bits of a result (`demandedOf`) equal those of an operand (`EqualSource`, with the constants of the instruction
 * alone), the result becomes a copy of that operand. Its other bits may change, and with them what `rangesOf` knows. An assembler that
 * sees a narrow store of four bytes, each under a mask, does not recognize that they came from one word.
 *
 * Requires: ssa. Guarantees: ssa; blocks and edges stay. A second application changes nothing, because a copy demands no more bits of
 * its source than the operation that it replaces.
 * Bound: linear in instructions and uses, times the few steps in which the masks of a loop grow.
 */
export const unneededBits: Pass = (fn, ctx) => {
  const moves = movesOf(ctx.isa);
  const demanded = demandedOf(fn);
  const copies = new Map<Instr, readonly Instr[]>();
  for (const { ins } of fn.blocks)
    for (const x of ins) {
      const of = copiesFor(x, moves, demanded);
      if (of.length > 0) copies.set(x, of);
    }
  return copies.size === 0 ? fn : edit(fn, (d) => copyInstead(d, copies, ctx));
};

/** The copies that can replace an instruction; none if it must stay. */
function copiesFor(x: Instr, moves: Moves, { low, high }: Demanded): readonly Instr[] {
  if (!isValue(x) || x.guard !== NO_REG || copyOf(moves, x) !== null) return [];
  let isPartial = false;
  for (const r of x.dst) {
    if (r === NO_REG) continue;
    if (isPredReg(r) || !inSsa(r)) return [];
    const bits = bitsOf(low[regIndex(r)], high[regIndex(r)]);
    // A result without demanded bits is dead code, which other passes remove.
    if (bits === 0) return [];
    isPartial ||= bits < regWidth(r) || lowest(low[regIndex(r)], high[regIndex(r)]) > 0;
  }
  return isPartial ? copiesOf(moves, x, equalOperands(x, low, high)) : [];
}

function copyInstead(d: Draft, copies: ReadonlyMap<Instr, readonly Instr[]>, ctx: PassContext): void {
  for (const b of d.layout())
    for (let n = d.first(b), next: Ins; n >= 0; n = next) {
      next = d.next(n);
      const x = d.at(n);
      const of = copies.get(x);
      if (of === undefined) continue;
      if (!ctx.mayRewrite('bits-unneeded', d.id(b), x)) return;
      const message = `${printInstr(x)}: ${of.map(printInstr).join('; ')}`;
      ctx.remark('passed', 'bits-unneeded', message, { block: d.id(b), ins: x });
      d.replaceBy(n, of);
    }
}

/** The lowest bit of a mask that is not empty. */
const lowest = (low: number, high: number): number =>
  low !== 0 ? 31 - Math.clz32(low & -low) : 63 - Math.clz32(high & -high);

const slots = { p: new Bounds(64), equal: new EqualSource(), wanted: new DemandedBits() };

/** By destination: the index of the operand that it equals in its demanded bits, -1 for none. */
function equalOperands(x: Instr, low: Int32Array, high: Int32Array): readonly number[] {
  const g = boundsProgram(x);
  if (g === null || !g.sources.some((s) => s >= 0)) return x.dst.map(() => -1);
  if (slots.p.least.length < g.count + SPARE) slots.p = new Bounds(2 * (g.count + SPARE));
  const { p, equal, wanted } = slots;
  for (const [k, to] of g.sources.entries()) {
    if (to < 0) continue;
    const o = operandOf(x, k);
    if (o.kind === Kind.Imm) p.setConstant(to, sourceWidth(x, k), o.lo, o.hi);
    else p.setTop(to, sourceWidth(x, k));
  }
  evaluate(g, p);
  wanted.open(g, x);
  for (const [k, r] of x.dst.entries())
    if (r !== NO_REG) wanted.want(g.graph.dsts[k], low[regIndex(r)], high[regIndex(r)]);
  wanted.back();
  return equal.of(g, p, wanted);
}
