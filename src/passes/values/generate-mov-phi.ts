import { constructSsa } from '../../ssa/construct.ts';
import { dropIdleTies } from '../../ssa/idle-ties.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 23, GenerateMovPhi: enters SSA. Every general, predicate and uniform register gets one definition. There is a
 * phi where definitions join and the value is live; a guarded definition names its value under a false guard.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           MOV R1, 0                       MOV R4, 0
 *       @P2 BRA BB2                     @P2 BRA BB2
 *     BB1:                            BB1:
 *       @P3 IADD3 R1, R1, 1             @P3 IADD3 R5 else R4, R4, 1
 *     BB2:                            BB2:
 *           STG [RD6], R1                   MOVPHI R7, {BB0: R4, BB1: R5}
 *           EXIT                            STG [RD6], R7
 *                                           EXIT
 *
 * Requires: control-last, no phis. Guarantees: ssa; the same blocks without unreachable ones, and with a new entry if
 * the old one was a loop header. Code already in SSA does not change.
 * Waits and fences of matrix products no longer name registers that are not in flight or read (`ssa/idle-ties.ts`).
 * Bound: see `constructSsa`.
 */
export const generateMovPhi: Pass = (fn, ctx) => {
  const out = dropIdleTies(constructSsa(fn, ctx.isa));
  if (out !== fn) {
    const phis = out.blocks.reduce((n, b) => n + b.ins.filter((x) => x.op.primitive === 'phi').length, 0);
    ctx.remark('note', 'ssa', `${phis} phis, ${out.regCount - fn.regCount} new names`);
  }
  return out;
};
