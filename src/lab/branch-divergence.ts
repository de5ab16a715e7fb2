import { cfgOf } from '../analysis/flow/cfg.ts';
import { postDominatorsOf } from '../analysis/flow/dominators.ts';
import { divergenceOf } from '../analysis/uniformity/divergence.ts';
import { memo } from '../ir/memo.ts';
import { Lanes } from '../ir/opcode.ts';
import type { Fn } from '../ir/program.ts';

/** Branch divergence in a function. */
export interface BranchDivergence {
  /** Positions of blocks with a branch that may diverge. */
  readonly points: readonly number[];
  /** Maximum nesting depth of divergent regions; regions with the same reconvergence point count once. */
  readonly depth: number;
}

/** Branches of a function that may diverge, and the nesting depth of the divergent regions. */
export const branchDivergenceOf: (fn: Fn) => BranchDivergence = memo((fn) => {
  const { branch } = divergenceOf(fn);
  const points = [...branch.keys()].filter((b) => branch[b] === Lanes.Varying);
  return { points, depth: depthOf(fn, points) };
});

/** The maximum nesting depth, by one traversal for each reconvergence point (immediate post-dominator of divergent branches). */
function depthOf(fn: Fn, points: readonly number[]): number {
  const { succStart, succ, count } = cfgOf(fn);
  const end = postDominatorsOf(fn).idom;
  const byEnd = new Map<number, number[]>();
  for (const b of points) {
    const same = byEnd.get(end[b]);
    if (same === undefined) byEnd.set(end[b], [b]);
    else same.push(b);
  }
  const depth = new Int32Array(count);
  const seen = new Int32Array(count).fill(-1);
  for (const [join, from] of byEnd) {
    const work: number[] = [];
    const follow = (b: number): void => {
      for (let e = succStart[b]; e < succStart[b + 1]; e++)
        if (succ[e] !== join && seen[succ[e]] !== join) {
          seen[succ[e]] = join;
          depth[succ[e]]++;
          work.push(succ[e]);
        }
    };
    for (const b of from) follow(b);
    for (let b = work.pop(); b !== undefined; b = work.pop()) follow(b);
  }
  return depth.reduce((most, d) => Math.max(most, d), 0);
}
