import { NO_REG, type Reg, RegFile, regFile } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';

/**
 * Is the register one of those that are in SSA between phases 23 and 73? All are but the barrier registers, which name a place
 * in the hardware and not a value, and 128-bit groups, for which there is no phi.
 */
export function inSsa(r: Reg): boolean {
  if (r === NO_REG) return false;
  const f = regFile(r);
  return f !== RegFile.B && f !== RegFile.RQ;
}

/**
 * Is every register that the instruction reads or writes one that is in SSA? Only then does an equal operand mean an equal value, and
 * may the instruction stand anywhere that its operands dominate.
 */
export function allInSsa(x: Instr): boolean {
  for (let i = 0; i < x.src.length; i++) if (x.src[i].reg !== NO_REG && !inSsa(x.src[i].reg)) return false;
  for (let i = 0; i < x.dst.length; i++) if (x.dst[i] !== NO_REG && !inSsa(x.dst[i])) return false;
  return true;
}
