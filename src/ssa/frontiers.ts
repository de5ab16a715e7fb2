import type { Cfg } from '../analysis/flow/cfg.ts';
import { dominators } from '../analysis/flow/dominators.ts';
import { memo } from '../ir/memo.ts';

/**
 * Dominance frontiers in compressed rows, by block position: the frontier of block `b` is `items[start[b]]` up to, but
 * excluding, `items[start[b + 1]]`.
 *
 * Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), figure 5: each join is added to the
 * frontier of every block from its predecessors up to its immediate dominator. The total size can exceed that of the graph
 * (n^2 / 2 for n nested loops whose bottom tests all leave to the top); for structured programs it stays below twice the
 * number of edges.
 */
export interface Frontiers {
  readonly start: Int32Array;
  readonly items: Int32Array;
}

/** The dominance frontiers of a flow graph; computed once for each graph. */
export const frontiers: (g: Cfg) => Frontiers = memo((g) => {
  const { idom } = dominators(g);
  const { count, predStart, pred, rpoNumber } = g;
  const lists: number[][] = [];
  let total = 0;
  for (let b = 0; b < count; b++) {
    if (rpoNumber[b] < 0) continue;
    // A block with one predecessor is in no frontier, unless it is the entry, where control also enters from outside.
    if (predStart[b + 1] - predStart[b] < 2 && b !== g.rpo[0]) continue;
    for (let e = predStart[b]; e < predStart[b + 1]; e++) {
      if (rpoNumber[pred[e]] < 0) continue;
      for (let up = pred[e]; up !== idom[b] && up >= 0; up = idom[up]) {
        lists[up] ??= [];
        if (lists[up][lists[up].length - 1] === b) break;
        lists[up].push(b);
        total++;
      }
    }
  }
  const start = new Int32Array(count + 1);
  const items = new Int32Array(total);
  let n = 0;
  for (let b = 0; b < count; b++) {
    for (const x of lists[b] ?? []) items[n++] = x;
    start[b + 1] = n;
  }
  return { start, items };
});
