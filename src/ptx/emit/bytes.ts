import { hasMod } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { AND } from '../../ir/truth-tables.ts';
import { guardOf } from './expand.ts';
import type { Writer } from './writer.ts';

/** By mask of the lowest bytes: the selector with which `prmt` gives these bytes and zeros above. */
const SELECTORS: ReadonlyMap<number, string> = new Map([
  [0xff, '0x4440'],
  [0xffff, '0x4410'],
]);

/**
 * By register index: 1 for words whose only uses are left shifts by a constant. A byte or half that is only shifted, such as the index of a
 * table, is written with `prmt` instead of `and`:
 *
 *     LOP3 R2, R1, 0xff, RZ, 0xc0         prmt.b32 %r2, %r1, 0, 0x4440;
 *     LEA R3, R2, R9, 2              ->   shl.b32 %t, %r2, 2;
 *                                         add.s32 %r3, %t, %r9;
 *
 * From `and` and `shl`, ptxas 13.0.88 makes a shift and a mask, and then cannot scale the index in the addition or in the address.
 */
export function shiftedWords(fn: Fn): Uint8Array {
  const shifted = new Uint8Array(fn.regCount);
  const others = new Uint8Array(fn.regCount);
  for (const p of fn.returns) if (p.reg !== NO_REG) others[regIndex(p.reg)] = 1;
  for (const b of fn.blocks)
    for (const x of b.ins) {
      if (x.guard !== NO_REG) others[regIndex(x.guard)] = 1;
      x.src.forEach((o, k) => {
        if (o.reg !== NO_REG) (k === 0 && o.mods === 0 && isShift(x) ? shifted : others)[regIndex(o.reg)] = 1;
      });
    }
  return shifted.map((is, r) => (others[r] === 1 ? 0 : is));
}

/** Is it a left shift of a word by a constant, with or without an addend? */
const isShift = (x: Instr): boolean =>
  (x.op.name === 'SHL' || x.op.name === 'LEA') &&
  hasMod(x.op, x.mods, 'B32') &&
  x.src[x.op.name === 'SHL' ? 1 : 2].kind === Kind.Imm;

/** Writes a LOP3 that masks the lowest one or two bytes as `prmt`. Returns false, and writes nothing, for any other instruction. */
export function writeBytes(w: Writer, x: Instr): boolean {
  if (x.op.name !== 'LOP3' || x.src[3].lo !== AND) return false;
  const [a, b] = x.src[0].kind === Kind.Imm ? [x.src[1], x.src[0]] : [x.src[0], x.src[1]];
  const selector = plain(a, Kind.Reg) && plain(b, Kind.Imm) ? SELECTORS.get(b.lo >>> 0) : undefined;
  if (selector === undefined) return false;
  w.line(`${guardOf(w, x)}prmt.b32 ${w.name(x.dst[0])}, ${w.name(a.reg)}, 0, ${selector}`);
  return true;
}

const plain = (o: Operand, kind: number): boolean => o.kind === kind && o.mods === 0;
