import { withModsOf, withSource } from './edit.ts';
import { hasMod, withMods } from './opcode.ts';
import type { Operand } from './operand.ts';
import type { Instr } from './program.ts';

/** log2 of the bytes of an entry: each is a signed 32-bit offset from the start of its table (seed 003). */
export const ENTRY_SHIFT = 2;
export const ENTRY_BYTES = 1 << ENTRY_SHIFT;

/** Does a jump through a table take the byte offset of an entry rather than its index? */
export const countsBytes = (x: Instr): boolean => hasMod(x.op, x.mods, 'OFFSET');

/** The index of the entry that a value of the jump's operand selects; -1 if it is an offset between two entries. */
export function entryOf(x: Instr, value: number): number {
  if (!countsBytes(x)) return value;
  return value % ENTRY_BYTES === 0 ? value / ENTRY_BYTES : -1;
}

/** The value of the jump's operand that selects an entry. */
export const valueOfEntry = (x: Instr, entry: number): number =>
  countsBytes(x) ? entry * ENTRY_BYTES : entry;

/** The same jump with another operand, which is a byte offset or an index. */
export function jumpBy(x: Instr, operand: Operand, offset: boolean): Instr {
  const { group } = x.op.modByName.get('OFFSET')!;
  const index = x.mods & ~(group.mask << group.shift);
  const mods = offset ? withMods(x.op, index, 'OFFSET') : index;
  return withModsOf(withSource(x, 0, operand), mods);
}
