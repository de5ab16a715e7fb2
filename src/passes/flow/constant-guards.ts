import { reachingIn } from '../../analysis/values/reaching.ts';
import { isControl } from '../../ir/flow.ts';
import { copyOf, movesOf } from '../../ir/moves.ts';
import { Mod } from '../../ir/opcode.ts';
import { Kind, NO_REG } from '../../ir/operand.ts';
import type { EditPass } from '../pass.ts';
import { maySettle, settleGuard } from './known-guards.ts';

/**
 * Constant guards: an instruction whose guard is known loses the guard, or is removed.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           PLOP3 P1, PT, PT, PT, 0xf0      PLOP3 P1, PT, PT, PT, 0xf0
 *           @P1 IADD3 R2, R2, 1, RZ         IADD3 R2, R2, 1, RZ
 *           @!P1 MOV R3, R0                 EXIT
 *           EXIT
 *
 * If a guard is false in SSA, uses of a result read the value named for that case (`else`). A branch that is always
 * or never taken changes the flow graph, which is left to branch simplification.
 *
 * Requires: nothing. Guarantees: equivalence; blocks and edges stay.
 * Bound: each guard is resolved once.
 */
export const constantGuards: EditPass = (d, work, ctx) => {
  const reaching = reachingIn(d);
  const moves = movesOf(ctx.isa);
  let settled = 0;
  for (let n = work.next(); n >= 0; n = work.next()) {
    const ins = d.at(n);
    const { guard, guardNot } = ins;
    if (guard === NO_REG || isControl(ins)) continue;
    const def = reaching.at(guard, n);
    const c = def < 0 ? null : copyOf(moves, d.at(def));
    if (c === null || c.kind !== Kind.Imm) continue;
    const truth = ((c.lo & 1) === 1) !== ((c.mods & Mod.Not) !== 0);
    const runs = truth !== guardNot;
    if (!maySettle(d, n, runs) || !ctx.mayRewrite('guards-settled', d.id(d.block(n)), ins)) continue;
    settleGuard(d, n, runs);
    settled++;
  }
  if (settled > 0) ctx.remark('passed', 'guards-settled', `${settled} guards are known`, { count: settled });
};
