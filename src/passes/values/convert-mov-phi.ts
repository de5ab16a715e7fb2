import { leaveSsa } from '../../ssa/leave.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 73, ConvertAllMovPhiToMov: leaves SSA. Phis, values under false guards and returned values become parallel
 * copies, as few as live ranges allow.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           MOV R4, 0                       MOV R4, 0
 *       @P2 BRA BB2                     @P2 BRA BB2
 *     BB1:                            BB1:
 *       @P3 IADD3 R5 else R4, R4, 1     @P3 IADD3 R4, R4, 1
 *     BB2:                            BB2:
 *           MOVPHI R7, {BB0: R4, BB1: R5}   STG [RD6], R4
 *           STG [RD6], R7                   EXIT
 *           EXIT
 *
 * Requires: control-last. Guarantees: no phis; a function without any is not changed. Registers may have several
 * definitions again. A block is added only on an edge after a call whose result a phi reads.
 * Bound: see `leaveSsa`; a walk over two classes for each copy that may be saved.
 */
export const convertMovPhi: Pass = (fn, ctx) => {
  const out = leaveSsa(fn, ctx.isa);
  if (out !== fn) {
    const size = (f: typeof fn): number => f.blocks.reduce((n, b) => n + b.ins.length, 0);
    ctx.remark('note', 'ssa-left', `${size(fn)} instructions with phis, ${size(out)} without`);
  }
  return out;
};
