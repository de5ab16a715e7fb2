import { failWith } from '../terminal/ui.ts';
import type { OptOptions } from './opt-options.ts';

/*
 * `orrery opt` with a cubin as its output: what `orrery asm` does.
 */

/** Options of `opt` that `asm` has not, since they are about Ori or PTX that is written. */
const NOT_FOR_CODE = [
  'checkEach',
  'checkLimit',
  'counterexample',
  'remarks',
  'startAt',
  'until',
  'rewriteLimit',
  'strict',
  'retarget',
  'lowestVersion',
  'ptxas',
  'maxLoss',
  'stat',
  'why',
  'traceEvents',
  'cache',
  'cacheLimit',
] as const satisfies readonly (keyof OptOptions)[];

/** True if machine code is asked for, by `--emit` or by the name of the output. */
export const asksForCode = (o: OptOptions): boolean =>
  o.emit === 'cubin' || (o.emit === undefined && o.output?.endsWith('.cubin') === true);

/** Compiles a file to a cubin. An option that only Ori or PTX has ends the command. */
export async function optCode(file: string, o: OptOptions): Promise<void> {
  const given = NOT_FOR_CODE.find((k) => o[k] !== undefined && o[k] !== false);
  if (given !== undefined)
    failWith(
      `--${given.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)} does not go with a cubin`,
      'it is about Ori or PTX that is written: --emit ptx',
    );
  const way = o.check?.find((c) => c !== 'auto');
  if (way !== undefined)
    failWith(
      `--check ${way} does not go with a cubin`,
      '--check auto compares the machine code with the PTX',
    );
  if (o.output === undefined)
    failWith('--emit cubin needs -o', '`orrery asm` lists the machine code where no file is named');
  const { asm } = await import('../machine/asm.ts');
  await asm(file, { ...o, check: o.check !== undefined });
}
