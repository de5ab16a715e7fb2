import { OpFlag } from '../ir/opcode.ts';
import type { Instr } from '../ir/program.ts';

/** Flags that keep an instruction whatever becomes of its results. */
const KEPT = OpFlag.SideEffect | OpFlag.Control | OpFlag.WritesMemory | OpFlag.Barrier | OpFlag.Volatile;

/**
 * Must the instruction stay even if all its results are dead? Yes for stores, atomics, reductions, barriers, fences,
 * control flow, volatile results, and loads that order memory or must be seen (any `sem` but WEAK).
 *
 * Warp operations without a further effect (SHFL, VOTE, MATCH, REDUX, ELECT) may go: they wait for no lane that is not
 * there, they only hand values around, and a value that nobody reads was never handed to anyone.
 */
export function mustStay(ins: Instr): boolean {
  const { op } = ins;
  if ((op.flags & KEPT) !== 0) return true;
  if ((op.flags & OpFlag.ReadsMemory) === 0) return false;
  const sem = op.groupByName.get('sem');
  // Value 0 is the default, WEAK (PTX ISA 9.0, 8.3 and 9.7.9: volatile, relaxed, acquire, mmio are strong).
  return sem !== undefined && ((ins.mods >>> sem.shift) & sem.mask) !== 0;
}
