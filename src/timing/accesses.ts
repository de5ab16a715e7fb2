import { NO_REG, type Reg, regIndex } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { FIRST_BARRIER, physical } from '../lift/registers.ts';
import type { Instruction } from '../machine/decode.ts';
import type { Machine } from '../machine/forms.ts';
import { present } from '../machine/text.ts';

/*
 * Which registers of the hardware an instruction reads and writes.
 */

/** Registers of the hardware, by their indices in Ori (`physical`): general, uniform, and predicates. */
export interface Accesses {
  readonly reads: ReadonlySet<number>;
  readonly writes: ReadonlySet<number>;
  /** Those of the registers that it reads which are the second of the pair in operand c, the addend, and nothing else. */
  readonly seconds: ReadonlySet<number>;
  /** The predicate that guards it or decides a jump; -1 for none. */
  readonly guard: number;
}

/** Operands that are results, by the names that forms give them. */
const RESULTS: ReadonlySet<string> = new Set(['d', 'e', 'p', 'q']);

/**
 * What an instruction accesses.
 *
 * @param meaning what it means in Ori; null where that is not known: then each operand counts as one register
 */
export function accessesOf(i: Instruction, machine: Machine, meaning: readonly Instr[] | null): Accesses {
  const constant = machine.registers.get(i.form.guard)?.constant ?? null;
  const guard = i.guard === constant ? -1 : regIndex(physical(i.form.guard, i.guard));
  const [reads, writes] = [new Set<number>(), new Set<number>()];
  const note = (set: Set<number>, r: Reg): void => {
    if (r !== NO_REG && regIndex(r) < FIRST_BARRIER) set.add(regIndex(r));
  };
  if (guard >= 0) reads.add(guard);
  if (meaning === null)
    for (const o of i.form.operands) {
      if (o.atom === undefined || !present(o.when, i)) continue;
      const file = o.atom.kind as string;
      const raw = i.values[o.atom.field];
      const value = o.atom.inverted ? 2 ** i.form.fields[o.atom.field].bits - 1 - raw : raw;
      if (!machine.registers.has(file) || value === machine.registers.get(file)!.constant) continue;
      note(RESULTS.has(o.name) ? writes : reads, physical(file, value));
    }
  else
    for (const x of meaning) {
      for (const o of x.src) note(reads, o.reg);
      for (const r of x.dst) note(writes, r);
      note(reads, x.guard);
    }
  return { reads, writes, guard, seconds: secondsOf(i, machine, reads) };
}

/** The registers among those that an instruction reads which stand only as the second of a pair in operand c. */
function secondsOf(i: Instruction, machine: Machine, reads: ReadonlySet<number>): Set<number> {
  const [seconds, others] = [new Set<number>(), new Set<number>()];
  for (const o of i.form.operands) {
    if (o.atom === undefined || RESULTS.has(o.name) || !present(o.when, i)) continue;
    const file = o.atom.kind as string;
    const value = i.values[o.atom.field];
    if (!machine.registers.has(file) || value === machine.registers.get(file)!.constant) continue;
    const first = regIndex(physical(file, value));
    others.add(first);
    if (o.name === 'c' && reads.has(first + 1)) seconds.add(first + 1);
  }
  return new Set([...seconds].filter((r) => !others.has(r)));
}
