import { poolLimits } from '../../analysis/registers/live-range-extension.ts';
import type { Pass } from '../pass.ts';
import { commonValues } from './common-values.ts';

/**
 * Phase 64, LateOriCommoning: value numbering once more, after phases 50 to 63 have changed the code; and OriCommoning (entry 57),
 * right after phase 49, for what its parameters made that one leave.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           IADD3 R1, R2, R3                    IADD3 R1, R2, R3
 *       @P5 BRA BB2                         @P5 BRA BB2
 *     BB1:                                BB1:
 *           IADD3 R7, R3, R2                    STG [RD6], R1
 *           STG [RD6], R7
 *
 * The rules, the register limits and the walk are those of `gvnCse`; copies are left to copy propagation, which runs in the bundles before
 * and after.
 *
 * Requires: control-last, ssa. Guarantees: ssa; no block is added or removed; a second application finds only what
 * joins of equal values expose.
 * Bound: each instruction is examined at most three times; memory as in `MemorySsa`, which is built only if there are loads.
 */
export const lateCommoning: Pass = (fn, ctx) =>
  commonValues(fn, ctx, poolLimits(ctx.params['max-pressure'], ctx.params['max-predicates']));
