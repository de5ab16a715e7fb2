import { NO_REG, type Reg, regIndex } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { FIRST_BARRIER, physical } from '../lift/registers.ts';
import type { Instruction } from '../machine/decode.ts';
import type { Machine } from '../machine/forms.ts';
import { present } from '../machine/text.ts';

/* The hardware registers that an instruction reads and writes. */

/** Hardware registers by their index in Ori (`physical`): general, uniform, and predicates. */
export interface Accesses {
  readonly reads: ReadonlySet<number>;
  readonly writes: ReadonlySet<number>;
  /** Registers that are read only as the second word of the pair in operand c, the addend. */
  readonly seconds: ReadonlySet<number>;
  /** The predicate that guards the instruction; -1 for none. */
  readonly guard: number;
}

/** Names of the operands that are results. */
const RESULTS: ReadonlySet<string> = new Set(['d', 'e', 'p', 'q']);

/**
 * The registers that an instruction accesses.
 *
 * @param meaning its translation to Ori; null if unknown: then each operand counts as one register
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

/** Registers among `reads` that occur only as the second word of the pair in operand c. */
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
