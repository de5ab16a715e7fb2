import type { BlockNo, Draft, Ins } from '../ir/draft/index.ts';
import { isPhi } from '../ir/flow.ts';
import type { Reg } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { type DominatorTree, dominatorsOf } from './dominators.ts';
import { frequencyOf } from './frequency.ts';
import { type LiveRange, LiveRanges, type Use, usesByBlock } from './live-ranges.ts';
import { liveInOf, livenessOf, poolOf, reads, unitsIn } from './liveness.ts';
import { pressureOf } from './pressure.ts';

/** Values that are computed for one recomputation, one above the other: with three, an address is a load, a shift and a sum. */
const HEIGHT = 3;

/** What may be recomputed, and how much that may cost. */
export interface RematLimits {
  /** The pool whose pressure is too high. */
  readonly pool: number;
  /** Cycles to compute it once more; infinite if it must not be computed anywhere else. Asked only in SSA. */
  readonly costOf: (x: Instr) => number;
  /** Most cycles for one recomputation with all that it needs. */
  readonly mostCycles: number;
  /** Uses in one block that are so many instructions apart count as separate. */
  readonly distance: number;
  /** Instructions above a use that are looked at for a place where all operands are live. */
  readonly lookback: number;
}

/** One value computed again. */
export interface Recomputation {
  readonly block: BlockNo;
  /** The instruction in front of which it is computed; -1 for the end of the block. */
  readonly before: Ins;
  /** What is computed, operands first, the value itself last. */
  readonly chain: readonly Instr[];
  /** Who takes the new value; a phi takes it on the way from the block of the use. */
  readonly users: readonly Use[];
}

/** A value, and the places where it is computed again. */
export interface Rematerialization {
  readonly def: Ins;
  readonly result: Reg;
  readonly copies: readonly Recomputation[];
  /** Weighted cycles that it adds; negative where it saves some. */
  readonly cost: number;
}

/** A group of uses with a recomputation of its own. */
interface Group {
  readonly block: BlockNo;
  readonly at: number;
  readonly users: Use[];
}

/** A point, and what has to be computed there. */
interface Place {
  readonly at: number;
  readonly chain: readonly Instr[];
  readonly read: readonly Reg[];
  readonly cycles: number;
}

interface Choice {
  readonly r: Reg;
  readonly def: Ins;
  readonly stay: readonly Use[];
  readonly groups: readonly Group[];
}

interface Judged extends Choice {
  readonly chains: readonly (readonly Instr[])[];
  /** What the recomputations read, by group. */
  readonly leaves: readonly (readonly Reg[])[];
  readonly cost: number;
  readonly ranges: readonly LiveRange[];
  /** Where it is no longer live, among blocks that matter: block, first point, last point, and so on. */
  readonly freed: readonly number[];
}

/** A choice, and the units that it takes off points above the target. */
interface Weighed {
  readonly judged: Judged;
  readonly gain: number;
}

/**
 * Chooses values to compute again where they are used in place of keeping them in registers (Briggs, Cooper and Torczon,
 * "Rematerialization", 1992; here before allocation, by pressure).
 *
 * The planner holds the live ranges of a function in SSA as they are with what has been chosen so far, so that pressure is exact at each
 * point of the blocks where it is too high. No live range ever grows: a recomputation reads only what is live at its place for the sake of
 * something else, or recomputes that too. A new range is a part of the old one.
 *
 * @see pressureOf for what a point is
 */
export class RematPlanner {
  private readonly d: Draft;
  private readonly live: LiveRanges;
  private readonly limits: RematLimits;
  private readonly floor: number;
  private readonly often: Float64Array | readonly number[];
  private readonly tree: DominatorTree;
  private readonly original = new Map<Reg, readonly Use[]>();
  private readonly originalRange = new Map<Reg, LiveRange>();
  /** Units before each instruction, by block, where they are more than the lowest target at some point. */
  private readonly pressed = new Map<BlockNo, Int32Array>();
  private list: readonly Reg[] | null = null;
  /** By instruction: cycles to compute it once more, negative until somebody asks, and the registers that it reads. */
  private readonly cycles: Float64Array;
  private readonly operands: (readonly Reg[] | undefined)[] = [];
  private readonly ways = new Map<Reg, readonly Judged[]>();
  // What follows belongs to one attempt.
  private target = 0;
  private points = new Map<BlockNo, Int32Array>();
  /** Points above the target. */
  private over = 0;
  private uses = new Map<Reg, readonly Use[]>();
  private ranges = new Map<Reg, LiveRange>();
  /** Values chosen, and those that recomputations read: their uses are settled. */
  private settled = new Set<Reg>();

  /**
   * @param d a draft without edits, in SSA
   * @param floor the lowest target that will be asked for; -1 for `planAll`
   */
  constructor(d: Draft, limits: RematLimits, floor: number) {
    this.d = d;
    this.live = new LiveRanges(d);
    this.limits = limits;
    this.floor = floor;
    this.cycles = new Float64Array(d.instructionNumbers).fill(-1);
    this.often = frequencyOf(d.fn).block;
    this.tree = dominatorsOf(d.fn);
    const { at, inBlock } = pressureOf(d.fn);
    for (let b = 0; b < d.fn.blocks.length; b++)
      if (inBlock(b, limits.pool) > floor) this.pressed.set(b, at(b, limits.pool));
  }

  /** Most units live at any point. */
  get most(): number {
    return pressureOf(this.d.fn).most[this.limits.pool];
  }

  /**
   * What to recompute so that at most `target` units are live at once. If that cannot be reached, a number: no target below it is worth
   * trying.
   * @param target not below `floor`
   * @param mostCost most weighted cycles that may be added
   */
  plan(target: number, mostCost: number): readonly Rematerialization[] | number {
    this.begin(target);
    const found: Weighed[] = [];
    for (const r of this.candidates()) {
      const best = this.bestOf(this.waysOf(r));
      if (best !== null) found.push(best);
    }
    const lowest = this.lowest(found);
    if (lowest > target) return lowest;
    found.sort((a, b) => costPerUnit(a) - costPerUnit(b) || a.judged.def - b.judged.def);
    const chosen: Rematerialization[] = [];
    let added = 0;
    for (const { judged } of found) {
      if (this.over === 0) break;
      if (this.settled.has(judged.r)) continue;
      // Earlier choices may have taken the gain away, uses, or what a recomputation reads.
      const now = this.isAsJudged(judged) ? this.weigh(judged) : this.bestOf(this.judgeAll(judged.r));
      if (now === null || added + Math.max(0, now.judged.cost) > mostCost) continue;
      added += Math.max(0, now.judged.cost);
      chosen.push(this.take(now.judged));
    }
    return this.over === 0 ? chosen : target + 1;
  }

  /** Chooses whatever can be recomputed, whatever it costs and gains. */
  planAll(): readonly Rematerialization[] {
    this.begin(-1);
    const chosen: Rematerialization[] = [];
    for (const r of this.candidates()) {
      if (this.settled.has(r)) continue;
      const [first] = this.judgeAll(r);
      if (first !== undefined) chosen.push(this.take(first));
    }
    return chosen;
  }

  // ------------------------------------------------------------------ attempts

  private begin(target: number): void {
    this.target = target;
    this.points = new Map();
    this.over = 0;
    for (const [b, at] of this.pressed) {
      this.points.set(b, at.slice());
      for (let i = 0; i < at.length; i++) if (at[i] > target) this.over++;
    }
    this.uses = new Map();
    this.ranges = new Map();
    this.settled = new Set();
  }

  /** The lowest pressure that could be had if every value of the list were recomputed, but for what that frees in turn. */
  private lowest(found: readonly Weighed[]): number {
    const off = new Map([...this.points].map(([b, at]) => [b, at.slice()]));
    for (const { judged } of found) {
      const { freed } = judged;
      const units = unitsIn(judged.r);
      for (let k = 0; k < freed.length; k += 3) {
        const at = off.get(freed[k])!;
        for (let i = freed[k + 1]; i <= freed[k + 2]; i++) at[i] -= units;
      }
    }
    let most = 0;
    for (const at of off.values()) for (let i = 0; i < at.length; i++) if (at[i] > most) most = at[i];
    return most;
  }

  /** Registers of the pool that are live in a block with too many, and may be recomputed, in the order of their definitions. */
  private candidates(): readonly Reg[] {
    if (this.list !== null) return this.list;
    const { d } = this;
    const live = livenessOf(d.fn);
    const seen = new Set<Reg>();
    const look = (r: Reg): void => {
      if (poolOf(r) === this.limits.pool) seen.add(r);
    };
    for (const b of this.pressed.keys()) {
      liveInOf(live, b).forEach(look);
      for (const x of d.fn.blocks[b].ins) x.dst.forEach(look);
    }
    this.list = [...seen]
      .filter((r) => this.mayRecompute(r) && !this.staysNear(r))
      .sort((a, b) => d.def(a) - d.def(b));
    return this.list;
  }

  private mayRecompute(r: Reg): boolean {
    const n = this.d.def(r);
    if (n < 0 || this.d.isReturned(r)) return false;
    const cycles = this.cyclesOf(n);
    return Number.isFinite(cycles) && cycles <= this.limits.mostCycles;
  }

  /** Are all uses so near below the definition that none counts as separate? Choices only take uses away, or settle the value. */
  private staysNear(r: Reg): boolean {
    const { d, live } = this;
    const def = d.def(r);
    const home = d.block(def);
    const last = live.indexOf(def) + this.limits.distance;
    let near = true;
    d.eachUse(r, (n) => {
      near &&= d.block(n) === home && !isPhi(d.at(n)) && live.indexOf(n) <= last;
    });
    return near;
  }

  private cyclesOf(n: Ins): number {
    const known = this.cycles[n];
    return known >= 0 ? known : (this.cycles[n] = this.limits.costOf(this.d.at(n)));
  }

  private operandsOf(n: Ins): readonly Reg[] {
    let list = this.operands[n];
    if (list === undefined) {
      const found: Reg[] = [];
      reads(this.d.at(n), (r) => found.push(r));
      this.operands[n] = list = found;
    }
    return list;
  }

  // ------------------------------------------------------------------ judging

  /** Ways to recompute a value before anything was chosen. */
  private waysOf(r: Reg): readonly Judged[] {
    let ways = this.ways.get(r);
    if (ways === undefined) this.ways.set(r, (ways = this.judgeAll(r)));
    return ways;
  }

  /** Is what was judged before anything was chosen still so? Live ranges only shrink. */
  private isAsJudged(j: Judged): boolean {
    return !this.uses.has(j.r) && !j.leaves.some((list) => list.some((r) => this.ranges.has(r)));
  }

  /** Ways to recompute a value, as things are. */
  private judgeAll(r: Reg): readonly Judged[] {
    const def = this.d.def(r);
    const uses = this.usesOf(r);
    if (uses.length === 0) return [];
    const out: Judged[] = [];
    for (const { stay, groups } of this.choices(def, uses)) {
      const j = groups.length === 0 ? null : this.judge({ r, def, stay, groups });
      if (j !== null) out.push(j);
    }
    return out;
  }

  /** The one that pays best; null if none gains anything. */
  private bestOf(ways: readonly Judged[]): Weighed | null {
    let best: Weighed | null = null;
    for (const j of ways) {
      const w = this.weigh(j);
      if (w !== null && (best === null || costPerUnit(w) < costPerUnit(best))) best = w;
    }
    return best;
  }

  private weigh(judged: Judged): Weighed | null {
    const units = unitsIn(judged.r);
    const { freed } = judged;
    let gain = 0;
    for (let k = 0; k < freed.length; k += 3) {
      const at = this.points.get(freed[k])!;
      for (let i = freed[k + 1]; i <= freed[k + 2]; i++) {
        const over = at[i] - this.target;
        if (over > 0) gain += over < units ? over : units;
      }
    }
    return gain > 0 ? { judged, gain } : null;
  }

  /** Ways to divide the uses: each in its block, each at the cheapest place above it, and the latter where it is not dearer than the definition. */
  private choices(
    def: Ins,
    uses: readonly Use[],
  ): { readonly stay: readonly Use[]; readonly groups: readonly Group[] }[] {
    const { d, often } = this;
    const home = d.block(def);
    const near = { stay: [] as Use[], groups: [] as Group[] };
    const cold = { stay: [] as Use[], groups: [] as Group[] };
    const cheap = { stay: [] as Use[], groups: [] as Group[] };
    for (const [b, list] of usesByBlock(uses)) {
      let previous = b === home ? this.live.indexOf(def) : Number.NEGATIVE_INFINITY;
      let group: Group | null = null;
      const far: Use[] = [];
      for (const u of list) {
        if (u.at - previous > this.limits.distance) near.groups.push((group = this.groupAt(b, u, [])));
        previous = u.at;
        if (group === null) near.stay.push(u);
        else group.users.push(u);
        if (b !== home) far.push(u);
        else if (group === null) {
          cold.stay.push(u);
          cheap.stay.push(u);
        } else {
          addTo(cold.groups, group);
          addTo(cheap.groups, group);
        }
      }
      if (far.length === 0) continue;
      const place = this.coldest(b, home);
      const there =
        place === b ? this.groupAt(b, far[0], far) : { block: place, at: this.live.endOf(place), users: far };
      const joined = cold.groups.find((g) => g.block === place && g.at === there.at);
      if (joined === undefined) cold.groups.push({ ...there, users: [...far] });
      else joined.users.push(...far);
      if (often[place] > often[home]) cheap.stay.push(...far);
      else {
        const same = cheap.groups.find((g) => g.block === place && g.at === there.at);
        if (same === undefined) cheap.groups.push({ ...there, users: [...far] });
        else same.users.push(...far);
      }
    }
    return [near, cold, cheap];
  }

  private groupAt(block: BlockNo, first: Use, users: Use[]): Group {
    return { block, at: first.phi ? this.live.endOf(block) : first.at, users };
  }

  /** The block above (or equal to) `b`, below `home`, that runs least; the nearest of them. */
  private coldest(b: BlockNo, home: BlockNo): BlockNo {
    let best = b;
    for (let p = b; p >= 0 && p !== home; p = this.tree.idom[p])
      if (this.often[p] < this.often[best]) best = p;
    return best;
  }

  private judge(c: Choice): Judged | null {
    const { d, often } = this;
    const units = unitsIn(c.r);
    const chains: (readonly Instr[])[] = [];
    const leaves: (readonly Reg[])[] = [];
    let cost = c.stay.length === 0 ? -often[d.block(c.def)] * this.cyclesOf(c.def) : 0;
    const groups: Group[] = [];
    for (const wanted of c.groups) {
      const found = this.placeFor(c.def, wanted);
      if (found === null) return null;
      const { at, chain, read, cycles } = found;
      const g = { ...wanted, at };
      const temporary = chain.reduce((sum, x, k) => sum + (k < chain.length - 1 ? this.unitsOf(x) : 0), 0);
      if (temporary > units && this.pressureAt(g.block, at) - units + temporary > this.floor) return null;
      cost += often[g.block] * cycles;
      groups.push(g);
      chains.push(chain);
      leaves.push(read);
    }
    const ranges = groups.map((g) => this.live.walk(g.block, g.at, g.users));
    if (c.stay.length > 0) ranges.push(this.live.walk(d.block(c.def), this.live.indexOf(c.def) + 1, c.stay));
    return { ...c, groups, chains, leaves, cost, ranges, freed: this.freedBy(c.r, ranges) };
  }

  /** The nearest point above the wanted one at which everything can be had; null if there is none near enough. */
  private placeFor(def: Ins, { block, at }: Group): Place | null {
    // A copy stands behind phis, and behind the definition.
    const top = block === this.d.block(def) ? this.live.indexOf(def) + 1 : this.live.phisOf(block);
    for (let p = at; p >= top && p >= at - this.limits.lookback; p--) {
      const chain: Instr[] = [];
      const read: Reg[] = [];
      const cycles = this.chainAt(def, block, p, 1, chain, read);
      if (Number.isFinite(cycles) && cycles <= this.limits.mostCycles) return { at: p, chain, read, cycles };
    }
    return null;
  }

  /**
   * Cycles of what has to be computed for `def` at a place; infinite if an operand is neither live there nor may be computed again.
   * @param chain takes the instructions in their order
   * @param read takes the registers that are live there
   */
  private chainAt(def: Ins, b: BlockNo, at: number, height: number, chain: Instr[], read: Reg[]): number {
    const x = this.d.at(def);
    if (chain.includes(x)) return 0;
    let cycles = this.cyclesOf(def);
    for (const r of this.operandsOf(def)) {
      if (cycles > this.limits.mostCycles) break;
      if (read.includes(r)) continue;
      if (this.isLiveAt(r, b, at)) read.push(r);
      // In another pool it would take room that nobody counts.
      else if (height < HEIGHT && poolOf(r) === this.limits.pool && this.mayRecompute(r))
        cycles += this.chainAt(this.d.def(r), b, at, height + 1, chain, read);
      else cycles = Number.POSITIVE_INFINITY;
    }
    chain.push(x);
    return cycles;
  }

  /** The points at which a value is no longer live if its range becomes these parts of it. */
  private freedBy(r: Reg, parts: readonly LiveRange[]): readonly number[] {
    const out: number[] = [];
    const was = this.rangeOf(r);
    const look = (b: BlockNo): void => {
      const old = this.pressed.has(b) ? this.live.interval(was, b) : null;
      if (old === null) return;
      let [from] = old;
      const kept = parts.map((range) => this.live.interval(range, b)).filter((x) => x !== null);
      for (const [first, last] of kept.sort((x, y) => x[0] - y[0])) {
        if (first > from) out.push(b, from, first - 1);
        from = Math.max(from, last + 1);
      }
      if (from <= old[1]) out.push(b, from, old[1]);
    };
    look(was.home);
    was.into.forEach(look);
    return out;
  }

  /** Chooses it: live ranges are from now on as they will be. */
  private take(j: Judged): Rematerialization {
    const { d } = this;
    const x = d.at(j.def);
    const goes = j.stay.length === 0;
    this.moveRange(j.r, j.ranges);
    this.uses.set(j.r, j.stay);
    if (!goes) this.ranges.set(j.r, j.ranges[j.ranges.length - 1]);
    else this.ranges.set(j.r, this.live.walk(d.block(j.def), this.live.indexOf(j.def) + 1, []));
    this.settled.add(j.r);
    j.leaves.forEach((leaves, k) => {
      const { block, at } = j.groups[k];
      for (const r of leaves) {
        this.settled.add(r);
        this.uses.set(r, [...this.usesOf(r), { n: -1, block, at, phi: false }]);
      }
    });
    if (goes)
      reads(x, (r) => {
        const left = this.usesOf(r).filter((u) => u.n !== j.def);
        const home = this.rangeOf(r);
        const range = this.live.walk(home.home, home.begin, left);
        this.moveRange(r, [range]);
        this.uses.set(r, left);
        this.ranges.set(r, range);
      });
    const copies = j.groups.map(
      (g, k): Recomputation => ({
        block: g.block,
        before: g.at < this.live.lengthOf(g.block) ? d.first(g.block) + g.at : -1,
        chain: j.chains[k],
        users: g.users,
      }),
    );
    return { def: j.def, result: j.r, copies, cost: j.cost };
  }

  /** Takes the live range of a register off the points, and adds others, which are parts of it. */
  private moveRange(r: Reg, to: readonly LiveRange[]): void {
    if (poolOf(r) !== this.limits.pool) return;
    const units = unitsIn(r);
    const old = this.rangeOf(r);
    const move = (b: BlockNo): void => {
      const at = this.points.get(b);
      if (at === undefined) return;
      const add = (range: LiveRange, by: number): void => {
        const x = this.live.interval(range, b);
        if (x === null) return;
        for (let i = x[0]; i <= x[1]; i++) {
          if (at[i] > this.target) this.over--;
          at[i] += by;
          if (at[i] > this.target) this.over++;
        }
      };
      add(old, -units);
      for (const range of to) add(range, units);
    };
    move(old.home);
    old.into.forEach(move);
  }

  private pressureAt(b: BlockNo, at: number): number {
    return this.points.get(b)?.[at] ?? pressureOf(this.d.fn).inBlock(b, this.limits.pool);
  }

  private unitsOf(x: Instr): number {
    return x.dst.reduce((sum, r) => sum + (poolOf(r) === this.limits.pool ? unitsIn(r) : 0), 0);
  }

  // ------------------------------------------------------------------ live ranges

  private isLiveAt(r: Reg, b: BlockNo, at: number): boolean {
    return this.live.covers(this.rangeOf(r), b, at);
  }

  private usesOf(r: Reg): readonly Use[] {
    const now = this.uses.get(r);
    if (now !== undefined) return now;
    let uses = this.original.get(r);
    if (uses === undefined) this.original.set(r, (uses = this.live.usesOf(r)));
    return uses;
  }

  private rangeOf(r: Reg): LiveRange {
    const now = this.ranges.get(r);
    if (now !== undefined) return now;
    let range = this.originalRange.get(r);
    if (range === undefined) {
      const def = this.d.def(r);
      const [home, begin] =
        def < 0 ? [this.d.entryBlock, 0] : [this.d.block(def), this.live.indexOf(def) + 1];
      this.originalRange.set(r, (range = this.live.walk(home, begin, this.usesOf(r))));
    }
    return range;
  }
}

const costPerUnit = ({ judged, gain }: Weighed): number => judged.cost / gain;

function addTo(groups: Group[], g: Group): void {
  if (!groups.includes(g)) groups.push(g);
}
