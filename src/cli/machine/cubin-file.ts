import { BinaryError, hex } from '../../cubin/bytes.ts';
import { type Member, membersOf } from '../../cubin/containers.ts';
import type { Elf } from '../../cubin/elf.ts';
import { targetName } from '../../cubin/functions.ts';
import { readCubin } from '../../cubin/read.ts';
import { baseTarget } from '../../ir/target.ts';
import { namesLike, readNamed, reason, Unreadable } from '../../spec/node-files.ts';
import { failWith } from '../terminal/ui.ts';

/** A selected cubin of the file. */
export interface Chosen {
  readonly member: Member;
  readonly bytes: Uint8Array;
  readonly elf: Elf;
  readonly target: string;
}

/** The bytes of a file; one that cannot be read ends the command. */
export function bytesOf(file: string): Uint8Array {
  try {
    return readNamed(file, 'input');
  } catch (e) {
    if (e instanceof Unreadable) failWith(`cannot read ${file}: ${e.message}`);
    const missing = (e as NodeJS.ErrnoException).code === 'ENOENT';
    failWith(`cannot read ${file}: ${reason(e)}`, ...(missing ? namesLike(file) : []));
  }
}

/** Whether an error is V8's for a string that is too long: an attribute or a line may repeat others that often. */
const isTooLong = (e: unknown): boolean => e instanceof RangeError && e.message === 'Invalid string length';

/** Ends the command for output that is longer than a string can be. */
export const failTooLong = (part: string): never =>
  failWith(`cannot print what is in ${part}: it is longer than a text can be`);

/** Runs a reader of binaries; a fault that it finds ends the command with one error. */
export function parsed<T>(file: string, where: string, read: () => T): T {
  try {
    return read();
  } catch (e) {
    const part = where === '' ? file : `${file} ${where}`;
    if (isTooLong(e)) failTooLong(part);
    if (!(e instanceof BinaryError)) throw e;
    failWith(
      `cannot take ${part} apart: ${e.message}`,
      ...(e.at > 0 ? [`at byte ${hex(e.at)}`] : []),
      ...(/\.ptx$/.test(file)
        ? ['PTX is text for `orrery opt`; `ptxas -arch=sm_90 k.ptx -o k.cubin` makes a cubin of it']
        : []),
    );
  }
}

/** The cubins of a file, for a target if one is given; if there is none, the command ends. */
export function chosenOf(file: string, all: readonly Member[], sm: string | undefined): Chosen[] {
  const cubins = all
    .filter((m) => m.kind === 'cubin')
    .map((member): Chosen => {
      const bytes = parsed(file, member.where, () => member.content());
      const elf = parsed(file, member.where, () => readCubin(bytes));
      return { member, bytes, elf, target: targetName(elf) };
    });
  if (cubins.length === 0) {
    const ptx = all.filter((m) => m.kind === 'ptx').map((m) => `compute_${m.target}`);
    failWith(
      `${file} holds no machine code${ptx.length > 0 ? `, only PTX for ${ptx.join(', ')}` : ''}`,
      'nvcc -gencode arch=compute_90,code=sm_90 adds code for a target',
    );
  }
  const chosen = cubins.filter((c) => sm === undefined || c.target === sm || baseTarget(c.target) === sm);
  if (chosen.length === 0)
    failWith(`${file} has no code for ${sm}`, `it has code for ${cubins.map((c) => c.target).join(', ')}`);
  return chosen;
}

/** The only cubin of a file, for a target if one is given; if there are none or several, the command ends. */
export function oneCubin(file: string, sm: string | undefined): Chosen {
  const all = parsed(file, '', () => membersOf(bytesOf(file)));
  const cubins = chosenOf(file, all, sm);
  if (cubins.length === 1) return cubins[0];
  const targets = [...new Set(cubins.map((c) => c.target))];
  failWith(
    `${file} holds ${cubins.length} cubins`,
    targets.length > 1
      ? `it has code for ${targets.join(', ')}: --sm chooses`
      : '`cuobjdump -xelf all FILE` takes them out',
  );
}
