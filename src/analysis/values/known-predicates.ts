import { OpFlag, slotWidth, srcSlot } from '../../ir/opcode.ts';
import {
  immValue,
  isPredReg,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  regIndex,
  sameOperand,
} from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { evalBig } from '../../isa/reference.ts';
import { cfgOf } from '../flow/cfg.ts';
import { dominates, dominatorsOf } from '../flow/dominators.ts';
import { defUseOf, singleDef } from './defuse.ts';

/**
 * Value of a predicate at the end of the block at position `at`: 1 or 0 if it is certain, else -1.
 *
 * Certain means: one unguarded definition, which dominates the block, by an instruction that gives the same result in
 * every execution. This finds what folding leaves behind; it folds nothing itself.
 */
export function knownPredicate(fn: Fn, p: Reg, at: number): -1 | 0 | 1 {
  // Dominance holds between blocks; it says nothing about instructions after a branch inside a block.
  if (cfgOf(fn).midBlockControl) return -1;
  const du = defUseOf(fn);
  const n = singleDef(du, p);
  if (n < 0) return -1;
  const def = du.ins[n];
  const defBlock = du.blockAt[n];
  if (def.guard !== NO_REG || (defBlock !== at && !dominates(dominatorsOf(fn), defBlock, at))) return -1;
  const v = constantPredicate(def, def.dst.indexOf(p));
  return v === null ? -1 : v ? 1 : 0;
}

/** Does any definition give a predicate the same value in every execution? If not, no edit makes one known. */
export function hasConstantPredicates(fn: Fn): boolean {
  for (const b of fn.blocks)
    for (const x of b.ins)
      for (let k = 0; k < x.dst.length; k++)
        if (isPredReg(x.dst[k]) && constantPredicate(x, k) !== null) return true;
  return false;
}

/**
 * The value that predicate destination `k` gets in every execution, or null if it varies. It evaluates the opcode's
 * meaning for all values of the predicates read, provided that everything else is constant. An integer compared with
 * itself counts too, since both sides are one value (a float may be a NaN).
 */
function constantPredicate(ins: Instr, k: number): boolean | null {
  const { op, mods, src } = ins;
  if ((op.flags & OpFlag.Pure) === 0 || op.means === null) return null;
  const reflexive = (op.flags & OpFlag.Reflexive) !== 0 && sameOperand(src[0], src[1]);
  const unknown: number[] = [];
  for (let i = 0; i < src.length; i++) {
    const o = src[i];
    if (o.kind === Kind.Imm || (reflexive && i < 2)) continue;
    if (o.kind !== Kind.Reg || !isPredReg(o.reg)) return null;
    if (!unknown.includes(regIndex(o.reg))) unknown.push(regIndex(o.reg));
  }
  const srcMods = src.map((o) => o.mods);
  const value = (o: Operand, i: number, chosen: number): bigint => {
    if (o.kind === Kind.Imm) return immValue(o, slotWidth(op, mods, srcSlot(op, i)!));
    if (!isPredReg(o.reg)) return 0n;
    return BigInt((chosen >> unknown.indexOf(regIndex(o.reg))) & 1);
  };
  let result: boolean | null = null;
  for (let chosen = 0; chosen < 1 << unknown.length; chosen++) {
    const v =
      evalBig(
        op,
        mods,
        src.map((o, i) => value(o, i, chosen)),
        srcMods,
      )[k] !== 0n;
    if (result !== null && result !== v) return null;
    result = v;
  }
  return result;
}
