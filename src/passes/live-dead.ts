import { mustStay } from '../analysis/effects.ts';
import { neededOf } from '../analysis/needed.ts';
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
 * An instruction goes if it need not stay and nothing that does needs one of its results, however far away (`neededOf`). A result
 * that is written again before it is read is dead too, and so are dead values that feed each other around a loop: one application
 * removes all there is, and a second one changes nothing.
 *
 * What stays: see `mustStay`. Requires: nothing (control in the middle of blocks is understood).
 * Guarantees: live-clean; no block is added, removed or reordered.
 * Bound: each instruction once, and each segment once for each register with several definitions that is live there.
 */
export const liveDead: Pass = (fn, ctx) =>
  edit(fn, (d) => {
    const needed = neededOf(fn, mustStay);
    // What stays may read what goes, so that they go together.
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
      ctx.remark('passed', 'dead-removed', message, { block: d.id(b) });
    }
    if (total > 0) ctx.remark('note', 'dead-total', `${total} dead ${plural(total)} removed`);
  });

const plural = (n: number): string => (n === 1 ? 'instruction' : 'instructions');
