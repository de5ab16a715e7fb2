import type { Prototype } from '../ir/program.ts';

/*
 * Registers of calls between functions, as code of ptxas 13.0.88 uses them for printf, assert, malloc and free (sm_75 to sm_120): arguments
 * are in registers from R4 on, those of 64 bits in aligned pairs; the result is in R4 or R4:R5, and the return address in R20:R21.
 */

/** First register of the arguments and of the result, and first of the pair with the return address. */
export const FIRST_ARGUMENT = 4;
export const RETURN_ADDRESS = 20;

/**
 * Registers that a call preserves besides the stack pointer, R1: R2, and those from R16 on. ptxas keeps values there across calls, in
 * kernels with 5 to 90 values that are live there, and saves just these in functions. Of convergence barriers it saves B6; it keeps the
 * descriptor of memory in UR36 and UR37 where a kernel has calls, and nothing in predicates.
 */
export const PRESERVED: ReadonlySet<number> = new Set([1, 2]);
export const FIRST_PRESERVED = { R: 16, UR: 36, P: 7, B: 6 } as const;

/** General registers that ptxas states at least where a kernel calls a function that is not in the file. */
export const LEAST_REGISTERS = 24;

/** 32-bit registers of a value; 0 for one that is not passed in registers. */
export const wordsOfParam = (bytes: number): number => (bytes === 8 ? 2 : [1, 2, 4].includes(bytes) ? 1 : 0);

/** The first register of each parameter; null if a parameter is not passed in registers. */
export function argumentRegisters(prototype: Prototype): readonly number[] | null {
  let next = FIRST_ARGUMENT;
  const out: number[] = [];
  for (const p of prototype.params) {
    const words = wordsOfParam(p.size);
    if (words === 0) return null;
    next = Math.ceil(next / words) * words;
    out.push(next);
    next += words;
  }
  const [result, ...more] = prototype.returns;
  if (more.length > 0 || (result !== undefined && wordsOfParam(result.size) === 0)) return null;
  return next > FIRST_PRESERVED.R ? null : out;
}
