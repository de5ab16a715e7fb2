import { commonValues } from './common-values.ts';
import type { Pass } from './pass.ts';

/**
 * Phase 64, LateOriCommoning: what is computed twice, once more, after phases 50 to 63 have made other code of it.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           IADD3 R1, R2, R3                    IADD3 R1, R2, R3
 *       @P5 BRA BB2                         @P5 BRA BB2
 *     BB1:                                BB1:
 *           IADD3 R7, R3, R2                    STG [RD6], R1
 *           STG [RD6], R7
 *
 * What may be common, at what pressure, and the walk, are those of `gvnCse`; copies are left to copy propagation, which runs in the bundles around.
 *
 * Requires: control-last, ssa. Guarantees: ssa; no block is added or removed; a second application finds what joins of equal values
 * bring to light, and nothing else.
 * Bound: three looks at each instruction; memory as `MemorySsa` says, which is asked where there are loads.
 */
export const lateCommoning: Pass = (fn, ctx) => commonValues(fn, ctx, false);
