import { Pool } from '../analysis/liveness.ts';
import { pressureOf } from '../analysis/pressure.ts';
import type { Fn } from '../ir/program.ts';

/** Most registers in use at one place, in 32-bit units, by file. */
export interface Pressure {
  readonly R: number;
  readonly UR: number;
  readonly P: number;
}

/** The highest register pressure of a function by file. */
export function pressureByFile(fn: Fn): Pressure {
  const { most } = pressureOf(fn);
  return { R: most[Pool.R], UR: most[Pool.UR], P: most[Pool.P] };
}
