import { copyLike, type Moves } from '../../ir/moves.ts';
import { Kind, NO_REG, regFile, withOperandMods } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { operandOf } from '../../isa/bounds-program.ts';

/**
 * Copies that replace an instruction whose results are its operands.
 * @param found by destination: the index of the operand, -1 for none (`EqualSource`)
 * @returns none if some result is not an operand, or one of another register file
 */
export function copiesOf(moves: Moves, x: Instr, found: readonly number[]): Instr[] {
  const copies: Instr[] = [];
  for (const [k, r] of x.dst.entries()) {
    if (r === NO_REG) continue;
    const o = found[k] < 0 ? null : operandOf(x, found[k]);
    if (o?.kind !== Kind.Reg || regFile(o.reg) !== regFile(r)) return [];
    copies.push(copyLike(moves, r, withOperandMods(o, 0), x));
  }
  return copies;
}
