import type { Fn } from '../ir/program.ts';
import { branchProbabilitiesOf } from './branch-probability.ts';
import { type Cfg, cfgOf } from './cfg.ts';
import { type DominatorTree, dominates, dominators } from './dominators.ts';
import { loopBlocks, loopsOf } from './loops.ts';
import { memo } from './memo.ts';
import { tripCountsOf } from './trip-count.ts';

/** How often blocks run per entry of the function. */
export interface Frequency {
  /** By block position; 0 for unreachable blocks. */
  readonly block: Float64Array;
  /** By index in `Cfg.succ`: the fraction of the block's runs that take the edge. */
  readonly probability: Float64Array;
}

/** How often control takes the edge with index `e` in `Cfg.succ`, which leaves the block at position `b`. */
export const edgeFrequency = (f: Frequency, b: number, e: number): number => f.block[b] * f.probability[e];

/** Iterations assumed for a loop that is never left: many, but few enough for sums of frequencies. */
const ENDLESS = 1024;
/** A loop that is left more rarely than this counts as endless if its trip count is unknown. */
const LEAST_WAY_OUT = 1e-9;
/** Cycles with several entries are solved iteratively, to this relative difference, ... */
const SETTLED = 1e-12;
/** ... at most this many times, because a cycle that is never left does not settle. */
const MOST_SWEEPS = ENDLESS;

/**
 * A static estimate from branch probabilities (`branchProbabilitiesOf`) and trip counts. A natural loop runs 1 / (1 -
 * p) times per entry, p being the probability of coming back to its header (Wu and Larus, 1994), or as often as its
 * trip count says. Cycles with several entries are solved iteratively. What flows into a block flows out of it,
 * except in endless loops.
 *
 * Costs the sum of the sizes of all loops, counting inner loops in each loop around them.
 */
export const staticFrequencyOf: (fn: Fn) => Frequency = memo((fn) => {
  const g = cfgOf(fn);
  const forest = loopsOf(fn);
  const dom = dominators(g);
  const probability = branchProbabilitiesOf(fn);
  const flow = new FrequencySolver(g, dom, probability, forest.irreducible.length > 0);
  const trips = tripCountsOf(fn);
  // Inner loops have larger numbers than the loops around them.
  for (let l = forest.loops.length - 1; l >= 0; l--) {
    const { header, latches } = forest.loops[l];
    flow.spread(loopBlocks(forest, l), header);
    let again = 0;
    for (const p of latches) again += flow.along(p, header);
    const { exact, exits } = trips.of(l);
    const counted = exact !== null && exits.every((x) => forest.innermost[x.block] === l);
    flow.rounds[header] = counted ? Number(exact) + 1 : again > 1 - LEAST_WAY_OUT ? ENDLESS : 1 / (1 - again);
  }
  flow.spread(g.rpo, -1);
  const block = new Float64Array(g.count);
  for (const b of g.rpo) block[b] = flow.amount[b];
  return { block, probability };
});

/** Propagates an amount over blocks; loops that are already solved count as one step. */
class FrequencySolver {
  readonly amount: Float64Array;
  /** By position: how often a header runs per entry of its loop; 1 for other blocks. */
  readonly rounds: Float64Array;
  private readonly g: Cfg;
  private readonly dom: DominatorTree;
  private readonly probability: Float64Array;
  private readonly repeat: boolean;
  /** By position: the last `spread` that visited it. */
  private readonly stamp: Int32Array;
  private epoch = 0;

  constructor(g: Cfg, dom: DominatorTree, probability: Float64Array, repeat: boolean) {
    this.g = g;
    this.dom = dom;
    this.probability = probability;
    this.repeat = repeat;
    this.amount = new Float64Array(g.count);
    this.rounds = new Float64Array(g.count).fill(1);
    this.stamp = new Int32Array(g.count);
  }

  /** Amount that flows from one block into another. */
  along(from: number, to: number): number {
    const { succStart, succ } = this.g;
    for (let e = succStart[from]; e < succStart[from + 1]; e++)
      if (succ[e] === to) return this.amount[from] * this.probability[e];
    return 0;
  }

  /**
   * Sets the amounts of blocks (in reverse post-order) when an amount of 1 enters the first of them.
   * @param header header of the loop that the blocks form, whose own iterations are not counted; -1 for the whole
   * function
   */
  spread(blocks: ArrayLike<number>, header: number): void {
    this.epoch++;
    for (let i = 0; i < blocks.length; i++) {
      this.stamp[blocks[i]] = this.epoch;
      this.amount[blocks[i]] = 0;
    }
    for (let sweep = 0, change = 1; change > SETTLED && sweep < MOST_SWEEPS; sweep++) {
      change = this.sweep(blocks, header);
      if (!this.repeat) break;
    }
  }

  /** One pass from top to bottom; returns the largest relative change. */
  private sweep(blocks: ArrayLike<number>, header: number): number {
    const { predStart, pred } = this.g;
    let change = 0;
    for (let i = 0; i < blocks.length; i++) {
      const b = blocks[i];
      let sum = i === 0 ? 1 : 0;
      if (b !== header)
        for (let e = predStart[b]; e < predStart[b + 1]; e++) {
          const p = pred[e];
          // What comes back to a loop header is part of its iterations.
          if (this.stamp[p] === this.epoch && !dominates(this.dom, b, p)) sum += this.along(p, b);
        }
      if (b !== header) sum *= this.rounds[b];
      if (sum !== this.amount[b])
        change = Math.max(change, Math.abs(sum - this.amount[b]) / Math.max(sum, this.amount[b]));
      this.amount[b] = sum;
    }
    return change;
  }
}
