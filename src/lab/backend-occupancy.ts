import {
  type BlockUse,
  type Limits,
  type Occupancy,
  occupancyUnder,
} from '../analysis/registers/occupancy.ts';
import { factOf } from '../spec/backend.ts';
import type { Backend } from '../spec/plan.ts';

export type { BlockUse, Occupancy };

/** Blocks of a kernel that one SM of a target holds at once. */
export const occupancyOf = (backend: Backend, use: BlockUse): Occupancy =>
  occupancyUnder((factOf(backend, 'limits') ?? {}) as Limits, use);
