import { commonValues } from './common-values.ts';
import type { Pass } from './pass.ts';

/** Knob 402 and its values (reference passes-b). */
const MODE = 'EnableGvnCseMode';
const OFF = 0;
const ONE_BLOCK = 1;
const WHOLE = 2;

/**
 * Phase 49, GvnCse: what is computed twice is computed once.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           IADD3 R1, R2, R3                    IADD3 R1, R2, R3
 *           LDG R4, [RD5]                       LDG R4, [RD5]
 *       @P6 BRA BB2                         @P6 BRA BB2
 *     BB1:                                BB1:
 *           IADD3 R7, R3, R2                    IADD3 R9, R1, R4
 *           LDG R8, [RD5]                       STG [RD5], R9
 *           IADD3 R9, R7, R8                    EXIT
 *           STG [RD5], R9                 BB2:
 *           EXIT                                EXIT
 *     BB2:
 *           EXIT
 *
 * Value numbering over the dominator tree (Briggs, Cooper and Simpson, "Value Numbering", 1997; the scopes are theirs): down the
 * tree every expression is looked up among those that certainly ran before, and the later one's results are replaced by the first
 * one's. Operands are replaced on the way, so equal trees fall from the leaves up. A load is the same as an earlier one if it reads the
 * same address from the same version of memory: no store, barrier, fence, atomic or call that may matter lies between.
 *
 * What may be common is a property of opcodes: see `isValue` and `isPlainLoad`. Copies are left to copy propagation. A guarded
 * operation is common with one under the same guard with the same values where it is false.
 *
 * Registers: a value that is taken from afar lives until there. Where that would make more live than the binding allows (`max-pressure`
 * in 32-bit units, `max-predicates`; absent: no limit) it is computed again. Loads from memory are exempt: they cost more than a register.
 *
 * Knob 402: 0 does nothing, 1 keeps to one block, 2 walks the dominator tree; the wider scopes of 3 to 6 are not there, and do as 2.
 *
 * Requires: control-last, ssa. Guarantees: ssa; no block is added or removed; a second application finds what joins of equal values
 * (phis whose ways became equal around a loop) bring to light, and nothing else.
 * Bound: three looks at each instruction; memory as `MemorySsa` says.
 */
export const gvnCse: Pass = (fn, ctx) => {
  const mode = ctx.knob(MODE) ?? WHOLE;
  return mode === OFF ? fn : commonValues(fn, ctx, mode === ONE_BLOCK);
};
