import { cfgOf, controlIsLast } from '../../analysis/flow/cfg.ts';
import { coldBlocksOf } from '../../analysis/flow/cold-blocks.ts';
import { frequencyOf } from '../../analysis/flow/frequency.ts';
import { edgeFrequency, type Frequency } from '../../analysis/flow/static-frequency.ts';
import { type LoopForest, loopsOf } from '../../analysis/loops/loops.ts';
import { type BlockNo, type Draft, edit } from '../../ir/draft/index.ts';
import { NO_REG } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import type { Pass } from '../pass.ts';

/**
 * Phases 108, 109 and 112: the order of blocks.
 *
 *     before, BB1 ran 9 times of 10     after
 *     BB0:                              BB0:
 *       @P1 BRA BB2                       @P1 BRA BB2
 *     BB1:                              BB1:
 *           IADD3 R2, R2, 1                   IADD3 R2, R2, 1
 *           BRA BB3                     BB3:
 *     BB2:                                    STG [RD3], R2
 *           SHL R2, R2, 1                     EXIT
 *     BB3:                              BB2:
 *           STG [RD3], R2                     SHL R2, R2, 1
 *           EXIT                              BRA BB3
 *
 * `cold: loops` (108) moves cold blocks of a loop (`coldBlocksOf`) after the rest of the loop; `cold: function`
 * (109) moves cold blocks outside loops after everything else. `chains: true` (112) places after each block the
 * successor to which control goes most often, unless an unplaced block leads there more often; without a profile, it
 * must be twice as often (Pettis and Hansen, "Profile Guided Code Positioning", 1990, from the top down). If no
 * successor qualifies, blocks keep their order. Loops stay contiguous, with their header first if it was.
 *
 * Executed jumps are counted, weighted by frequency: chains must save some; cold blocks move only if the others do
 * not jump more.
 *
 * Requires: control-last. Guarantees: control-last; the same blocks and edges, except for jumps that become necessary
 * or unnecessary. A second application changes nothing, unless jumps in separate blocks change the estimate.
 * Bound: n log n in blocks and edges, however loops nest.
 */
export const placeBlocks: Pass = (fn, ctx) => {
  if (fn.blocks.length < 3 || !controlIsLast(fn)) return fn;
  const placer = new Placer(fn);
  const chains = ctx.params['chains'] === true;
  const before = [...fn.blocks.keys()];
  const order = chains ? placer.chained(before) : placer.coldLast(ctx.params['cold'] === 'loops');
  if (order.every((b, k) => b === k)) return fn;
  const now = placer.cost(before, !chains);
  const then = placer.cost(order, !chains);
  if (!chains && then > now + LEAST) return fn;
  if (!ctx.mayRewrite('blocks-placed')) return fn;
  const moved = order.filter((b, k) => k > 0 && order[k - 1] !== b - 1).length;
  ctx.remark(
    'passed',
    'blocks-placed',
    `${moved} runs of blocks moved: ${now.toFixed(2)} jumps per call before, ${then.toFixed(2)} after`,
    { count: moved },
  );
  return edit(fn, (d) => arrange(d, order), ctx.isa);
};

/** How many times as often control must take one edge as another, by estimate alone, to determine the order. */
const GUESSED = 2;

/** Ties are broken by the previous order, so another round may save more. Few functions need a third one. */
const ROUNDS = 8;

/** Jumps per call by which orders must differ; smaller differences are estimation noise. */
const LEAST = 1e-3;

/** Puts the blocks in an order, and removes jumps to the next block. */
function arrange(d: Draft, order: readonly BlockNo[]): void {
  for (let k = 1; k < order.length; k++) d.moveBlock(order[k], order[k - 1]);
  for (const b of order) {
    const n = d.terminator(b);
    if (n < 0) continue;
    const x = d.at(n);
    if (x.op.primitive !== 'branch' || x.guard !== NO_REG) continue;
    const to = d.blockById(x.src[0].lo);
    if (to === d.below(b)) d.setTerminator(b, null, to);
  }
}

/** A block, or a whole loop, within the surrounding loop or function. */
interface Unit {
  readonly first: number;
  readonly last: number;
  /** What a loop consists of, in order; null for a block. */
  readonly parts: readonly Unit[] | null;
  /** The loop, or -1 for a block. */
  readonly loop: number;
  readonly cold: boolean;
}

/** The blocks of units in order, with an explicit stack because nests may be deep. */
function blocksOf(units: readonly Unit[]): number[] {
  const out: number[] = [];
  const work = [...units].reverse();
  for (let u = work.pop(); u !== undefined; u = work.pop())
    if (u.parts === null) out.push(u.first);
    else for (let k = u.parts.length - 1; k >= 0; k--) work.push(u.parts[k]);
  return out;
}

class Placer {
  private readonly fn: Fn;
  private readonly forest: LoopForest;
  private readonly frequency: Frequency;
  private readonly cold: Uint8Array;

  constructor(fn: Fn) {
    this.fn = fn;
    this.forest = loopsOf(fn);
    this.frequency = frequencyOf(fn);
    this.cold = coldBlocksOf(fn);
  }

  /** @param loops move cold blocks within loops after the others; false: cold blocks outside loops */
  coldLast(loops: boolean): number[] {
    const { fn, forest, cold } = this;
    /** The innermost loop around a block whose header is not cold; -1 for the function. */
    const regions = new Int32Array(forest.loops.length);
    // Inner loops have larger numbers than those around them.
    for (const { id, header, parent } of forest.loops)
      regions[id] = cold[header] === 0 ? id : parent < 0 ? -1 : regions[parent];
    const regionOf = (b: number): number => (forest.innermost[b] < 0 ? -1 : regions[forest.innermost[b]]);
    const lastHot = new Int32Array(forest.loops.length).fill(-1);
    for (let b = 0; b < fn.blocks.length; b++)
      if (cold[b] === 0 && forest.innermost[b] >= 0) lastHot[forest.innermost[b]] = b;
    for (let l = lastHot.length - 1; l >= 0; l--) {
      const { parent } = forest.loops[l];
      if (parent >= 0) lastHot[parent] = Math.max(lastHot[parent], lastHot[l]);
    }
    const key = fn.blocks.map((_, b) => {
      const region = regionOf(b);
      if (b === 0 || cold[b] === 0 || region >= 0 !== loops) return b;
      return loops ? Math.max(b, lastHot[region] + 0.5) : fn.blocks.length;
    });
    return [...key.keys()].sort((x, y) => key[x] - key[y] || x - y);
  }

  /** Orders that save jumps, applied repeatedly, starting with `order`. */
  chained(order: readonly number[]): readonly number[] {
    let now = order;
    let cost = this.cost(now, false);
    for (let round = 0; round < ROUNDS; round++) {
      const next = this.chainedOnce(now);
      const then = this.cost(next, false);
      if (then > cost - LEAST) break;
      [now, cost] = [next, then];
    }
    return now;
  }

  /** Orders all blocks, each loop and the function separately, from the inside out. */
  private chainedOnce(order: readonly number[]): number[] {
    const { forest, cold } = this;
    const place = new Int32Array(order.length);
    for (const [k, b] of order.entries()) place[b] = k;
    const { loops, innermost } = forest;
    const inside: Unit[][] = loops.map(() => []);
    const outer: Unit[] = [];
    for (const b of order) {
      const own = innermost[b] < 0 ? outer : inside[innermost[b]];
      own.push({ first: b, last: b, parts: null, loop: -1, cold: cold[b] === 1 && b > 0 });
    }
    const byPlace = (units: Unit[]): readonly Unit[] => units.sort((x, y) => place[x.first] - place[y.first]);
    // By loop: an enclosing loop whose order is complete, or the loop itself; paths are compressed whenever they are followed.
    const done = Int32Array.from(loops.keys());
    const outermostDone = (loop: number): number => {
      let top = loop;
      while (done[top] !== top) top = done[top];
      for (let l = loop; l !== top; ) [l, done[l]] = [done[l], top];
      return top;
    };
    // Inner loops have larger numbers than those around them.
    for (let l = loops.length - 1; l >= 0; l--) {
      const { header, parent, children } = loops[l];
      const units = byPlace(inside[l]);
      const parts = units[0].first === header ? this.chain(units, l, outermostDone) : units;
      const { first } = parts[0];
      const { last } = parts[parts.length - 1];
      const unit = { first, last, parts, loop: l, cold: cold[header] === 1 && header > 0 };
      (parent < 0 ? outer : inside[parent]).push(unit);
      for (const c of children) done[c] = l;
    }
    return blocksOf(this.chain(byPlace(outer), -1, outermostDone));
  }

  /**
   * @param region the loop that the units are in; -1 for the function
   * @param outermostDone maps a loop inside the region to the outermost loop around it, or itself, that is still inside
   */
  private chain(
    units: readonly Unit[],
    region: number,
    outermostDone: (loop: number) => number,
  ): readonly Unit[] {
    const { fn, frequency, forest } = this;
    const { succ, succStart, pred, predStart } = cfgOf(fn);
    const placed = new Set<Unit>();
    /** Units by their first block, at which alone a unit can continue another; and by their block or loop. */
    const startingAt = new Map<number, Unit>();
    const ofBlock = new Map<number, Unit>();
    const ofLoop = new Map<number, Unit>();
    for (const u of units) {
      startingAt.set(u.first, u);
      if (u.loop < 0) ofBlock.set(u.first, u);
      else ofLoop.set(u.loop, u);
    }
    const unitOf = (b: number): Unit | undefined => {
      const l = forest.innermost[b];
      return l === region ? ofBlock.get(b) : l < 0 ? undefined : ofLoop.get(outermostDone(l));
    };
    // By first block of a unit: the units with an edge to it and the edge's frequency, in ascending order.
    const into = new Map<number, { readonly from: Unit; readonly often: number }[]>();
    for (const to of startingAt.keys()) {
      const list: { readonly from: Unit; readonly often: number }[] = [];
      const visited = new Set<number>();
      for (let k = predStart[to]; k < predStart[to + 1]; k++) {
        const b = pred[k];
        const from = visited.has(b) ? undefined : unitOf(b);
        visited.add(b);
        if (from === undefined) continue;
        for (let e = succStart[b]; e < succStart[b + 1]; e++)
          if (succ[e] === to) list.push({ from, often: edgeFrequency(frequency, b, e) });
      }
      into.set(
        to,
        list.sort((x, y) => x.often - y.often),
      );
    }
    const margin = fn.attrs.counts.length > 0 ? 1 : GUESSED;
    /** Does an unplaced block lead to `to` as often, or nearly so? */
    const betterElsewhere = (to: number, often: number): boolean => {
      const list = into.get(to)!;
      while (list.length > 0 && placed.has(list[list.length - 1].from)) list.pop();
      return list.length > 0 && list[list.length - 1].often * margin >= often;
    };
    const next = (u: Unit): Unit | null => {
      const { last } = u;
      let best: Unit | null = null;
      let most = 0;
      for (let e = succStart[last]; e < succStart[last + 1]; e++) {
        const to = succ[e];
        const v = startingAt.get(to);
        if (v === undefined || placed.has(v) || v.cold) continue;
        const often = edgeFrequency(frequency, last, e);
        if (often > most && !betterElsewhere(to, often)) [best, most] = [v, often];
      }
      return best;
    };
    const out: Unit[] = [];
    let at = 0;
    for (let u: Unit | null = units[0]; u !== null; ) {
      out.push(u);
      placed.add(u);
      u = next(u);
      while (u === null && at < units.length) {
        if (!placed.has(units[at])) u = units[at];
        at++;
      }
    }
    return out;
  }

  /**
   * Jumps executed per call: one for each edge to a block that is not next, except for the taken edge of a guarded
   * branch.
   * @param hot ignore cold blocks
   */
  cost(order: readonly number[], hot: boolean): number {
    const { fn, frequency, cold } = this;
    const { succ, succStart } = cfgOf(fn);
    let sum = 0;
    for (let k = 0; k < order.length; k++) {
      const b = order[k];
      if (hot && cold[b] === 1) continue;
      const first = succStart[b];
      const ways = succStart[b + 1] - first;
      const next = k + 1 < order.length ? order[k + 1] : -1;
      const { ins } = fn.blocks[b];
      const jumps = ins.length > 0 ? ins[ins.length - 1].op.primitive : null;
      if (jumps === 'branch-table') continue;
      if (ways === 1 && succ[first] !== next) sum += frequency.block[b];
      if (ways === 2 && succ[first] !== next && succ[first + 1] !== next)
        sum += edgeFrequency(frequency, b, first + 1);
    }
    return sum;
  }
}
