import { BinaryError } from '../../cubin/bytes.ts';
import { functionsOf } from '../../cubin/functions.ts';
import { grouped } from '../../ir/counts.ts';
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

/** Maximum number of instructions of a kernel and of what it may call that are lifted: each takes some four kilobytes. */
const MOST_INSTRUCTIONS = 2 ** 18;

/** The machine code of a kernel in Ori; a string says why it cannot be lifted. */
export function liftedOf(
  { elf }: Pick<Chosen, 'elf'>,
  machine: Machine,
  plan: Plan,
  program: Program,
  kernel: string,
): Lifted | string {
  const all = functionsOf(elf);
  if (!all.some((f) => f.entry && f.name === kernel)) return 'the machine code does not have it';
  const words = all.reduce((n, f) => n + (!f.entry || f.name === kernel ? f.words.length / 4 : 0), 0);
  if (words > MOST_INSTRUCTIONS)
    return `it has ${grouped(words)} instructions with what it may call, and ${grouped(MOST_INSTRUCTIONS)} are compared`;
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
