import { accessesOf } from '../analysis/address.ts';
import { DeadStores } from '../analysis/dead-stores.ts';
import { storedElements } from '../analysis/loads-stores.ts';
import { edit } from '../ir/draft/index.ts';
import type { Fn } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import type { Pass } from './pass.ts';
import { Places } from './places.ts';

/**
 * A store goes if all that it writes is written again, or ceases to exist, before anything may read it.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           STG [RD1], R2                       LDS R3, [R4]
 *           LDS R3, [R4]                        STG.B64 [RD1], RD5
 *           STG.B64 [RD1], RD5                  EXIT
 *           STL [__local_depot0], R3
 *           EXIT
 *
 * A load of memory that may be the same, a call, a barrier, a fence or a strong operation may read; so do the host and other threads
 * behind the end of the kernel, and behind a trap. Local variables end with their function, if nobody else knows them. Strong
 * stores stay. See `DeadStores`.
 *
 * Candidates are found by their text: stores to local memory, and stores with the base of one further down in the layout, at bytes that
 * may be the same.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application changes nothing: what was found needed is
 * needed by something that stays, or was more than the bound away.
 * Bound: one look at each instruction; at most 100 accesses for each candidate.
 */
export const deadStores: Pass = (fn, ctx) => {
  const stores = candidates(fn);
  if (stores.length === 0) return fn;
  const dead = new DeadStores(accessesOf(fn, ctx.program.variables), ctx.program);
  const going = stores.filter((n) => dead.isDead(n));
  return edit(fn, (d) => {
    for (const n of going) {
      const ins = d.at(n);
      if (!ctx.mayRewrite('dead-store', d.id(d.block(n)), ins)) break;
      const why = 'nothing reads it before it is overwritten or gone';
      ctx.remark('passed', 'dead-store', `${printInstr(ins)}: ${why}`, { block: d.id(d.block(n)), ins });
      d.remove(n);
    }
  });
};

/** Stores, by number, that are local or have another store of the same look below them. */
function candidates(fn: Fn): number[] {
  const below = new Places();
  const out: number[] = [];
  let n = 0;
  for (const { ins } of fn.blocks) n += ins.length;
  for (let b = fn.blocks.length - 1; b >= 0; b--) {
    const { ins } = fn.blocks[b];
    for (let i = ins.length - 1; i >= 0; i--) {
      n--;
      const x = ins[i];
      if (x.op.primitive !== 'store' || storedElements(x) === null) continue;
      if (x.op.space === 'local' || below.mayHold(x)) out.push(n);
      below.add(x);
    }
  }
  return out;
}
