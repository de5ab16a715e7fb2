import { mustStay } from '../../analysis/calls/effects.ts';
import type { Draft, Ins } from '../../ir/draft/index.ts';
import { NO_REG } from '../../ir/operand.ts';
import type { EditPass } from '../pass.ts';

/**
 * Dead results: an instruction whose results are never read is removed, along with whatever only it read.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           S2R.TID.X R0                    STG [RD4], R3
 *           IADD3 R1, R0, 1, RZ             EXIT
 *           SHL R2, R1, 2
 *           STG [RD4], R3
 *           EXIT
 *
 * The cheap removal that accompanies rewriting: it counts readers and solves no data-flow equations. A result that is
 * overwritten before it is read stays, and so do dead values that feed each other around a loop; `live-dead` finds
 * those.
 *
 * For instructions that always stay, see `mustStay`. Requires: nothing. Guarantees: equivalence; blocks and edges
 * stay.
 * Bound: each instruction is removed once, and requeues at most the definitions of its operands.
 */
export const deadResults: EditPass = (d, work, ctx) => {
  let removed = 0;
  for (let n = work.next(); n >= 0; n = work.next()) {
    if (!isDead(d, n) || !ctx.mayRewrite('dead-removed', d.id(d.block(n)), d.at(n))) continue;
    d.remove(n);
    removed++;
  }
  if (removed > 0) ctx.remark('passed', 'dead-removed', `${removed} dead removed`, { count: removed });
};

function isDead(d: Draft, n: Ins): boolean {
  const ins = d.at(n);
  if (ins.dst.length === 0 || mustStay(ins)) return false;
  for (let i = 0; i < ins.dst.length; i++)
    if (ins.dst[i] !== NO_REG && d.useCount(ins.dst[i]) > 0) return false;
  return true;
}
