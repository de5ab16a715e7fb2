import { memo } from '../../ir/memo.ts';
import type { Fn } from '../../ir/program.ts';
import { type Cfg, cfgOf, reversePostOrder } from './cfg.ts';

/**
 * A dominator tree over block positions. Dominance is an interval test: the blocks that `b` dominates are those whose
 * preorder numbers lie in `b`'s subtree.
 */
export interface DominatorTree {
  /** Root: the entry, or the virtual exit of a post-dominator tree. */
  readonly root: number;
  /** Immediate dominator by position; -1 for the root and for blocks outside the tree. */
  readonly idom: Int32Array;
  /** Depth in the tree; 0 for the root, -1 outside. */
  readonly depth: Int32Array;
  /** Members of the tree, parents before children. */
  readonly preorder: Int32Array;
  /** Preorder number by position, -1 outside the tree. */
  readonly first: Int32Array;
  /** Largest preorder number in the subtree, by position. */
  readonly last: Int32Array;
}

/** Does `a` dominate `b`? Reflexive. False if one of them is outside the tree (unreachable). */
export const dominates = (t: DominatorTree, a: number, b: number): boolean =>
  t.first[a] >= 0 && t.first[b] >= t.first[a] && t.first[b] <= t.last[a];

/** Dominators of the blocks that the entry reaches. */
export const dominatorsOf = (fn: Fn): DominatorTree => dominators(cfgOf(fn));

/** Dominators of a flow graph. */
export const dominators: (g: Cfg) => DominatorTree = memo((g) =>
  tree(g.count, g.rpo.length > 0 ? g.rpo[0] : 0, g.rpo, g.predStart, g.pred),
);

/**
 * Post-dominators of the reachable blocks. Position `count` is the virtual exit after every block that leaves the function. In a region
 * from which none of these can be reached (an endless loop), the blocks with a guarded exit count as leaving; if it has none, its last
 * block in reverse post-order, so that every reachable block is in the tree.
 */
export const postDominatorsOf = (fn: Fn): DominatorTree => postDominators(cfgOf(fn));

/** Post-dominators of a flow graph, as `postDominatorsOf`. */
export const postDominators: (g: Cfg) => DominatorTree = memo((g) => {
  const exit = g.count;
  const reversed = reverseWithExit(g);
  const order = reversePostOrder(exit + 1, reversed.start, reversed.items, exit);
  return tree(exit + 1, exit, order, reversed.predStart, reversed.pred);
});

/** The reversed graph of reachable blocks from the virtual exit, and its predecessors (the CFG's successors). */
function reverseWithExit(g: Cfg): {
  start: Int32Array;
  items: Int32Array;
  predStart: Int32Array;
  pred: Int32Array;
} {
  const exit = g.count;
  const leaves = new Uint8Array(g.count);
  const reaches = new Uint8Array(g.count);
  const stack: number[] = [];
  const flood = (b: number): void => {
    leaves[b] = 1;
    if (reaches[b] === 1) return;
    reaches[b] = 1;
    stack.push(b);
    while (stack.length > 0) {
      const v = stack.pop()!;
      for (let e = g.predStart[v]; e < g.predStart[v + 1]; e++) {
        const p = g.pred[e];
        if (reaches[p] === 1 || g.rpoNumber[p] < 0) continue;
        reaches[p] = 1;
        stack.push(p);
      }
    }
  };
  for (const b of g.rpo) if (g.succStart[b] === g.succStart[b + 1]) flood(b);
  for (const b of g.mayEnd) if (reaches[b] === 0 && g.rpoNumber[b] >= 0) flood(b);
  for (let i = g.rpo.length - 1; i >= 0; i--) if (reaches[g.rpo[i]] === 0) flood(g.rpo[i]);

  const start = new Int32Array(exit + 2);
  const items: number[] = [];
  const predStart = new Int32Array(exit + 2);
  const pred: number[] = [];
  for (let b = 0; b < exit; b++) {
    if (g.rpoNumber[b] >= 0) {
      for (let e = g.predStart[b]; e < g.predStart[b + 1]; e++)
        if (g.rpoNumber[g.pred[e]] >= 0) items.push(g.pred[e]);
      for (let e = g.succStart[b]; e < g.succStart[b + 1]; e++) pred.push(g.succ[e]);
      if (leaves[b] === 1) pred.push(exit);
    }
    start[b + 1] = items.length;
    predStart[b + 1] = pred.length;
  }
  for (const b of g.rpo) if (leaves[b] === 1) items.push(b);
  start[exit + 1] = items.length;
  predStart[exit + 1] = pred.length;
  return { start, items: Int32Array.from(items), predStart, pred: Int32Array.from(pred) };
}

/**
 * Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001): iterate over the reverse post-order and
 * intersect along the immediate dominators found so far. Predecessors are taken from the last to the first, so that a
 * join of a long chain of side exits climbs the chain once, not once for each exit.
 */
function tree(
  count: number,
  root: number,
  order: Int32Array,
  predStart: Int32Array,
  pred: Int32Array,
): DominatorTree {
  const rank = new Int32Array(count).fill(-1);
  for (let i = 0; i < order.length; i++) rank[order[i]] = i;
  const idom = new Int32Array(count).fill(-1);
  if (order.length > 0) idom[root] = root;
  for (let changed = true; changed; ) {
    changed = false;
    for (let i = 1; i < order.length; i++) {
      const b = order[i];
      let best = -1;
      for (let e = predStart[b + 1] - 1; e >= predStart[b]; e--) {
        let p = pred[e];
        if (rank[p] < 0 || idom[p] < 0) continue;
        if (best < 0) {
          best = p;
          continue;
        }
        while (p !== best) {
          while (rank[p] > rank[best]) p = idom[p];
          while (rank[best] > rank[p]) best = idom[best];
        }
      }
      if (idom[b] !== best) {
        idom[b] = best;
        changed = true;
      }
    }
  }
  if (order.length > 0) idom[root] = -1;
  return numberTree(count, root, order, idom);
}

/** Preorder intervals and depths of the tree given by `idom`, without recursion. */
function numberTree(count: number, root: number, order: Int32Array, idom: Int32Array): DominatorTree {
  const depth = new Int32Array(count).fill(-1);
  const first = new Int32Array(count).fill(-1);
  const last = new Int32Array(count).fill(-1);
  const preorder = new Int32Array(order.length);
  if (order.length === 0) return { root, idom, depth, preorder, first, last };
  // Parents precede children in `order`, so sizes are summed from the back and positions assigned from the front.
  const size = new Int32Array(count);
  for (let i = order.length - 1; i >= 0; i--) {
    const b = order[i];
    size[b]++;
    if (idom[b] >= 0) size[idom[b]] += size[b];
  }
  const free = new Int32Array(count);
  first[root] = 0;
  depth[root] = 0;
  free[root] = 1;
  for (let i = 0; i < order.length; i++) {
    const b = order[i];
    if (b !== root) {
      const parent = idom[b];
      first[b] = free[parent];
      free[parent] += size[b];
      free[b] = first[b] + 1;
      depth[b] = depth[parent] + 1;
    }
    last[b] = first[b] + size[b] - 1;
    preorder[first[b]] = b;
  }
  return { root, idom, depth, preorder, first, last };
}

/** Nearest common dominator of two members of the tree. */
export function commonDominator(t: DominatorTree, a: number, b: number): number {
  while (a !== b) {
    if (t.depth[a] >= t.depth[b]) a = t.idom[a];
    else b = t.idom[b];
  }
  return a;
}
