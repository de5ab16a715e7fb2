import { accessesOf } from '../../analysis/memory/address.ts';
import { DeadStores } from '../../analysis/memory/dead-stores.ts';
import { storedElements } from '../../analysis/memory/loads-stores.ts';
import { edit } from '../../ir/draft/index.ts';
import type { Fn } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass } from '../pass.ts';
import { Places } from './places.ts';

/**
 * Removes a store if all its bytes are overwritten, or cease to exist, before anything may read them.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           STG [RD1], R2                       LDS R3, [R4]
 *           LDS R3, [R4]                        STG.B64 [RD1], RD5
 *           STG.B64 [RD1], RD5                  EXIT
 *           STL [__local_depot0], R3
 *           EXIT
 *
 * A load of possibly the same memory, a call, a barrier, a fence or a strong operation may read it; so may the host and other threads
 * after the end of the kernel, and after a trap. Local variables cease to exist with their function if their address does not escape,
 * and no thread observes a shared variable that the kernel never reads. Strong stores stay. See `DeadStores`.
 *
 * Candidates are found by their text: stores to local memory and to shared variables of the function, and stores with the same base as
 * a later one in the layout, at possibly the same bytes.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application changes nothing: a store
 * found to be needed is needed by something that stays, or the search exceeded its bound.
 * Bound: each instruction is examined once; at most 100 accesses for each candidate.
 */
export const deadStores: Pass = (fn, ctx) => {
  const stores = candidates(fn);
  if (stores.length === 0) return fn;
  const dead = new DeadStores(accessesOf(fn, ctx.program.variables), ctx.program);
  const removed = stores.filter((n) => dead.isDead(n));
  return edit(fn, (d) => {
    for (const n of removed) {
      const ins = d.at(n);
      if (!ctx.mayRewrite('dead-store', d.id(d.block(n)), ins)) break;
      const why = 'nothing reads it before it is overwritten or gone';
      ctx.remark('passed', 'dead-store', `${printInstr(ins)}: ${why}`, { block: d.id(d.block(n)), ins });
      d.remove(n);
    }
  });
};

/** Numbers of stores that go to the function's own memory, or to a place that a later store names in the same way. */
function candidates(fn: Fn): number[] {
  const below = new Places();
  const out: number[] = [];
  const shared = fn.variables.some((v) => v.space === 'shared');
  let n = 0;
  for (const { ins } of fn.blocks) n += ins.length;
  for (let b = fn.blocks.length - 1; b >= 0; b--) {
    const { ins } = fn.blocks[b];
    for (let i = ins.length - 1; i >= 0; i--) {
      n--;
      const x = ins[i];
      if (x.op.primitive !== 'store' || storedElements(x) === null) continue;
      if (x.op.space === 'local' || (shared && x.op.space === 'shared') || below.mayHold(x)) out.push(n);
      below.add(x);
    }
  }
  return out;
}
