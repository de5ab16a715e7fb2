import type { Decoded } from '../decode.ts';
import { mix } from '../memory.ts';
import type { Simulation } from '../simulation.ts';
import type { Frame, Warp } from '../state.ts';

/** A matrix instruction that all 32 lanes of a warp execute together. */
export interface MatrixCall {
  readonly m: Simulation;
  readonly w: Warp;
  readonly f: Frame;
  readonly d: Decoded;
  readonly name: string;
  /** Shared-memory address in a lane, if the instruction has an address operand. */
  readonly address: (lane: number) => number;
}

/** Log2 of the products, and of the moved elements, that cost as much as one instruction. */
const PRODUCTS_LOG2 = 7;
const ELEMENTS_LOG2 = 3;

/** By accumulator type: the error that PTX leaves open, relative to the sum of the terms' magnitudes; a few units in the last place. */
const OPEN: Readonly<Record<string, number>> = { f32: 2 ** -22, f16: 2 ** -10 };

/**
 * Perturbation of a sum, relative to the sum of its terms' magnitudes, that exposes code whose results depend on its last bits; 0 unless
 * the run has a `nudge`.
 */
export function lastBits({ m, d }: Pick<MatrixCall, 'm' | 'd'>, type: string): number {
  const { nudge = 0 } = m.opts;
  return nudge === 0 ? 0 : (OPEN[type] ?? 0) * ((mix(d.k, nudge) & 1) === 0 ? 1 : -1);
}

/** Charges the budget for a number of scalar products. */
export const spendProducts = (c: Pick<MatrixCall, 'm'>, products: number): void =>
  c.m.spend(products >> PRODUCTS_LOG2);
export const spendElements = (c: MatrixCall, elements: number): void => c.m.spend(elements >> ELEMENTS_LOG2);
