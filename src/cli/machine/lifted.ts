import { BinaryError } from '../../cubin/bytes.ts';
import { functionsOf } from '../../cubin/functions.ts';
import type { Program } from '../../ir/program.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import { type Lifted, liftKernel } from '../../lift/lift.ts';
import type { Machine } from '../../machine/forms.ts';
import { hexText } from '../../machine/text.ts';
import { paramBase } from '../../read.ts';
import { loadMachine, targetsOfMachines } from '../../spec/node-machine.ts';
import type { Plan } from '../../spec/plan.ts';
import { failWith } from '../terminal/ui.ts';
import type { Chosen } from './cubin-file.ts';

/** The description of the machine code of a target; an unknown target ends the command. */
export async function machineFor(target: string): Promise<Machine> {
  const machine = await loadMachine(target);
  if (machine === null)
    failWith(
      `the machine code of ${target} is not known`,
      `known are ${(await targetsOfMachines()).join(', ')}`,
    );
  return machine;
}

/** The machine code of a kernel in Ori; a string says why it cannot be lifted. */
export function liftedOf(
  { elf }: Pick<Chosen, 'elf'>,
  machine: Machine,
  plan: Plan,
  program: Program,
  kernel: string,
): Lifted | string {
  if (!functionsOf(elf).some((f) => f.entry && f.name === kernel)) return 'the machine code does not have it';
  try {
    const lifted = liftKernel(elf, machine, plan.isa, program, kernel, paramBase(plan));
    if (lifted.gaps.length === 0) return lifted;
    const [{ word, why }] = lifted.gaps;
    const more = lifted.gaps.length > 1 ? `, and ${lifted.gaps.length - 1} more` : '';
    return `${hexText(word.offset)} ${word.text || 'an unknown word'}: ${why}${more}`;
  } catch (e) {
    if (e instanceof Unsupported || e instanceof BinaryError) return e.message;
    throw e;
  }
}
