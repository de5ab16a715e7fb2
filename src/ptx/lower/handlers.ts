import type { Isa } from '../../ir/opcode.ts';
import type { PtxInstr } from '../ast.ts';
import { type Handler, integerHandlers, isInt } from './arith.ts';
import { controlHandlers } from './control.ts';
import { convertHandlers } from './convert.ts';
import { floatHandlers } from './float.ts';
import { memoryHandlers } from './memory.ts';
import { hasRow } from './table-rows.ts';
import { lastType } from './types.ts';
import { videoHandlers } from './video.ts';

/** Do some forms of a PTX opcode have Ori opcodes of their own? */
export const hasOpcodes = (opcode: string, isa: Isa): boolean =>
  handlerOf({ opcode, mods: [] } as unknown as PtxInstr) !== undefined || hasRow(isa.spelling, opcode);

/** The handler of an instruction, by its opcode and by whether its type is an integer; undefined if there is none. */
export function handlerOf(i: PtxInstr): Handler | undefined {
  const h = convertHandlers[i.opcode] ?? memoryHandlers[i.opcode] ?? controlHandlers[i.opcode];
  if (h !== undefined) return h;
  const fl = floatHandlers[i.opcode];
  const int = integerHandlers[i.opcode] ?? videoHandlers[i.opcode];
  if (fl === undefined) return int;
  if (int === undefined) return fl;
  const t = lastType(i.mods);
  return t !== null && (isInt(t) || t.kind === 'pred' || t.name.endsWith('s16x2') || t.name.endsWith('u16x2'))
    ? int
    : fl;
}
