import { mustStay } from '../analysis/effects.ts';
import { LiveWalker } from '../analysis/liveness.ts';
import { strongLivenessOf } from '../analysis/strong-liveness.ts';
import { edit, type Ins } from '../ir/draft/index.ts';
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
export const liveDead: Pass = (fn, ctx) =>
  edit(fn, (d) => {
    const walker = new LiveWalker(strongLivenessOf(fn, mustStay));
    let total = 0;
    for (const b of d.layout()) {
      walker.enter(b);
      let removed = 0;
      for (let n = d.last(b), above: Ins; n >= 0; n = above) {
        above = d.previous(n);
        const ins = d.at(n);
        if (mustStay(ins) || walker.anyResultLive(ins)) walker.step(ins);
        else {
          d.remove(n);
          removed++;
        }
      }
      if (removed === 0) continue;
      total += removed;
      const message = `${removed} dead ${plural(removed)} removed from BB${d.id(b)}`;
      ctx.remark('passed', 'dead-removed', message, { block: d.id(b) });
    }
    if (total > 0) ctx.remark('note', 'dead-total', `${total} dead ${plural(total)} removed`);
  });

const plural = (n: number): string => (n === 1 ? 'instruction' : 'instructions');
