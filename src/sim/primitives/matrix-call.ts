import type { Decoded } from '../decode.ts';
import type { Simulation } from '../simulation.ts';
import type { Frame, Warp } from '../state.ts';

/** An instruction on matrices that all 32 lanes of a warp carry out together. */
export interface MatrixCall {
  readonly m: Simulation;
  readonly w: Warp;
  readonly f: Frame;
  readonly d: Decoded;
  readonly name: string;
  /** Address that a lane names, where the instruction has one; of shared memory. */
  readonly address: (lane: number) => number;
}
