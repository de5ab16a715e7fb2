import { isControl } from '../analysis/cfg.ts';
import { copyFn, mapBlocks } from '../ir/edit.ts';
import type { Block } from '../ir/program.ts';
import type { Pass } from './pass.ts';

/**
 * Phase 6, SetControlFlowOpLastInBB: cuts blocks so that a control operation is always last.
 *
 *     before                     after
 *     BB0:                       BB0:
 *           IADD3 R1, R2, R3           IADD3 R1, R2, R3
 *       @P4 BRA BB2                @P4 BRA BB2
 *           BRA BB3              BB5:
 *                                      BRA BB3
 *
 * Requires: nothing. Guarantees: control-last. The first piece keeps id and name, so that no target changes; each
 * further piece is a new block behind it, reached by falling through. What follows an unguarded jump becomes a block
 * that nothing reaches; branch-opt removes it.
 * Bound: one look at each instruction; a block with k inner control operations becomes k + 1 blocks.
 */
export const splitControlFlow: Pass = (fn, ctx) => {
  let next = fn.blockCount;
  const split = mapBlocks(fn, (b) => {
    const last = b.ins.length - 1;
    let pieces: Block[] | null = null;
    let start = 0;
    for (let i = 0; i < last; i++) {
      if (!isControl(b.ins[i])) continue;
      pieces ??= [];
      pieces.push(piece(b, pieces.length === 0 ? b.id : next++, start, i + 1));
      start = i + 1;
    }
    if (pieces === null) return b;
    pieces.push(piece(b, next++, start, b.ins.length));
    ctx.remark('passed', 'block-split', `BB${b.id} cut into ${pieces.length} blocks`, { block: b.id });
    return pieces;
  });
  return split === fn ? fn : copyFn(split, split.blocks, fn.regCount, next, fn.tables);
};

const piece = (b: Block, id: number, from: number, to: number): Block => ({
  id,
  name: id === b.id ? b.name : '',
  ins: b.ins.slice(from, to),
});
