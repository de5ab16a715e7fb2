import { NO_REG, type Reg, RegFile, regFile } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';

/**
 * Is the register in SSA between phases 23 and 73? All are, except barrier registers, which name a hardware resource
 * rather than a value, and 128-bit groups, for which there is no phi.
 */
export function inSsa(r: Reg): boolean {
  if (r === NO_REG) return false;
  const f = regFile(r);
  return f !== RegFile.B && f !== RegFile.RQ;
}

/**
 * Are all source and destination registers of the instruction in SSA? Only then do equal operands have equal values, and
 * may the instruction be anywhere that its operands dominate.
 */
export function allInSsa(x: Instr): boolean {
  for (let i = 0; i < x.src.length; i++) if (x.src[i].reg !== NO_REG && !inSsa(x.src[i].reg)) return false;
  for (let i = 0; i < x.dst.length; i++) if (x.dst[i] !== NO_REG && !inSsa(x.dst[i])) return false;
  return true;
}
