import { numberOf } from '../table/float.ts';
import { decode, F64 } from '../values/floats.ts';

/** One conversion specification: flags, width and precision, length, conversion. */
const CONVERSION = /%([-+ #0]*)(\d*)(?:\.(\d+))?(hh|h|ll|l|z|j|t)?([diuxXocsfeEgGaAp%])/g;

type ReadMemory = (address: bigint, size: number) => bigint;

/** The zero-terminated text at an address. */
function textAt(read: ReadMemory, address: bigint): string {
  let s = '';
  for (let a = address; ; a++) {
    const c = Number(read(a, 1));
    if (c === 0) return s;
    s += String.fromCharCode(c);
  }
}

/**
 * The output of vprintf for a format and a block of arguments, each aligned to its size. Numbers are printed as JavaScript does and field
 * widths are ignored, which is enough to compare two runs.
 */
export function printed(
  read: ReadMemory,
  format: bigint,
  args: bigint,
): { readonly text: string; readonly count: number } {
  let at = 0n;
  let count = 0;
  const argument = (size: number): bigint => {
    at = ((at + BigInt(size) - 1n) / BigInt(size)) * BigInt(size);
    const bits = read(args + at, size);
    at += BigInt(size);
    count++;
    return bits;
  };
  const text = textAt(read, format).replace(CONVERSION, (_, _flags, _width, precision, length, kind) => {
    if (kind === '%') return '%';
    if (kind === 's') return textAt(read, argument(8));
    if (kind === 'p') return `0x${argument(8).toString(16)}`;
    if ('feEgGaA'.includes(kind)) {
      const bits = argument(8);
      const x = numberOf(F64, bits);
      return decode(F64, bits).kind === 'finite' && precision !== undefined
        ? x.toFixed(Number(precision))
        : String(x);
    }
    const size = ['l', 'll', 'z', 'j', 't'].includes(length) ? 8 : 4;
    const bits = argument(size);
    if (kind === 'c') return String.fromCharCode(Number(bits & 0xffn));
    if (kind === 'd' || kind === 'i') return String(BigInt.asIntN(8 * size, bits));
    return bits.toString(kind === 'u' ? 10 : kind === 'o' ? 8 : 16);
  });
  return { text, count };
}
