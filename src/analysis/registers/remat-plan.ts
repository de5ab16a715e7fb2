import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import type { Reg } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { LiveRanges, type Use } from './live-ranges.ts';
import { liveIntoAny, livenessOf, poolOf, reads, unitsIn } from './liveness.ts';
import { pressureOf } from './pressure.ts';
import { PressurePoints } from './remat-points.ts';
import { type Judged, type RematLimits, RematWays } from './remat-ways.ts';

/** One recomputation of a value. */
export interface Recomputation {
  readonly block: BlockNo;
  /** The instruction in front of which it is computed; -1 for the end of the block. */
  readonly before: Ins;
  /** The recomputed instructions, operands first, the value itself last. */
  readonly chain: readonly Instr[];
  /** The uses that read the new value; a phi reads it at the end of the block of the use. */
  readonly users: readonly Use[];
}

/** A value, and the places where it is recomputed. */
export interface Rematerialization {
  readonly def: Ins;
  readonly result: Reg;
  readonly copies: readonly Recomputation[];
  /** Weighted cycles that it adds; negative if it saves some. */
  readonly cost: number;
}

/**
 * Blocks of live ranges and groups of points that one planner examines before it gives up: about a second. Work grows with the product
 * of values and the lengths of their ranges. The largest of the public kernels at hand, with 11,000 instructions in six blocks, takes a
 * million.
 */
const MOST_WORK = 1 << 22;

/** A choice, and the units that it removes from points above the target. */
interface Weighed {
  readonly judged: Judged;
  readonly gain: number;
}

/**
 * Chooses values to recompute where they are used instead of keeping them in registers (Briggs, Cooper and Torczon,
 * "Rematerialization", 1992; here before allocation, by pressure).
 *
 * The planner maintains the live ranges of a function in SSA as the choices so far leave them, so that pressure is exact at each point
 * of the blocks where it is too high. No live range ever grows: a recomputation reads only what is live at its place for another
 * reason, or recomputes that too. A new range is a part of the old one.
 *
 * @see pressureOf for the meaning of a point
 */
export class RematPlanner {
  private readonly d: Draft;
  private readonly live: LiveRanges;
  private readonly limits: RematLimits;
  private readonly mostWork: number;
  private readonly points: PressurePoints;
  private readonly ways: RematWays;
  private list: readonly Reg[] | null = null;
  /** Values chosen, and those that recomputations read: their uses no longer change. */
  private settled = new Set<Reg>();

  /**
   * @param d a draft without edits, in SSA
   * @param floor the lowest target that will be queried; -1 for `planAll`
   * @param mostWork see `gaveUp`
   */
  constructor(d: Draft, limits: RematLimits, floor: number, mostWork = MOST_WORK) {
    this.d = d;
    this.mostWork = mostWork;
    this.live = new LiveRanges(d);
    this.limits = limits;
    this.points = new PressurePoints(d.fn, this.live, limits.pool, floor);
    this.ways = new RematWays(d, this.live, limits, floor, this.points);
  }

  /** Was there too much to examine? Nothing more is chosen after that. */
  get gaveUp(): boolean {
    return this.live.spent > this.mostWork;
  }

  /** Maximum units live at any point. */
  get most(): number {
    return pressureOf(this.d.fn).most[this.limits.pool];
  }

  /**
   * What to recompute so that at most `target` units are live at once. If that cannot be reached, a number: no target below it is worth
   * trying. An empty list if there was too much to examine.
   * @param target not below `floor`
   * @param mostCost maximum weighted cycles that may be added
   */
  plan(target: number, mostCost: number): readonly Rematerialization[] | number {
    this.begin(target);
    const found: Weighed[] = [];
    for (const r of this.candidates()) {
      if (this.gaveUp) return [];
      const best = this.bestOf(this.ways.before(r));
      if (best !== null) found.push(best);
    }
    // Except for what recomputing all of them frees in turn.
    const lowest = this.points.mostWithout(
      found.map(({ judged }) => ({ units: unitsIn(judged.r), freed: judged.freed })),
    );
    if (lowest > target) return lowest;
    found.sort((a, b) => costPerUnit(a) - costPerUnit(b) || a.judged.def - b.judged.def);
    const chosen: Rematerialization[] = [];
    let added = 0;
    for (const { judged } of found) {
      if (this.points.over === 0) break;
      if (this.gaveUp) return [];
      if (this.settled.has(judged.r)) continue;
      // Earlier choices may have removed the gain, uses, or operands of a recomputation.
      const now = this.ways.isAsJudged(judged) ? this.weigh(judged) : this.bestOf(this.ways.now(judged.r));
      if (now === null || added + Math.max(0, now.judged.cost) > mostCost) continue;
      added += Math.max(0, now.judged.cost);
      chosen.push(this.take(now.judged));
    }
    return this.points.over === 0 ? chosen : target + 1;
  }

  /** Chooses everything that can be recomputed, whatever it costs and gains. */
  planAll(): readonly Rematerialization[] {
    this.begin(-1);
    const chosen: Rematerialization[] = [];
    for (const r of this.candidates()) {
      if (this.gaveUp) break;
      if (this.settled.has(r)) continue;
      const [first] = this.ways.now(r);
      if (first !== undefined) chosen.push(this.take(first));
    }
    return chosen;
  }

  private begin(target: number): void {
    this.points.begin(target);
    this.ways.begin();
    this.settled = new Set();
  }

  /** Registers of the pool that are live in a block with too many, and may be recomputed, in the order of their definitions. */
  private candidates(): readonly Reg[] {
    if (this.list !== null) return this.list;
    const { d } = this;
    const live = livenessOf(d.fn);
    const seen = new Set<Reg>();
    const collect = (r: Reg): void => {
      if (poolOf(r) === this.limits.pool) seen.add(r);
    };
    for (const r of liveIntoAny(live, this.points.blocks())) collect(r);
    for (const b of this.points.blocks()) for (const x of d.fn.blocks[b].ins) x.dst.forEach(collect);
    const list: Reg[] = [];
    for (const r of seen) if (this.ways.mayRecompute(r) && !this.staysNear(r)) list.push(r);
    this.list = list.sort((a, b) => d.def(a) - d.def(b));
    return this.list;
  }

  /** Are all uses so close below the definition that none counts as separate? Choices only remove uses, or make them final. */
  private staysNear(r: Reg): boolean {
    const { d, live } = this;
    const def = d.def(r);
    const home = d.block(def);
    const last = live.indexOf(def) + this.limits.distance;
    for (let u = d.firstUse(r); u >= 0; u = d.nextUse(u)) {
      const n = d.userAt(u);
      if (d.block(n) !== home || isPhi(d.at(n)) || live.indexOf(n) > last) return false;
    }
    return true;
  }

  /** The choice that pays best; null if none gains anything. */
  private bestOf(ways: readonly Judged[]): Weighed | null {
    let best: Weighed | null = null;
    for (const j of ways) {
      const w = this.weigh(j);
      if (w !== null && (best === null || costPerUnit(w) < costPerUnit(best))) best = w;
    }
    return best;
  }

  private weigh(judged: Judged): Weighed | null {
    const gain = this.points.gain(unitsIn(judged.r), judged.freed);
    return gain > 0 ? { judged, gain } : null;
  }

  /** Makes a choice: updates the live ranges accordingly. */
  private take(j: Judged): Rematerialization {
    const { d, live, ways } = this;
    const x = d.at(j.def);
    const goes = j.stay.length === 0;
    this.move(j.r, j.ranges);
    const left = goes
      ? live.walk(d.block(j.def), live.indexOf(j.def) + 1, [])
      : j.ranges[j.ranges.length - 1];
    ways.set(j.r, j.stay, left);
    this.settled.add(j.r);
    j.leaves.forEach((leaves, k) => {
      const { block, at } = j.groups[k];
      for (const r of leaves) {
        this.settled.add(r);
        ways.set(r, [...ways.usesOf(r), { n: -1, block, at, phi: false }]);
      }
    });
    if (goes)
      reads(x, (r) => {
        const others = ways.usesOf(r).filter((u) => u.n !== j.def);
        const { home, begin } = ways.rangeOf(r);
        const range = live.walk(home, begin, others);
        this.move(r, [range]);
        ways.set(r, others, range);
      });
    const copies = j.groups.map(
      (g, k): Recomputation => ({
        block: g.block,
        before: g.at < live.lengthOf(g.block) ? d.first(g.block) + g.at : -1,
        chain: j.chains[k],
        users: g.users,
      }),
    );
    return { def: j.def, result: j.r, copies, cost: j.cost };
  }

  private move(r: Reg, to: Judged['ranges']): void {
    if (poolOf(r) === this.limits.pool) this.points.move(unitsIn(r), this.ways.rangeOf(r), to);
  }
}

const costPerUnit = ({ judged, gain }: Weighed): number => judged.cost / gain;
