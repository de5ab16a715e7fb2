import { edit } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass } from '../pass.ts';
import { dropRedundantPhis } from './redundant-phis.ts';

/**
 * Phase 62, OriRemoveRedundantMultiDefMov: removes moves with several definitions that always give one value. In SSA these are phis
 * whose operands are all one register, or the phi itself.
 *
 *     before                                   after
 *     BB1:                                     BB1:
 *           MOVPHI R2, {BB0: R1, BB1: R3}            STG [RD4], R1
 *           STG [RD4], R2                        @P5 BRA BB1
 *           MOVPHI R3, ... of R2 alone
 *       @P5 BRA BB1
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application changes nothing.
 * Bound: each phi is examined once, and again for each removed phi among its operands.
 */
export const redundantMultiDefMoves: Pass = (fn, ctx) => {
  if (!fn.blocks.some((b) => b.ins.length > 0 && isPhi(b.ins[0]))) return fn;
  return edit(fn, (d) => {
    const phis = d.layout().flatMap((b) => d.phis(b));
    dropRedundantPhis(d, phis, (n) => {
      const at = { block: d.id(d.block(n)), ins: d.at(n) };
      if (!ctx.mayRewrite('redundant', at.block, at.ins)) return false;
      ctx.remark('passed', 'redundant', `${printInstr(at.ins)}: it always has a single value`, at);
      return true;
    });
  });
};
