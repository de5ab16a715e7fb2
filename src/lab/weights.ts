import { frequencyOf } from '../analysis/frequency.ts';
import type { Fn } from '../ir/program.ts';

/** Counts of blocks that a run left: function, block id, executions (`orrery run --profile-out`). */
export type Profile = Readonly<Record<string, Readonly<Record<string, number>>>>;

/**
 * How often each block runs in one call of the function, by its position: as the profile counted it, else by the static
 * estimate. A block that the profile does not know, since an optimization made it, has the estimate too.
 */
export function blockWeights(fn: Fn, profile?: Profile): Float64Array {
  const { block } = frequencyOf(fn);
  const counts = profile?.[fn.name];
  const entered = counts?.[fn.blocks[0].id] ?? 0;
  if (counts === undefined || entered === 0) return block;
  return block.map((estimate, b) => {
    const n = counts[fn.blocks[b].id];
    return n === undefined ? estimate : n / entered;
  });
}
