import {
  type BlockUse,
  type Limits,
  type Occupancy,
  occupancyUnder,
} from '../analysis/registers/occupancy.ts';
import { factOf } from '../spec/backend.ts';
import type { Backend } from '../spec/plan.ts';

export type { BlockUse, Occupancy };

/** The number of blocks of a kernel that are resident on one SM of a target, and what limits it. */
export const occupancyOf = (backend: Backend, use: BlockUse): Occupancy =>
  occupancyUnder((factOf(backend, 'limits') ?? {}) as Limits, use);
