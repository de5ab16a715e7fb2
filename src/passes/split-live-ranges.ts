import { renameWebs } from '../ssa/webs.ts';
import type { Pass } from './pass.ts';

/**
 * Phase 19, OriSplitLiveRanges: a register that the program uses for several things becomes several.
 *
 *     before                     after
 *     BB0:                       BB0:
 *           LDG R1, [RD2]              LDG R1, [RD2]
 *           STG [RD4], R1              STG [RD4], R1
 *           LDG R1, [RD2+4]            LDG R5, [RD2+4]
 *           STG [RD4+4], R1            STG [RD4+4], R5
 *
 * What no use can tell apart stays one register: definitions that meet at a join, and guarded ones with what they leave alone. So
 * more registers have one definition, which is what rules and copies before SSA can follow.
 *
 * Requires: control-last. Guarantees: the same instructions under other names; blocks that nothing reaches are gone. A second
 * application changes nothing. Functions in SSA are left alone.
 * Bound: that of entering SSA.
 */
export const splitLiveRanges: Pass = (fn, ctx) => {
  const { fn: out, split } = renameWebs(fn, ctx.isa);
  if (out !== fn && !ctx.mayRewrite('webs')) return fn;
  if (split > 0) ctx.remark('passed', 'webs', `${split} registers more: each is used for one thing`);
  return out;
};
