import { cutBehindControl } from '../../analysis/flow/basic-blocks.ts';
import { edit } from '../../ir/draft/index.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 6, SetControlFlowOpLastInBB: splits blocks so that a control operation is always last.
 *
 *     before                     after
 *     BB0:                       BB0:
 *           IADD3 R1, R2, R3           IADD3 R1, R2, R3
 *       @P4 BRA BB2                @P4 BRA BB2
 *           BRA BB3              BB5:
 *                                      BRA BB3
 *
 * Requires: nothing. Guarantees: control-last. The first piece keeps id and name, so that no target changes; each
 * further piece is a new block after it, reached by falling through. Code after an unguarded jump becomes an
 * unreachable block, which branch-opt removes.
 * Bound: each instruction is examined once; a block with k inner control operations becomes k + 1 blocks.
 */
export const splitControlFlow: Pass = (fn, ctx) =>
  edit(
    fn,
    (d) =>
      cutBehindControl(d, (block, pieces) =>
        ctx.remark('passed', 'block-split', `BB${block} cut into ${pieces} blocks`, { block }),
      ),
    // Code after the last jump of a function has no block to fall into, so the draft may have to give it a branch.
    ctx.isa,
  );
