import { reachingIn } from '../../analysis/values/reaching.ts';
import { counted } from '../../ir/counts.ts';
import { withSrc } from '../../ir/edit.ts';
import { copyLike, copyOf, movesOf } from '../../ir/moves.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { immOf, Kind, NO_REG, type Operand, regWidth, withOperandMods } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { constantsLast, isFoldable, plainConstants, valuesOf } from '../../rules/fold.ts';
import { type EditPass, isSet } from '../pass.ts';

/**
 * Constant folding: an instruction whose operands are constants becomes moves of its results.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           MOV R1, 6                       MOV R1, 6
 *           IMAD R2, R1, 7, RZ              MOV R2, 42
 *           IADD3 R3, R2, -2, RZ            MOV R3, 40
 *           IADD3 R4, 5, -R0, RZ            IADD3 R4, -R0, 5, RZ
 *
 * Operands are constants, or registers that are known to hold one, so that a chain folds in one walk. Values are evaluated exactly by the
 * opcode's meaning. Approximate functions fold only if the knob FoldApproximate is set, floats unless FPFoldDisable is set, or
 * LimitFoldFp at level 1. Along the way constants are canonicalized: their modifiers are applied, and where operands may be exchanged,
 * constants come last.
 *
 * Parameter `level`: seed 001 handles constants at three levels; 1 is everything up to the peephole, and 2 is the peephole (the third
 * is the parser). Default: 1. `except-selections`: instructions that select an operand stay, because marks decide about them
 * (`markOperands`).
 *
 * Requires: nothing. Guarantees: bit-exact equivalence (approximate functions: to the simulator's results); blocks
 * and edges stay.
 * Bound: an instruction folds at most once.
 */
export const constantFolding: EditPass = (d, work, ctx) => {
  const reaching = reachingIn(d);
  const moves = movesOf(ctx.isa);
  const approximate = isSet(ctx.knob('FoldApproximate'));
  const limited = (ctx.params.level ?? 1) === 1 && isSet(ctx.knob('LimitFoldFp'));
  const floats = !isSet(ctx.knob('FPFoldDisable')) && !limited;
  const kept = ctx.params['except-selections'] === true ? OpFlag.Selects : 0;
  let folded = 0;
  /** The constant value of an operand; null if it has none. */
  const constant = (o: Operand, at: number): Operand | null => {
    if (o.kind === Kind.Imm) return o;
    if (o.kind !== Kind.Reg) return null;
    const def = reaching.at(o.reg, at);
    const c = def < 0 ? null : copyOf(moves, d.at(def));
    return c !== null && c.kind === Kind.Imm && c.mods === 0 ? withOperandMods(c, o.mods) : null;
  };
  for (let n = work.next(); n >= 0; n = work.next()) {
    const block = d.id(d.block(n));
    const ins = constantsLast(plainConstants(d.at(n)));
    if (ins !== d.at(n)) {
      if (!ctx.mayRewrite('constants-last', block, d.at(n))) continue;
      d.replace(n, ins);
    }
    if (
      (ins.op.flags & kept) !== 0 ||
      !isFoldable(ins, approximate, floats) ||
      copyOf(moves, ins)?.kind === Kind.Imm
    )
      continue;
    const src: Operand[] = [];
    for (let i = 0; i < ins.src.length; i++) {
      const c = constant(ins.src[i], n);
      if (c === null) break;
      src.push(c);
    }
    if (src.length < ins.src.length || !ctx.mayRewrite('constants-folded', block, ins)) continue;
    const copies: Instr[] = [];
    valuesOf(withSrc(ins, src)).forEach((v, i) => {
      const r = ins.dst[i];
      if (v !== null) copies.push(copyLike(moves, r, immOf(v, regWidth(r)), ins));
    });
    // All the copies read the guard, so one that overwrites it comes last.
    if (ins.guard !== NO_REG)
      copies.sort((a, b) => Number(a.dst[0] === ins.guard) - Number(b.dst[0] === ins.guard));
    d.replaceBy(n, copies);
    folded++;
  }
  if (folded > 0)
    ctx.remark('passed', 'constants-folded', `${counted(folded, 'instruction')} computed`, { count: folded });
};
