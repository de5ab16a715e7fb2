import { cfgOf } from '../../analysis/flow/cfg.ts';
import { type IrreducibleRegion, loopsOf } from '../../analysis/loops/loops.ts';
import { mayWaitInLoops } from '../../analysis/synchronization/waiting-loops.ts';
import { type BlockNo, cloneBlocks, edit, pinnedBlocks } from '../../ir/draft/index.ts';
import { OpFlag } from '../../ir/opcode.ts';
import type { Fn } from '../../ir/program.ts';
import type { PassContext } from '../pass.ts';

const LIMIT = 'SingleEntryLimit';

/**
 * Gives cycles with several entries one: the others get copies of the blocks, which lead to the original where they come to the entry
 * that is kept.
 *
 *     before                  after, BB1 kept
 *     BB0:                    BB0:
 *       @P1 BRA BB2             @P1 BRA BB4
 *     BB1:                    BB1:
 *           (a)                     (a)
 *     BB2:                    BB2:
 *           (b)                     (b)
 *       @P2 BRA BB1             @P2 BRA BB1
 *                             BB3:
 *     BB3:                          EXIT
 *           EXIT              BB4:
 *                                   (b)
 *                               @P2 BRA BB1
 *                                   BRA BB3
 *
 * Knob SingleEntryLimit: most instructions that are copied in a function, all cycles together; if more would be needed, none are. A
 * function takes a unit of GeneralOptimizationBudget, and nothing is copied once that is spent (reference passes-c). No
 * cycle in which lanes meet is changed, nor any of a function where lanes may wait for each other, because lanes from different entries
 * run different copies.
 *
 * Bound: the limit; each round removes the entry that it keeps from what is left of a cycle.
 */
export function giveSingleEntries(fn: Fn, ctx: PassContext): Fn {
  let left = Number(ctx.knob(LIMIT) ?? 0);
  if (left <= 0 || loopsOf(fn).irreducible.length === 0 || mayWaitInLoops(fn)) return fn;
  if (!ctx.budget('GeneralOptimizationBudget')) return fn;
  const done: (() => void)[] = [];
  let now = fn;
  for (;;) {
    const size = (r: IrreducibleRegion): number => r.blocks.reduce((n, b) => n + now.blocks[b].ins.length, 0);
    const region = loopsOf(now).irreducible.find((r) => mayCopy(now, r));
    // Half of the copies would help no later phase.
    if (region !== undefined && size(region) > left) return fn;
    if (region === undefined || !ctx.mayRewrite('entry-single', now.blocks[region.entries[0]].id)) break;
    left -= Math.max(1, size(region));
    now = split(now, region, ctx, done);
  }
  for (const say of done) say();
  return now;
}

function mayCopy(fn: Fn, { blocks }: IrreducibleRegion): boolean {
  const inside = new Set(blocks);
  for (const b of blocks)
    for (const { op } of fn.blocks[b].ins) if ((op.flags & OpFlag.Convergent) !== 0) return false;
  let pinned = false;
  edit(fn, (d) => {
    for (const b of pinnedBlocks(d)) if (inside.has(b)) pinned = true;
  });
  return !pinned;
}

function split(fn: Fn, { blocks, entries }: IrreducibleRegion, ctx: PassContext, done: (() => void)[]): Fn {
  const { rpoNumber } = cfgOf(fn);
  const kept = entries.reduce((a, b) => (rpoNumber[b] < rpoNumber[a] ? b : a));
  const others = entries.filter((b) => b !== kept);
  const names = (list: readonly number[]): string => list.map((b) => `BB${fn.blocks[b].id}`).join(', ');
  const entered = others.length === 1 ? 'entry' : 'entries';
  const what = `the cycle at ${names([kept])} is copied for its ${entered} ${names(others)}`;
  done.push(() => ctx.remark('passed', 'entry-single', what, { block: fn.blocks[kept].id }));
  return edit(
    fn,
    (d) => {
      const inside = new Set<BlockNo>(blocks);
      // The kept entry needs no copy: copies of its predecessors lead to it.
      const region = blocks.filter((b) => b !== kept);
      const outside = others.map((b) => d.predecessors(b).filter((p) => !inside.has(p)));
      const copies = cloneBlocks(d, region, d.lastBlock, false).blocks;
      others.forEach((b, k) => {
        for (const p of outside[k]) d.redirect(p, b, copies.get(b)!);
      });
    },
    ctx.isa,
  );
}
