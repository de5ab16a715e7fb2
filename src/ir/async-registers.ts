import { flightOf, tiesOf, vectorSources } from './foreign-text.ts';
import { NO_REG, type Reg } from './operand.ts';
import type { Block, Instr } from './program.ts';

/**
 * Registers in flight: an instruction such as wgmma.mma_async reads and writes its registers until a later wait completes
 * (PTX ISA 9.0, 9.7.15). The age of a flight is a small number:
 *
 *     0            not in flight
 *     OLDEST + 1   begun; its group is not committed yet
 *     OLDEST - n   its group is committed, and so are n later groups
 *
 * wait_group takes at most 7 (PTX ISA 9.0), so the lowest number stands for all older groups.
 */
export const OLDEST = 9;

/** The age of a flight that begins. */
export const BEGUN = OLDEST + 1;

/** The age of a flight after one more group is committed. */
export const committedOnce = (age: number): number => (age > 1 ? age - 1 : age);

/**
 * The youngest age that a wait ends; it ends all older flights too. A wait without a number ends all flights, committed or not.
 */
export function youngestEnded(wait: Instr): number {
  const groups = /\s(\d+)/.exec(wait.src[0].sym.split(' // ', 1)[0]);
  return groups === null ? BEGUN : OLDEST - Number(groups[1]);
}

/** Registers that an asynchronous instruction uses beyond its end: its results, and the registers in its source vectors. */
export const flyingIn = (x: Instr): Reg[] =>
  [...x.dst, ...vectorSources(x).map((k) => x.src[k].reg)].filter((r) => r !== NO_REG);

/** All registers that are ever in flight, numbered in order of occurrence. */
export function flyingRegisters(blocks: readonly Pick<Block, 'ins'>[]): Map<Reg, number> {
  const numbers = new Map<Reg, number>();
  for (const b of blocks)
    for (const x of b.ins)
      if (flightOf(x) === 'BEGINS')
        for (const r of flyingIn(x)) if (!numbers.has(r)) numbers.set(r, numbers.size);
  return numbers;
}

/** Is it an asynchronous matrix product, which accumulates in the registers of its result? */
export const isMatrixGroupProduct = (x: Instr): boolean => flightOf(x) === 'BEGINS' && tiesOf(x).length > 0;
