import { ENTRY_BYTES } from '../../ir/jump-table.ts';
import { Kind } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';

/** A jump table in the code, directly after the jump that reads it. */
export interface PlacedTable {
  readonly jump: Instr;
  readonly table: number;
  /** Byte offset of the first entry from the start of the function, which a linker needs to relocate the entries. */
  readonly at: number;
  /** The entries: for each target, its distance in bytes from the first entry. */
  readonly entries: readonly number[];
}

/**
 * Where jump tables lie if the function is written as it is, and their contents (seed 003): a table follows its jump without padding,
 * so two jumps through one table have a copy each; code after it begins at the next multiple of the instruction size.
 *
 * @param instructionBytes bytes of one instruction
 */
export function tableLayout(fn: Fn, instructionBytes: number): PlacedTable[] {
  const start = new Map<number, number>();
  const jumps: { readonly jump: Instr; readonly table: number; readonly at: number }[] = [];
  let at = 0;
  for (const b of fn.blocks) {
    start.set(b.id, at);
    for (const x of b.ins) {
      at += instructionBytes;
      if (x.op.primitive !== 'branch-table') continue;
      const table = x.src.find((o) => o.kind === Kind.Table)!.lo;
      jumps.push({ jump: x, table, at });
      const bytes = ENTRY_BYTES * fn.tables[table].length;
      at += Math.ceil(bytes / instructionBytes) * instructionBytes;
    }
  }
  return jumps.map((j) => ({ ...j, entries: fn.tables[j.table].map((id) => start.get(id)! - j.at) }));
}
