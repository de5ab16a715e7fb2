import { makeReg, type Reg, RegFile } from '../ir/operand.ts';

/*
 * The registers of the hardware as registers of Ori. An index of Ori is unique across all files, so each file of the hardware has a range.
 */

const FIRST_UNIFORM = 256;
const FIRST_PREDICATE = 512;
const FIRST_UNIFORM_PREDICATE = 520;
/** Barriers of convergence begin here. */
export const FIRST_BARRIER = 528;
/** Where the result of a barrier that reduces stands until B2R reads it. */
const REDUCED = 544;
/** Registers from here on hold what an instruction computes on the way to its results. */
export const FIRST_TEMPORARY = 552;

/** Register `n` of the file that a form of machine code calls so; the constant ones (RZ, PT) are none. */
export function physical(file: string, n: number): Reg {
  switch (file) {
    case 'R':
      return makeReg(n, RegFile.R);
    case 'UR':
      return makeReg(FIRST_UNIFORM + n, RegFile.UR);
    case 'P':
      return makeReg(FIRST_PREDICATE + n, RegFile.P);
    case 'UP':
      return makeReg(FIRST_UNIFORM_PREDICATE + n, RegFile.UP);
    default:
      return makeReg(FIRST_BARRIER + n, RegFile.B);
  }
}

/** Where each file begins, the last one first. */
const STARTS: readonly (readonly [file: string, first: number])[] = [
  ['B', FIRST_BARRIER],
  ['UP', FIRST_UNIFORM_PREDICATE],
  ['P', FIRST_PREDICATE],
  ['UR', FIRST_UNIFORM],
  ['R', 0],
];

/** What forms of machine code call a register: its file, and its number there. */
export function hardwareName(index: number): { file: string; number: number } {
  const [file, first] = STARTS.find(([, start]) => index >= start)!;
  return { file, number: index - first };
}

export const REDUCED_WORD: Reg = makeReg(REDUCED, RegFile.R);
export const REDUCED_TRUTH: Reg = makeReg(REDUCED + 1, RegFile.P);
