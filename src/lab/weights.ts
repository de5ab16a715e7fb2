import { type LoopForest, loopDepth, loopsOf } from '../analysis/loops.ts';
import type { Fn } from '../ir/program.ts';

/** How often each block of a function runs in one call of it. */
export type BlockWeights = Float64Array;

/** Counts of blocks that a run left: function, block id, executions (`orrery run --profile-out`). */
export type Profile = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Trips that a loop of unknown length is taken to make: the usual guess of static profiles, not measured. */
const TRIPS = 10;
/** Deeper loops count as this deep, so that one nest does not drown everything else. */
const DEEPEST = 6;

const byLoops = (loops: LoopForest, b: number): number => TRIPS ** Math.min(loopDepth(loops, b), DEEPEST);

/**
 * How often each block runs, by its position: by loops, ten trips each; where a profile knows the block, by that. A block
 * that the profile does not know (an optimization made it) takes the guess by loops, scaled as the entry is.
 */
export function blockWeights(fn: Fn, profile?: Profile): BlockWeights {
  const loops = loopsOf(fn);
  const out = new Float64Array(fn.blocks.length);
  for (let b = 0; b < out.length; b++) out[b] = byLoops(loops, b);
  const counts = profile?.[fn.name];
  const entry = counts?.[fn.blocks[0].id] ?? 0;
  if (counts === undefined || entry === 0) return out;
  for (let b = 0; b < out.length; b++) {
    const n = counts[fn.blocks[b].id];
    if (n !== undefined) out[b] = n / entry;
  }
  return out;
}
