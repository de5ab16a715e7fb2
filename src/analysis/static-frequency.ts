import type { Fn } from '../ir/program.ts';
import { branchProbabilitiesOf } from './branch-probability.ts';
import { type Cfg, cfgOf } from './cfg.ts';
import { type DominatorTree, dominates, dominators } from './dominators.ts';
import { loopBlocks, loopsOf } from './loops.ts';
import { memo } from './memo.ts';
import { tripCountsOf } from './trip-count.ts';

/** How often blocks run for each time that the function is entered. */
export interface Frequency {
  /** By block position; 0 for blocks that the entry does not reach. */
  readonly block: Float64Array;
  /** By index in `Cfg.succ`: the share of the block's runs that go on there. */
  readonly probability: Float64Array;
}

/** How often control takes the edge with index `e` in `Cfg.succ`, which leaves the block at position `b`. */
export const edgeFrequency = (f: Frequency, b: number, e: number): number => f.block[b] * f.probability[e];

/** Stands for the runs of a loop that nothing leaves: many, but no more than sums of frequencies bear. */
const ENDLESS = 1024;
/** A loop that is left more rarely than this counts as endless, where its trip count is not known. */
const LEAST_WAY_OUT = 1e-9;
/** Cycles with several entries are solved by repetition, to this relative difference, ... */
const SETTLED = 1e-12;
/** ... at most so many times: a cycle that nothing leaves never settles. */
const MOST_SWEEPS = ENDLESS;

/**
 * A static estimate by branch probabilities (`branchProbabilitiesOf`) and trip counts. A natural loop runs 1 / (1 - p) times
 * for each entry, p being the chance to come back to its header (Wu and Larus, 1994), or as often as its trip count says;
 * cycles with several entries are solved by repetition. What flows into a block flows out of it, but for endless loops.
 *
 * Costs the sum of the sizes of all loops, inner ones in each loop around them.
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

/** Spreads an amount over blocks, loops that are solved already taken as one step. */
class FrequencySolver {
  readonly amount: Float64Array;
  /** By position: how often a header runs for each entry of its loop; 1 for other blocks. */
  readonly rounds: Float64Array;
  private readonly g: Cfg;
  private readonly dom: DominatorTree;
  private readonly probability: Float64Array;
  private readonly repeat: boolean;
  /** By position: the last `spread` that came by. */
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
   * Sets the amounts of blocks (in reverse post-order) when 1 enters the first of them.
   * @param header header of the loop that the blocks form, whose own rounds are not counted; -1 for the whole function
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

  /** One pass from top to bottom; gives the largest relative change. */
  private sweep(blocks: ArrayLike<number>, header: number): number {
    const { predStart, pred } = this.g;
    let change = 0;
    for (let i = 0; i < blocks.length; i++) {
      const b = blocks[i];
      let sum = i === 0 ? 1 : 0;
      if (b !== header)
        for (let e = predStart[b]; e < predStart[b + 1]; e++) {
          const p = pred[e];
          // What comes back to the header of a loop is part of its rounds.
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
