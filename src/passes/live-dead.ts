import { mustStay } from '../analysis/effects.ts';
import { neededOf } from '../analysis/needed.ts';
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
 * An instruction goes if it need not stay and nothing that does needs one of its results, however far away (`neededOf`). A result
 * that is written again before it is read is dead too, and so are dead values that feed each other around a loop: one application
 * removes all there is, and a second one changes nothing.
 *
 * What stays: see `mustStay`. Requires: nothing (control in the middle of blocks is understood).
 * Guarantees: live-clean; no block is added, removed or reordered.
 * Bound: each instruction once, and each segment once for each register with several definitions that is live there.
 */
export const liveDead: Pass = (fn, ctx) => {
  const needed = neededOf(fn, mustStay);
  let removed = 0;
  let n = 0;
  const out = mapBlocks(fn, (b) => {
    const first = n;
    n += b.ins.length;
    let i = 0;
    while (i < b.ins.length && needed[first + i] === 1) i++;
    if (i === b.ins.length) return b;
    const kept: Instr[] = b.ins.slice(0, i);
    while (++i < b.ins.length) if (needed[first + i] === 1) kept.push(b.ins[i]);
    const dropped = b.ins.length - kept.length;
    removed += dropped;
    ctx.remark('passed', 'dead-removed', `${dropped} dead ${plural(dropped)} removed from BB${b.id}`, {
      block: b.id,
    });
    return withIns(b, kept);
  });
  if (removed > 0) ctx.remark('note', 'dead-total', `${removed} dead ${plural(removed)} removed`);
  return out;
};

const plural = (n: number): string => (n === 1 ? 'instruction' : 'instructions');
