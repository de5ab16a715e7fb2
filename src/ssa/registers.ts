import { NO_REG, type Reg, RegFile, regFile } from '../ir/operand.ts';

/**
 * Is the register one of those that are in SSA between phases 23 and 73? All are but the barrier registers, which name a place
 * in the hardware and not a value, and 128-bit groups, for which there is no phi.
 */
export function inSsa(r: Reg): boolean {
  if (r === NO_REG) return false;
  const f = regFile(r);
  return f !== RegFile.B && f !== RegFile.RQ;
}
