import { controlText, NO_BARRIER } from '../machine/control.ts';
import type { Atom, Machine } from '../machine/forms.ts';
import { instructionText } from '../machine/text.ts';
import type { KernelParts } from './kernel-parts.ts';
import { IMPLICIT, type MachineOp, START } from './machine-op.ts';

/*
 * Text of machine code before it has addresses: branches name blocks, and registers that are not allocated yet are `%3`, or `%3.1` for the
 * second word of the virtual register 3.
 */

const NO_CONTROL = { stall: 0, yield: false, write: NO_BARRIER, read: NO_BARRIER, wait: 0, reuse: 0 };

/** A block's label; blocks that Ori does not have count down from -1. */
const label = (block: number): string =>
  block === START ? 'START' : block < 0 ? `BB_${-block}` : `BB${block}`;

/** Lines of a kernel's code. */
export function listing({ fn, machine, of, controls }: KernelParts): string[] {
  return fn.blocks.flatMap((b, k) => [
    `${label(b.id)}:`,
    ...b.ops.map((x, i) => {
      const text = opText(x, machine, of);
      const control = controls?.[k][i];
      return control === undefined ? text : `${text.padEnd(64)} ${controlText(control)}`;
    }),
  ]);
}

function opText(x: MachineOp, machine: Machine, of: readonly number[] | null): string {
  const values = [...x.values];
  const virtual = new Map<number, string>();
  for (const o of x.occurrences)
    if (o.field === IMPLICIT) continue;
    else if (of === null) virtual.set(o.field, o.word === 0 ? `%${o.v}` : `%${o.v}.${o.word}`);
    else values[o.field] = of[o.v] + o.word;
  if (x.target !== null) virtual.set(x.target.field, label(x.target.block));
  const free = machine.registers.get(x.form.guard)!.constant!;
  const guard =
    x.guard < 0 ? '' : `@${x.guardNot ? '!' : ''}${of === null ? `%${x.guard}` : `P${of[x.guard]}`}`;
  const plain = { form: x.form, values, guard: free, guardNot: false, control: NO_CONTROL };
  return `${guard.padStart(6)} ${instructionText(machine, plain, 0, (a: Atom) => virtual.get(a.field))}`;
}
