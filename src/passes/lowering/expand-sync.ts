import { edit } from '../../ir/draft/index.ts';
import { modOf } from '../../ir/opcode.ts';
import { type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { isSet, type Pass } from '../pass.ts';

/**
 * Phase 72, LateExpandSyncInstructions: a fence for the whole system is followed by an error barrier.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           MEMBAR.SC.SYS                       MEMBAR.SC.SYS
 *           STG [RD1], R2                       ERRBAR
 *                                               STG [RD1], R2
 *
 * A fence under a guard gets a barrier under the same guard. A fence that orders only a proxy or one kind of object is not one for the
 * whole system, whatever its scope. PTX has no error barrier: it exists only in Ori, and ptxas puts its own after the fence.
 *
 * Only where the target has error barriers (`capabilities.error-barrier`). Knob: DisableErrbarAfterMembar leaves fences as they are.
 *
 * Requires: control-last. Guarantees: blocks and edges stay; equivalence under every schedule. A second application changes nothing.
 * Bound: each instruction is examined once.
 */
export const expandSync: Pass = (fn, ctx) => {
  if (!fn.blocks.some((b) => b.ins.some(isSystemFence))) return fn;
  if (ctx.fact('capabilities.error-barrier') !== true || isSet(ctx.knob('DisableErrbarAfterMembar')))
    return fn;
  const op = ctx.isa.byName.get('ERRBAR')!;
  return edit(
    fn,
    (d) => {
      for (const block of fn.blocks) {
        const b = d.blockById(block.id);
        for (let n = d.first(b), next: number; n >= 0; n = next) {
          next = d.next(n);
          const x = d.at(n);
          if (!isSystemFence(x) || (next >= 0 && d.at(next).op === op)) continue;
          if (!ctx.mayRewrite('error-barrier', block.id, x)) return;
          ctx.remark('passed', 'error-barrier', `after ${printInstr(x)}`, { block: block.id, ins: x });
          d.replaceBy(n, [x, instr(op, 0, [], [], x.loc, x.guard, x.guardNot)]);
        }
      }
    },
    ctx.isa,
  );
};

const isSystemFence = (x: Instr): boolean =>
  x.op.primitive === 'fence' &&
  x.op.groupByName.has('scope') &&
  modOf(x.op, x.mods, 'scope') === 'SYS' &&
  modOf(x.op, x.mods, 'sem') !== 'PROXY' &&
  modOf(x.op, x.mods, 'restrict') === 'NONE';
