import { Mod, type Slot } from '../ir/opcode.ts';
import { FILE_WIDTH, isPredReg, Kind, NO_REG, type Operand, RegFile, regFile } from '../ir/operand.ts';

/** Register file for values of a given width in bits: P for 1, RD for 64, RQ for 128, otherwise R. */
export const FILE_OF_WIDTH = (width: number): number =>
  width === 1 ? RegFile.P : width === 64 ? RegFile.RD : width === 128 ? RegFile.RQ : RegFile.R;

/** Does the verifier accept the operand in the slot, when the slot reads `width` bits (0: any width)? */
export function mayStand(o: Operand, slot: Slot, width: number): boolean {
  if ((slot.kinds & (1 << o.kind)) === 0) return false;
  const allowed = slot.bank === 'p' ? slot.mods | Mod.Not : slot.mods;
  if ((o.mods & ~allowed) !== 0) return false;
  if (o.kind === Kind.Imm) return slot.bank === 'p' || width === 0 || width > 32 || o.hi === 0;
  if (o.kind !== Kind.Reg || o.reg === NO_REG) return true;
  if (slot.bank === 'p') return isPredReg(o.reg);
  return (
    !isPredReg(o.reg) && regFile(o.reg) !== RegFile.B && (width === 0 || FILE_WIDTH[regFile(o.reg)] === width)
  );
}
