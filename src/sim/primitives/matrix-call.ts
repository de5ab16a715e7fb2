import type { Decoded } from '../decode.ts';
import { mix } from '../memory.ts';
import type { Simulation } from '../simulation.ts';
import type { Frame, Warp } from '../state.ts';

/** An instruction on matrices that all 32 lanes of a warp execute together. */
export interface MatrixCall {
  readonly m: Simulation;
  readonly w: Warp;
  readonly f: Frame;
  readonly d: Decoded;
  readonly name: string;
  /** A lane's address in shared memory, if the instruction has one. */
  readonly address: (lane: number) => number;
}

/** Products that are summed, and elements that are moved, in the time of one instruction, as powers of two. */
const PRODUCTS_LOG2 = 7;
const ELEMENTS_LOG2 = 3;

/** By type of a sum: how much of the sum of its terms' magnitudes is open, in a few last bits of what the terms are added in. */
const OPEN: Readonly<Record<string, number>> = { f32: 2 ** -22, f16: 2 ** -10 };

/** What is added to a sum, for each unit of its terms' magnitudes, so that what depends on its last bits shows. */
export function lastBits({ m, d }: Pick<MatrixCall, 'm' | 'd'>, type: string): number {
  const { nudge = 0 } = m.opts;
  return nudge === 0 ? 0 : (OPEN[type] ?? 0) * ((mix(d.k, nudge) & 1) === 0 ? 1 : -1);
}

export const spendProducts = (c: Pick<MatrixCall, 'm'>, products: number): void =>
  c.m.spend(products >> PRODUCTS_LOG2);
export const spendElements = (c: MatrixCall, elements: number): void => c.m.spend(elements >> ELEMENTS_LOG2);
