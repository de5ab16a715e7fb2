import { type Reaching, reachingIn } from '../../analysis/values/reaching.ts';
import type { Draft, Ins } from '../../ir/draft/index.ts';
import { withGuard, withOtherwise, withSource } from '../../ir/edit.ts';
import { isPhi } from '../../ir/flow.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { Mod, type Opcode, slotWidth, srcSlot } from '../../ir/opcode.ts';
import {
  cbank,
  immValue,
  isPredReg,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  regFile,
  regWidth,
  withOperandMods,
  withReg,
} from '../../ir/operand.ts';
import { floatTypeOf } from '../../isa/meaning.ts';
import { mayStand } from '../../rules/fit.ts';
import { notPredicate, plainConstant } from '../../rules/fold.ts';
import type { EditPass } from '../pass.ts';

/**
 * Copy propagation: an operand that is a copy is replaced by what it copies.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           MOV R1, R0                      MOV R1, R0
 *           MOV R2, 7                       MOV R2, 7
 *           IADD3 R3, R1, R2, RZ            IADD3 R3, R0, 7, RZ
 *           @P4 STG [RD5], R1               @P4 STG [RD5], R0
 *
 * It handles registers, constants and predicates, including negated ones; guards; bases of addresses; indices of
 * constant banks; values under a false guard; and registers that phis read from a predecessor. In the last two a
 * constant stays in its register: for a phi it would become a separate move where SSA ends, and the register is often
 * shared. Elsewhere a constant is used only if the opcode accepts one. Constant-bank operands and symbols stay in
 * their register, because an instruction has room for only one of the former, and only moves accept the latter.
 *
 * The copy must be the certain value of the operand, and its source must still hold the same value (`Reaching`).
 * Requires: nothing; in SSA every copy is certain. Guarantees: equivalence; results, blocks and edges stay. The
 * copies themselves are left to `dead-results`.
 * Bound: each operand is replaced at most as often as its chain of copies is long. Operands are visited front to
 * back, so that a chain is followed once.
 */
export const copyPropagation: EditPass = (d, work, ctx) => {
  const reaching = reachingIn(d);
  const moves = movesOf(ctx.isa);
  const may: Permit = (n) => ctx.mayRewrite('copy-propagated', d.id(d.block(n)), d.at(n));
  let replaced = 0;
  for (let n = work.next(); n >= 0; n = work.next())
    replaced += isPhi(d.at(n))
      ? phiOperands(d, moves, reaching, n, may)
      : operands(d, moves, reaching, n, may) + guards(d, moves, reaching, n, may);
  if (replaced > 0)
    ctx.remark('passed', 'copies-propagated', `${replaced} operands read the source of a copy`, {
      count: replaced,
    });
};

/** Requests permission for one replacement in an instruction. */
type Permit = (n: Ins) => boolean;

/**
 * The source of a register's copy at a place that reads the register; null if it is not a copy, or its source has
 * changed.
 */
function copied(d: Draft, moves: Moves, reaching: Reaching, r: Reg, at: Ins): Operand | null {
  const def = reaching.at(r, at);
  if (def < 0) return null;
  const o = copyOf(moves, d.at(def));
  if (o === null || (o.kind !== Kind.Reg && o.kind !== Kind.Imm)) return null;
  return o.reg === NO_REG || reaching.unchanged(o.reg, def, at) ? o : null;
}

function operands(d: Draft, moves: Moves, reaching: Reaching, n: Ins, may: Permit): number {
  let replaced = 0;
  const count = d.at(n).src.length;
  for (let i = 0; i < count; i++) {
    const o = d.at(n).src[i];
    if (o.reg === NO_REG) continue;
    const c = copied(d, moves, reaching, o.reg, n);
    const next = c === null ? null : insteadOf(o, c, d.at(n).op, d.at(n).mods, i);
    if (next === null || !may(n)) continue;
    d.replace(n, withSource(d.at(n), i, next));
    replaced++;
  }
  return replaced;
}

/** The operand with `c` instead of its register; null if that is not allowed. */
function insteadOf(o: Operand, c: Operand, op: Opcode, mods: number, i: number): Operand | null {
  const slot = srcSlot(op, i)!;
  const width = slotWidth(op, mods, slot);
  if (o.kind === Kind.Reg) {
    let next: Operand | null;
    if (isPredReg(o.reg)) next = (o.mods & Mod.Not) !== 0 ? notPredicate(c) : c;
    else if (c.kind === Kind.Reg) next = c.mods === 0 ? withReg(o, c.reg) : null;
    else {
      const type = op.means === null || o.mods === 0 ? null : floatTypeOf(op, mods, i);
      next = plainConstant(withOperandMods(c, o.mods), width, type);
    }
    return next !== null && mayStand(next, slot, width) ? next : null;
  }
  if (c.kind === Kind.Reg)
    return c.mods === 0 && regWidth(c.reg) === regWidth(o.reg) ? withReg(o, c.reg) : null;
  return o.kind === Kind.CBank ? fixedBank(o, immValue(c, regWidth(o.reg))) : null;
}

/** Bytes of a constant bank. */
const BANK = 1n << 16n;

/** A constant bank at a known index; null if that is out of range. */
function fixedBank(o: Operand, index: bigint): Operand | null {
  const at = index + BigInt(o.lo);
  return at >= 0n && at < BANK ? cbank(o.hi, Number(at)) : null;
}

function guards(d: Draft, moves: Moves, reaching: Reaching, n: Ins, may: Permit): number {
  const { guard } = d.at(n);
  if (guard === NO_REG) return 0;
  let replaced = 0;
  const c = copied(d, moves, reaching, guard, n);
  if (c !== null && c.kind === Kind.Reg && may(n)) {
    const { guardNot } = d.at(n);
    d.replace(n, withGuard(d.at(n), c.reg, guardNot !== ((c.mods & Mod.Not) !== 0)));
    replaced++;
  }
  const { otherwise } = d.at(n);
  for (let i = 0; i < otherwise.length; i++) {
    if (otherwise[i] === NO_REG) continue;
    const kept = copied(d, moves, reaching, otherwise[i], n);
    if (kept === null || kept.kind !== Kind.Reg || kept.mods !== 0) continue;
    if (regFile(kept.reg) !== regFile(otherwise[i]) || !may(n)) continue;
    d.replace(n, withOtherwise(d.at(n), d.at(n).otherwise.with(i, kept.reg)));
    replaced++;
  }
  return replaced;
}

/** A phi operand is read at the end of the predecessor. Phis occur only in SSA, where nothing changes in between. */
function phiOperands(d: Draft, moves: Moves, reaching: Reaching, n: Ins, may: Permit): number {
  let replaced = 0;
  const count = d.at(n).src.length;
  for (let i = 1; i < count; i += 2) {
    const { op, mods, src } = d.at(n);
    if (src[i].kind !== Kind.Reg) continue;
    const def = reaching.atEnd(src[i].reg, d.blockById(src[i - 1].lo));
    const c = def < 0 ? null : copyOf(moves, d.at(def));
    // A phi chooses between registers of its own file.
    if (c === null || c.kind !== Kind.Reg || regFile(c.reg) !== regFile(src[i].reg)) continue;
    const next = insteadOf(src[i], c, op, mods, i);
    if (next === null || !may(n)) continue;
    d.replace(n, withSource(d.at(n), i, next));
    replaced++;
  }
  return replaced;
}
