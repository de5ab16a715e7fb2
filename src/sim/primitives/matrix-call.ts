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
