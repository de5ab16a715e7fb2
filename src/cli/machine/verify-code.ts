import type { Elf } from '../../cubin/elf.ts';
import { targetOf } from '../../read.ts';
import { ptxasNeeded } from '../optimize/compare-ptxas.ts';
import { cubinOf } from '../optimize/ptxas-run.ts';
import { failWith } from '../terminal/ui.ts';
import type { Code, VerifyOptions } from './verify-finding.ts';

/** Levels of ptxas. */
const LEVELS: readonly string[] = ['0', '1', '2', '3'];

/** Levels at which to call ptxas; contradicting options end the command. */
export function levelsOf(cubin: string | undefined, o: VerifyOptions): readonly string[] {
  const own = [
    o.ptxas === true && '--ptxas',
    o.levels === true && '--levels',
    o.with !== undefined && '--with',
    o.level !== undefined && '-O',
  ];
  if (cubin !== undefined && o.reduce !== undefined)
    failWith('--reduce has ptxas make code again and again, so it needs --ptxas instead of a cubin');
  const named = own.filter((x): x is string => typeof x === 'string');
  if (cubin !== undefined && named.length > 0)
    failWith(
      `${named[0]} is for code that ptxas makes now, and ${cubin} is there already`,
      'take one of the two',
    );
  if (cubin === undefined && named.length === 0)
    failWith(
      'the machine code is missing',
      'name a cubin, or --ptxas to have ptxas make one: orrery verify kernel.ptx --ptxas',
    );
  if (o.level !== undefined && !LEVELS.includes(o.level))
    failWith(`-O ${o.level} is not a level of ptxas`, 'levels are 0 to 3');
  return o.levels === true ? LEVELS : [o.level ?? '3'];
}

/** Assembles a text at a level; a string says why ptxas rejects it, or why it could not run. */
const assembled = (text: string, level: string, arch: string, o: VerifyOptions): Elf | string =>
  cubinOf(text, [`-arch=${arch}`, `-O${level}`, '-lineinfo'], o.with);

/** The cubin that ptxas makes from a text at a level; null if it rejects the text. */
export function cubinMadeOf(text: string, level: string, o: VerifyOptions): Elf | null {
  const arch = o.sm ?? targetOf(text);
  if (arch === null) return null;
  const made = assembled(text, level, arch, o);
  return typeof made === 'string' ? null : made;
}

/** Assembles the PTX now, at each level; if ptxas rejects it, the command ends. */
export function madeBy(file: string, text: string, levels: readonly string[], o: VerifyOptions): Code[] {
  if (o.with === undefined) ptxasNeeded();
  const arch = o.sm ?? targetOf(text);
  if (arch === null) return failWith(`${file} names no target`, '--sm says for which to assemble it');
  return levels.map((level) => {
    const elf = assembled(text, level, arch, o);
    if (typeof elf === 'string') return failWith(`${file}: ${elf}`);
    return { name: `ptxas -O${level}`, elf, level };
  });
}
