import { warpFrequencyOf } from '../analysis/flow/warp-frequency.ts';
import type { Fn } from '../ir/program.ts';
import type { Profile } from '../spec/profile.ts';

/**
 * How often a warp runs each block in one call of the function, by position: as counted by the profile, else by the
 * static estimate. A block that the profile does not know, because an optimization created it, also gets the estimate.
 */
export function blockWeights(fn: Fn, profile?: Profile): Float64Array {
  const block = warpFrequencyOf(fn);
  const counts = profile?.[fn.name];
  const entered = counts?.[fn.blocks[0].id] ?? 0;
  if (counts === undefined || entered === 0) return block;
  return block.map((estimate, b) => {
    const n = counts[fn.blocks[b].id];
    return n === undefined ? estimate : n / entered;
  });
}
