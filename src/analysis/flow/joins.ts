import type { Cfg } from './cfg.ts';
import type { DominatorTree } from './dominators.ts';

/**
 * Blocks at which values defined in the given blocks meet: their iterated dominance frontier. Linear in the flow graph, whatever its
 * shape: each block's part of the dominator tree is walked once, from the deepest defining block up (Sreedhar and Gao, "A linear time
 * algorithm for placing phi-nodes", POPL 1995).
 *
 * @param makes by position: 1 for blocks that define a value
 * @returns by position: 1 for blocks at whose start several values meet; unreachable blocks neither define values nor join them
 */
export function joinsOf(g: Cfg, tree: DominatorTree, makes: Uint8Array): Uint8Array {
  const { succStart, succ } = g;
  const { depth, idom, preorder } = tree;
  const joins = new Uint8Array(g.count);
  const visited = new Uint8Array(g.count);
  const child = new Int32Array(g.count).fill(-1);
  const sibling = new Int32Array(g.count).fill(-1);
  const byDepth: number[][] = [];
  for (let i = preorder.length - 1; i >= 0; i--) {
    const b = preorder[i];
    while (byDepth.length <= depth[b]) byDepth.push([]);
    if (makes[b] === 1) byDepth[depth[b]].push(b);
    if (idom[b] < 0) continue;
    sibling[b] = child[idom[b]];
    child[idom[b]] = b;
  }
  const stack: number[] = [];
  for (let level = byDepth.length - 1; level >= 0; level--)
    for (let root = byDepth[level].pop(); root !== undefined; root = byDepth[level].pop()) {
      visited[root] = 1;
      stack.push(root);
      for (let b = stack.pop(); b !== undefined; b = stack.pop()) {
        for (let e = succStart[b]; e < succStart[b + 1]; e++) {
          const s = succ[e];
          if (idom[s] === b || depth[s] > level || joins[s] === 1) continue;
          joins[s] = 1;
          if (makes[s] === 0) byDepth[depth[s]].push(s);
        }
        for (let c = child[b]; c >= 0; c = sibling[c]) {
          if (visited[c] === 1) continue;
          visited[c] = 1;
          stack.push(c);
        }
      }
    }
  return joins;
}
