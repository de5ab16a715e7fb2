import { isElf, readRawElf } from './read.ts';

/** Bytes of one instruction from Volta on. */
export const INSTRUCTION_BYTES = 16;
/** Low 12 bits of NOP and BRA, which follow the last instruction of a function (seen in cubins of ptxas 13.0.88). */
const NOP = 0x918;
const BRA = 0x947;

/** Number of instructions in a function's code, without the padding at its end: NOPs, preceded by a branch to itself. */
export function instructionCount(code: Uint8Array): number {
  const opcode = (k: number): number =>
    (code[INSTRUCTION_BYTES * k] | (code[INSTRUCTION_BYTES * k + 1] << 8)) & 0xfff;
  let n = Math.floor(code.length / INSTRUCTION_BYTES);
  while (n > 0 && opcode(n - 1) === NOP) n--;
  if (n > 0 && opcode(n - 1) === BRA) n--;
  return n;
}

/** Bytes of the sections whose names start with `prefix`, keyed by the rest of the name. Empty if the file is not ELF. */
export const sectionBytes = (cubin: Uint8Array, prefix: string): Map<string, Uint8Array> =>
  new Map(rows(cubin, prefix).map((s) => [s.name.slice(prefix.length), s.bytes]));

/** Sizes of the same sections, in the file or in memory. */
export const sectionSizes = (cubin: Uint8Array, prefix: string): Map<string, number> =>
  new Map(rows(cubin, prefix).map((s) => [s.name.slice(prefix.length), s.size]));

const rows = (cubin: Uint8Array, prefix: string) =>
  isElf(cubin) ? readRawElf(cubin).sections.filter((s) => s.name.startsWith(prefix)) : [];
