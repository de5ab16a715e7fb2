import type { Decoded } from '../decode.ts';
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

export const spendProducts = (c: MatrixCall, products: number): void => c.m.spend(products >> PRODUCTS_LOG2);
export const spendElements = (c: MatrixCall, elements: number): void => c.m.spend(elements >> ELEMENTS_LOG2);
