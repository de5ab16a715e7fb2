import { warpFrequencyOf } from '../analysis/flow/warp-frequency.ts';
import type { Fn } from '../ir/program.ts';
import type { Profile } from '../spec/profile.ts';

/**
 * How often a warp runs each block in one call of the function, by position: from the profile if it has counts, otherwise by the static
 * estimate. Blocks without a count, which an optimization created, get the estimate too.
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
