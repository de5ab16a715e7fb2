import { counted } from '../../ir/counts.ts';
import { targetOf } from '../../read.ts';
import type { PlanOptions } from '../input/options.ts';
import { tryCode } from '../machine/asm.ts';
import { type GivenOption, optionsIn } from './ptxas-options.ts';

/*
 * Machine code that is made here in the drop-in for ptxas, as far as its options allow.
 */

/**
 * Options of ptxas (13.0.88) that machine code made here follows, or that ask for nothing of the code, with the pattern of their values;
 * null: the option has no value.
 */
const FOLLOWED: Readonly<Record<string, RegExp | null>> = {
  ...same(['-arch', '--gpu-name'], /^sm_\d+$/),
  ...same(['-O', '--opt-level'], /^[0-4]$/),
  ...same(['-o', '--output-file'], /./),
  ...same(['-m', '--machine'], /^64$/),
  // Products are never fused with sums here unless PTX says so, which `true` allows and `false` demands.
  ...same(['-fmad', '--fmad'], /^(?:true|false)$/),
  ...same(['-v', '--verbose', '-w', '--disable-warnings', '-lineinfo', '--generate-line-info'], null),
};
const LINES = ['-lineinfo', '--generate-line-info'];

function same(names: readonly string[], value: RegExp | null): Record<string, RegExp | null> {
  return Object.fromEntries(names.map((n) => [n, value]));
}

/** Why options are not followed here; null if they are. */
function unfollowed(options: readonly GivenOption[]): string | null {
  for (const { name, value } of options) {
    const form = FOLLOWED[name];
    if (form === undefined) return `the option ${name} is for ptxas alone`;
    if (form === null ? value !== undefined : value === undefined || !form.test(value))
      return `'${value ?? 'nothing'}' as the value of ${name} is for ptxas alone`;
  }
  return null;
}

/** Why code for a target is not made of PTX for another; null if it is. */
function unlike(target: string | null, options: readonly GivenOption[]): string | null {
  const arch = options.findLast((o) => o.name === '-arch' || o.name === '--gpu-name')?.value;
  if (arch === undefined) return 'no target is named (-arch)';
  const [from, to] = [target ?? '', arch].map((t) => Number(/^sm_(\d+)$/.exec(t)?.[1] ?? Number.NaN));
  return from <= to ? null : `PTX for ${target ?? 'an unknown target'} and -arch ${arch} are for ptxas alone`;
}

/** Machine code of a file. */
export interface OwnCode {
  readonly cubin: Uint8Array;
  /** What `-v` asks for: the kernels, and what each uses. */
  readonly uses: readonly string[];
}

/**
 * Compiles the only input of the drop-in to a cubin.
 *
 * @param args options of ptxas; options files are for ptxas alone
 * @param files the PTX among them
 * @returns a string: why ptxas has to make it
 */
export async function ownCode(
  args: readonly string[],
  files: readonly { readonly file: string; readonly text: string }[],
  options: PlanOptions,
): Promise<OwnCode | string> {
  const given = optionsIn(args);
  const foreign = unfollowed(given.options);
  if (foreign !== null) return foreign;
  if (files.length !== 1 || given.others.length !== 1)
    return 'code is made here of one file of PTX at a time';
  const [{ file, text }] = files;
  const other = unlike(targetOf(text), given.options);
  if (other !== null) return other;
  const code = await tryCode(file, text, {
    ...options,
    lineinfo: given.options.some((o) => LINES.includes(o.name)),
  });
  if ('faults' in code) {
    const [{ line, message }, ...more] = code.faults;
    const rest = more.length === 0 ? '' : ` (and ${counted(more.length, 'more kernel')})`;
    return `${line > 0 ? `line ${line}: ` : ''}${message}${rest}`;
  }
  const uses = code.kernels.flatMap(
    ({ fn, code: { registers, spills, frameBytes, sharedBytes, barriers } }) => [
      `Compiling entry function '${fn.name}' for '${code.plan.sm}'`,
      [
        `Used ${registers} registers, used ${barriers} barriers`,
        `${frameBytes} bytes stack frame`,
        ...(spills > 0 ? [`${counted(spills, 'value')} spilled`] : []),
        ...(sharedBytes > 0 ? [`${sharedBytes} bytes smem`] : []),
      ].join(', '),
    ],
  );
  return { cubin: code.cubin, uses };
}
