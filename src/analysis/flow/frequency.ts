import { memo } from '../../ir/memo.ts';
import type { Fn } from '../../ir/program.ts';
import { branchProbabilitiesOf } from './branch-probability.ts';
import { cfgOf } from './cfg.ts';
import { frequencyFrom } from './profile.ts';
import { type Frequency, staticFrequencyOf } from './static-frequency.ts';

/**
 * How often blocks run: as counted by the profile (`FnAttrs.counts`) if there is one, else by a static estimate.
 * Blocks created since profiling get what flows into them from the others, by static branch probabilities.
 */
export const frequencyOf: (fn: Fn) => Frequency = memo((fn) =>
  fn.attrs.counts.length === 0 ? staticFrequencyOf(fn) : frequencyFrom(fn, countsOf(fn)),
);

/** Counts of all reachable blocks, by id. */
function countsOf(fn: Fn): Map<number, number> {
  const measured = new Map(fn.attrs.counts.map((n) => [n.block, n.count]));
  const counts = new Map<number, number>();
  const { pred, predStart, rpo, rpoNumber, succ, succStart } = cfgOf(fn);
  const probability = branchProbabilitiesOf(fn);
  for (const b of rpo) {
    const { id } = fn.blocks[b];
    let count = measured.get(id) ?? 0;
    if (!measured.has(id))
      for (let i = predStart[b]; i < predStart[b + 1]; i++) {
        const p = pred[i];
        if (rpoNumber[p] >= rpoNumber[b]) continue;
        for (let e = succStart[p]; e < succStart[p + 1]; e++)
          if (succ[e] === b) count += counts.get(fn.blocks[p].id)! * probability[e];
      }
    counts.set(id, count);
  }
  return counts;
}
