import type { Isa } from '../../ir/opcode.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr } from '../ast.ts';
import { formOf, hasForm, lowerByForm } from './by-form.ts';
import { controlHandlers } from './control.ts';
import { convertHandlers } from './convert.ts';
import type { FnLower } from './function.ts';
import type { Handler } from './handler.ts';
import { memoryHandlers } from './memory.ts';
import { hasRow } from './table-rows.ts';
import { videoHandlers } from './video.ts';

/** Do some forms of a PTX opcode have Ori opcodes of their own? */
export const hasOpcodes = (opcode: string, isa: Isa): boolean =>
  hasForm(isa, opcode) ||
  handlerOf({ opcode, mods: [] } as unknown as PtxInstr) !== undefined ||
  hasRow(isa.spelling, opcode);

/** The handler of an instruction by its opcode; undefined if there is none. */
export const handlerOf = (i: PtxInstr): Handler | undefined =>
  convertHandlers[i.opcode] ??
  memoryHandlers[i.opcode] ??
  controlHandlers[i.opcode] ??
  videoHandlers[i.opcode];

/** Lowers an instruction by its row of `lowering`, otherwise by its handler. @throws Unsupported if it has neither */
export function lowerInstr(f: FnLower, i: PtxInstr): void {
  const form = formOf(f.module.isa, i);
  if (form !== undefined) return lowerByForm(f, form, i);
  const handler = handlerOf(i);
  if (handler === undefined) throw new Unsupported();
  handler(f, i);
}
