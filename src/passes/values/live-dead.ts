import { mustStay } from '../../analysis/calls/effects.ts';
import { metByAll } from '../../analysis/synchronization/convergent-operations.ts';
import { neededOf } from '../../analysis/values/faint-variables.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { withoutUnnamed } from '../memory/unnamed-variables.ts';
import type { Pass, PassContext } from '../pass.ts';

/**
 * Phases 16, 33, 61 and 84, OriPerformLiveDead: removes instructions whose results are not needed.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           MOV R1, 7                       LDG R3, [RD2]
 *           IADD3 R4, R1, 1                 STG [RD2], R3
 *           LDG R3, [RD2]                   EXIT
 *           STG [RD2], R3
 *           EXIT
 *
 * An instruction is removed if it need not stay and nothing that stays needs one of its results, directly or indirectly (`neededOf`). A
 * result that is overwritten before it is read is dead too, and so are dead values that feed each other around a loop. Variables of the
 * function that no instruction names any more are removed as well. One application removes everything; a second one changes nothing.
 *
 * For instructions that stay, see `mustStay`; operations between lanes may be removed if the whole warp reaches them (`metByAll`).
 * Requires: nothing (control operations may be in the middle of blocks).
 * Guarantees: live-clean; no block is added, removed or reordered.
 * Bound: each instruction once, and each segment once for each register with several definitions that is live there.
 */
export const liveDead: Pass = (fn, ctx) => withoutUnnamed(removeDead(fn, ctx), ctx);

const removeDead: Pass = (fn, ctx) => edit(fn, (d) => removeUnneeded(d, ctx));

function removeUnneeded(d: Draft, ctx: PassContext): void {
  const free = metByAll(d.fn);
  const needed = neededOf(d.fn, free === null ? mustStay : (x, n) => free[n] === 0 && mustStay(x));
  // A dead instruction may read the result of another one, so all are removed together.
  if (!ctx.mayRewrite('dead-removed')) return;
  let total = 0;
  for (const b of d.layout()) {
    let removed = 0;
    for (let n = d.first(b), next: Ins; n >= 0; n = next) {
      next = d.next(n);
      if (needed[n] === 1) continue;
      d.remove(n);
      removed++;
    }
    if (removed === 0) continue;
    total += removed;
    const message = `${removed} dead ${plural(removed)} removed from BB${d.id(b)}`;
    ctx.remark('passed', 'dead-removed', message, { block: d.id(b), count: removed });
  }
  if (total > 0) ctx.remark('note', 'dead-total', `${total} dead ${plural(total)} removed`);
}

const plural = (n: number): string => (n === 1 ? 'instruction' : 'instructions');
