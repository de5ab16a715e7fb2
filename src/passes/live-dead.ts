import { mustStay } from '../analysis/effects.ts';
import { LiveWalker } from '../analysis/liveness.ts';
import { strongLivenessOf } from '../analysis/strong-liveness.ts';
import { mapBlocks, withIns } from '../ir/edit.ts';
import type { Instr } from '../ir/program.ts';
import type { Pass } from './pass.ts';

/**
 * Phases 16, 33, 61 and 84, OriPerformLiveDead: removes instructions whose results nobody needs.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           MOV R1, 7                       LDG R3, [RD2]
 *           IADD3 R4, R1, 1                 STG [RD2], R3
 *           LDG R3, [RD2]                   EXIT
 *           STG [RD2], R3
 *           EXIT
 *
 * Global liveness, then each block from its bottom up with a running live set: an instruction that need not stay and
 * whose results are all dead is dropped, and its sources are not added, so what fed only it goes in the same walk.
 * A result that is written again before it is read is dead too. Liveness is the strong kind (a use counts only if its
 * instruction is needed), so dead values that feed each other around a loop go as well, one application removes all
 * there is, and a second one changes nothing.
 *
 * What stays: see `mustStay`. Requires: nothing (control in the middle of blocks is understood).
 * Guarantees: live-clean; no block is added, removed or reordered.
 * Bound: about loop depth + 2 sweeps over the blocks, then one walk.
 */
export const liveDead: Pass = (fn, ctx) => {
  const walker = new LiveWalker(strongLivenessOf(fn, mustStay));
  let removed = 0;
  const out = mapBlocks(fn, (b, position) => {
    walker.enter(position);
    let kept: Instr[] | null = null;
    for (let i = b.ins.length - 1; i >= 0; i--) {
      const ins = b.ins[i];
      if (mustStay(ins) || walker.anyResultLive(ins)) {
        walker.step(ins);
        kept?.push(ins);
        continue;
      }
      // Kept instructions are gathered from the bottom up, so the list is turned round once at the end.
      kept ??= b.ins.slice(i + 1).reverse();
    }
    if (kept === null) return b;
    const dropped = b.ins.length - kept.length;
    removed += dropped;
    ctx.remark('passed', 'dead-removed', `${dropped} dead ${plural(dropped)} removed from BB${b.id}`, {
      block: b.id,
    });
    return withIns(b, kept.reverse());
  });
  if (removed > 0) ctx.remark('note', 'dead-total', `${removed} dead ${plural(removed)} removed`);
  return out;
};

const plural = (n: number): string => (n === 1 ? 'instruction' : 'instructions');
