import { counted } from '../../ir/counts.ts';
import type { PlanOptions } from '../input/options.ts';
import { tryCode } from '../machine/asm.ts';
import { optionsIn } from './ptxas-options.ts';

/*
 * Machine code that is made here in the drop-in for ptxas, as far as its options allow.
 */

/** Options of ptxas (13.0.88) of which machine code from here is what they ask for, or that ask for nothing of the code. */
const FOLLOWED = new Set([
  ...[
    '-arch',
    '--gpu-name',
    '-O',
    '--opt-level',
    '-o',
    '--output-file',
    '-m',
    '--machine',
    '-v',
    '--verbose',
  ],
  // Products are never fused with sums here unless PTX says so, which -fmad true allows and false demands.
  ...['-fmad', '--fmad', '-w', '--disable-warnings'],
]);
const LINES = ['-lineinfo', '--generate-line-info'];

/** Machine code of a file. */
export interface OwnCode {
  readonly cubin: Uint8Array;
  /** What `-v` asks for, in lines as ptxas has them. */
  readonly uses: readonly string[];
}

/**
 * Compiles the only input of the drop-in to a cubin.
 *
 * @param args options of ptxas, with those of options files
 * @param files the PTX among them
 * @returns a string: why ptxas has to make it
 */
export async function ownCode(
  args: readonly string[],
  files: readonly { readonly file: string; readonly text: string }[],
  options: PlanOptions,
): Promise<OwnCode | string> {
  const given = optionsIn(args);
  const foreign = given.options.find((o) => !FOLLOWED.has(o) && !LINES.includes(o));
  if (foreign !== undefined) return `the option ${foreign} is for ptxas alone`;
  if (files.length !== 1 || given.others.length !== 1)
    return 'code is made here of one file of PTX at a time';
  const [{ file, text }] = files;
  const code = await tryCode(file, text, {
    ...options,
    lineinfo: given.options.some((o) => LINES.includes(o)),
  });
  if ('faults' in code) {
    const [{ line, message }, ...more] = code.faults;
    const rest = more.length === 0 ? '' : ` (and ${counted(more.length, 'more kernel')})`;
    return `${line > 0 ? `line ${line}: ` : ''}${message}${rest}`;
  }
  const uses = code.kernels.flatMap(({ fn, code: { registers, frameBytes, sharedBytes, barriers } }) => [
    `Compiling entry function '${fn.name}' for '${code.plan.sm}'`,
    [
      `Used ${registers} registers, used ${barriers} barriers`,
      `${frameBytes} bytes stack frame`,
      ...(sharedBytes > 0 ? [`${sharedBytes} bytes smem`] : []),
    ].join(', '),
  ]);
  return { cubin: code.cubin, uses };
}
