import { OpFlag } from '../../ir/opcode.ts';
import { Kind, NO_REG } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';

/** Flags of effects besides results. */
export const ACTS =
  OpFlag.SideEffect | OpFlag.Control | OpFlag.WritesMemory | OpFlag.Barrier | OpFlag.Volatile;

/** Flags that keep an instruction even if its results are unused. */
const KEPT = ACTS | OpFlag.Convergent;

/**
 * Must the instruction stay even if all its results are dead? Yes for stores, atomics, reductions, barriers, fences, control flow,
 * volatile results, and loads that order memory or must be observable (any `sem` but WEAK).
 *
 * Operations between lanes (SHFL, VOTE, MATCH, REDUX, ELECT) stay too: other lanes may wait for these lanes at another such operation,
 * and take their values (PTX ISA 9.0, shfl.sync and vote.sync: a lane waits until all lanes of the mask have executed the operation,
 * wherever they do). See `metByAll` for those that may be removed.
 */
export function mustStay(ins: Instr): boolean {
  const { op } = ins;
  if ((op.flags & KEPT) !== 0) return true;
  if ((op.flags & OpFlag.ReadsMemory) === 0) return false;
  const sem = op.groupByName.get('sem');
  // Value 0 is the default, WEAK (PTX ISA 9.0, 8.3 and 9.7.9: volatile, relaxed, acquire, mmio are strong).
  return sem !== undefined && ((ins.mods >>> sem.shift) & sem.mask) !== 0;
}

/** Flags of results that depend on more than the operands. */
const NOT_VALUE =
  OpFlag.SideEffect |
  OpFlag.Control |
  OpFlag.ReadsMemory |
  OpFlag.WritesMemory |
  OpFlag.Convergent |
  OpFlag.Barrier |
  OpFlag.Volatile |
  OpFlag.Phi;

/**
 * Is every result a function of the operands alone (including the guard and the values under a false guard)? If so,
 * two such instructions with equal operands give the same results, and one may be hoisted or run speculatively: none
 * of them can fault.
 */
export const isValue = (ins: Instr): boolean =>
  (ins.op.flags & (NOT_VALUE | OpFlag.Pure)) === OpFlag.Pure && ins.dst.length > 0;

/** Does it read memory and do nothing else that is observable? */
export const isPlainLoad = (ins: Instr): boolean =>
  (ins.op.flags & OpFlag.ReadsMemory) !== 0 &&
  (ins.op.flags & (NOT_VALUE & ~OpFlag.ReadsMemory)) === 0 &&
  ins.dst.length > 0 &&
  !mustStay(ins);

/**
 * May the load run where the program would not have run it? Yes if it reads a fixed place of a constant bank, which always exists.
 * (Another address may be invalid, or computed from something that only an earlier test makes valid.)
 */
export const isSafeLoad = (ins: Instr): boolean =>
  isPlainLoad(ins) && ins.src.length === 1 && ins.src[0].kind === Kind.CBank && ins.src[0].reg === NO_REG;

/** May the instruction run where the program would not have run it: a value, or a safe load (what phase 27 reports)? */
export const mayRunAnywhere = (ins: Instr): boolean => isValue(ins) || isSafeLoad(ins);

/** Does it read a special register that is constant for a thread? */
export function isFixedRegister({ op, mods }: Instr): boolean {
  if (op.special.length === 0 || (op.flags & OpFlag.Volatile) !== 0) return false;
  const { shift, mask } = op.groups[0];
  return op.special[(mods >>> shift) & mask]?.changes === false;
}

/** Is it unguarded and allowed to have a guard? */
export const mayTakeGuard = (ins: Instr): boolean =>
  ins.guard === NO_REG && (ins.op.flags & OpFlag.Predicable) !== 0;

/** Flags of operations that memory or other threads can observe: each may matter to a barrier or a fence. */
export const EFFECTS =
  OpFlag.SideEffect |
  OpFlag.WritesMemory |
  OpFlag.ReadsMemory |
  OpFlag.Convergent |
  OpFlag.Barrier |
  OpFlag.Volatile;
