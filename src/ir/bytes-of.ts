import { copyLike, movesOf, otherwiseFor } from './moves.ts';
import { type Isa, withMods } from './opcode.ts';
import { imm, NO_REG, type Operand, type Reg, RegFile, RZ, reg } from './operand.ts';
import { type Instr, instr } from './program.ts';
import { AND } from './truth-tables.ts';

/**
 * Instructions that extract bytes from a register or constant, as a load would from memory (little-endian, PTX ISA
 * 9.0, 6.4: narrow values are extended to the register).
 *
 * @param to receives the value: 64 bits wide for 8 bytes, else 32
 * @param from holds `held` bytes in its low end: 64 bits wide for 8, else 32
 * @param at the first of the bytes; `at + bytes` is at most `held`
 * @param like supplies the guard, the source line, and the value of `to` under a false guard
 * @param fresh returns an unused 32-bit register
 */
export function bytesOf(
  isa: Isa,
  to: Reg,
  from: Operand,
  held: number,
  at: number,
  bytes: number,
  signed: boolean,
  like: Instr,
  fresh: () => Reg,
): Instr[] {
  const moves = movesOf(isa);
  const { loc, guard, guardNot } = like;
  const under = (name: string, mod: string, src: Operand[]): Instr => {
    const op = isa.byName.get(name)!;
    return instr(op, withMods(op, 0, mod), [to], src, loc, guard, guardNot, otherwiseFor(like, [to]));
  };
  if (held === 8 && bytes < 8) {
    const unpair = isa.byName.get('UNPAIR')!;
    const high = at >= 4;
    const halves = (r: Reg): Reg[] => (high ? [NO_REG, r] : [r, NO_REG]);
    if (bytes === 4)
      return [instr(unpair, 0, halves(to), [from], loc, guard, guardNot, otherwiseFor(like, halves(to)))];
    const word = fresh();
    return [
      instr(unpair, 0, halves(word), [from], loc),
      ...bytesOf(isa, to, reg(word), 4, at & 3, bytes, signed, like, fresh),
    ];
  }
  if (bytes >= 4) return [copyLike(moves, to, from, like)];
  if (at === 0 && !signed) return [under('LOP3', 'B32', [from, imm((1 << (8 * bytes)) - 1), RZ, imm(AND)])];
  return [under('BFE', signed ? 'S32' : 'U32', [from, imm(8 * at), imm(8 * bytes)])];
}

/** The register file for a loaded or stored element of this many bytes. */
export const fileOfBytes = (bytes: number): number => (bytes === 8 ? RegFile.RD : RegFile.R);
