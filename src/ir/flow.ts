import { OpFlag } from './opcode.ts';
import { NO_REG } from './operand.ts';
import type { Instr } from './program.ts';

/** May it transfer control? */
export const isControl = (ins: Instr): boolean => (ins.op.flags & OpFlag.Control) !== 0;

/** Control never passes from this instruction to the next one. */
export const endsFlow = (ins: Instr): boolean =>
  (ins.op.flags & OpFlag.NoFallThrough) !== 0 && ins.guard === NO_REG;

/** Is it the value of a join (SSA)? */
export const isPhi = (ins: Instr): boolean => (ins.op.flags & OpFlag.Phi) !== 0;
