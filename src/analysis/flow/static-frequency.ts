import { memo } from '../../ir/memo.ts';
import type { Fn } from '../../ir/program.ts';
import { isNested, type LoopForest, loopBlocks, loopsOf } from '../loops/loops.ts';
import { tripCountsOf } from '../loops/trip-count.ts';
import { branchProbabilitiesOf } from './branch-probability.ts';
import { type Cfg, cfgOf } from './cfg.ts';
import { type DominatorTree, dominates, dominators } from './dominators.ts';

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
/** Levels of nested loops up to which a loop processes all blocks inside it itself. Kernels have two to six. */
const MOST_LEVELS = 16;
/** A loop that is left more rarely than this counts as endless if its trip count is unknown. */
const LEAST_EXIT_PROBABILITY = 1e-9;
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
 * Cost: blocks and edges times the levels of loops inside a loop, up to `MOST_LEVELS`. A loop with more levels treats the loops inside
 * it as single steps; its flows are then products along the nest, and round differently.
 */
export const staticFrequencyOf: (fn: Fn) => Frequency = memo((fn) => {
  const g = cfgOf(fn);
  const forest = loopsOf(fn);
  const dom = dominators(g);
  const probability = branchProbabilitiesOf(fn);
  const flow = new FrequencySolver(forest, dom, probability);
  const trips = tripCountsOf(fn);
  // Inner loops have larger numbers than the loops around them.
  for (let l = forest.loops.length - 1; l >= 0; l--) {
    const { header, latches } = forest.loops[l];
    flow.spreadInLoop(l);
    let again = 0;
    for (const p of latches) again += flow.again(l, p);
    const { exact, exits } = trips.of(l);
    const counted = exact !== null && exits.every((x) => forest.innermost[x.block] === l);
    flow.rounds[header] = counted
      ? Number(exact) + 1
      : again > 1 - LEAST_EXIT_PROBABILITY
        ? ENDLESS
        : 1 / (1 - again);
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
  private readonly forest: LoopForest;
  private readonly dom: DominatorTree;
  private readonly probability: Float64Array;
  private readonly repeat: boolean;
  /** By index in `Cfg.pred`: the index of the edge in `Cfg.succ`. */
  private readonly edgeOf: Int32Array;
  /** By position: the last `spread` that visited it. */
  private readonly stamp: Int32Array;
  private epoch = 0;
  /**
   * By loop with more than `MOST_LEVELS` inside: its blocks that are in no inner loop, and the headers of its inner loops, in reverse
   * post-order; null for other loops.
   */
  private readonly direct: (number[] | null)[];
  /** By loop: itself or a loop around it; the amounts of its blocks are per entry of that loop while loops around that one are solved. */
  private readonly base: Int32Array;
  /** By loop: how often it runs per entry of the loop around it, if that has more than `MOST_LEVELS` inside. */
  private readonly scale: Float64Array;

  constructor(forest: LoopForest, dom: DominatorTree, probability: Float64Array) {
    const g = forest.cfg;
    const { loops, innermost } = forest;
    this.g = g;
    this.forest = forest;
    this.dom = dom;
    this.probability = probability;
    this.repeat = forest.irreducible.length > 0;
    this.amount = new Float64Array(g.count);
    this.rounds = new Float64Array(g.count).fill(1);
    this.stamp = new Int32Array(g.count);
    this.edgeOf = edgesInto(g);
    this.scale = new Float64Array(loops.length);
    const levels = new Int32Array(loops.length);
    for (let l = loops.length - 1; l >= 0; l--)
      if (loops[l].parent >= 0) levels[loops[l].parent] = Math.max(levels[loops[l].parent], levels[l] + 1);
    this.direct = [...levels].map((n) => (n > MOST_LEVELS ? [] : null));
    this.base = new Int32Array(loops.length);
    for (const { id, parent } of loops)
      this.base[id] =
        this.direct[id] !== null || parent < 0 || this.direct[parent] !== null ? id : this.base[parent];
    for (const b of g.rpo) {
      const l = innermost[b];
      if (l < 0) continue;
      this.direct[l]?.push(b);
      if (loops[l].header === b && loops[l].parent >= 0) this.direct[loops[l].parent]?.push(b);
    }
  }

  /** Sets the amounts of the blocks of a loop per entry of it, without its own iterations. */
  spreadInLoop(loop: number): void {
    const { header } = this.forest.loops[loop];
    const direct = this.direct[loop];
    if (direct === null) return this.spread(loopBlocks(this.forest, loop), header);
    for (let sweep = 0, change = 1; change > SETTLED && sweep < MOST_SWEEPS; sweep++) {
      change = this.sweepDirect(direct, loop);
      if (!this.repeat) break;
    }
  }

  /** Amount that comes back to the header of a loop from one of its latches. */
  again(loop: number, latch: number): number {
    const { header } = this.forest.loops[loop];
    const amount = this.direct[loop] === null ? this.amount[latch] : this.within(loop, latch);
    const { succStart, succ } = this.g;
    for (let e = succStart[latch]; e < succStart[latch + 1]; e++)
      if (succ[e] === header) return amount * this.probability[e];
    return 0;
  }

  /** Amount of a block per entry of a loop around it that has more than `MOST_LEVELS` inside. */
  private within(loop: number, b: number): number {
    let amount = this.amount[b];
    for (let l = this.base[this.forest.innermost[b]]; l !== loop; l = this.forest.loops[l].parent)
      amount *= this.scale[l];
    return amount;
  }

  /** As `sweep`, for the blocks of one loop, inside which all loops have been solved and keep their amounts. */
  private sweepDirect(blocks: readonly number[], loop: number): number {
    const { predStart, pred } = this.g;
    const { innermost, loops } = this.forest;
    const { header } = loops[loop];
    let change = 0;
    for (const b of blocks) {
      let sum = b === header ? 1 : 0;
      if (b !== header)
        for (let k = predStart[b]; k < predStart[b + 1]; k++) {
          const p = pred[k];
          if (isNested(this.forest, innermost[p], loop) && !dominates(this.dom, b, p))
            sum += this.within(loop, p) * this.probability[this.edgeOf[k]];
        }
      const own = innermost[b] === loop;
      if (!own) sum *= this.rounds[b];
      const was = own ? this.amount[b] : this.scale[innermost[b]];
      if (sum !== was) change = Math.max(change, Math.abs(sum - was) / Math.max(sum, was));
      if (own) this.amount[b] = sum;
      else this.scale[innermost[b]] = sum;
    }
    return change;
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
        for (let k = predStart[b]; k < predStart[b + 1]; k++) {
          const p = pred[k];
          // What comes back to a loop header is part of its iterations.
          if (this.stamp[p] === this.epoch && !dominates(this.dom, b, p))
            sum += this.amount[p] * this.probability[this.edgeOf[k]];
        }
      if (b !== header) sum *= this.rounds[b];
      if (sum !== this.amount[b])
        change = Math.max(change, Math.abs(sum - this.amount[b]) / Math.max(sum, this.amount[b]));
      this.amount[b] = sum;
    }
    return change;
  }
}

/** By index in `Cfg.pred`, whose rows are ascending: the index of the same edge in `Cfg.succ`. */
function edgesInto({ count, predStart, succStart, succ }: Cfg): Int32Array {
  const next = predStart.slice(0, count);
  const out = new Int32Array(succ.length);
  for (let b = 0; b < count; b++)
    for (let e = succStart[b]; e < succStart[b + 1]; e++) out[next[succ[e]]++] = e;
  return out;
}
