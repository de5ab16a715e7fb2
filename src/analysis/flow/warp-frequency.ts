import { memo } from '../../ir/memo.ts';
import { Lanes } from '../../ir/opcode.ts';
import type { Fn } from '../../ir/program.ts';
import { inLoop, type LoopForest, loopsOf } from '../loops/loops.ts';
import { divergenceOf } from '../uniformity/divergence.ts';
import { cfgOf } from './cfg.ts';
import { dominates, dominatorsOf } from './dominators.ts';
import { staticFrequencyOf } from './static-frequency.ts';

/**
 * Groups of lanes that choose independently. Measured over the launches of the test kernels, comparing how often warps took each
 * successor of a branch that may diverge: 3 has the least error (0.31 root mean square, 0.27 before the phases; 1: 0.43 and 0.40, 32:
 * 0.35 and 0.31) and no bias (0.02 and -0.01).
 */
const GROUPS = 3;
/** Lanes of a warp: it runs a block at most as often as all of them together. */
const LANES = 32;

/**
 * How often a warp executes each block per entry of the function, by block position; `staticFrequencyOf` gives the same for one thread.
 * A warp whose lanes diverge executes both paths, and continues once where they meet. So an edge that a lane takes with probability p
 * out of a branch that may diverge is taken by a warp with 1 - (1 - p)^3, as if three groups of its lanes chose independently. A block
 * runs at most as often as its immediate dominator, where the iterations of a loop that does not contain the block count as one. The
 * iterations of a loop are those of one thread.
 *
 * If cycles have several entries, it is `staticFrequencyOf`.
 */
export const warpFrequencyOf: (fn: Fn) => Float64Array = memo((fn) => {
  const g = cfgOf(fn);
  const forest = loopsOf(fn);
  const thread = staticFrequencyOf(fn);
  if (forest.irreducible.length > 0) return thread.block;
  const dom = dominatorsOf(fn);
  const { branch } = divergenceOf(fn);
  const warp = new Float64Array(g.count);
  /** By position: iterations per entry of the loop whose header it is; 1 for other blocks. */
  const rounds = new Float64Array(g.count).fill(1);
  for (const b of g.rpo) {
    let lanes = b === g.rpo[0] ? 1 : 0;
    let all = lanes;
    for (let i = g.predStart[b]; i < g.predStart[b + 1]; i++) {
      const p = g.pred[i];
      if (dominates(dom, b, p)) continue;
      for (let e = g.succStart[p]; e < g.succStart[p + 1]; e++) {
        if (g.succ[e] !== b) continue;
        const way = thread.probability[e];
        lanes += thread.block[p] * way;
        all += warp[p] * (branch[p] === Lanes.Varying ? 1 - (1 - way) ** GROUPS : way);
      }
    }
    if (isHeader(forest, b) && lanes > 0) rounds[b] = thread.block[b] / lanes;
    const above = dom.idom[b];
    if (above >= 0 && above !== b) all = Math.min(all, passes(forest, warp, rounds, above, b));
    warp[b] = Math.min(all * rounds[b], LANES * thread.block[b]);
  }
  return warp;
});

const isHeader = (forest: LoopForest, b: number): boolean =>
  forest.innermost[b] >= 0 && forest.loops[forest.innermost[b]].header === b;

/** How often a warp passes `from` on its way to `to`: each entry of a loop between them counts once. */
function passes(
  forest: LoopForest,
  warp: Float64Array,
  rounds: Float64Array,
  from: number,
  to: number,
): number {
  let n = warp[from];
  for (let l = forest.innermost[from]; l >= 0 && !inLoop(forest, l, to); l = forest.loops[l].parent) {
    const { header } = forest.loops[l];
    n = warp[header] / rounds[header];
  }
  return n;
}
