import { isValue, mayTakeGuard } from '../../analysis/calls/effects.ts';
import { isLiveBehind, livenessOf } from '../../analysis/registers/liveness.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { withDst, withGuard, withOtherwise } from '../../ir/edit.ts';
import { isPhi } from '../../ir/flow.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { Mod, OpFlag } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, regFile } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa, inSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';

/**
 * Phase 65, GeneralOptimizeLate2: a value that is computed only for a select is computed in the select's place, under a guard.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           SHR.U32 R1, R0, 1                   SHR.U32 R1, R0, 1
 *           LOP3 R2, R1, R9, RZ, 60         @P3 LOP3 R4 else R1, R1, R9, RZ, 60
 *           SEL R4, R2, R1, P3
 *
 * The other value becomes the result under a false guard, so both share a register. This costs no copy if that value
 * is read for the last time here and is not a constant, which would have to be moved into the register. Only values
 * (`isValue`) qualify, computed in the block of the selection and used by nothing else.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application changes nothing.
 * Bound: the uses of each select's operands are examined once; operands with many uses are skipped.
 */
export const guardedSelects: Pass = (fn, ctx) => edit(fn, (d) => guardSelections(d, ctx));

function guardSelections(d: Draft, ctx: PassContext): void {
  const moves = movesOf(ctx.isa);
  for (const b of d.layout())
    for (let n = d.first(b); n >= 0; n = d.next(n)) {
      const x = d.at(n);
      if ((x.op.flags & OpFlag.Selects) === 0 || x.guard !== NO_REG || !allInSsa(x)) continue;
      const choice = choiceOf(d.fn, d, moves, n);
      if (choice === null) continue;
      const { value, other, not } = choice;
      if (!ctx.mayRewrite('guarded-select', d.id(b), x)) return;
      ctx.remark(
        'passed',
        'guarded-select',
        `${printInstr(d.at(value))}: under the guard of ${printInstr(x)}`,
        { block: d.id(b), ins: x },
      );
      const p = x.src[2];
      const guarded = withGuard(withDst(d.at(value), x.dst), p.reg, ((p.mods & Mod.Not) !== 0) !== not);
      d.replace(n, withOtherwise(guarded, [other]));
      d.remove(value);
    }
}

/**
 * A use of a value with more uses than this is unlikely to be the last; searching many selections of one value would
 * be quadratic.
 */
const MOST_USES = 32;

/** The side of a selection that can be computed under its guard; `not`: if the guard is false. */
interface Choice {
  readonly value: Ins;
  readonly other: Reg;
  readonly not: boolean;
}

function choiceOf(fn: Fn, d: Draft, moves: Moves, n: Ins): Choice | null {
  const { dst, src } = d.at(n);
  if (src[2].kind !== Kind.Reg) return null;
  for (const [side, rest, not] of [
    [src[0], src[1], false],
    [src[1], src[0], true],
  ] as const) {
    const value = valueFor(d, moves, side, n);
    if (
      value >= 0 &&
      isPlainReg(rest) &&
      regFile(rest.reg) === regFile(dst[0]) &&
      rest.reg !== side.reg &&
      diesAt(fn, d, moves, rest.reg, n)
    )
      return { value, other: rest.reg, not };
  }
  return null;
}

const isPlainReg = (o: Operand): boolean => o.kind === Kind.Reg && o.mods === 0 && inSsa(o.reg);

/**
 * The instruction that computes a side of the selection, only for it and in its block; -1 if it cannot be guarded
 * there.
 */
function valueFor(d: Draft, moves: Moves, side: Operand, n: Ins): Ins {
  if (!isPlainReg(side) || d.useCount(side.reg) !== 1) return -1;
  const value = d.def(side.reg);
  return value >= 0 && d.block(value) === d.block(n) && mayBeGuarded(d.at(value), moves) ? value : -1;
}

const mayBeGuarded = (x: Instr, moves: Moves): boolean =>
  isValue(x) &&
  !isPhi(x) &&
  mayTakeGuard(x) &&
  x.dst.length === 1 &&
  allInSsa(x) &&
  copyOf(moves, x) === null;

/** Is this the last read of the register, by the select or by the instruction that replaces it, and is its value not constant? */
function diesAt(fn: Fn, d: Draft, moves: Moves, r: Reg, n: Ins): boolean {
  const def = d.def(r);
  if (d.useCount(r) > MOST_USES) return false;
  if (def < 0 || copyOf(moves, d.at(def))?.kind === Kind.Imm) return false;
  const b = d.block(n);
  if (!d.users(r).every((u) => u === n || (!isPhi(d.at(u)) && d.block(u) === b && d.precedes(u, n))))
    return false;
  // Even if it is read only in one block, it can be live around a loop.
  return d.block(def) === b || !isLiveBehind(livenessOf(fn), r, b);
}
