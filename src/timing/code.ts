import type { Elf } from '../cubin/elf.ts';
import type { Isa } from '../ir/opcode.ts';
import { meaningOf, plainBanks } from '../lift/lift.ts';
import type { Machine } from '../machine/forms.ts';
import type { ListedFunction } from '../machine/listing.ts';
import { type Accesses, accessesOf } from './accesses.ts';

/** Register accesses of each word of a function; null for a word of unknown form. */
export function accessesIn(
  { fn, code }: ListedFunction,
  elf: Elf,
  machine: Machine,
  isa: Isa,
): (Accesses | null)[] {
  const banks = plainBanks(elf, fn, machine);
  return code.map(({ instruction: i }) =>
    i === null ? null : accessesOf(i, machine, meaningOf(isa, machine, banks, i)),
  );
}
