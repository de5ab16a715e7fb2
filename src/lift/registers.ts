import { makeReg, type Reg, RegFile } from '../ir/operand.ts';

/*
 * Hardware registers as Ori registers. Ori's register indices are unique across all files, so each hardware file gets a range.
 */

const FIRST_UNIFORM = 256;
const FIRST_PREDICATE = 512;
const FIRST_UNIFORM_PREDICATE = 520;
/** First index of the convergence barriers. */
export const FIRST_BARRIER = 528;
/** Index of the register that holds the result of a reducing barrier until B2R reads it. */
const REDUCED = 544;
/** First index of the temporaries of the translation. */
export const FIRST_TEMPORARY = 552;
/** Register files of temporaries: R, RD and P, which are files 0 to 2. */
export const TEMPORARY_FILES = 3;

/** Register `n` of a hardware file, by the file's name in the forms; not for the constant registers (RZ, PT). */
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

/** First index of each file, in descending order. */
const STARTS: readonly (readonly [file: string, first: number])[] = [
  ['B', FIRST_BARRIER],
  ['UP', FIRST_UNIFORM_PREDICATE],
  ['P', FIRST_PREDICATE],
  ['UR', FIRST_UNIFORM],
  ['R', 0],
];

/** Hardware file and number of an Ori register index, as the forms name them. */
export function hardwareName(index: number): { file: string; number: number } {
  const [file, first] = STARTS.find(([, start]) => index >= start)!;
  return { file, number: index - first };
}

export const REDUCED_WORD: Reg = makeReg(REDUCED, RegFile.R);
export const REDUCED_TRUTH: Reg = makeReg(REDUCED + 1, RegFile.P);
