import { OpFlag } from './opcode.ts';
import { NO_REG } from './operand.ts';
import type { Fn, Instr } from './program.ts';

/** May it transfer control? */
export const isControl = (ins: Instr): boolean => (ins.op.flags & OpFlag.Control) !== 0;

/** Does control never pass from this instruction to the next one? */
export const endsFlow = (ins: Instr): boolean =>
  (ins.op.flags & OpFlag.NoFallThrough) !== 0 && ins.guard === NO_REG;

/** Is it a phi? */
export const isPhi = (ins: Instr): boolean => (ins.op.flags & OpFlag.Phi) !== 0;

/**
 * Does the function contain anything specific to SSA: phis, values under false guards, returns that name their
 * values?
 */
export const hasSsaForms = (fn: Fn): boolean =>
  fn.blocks.some((b) =>
    b.ins.some(
      (x) => isPhi(x) || x.otherwise.length > 0 || (x.op.primitive === 'return' && x.src.length > 0),
    ),
  );
