import { renameWebs } from '../../ssa/webs.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 19, OriSplitLiveRanges: splits a register that is used for several values into several registers.
 *
 *     before                     after
 *     BB0:                       BB0:
 *           LDG R1, [RD2]              LDG R1, [RD2]
 *           STG [RD4], R1              STG [RD4], R1
 *           LDG R1, [RD2+4]            LDG R5, [RD2+4]
 *           STG [RD4+4], R1            STG [RD4+4], R5
 *
 * Definitions with a common use stay in one register: those that meet at a join, and a guarded one together with the old value. More
 * registers then have a single definition, which rules and copy propagation before SSA can follow.
 *
 * Requires: control-last. Guarantees: the same instructions under other names, without unreachable blocks. A second
 * application changes nothing. Functions in SSA are not changed.
 * Bound: that of entering SSA.
 */
export const splitLiveRanges: Pass = (fn, ctx) => {
  const { fn: out, split } = renameWebs(fn, ctx.isa);
  if (out !== fn && !ctx.mayRewrite('webs')) return fn;
  if (split > 0)
    ctx.remark('passed', 'webs', `${split} additional registers, each used for one value`, { count: split });
  return out;
};
