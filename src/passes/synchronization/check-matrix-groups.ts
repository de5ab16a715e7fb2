import { matrixGroupsOf } from '../../analysis/synchronization/matrix-groups.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 87, FixupGmmaSequence: reports whether asynchronous matrix products of a warpgroup can be pipelined.
 *
 *     before, after: the same text; the remarks say what ptxas will do
 *       FOREIGN.COMMITS {}, "wgmma.commit_group.sync.aligned"
 *       STG [RD1], R5          -> C7517: ptxas will insert a wait in front of it: it reads R5, which is in flight
 *
 * Requires: control-last, registers outside of SSA. Guarantees: nothing. It only reports: ptxas inserts what is missing by itself, and
 * PTX cannot request products one at a time.
 * Bound: nothing if the function has no such product; else as `analysis/synchronization/matrix-groups.ts`.
 */
export const checkMatrixGroups: Pass = (fn, ctx) => {
  for (const a of matrixGroupsOf(fn, ctx.program)?.advice ?? []) {
    const consequence = a.serializes ? '; it will run products one at a time' : '';
    ctx.remark('advice', `C${a.code}`, `${a.message}${consequence}`, {
      block: fn.blocks[a.block].id,
      ins: a.ins,
    });
  }
  return fn;
};
