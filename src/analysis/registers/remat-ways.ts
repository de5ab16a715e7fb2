import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import type { Reg } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { type DominatorTree, dominatorsOf } from '../flow/dominators.ts';
import { frequencyOf } from '../flow/frequency.ts';
import { type LiveRange, type LiveRanges, type Use, usesByBlock } from './live-ranges.ts';
import { poolOf, reads, unitsIn } from './liveness.ts';
import type { PressurePoints } from './remat-points.ts';

/** Maximum height of a tree of recomputed values: with three, an address is a load, a shift and a sum. */
const HEIGHT = 3;

/** Limits on what may be recomputed, and on its cost. */
export interface RematLimits {
  /** The pool whose pressure is too high. */
  readonly pool: number;
  /** Cycles to compute it once more; infinite if it must not be computed anywhere else. Called only in SSA. */
  readonly costOf: (x: Instr) => number;
  /** Maximum cycles for one recomputation, including everything that it needs. */
  readonly mostCycles: number;
  /** Uses in one block that are more instructions apart than this count as separate. */
  readonly distance: number;
  /** Number of instructions above a use that are searched for a place where all operands are live. */
  readonly lookback: number;
}

/** A group of uses with a recomputation of its own. */
interface Group {
  readonly block: BlockNo;
  readonly at: number;
  readonly users: Use[];
}

/** A point, and the instructions that have to be computed there. */
interface RematPoint {
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

/** A choice for which each group has a place, with its cost and the points that it frees. */
export interface Judged extends Choice {
  readonly chains: readonly (readonly Instr[])[];
  /** The registers that the recomputations read, by group. */
  readonly leaves: readonly (readonly Reg[])[];
  readonly cost: number;
  readonly ranges: readonly LiveRange[];
  /** Points where it is no longer live, among blocks that matter: triples of block, first and last point. */
  readonly freed: readonly number[];
}

/**
 * Alternatives for recomputing a value: where, from which operands, and at what cost. Live ranges are as the choices so far leave them
 * (`set`).
 */
export class RematWays {
  private readonly d: Draft;
  private readonly live: LiveRanges;
  private readonly limits: RematLimits;
  private readonly floor: number;
  private readonly points: PressurePoints;
  private readonly often: Float64Array | readonly number[];
  private readonly tree: DominatorTree;
  private readonly original = new Map<Reg, readonly Use[]>();
  private readonly originalRange = new Map<Reg, LiveRange>();
  /** By instruction: cycles to compute it once more, negative until computed, and the registers that it reads. */
  private readonly cycles: Float64Array;
  private readonly operands: (readonly Reg[] | undefined)[] = [];
  private readonly first = new Map<Reg, readonly Judged[]>();
  // The following fields belong to one attempt.
  private uses = new Map<Reg, readonly Use[]>();
  private ranges = new Map<Reg, LiveRange>();

  /**
   * @param d a draft without edits, in SSA
   * @param floor the lowest pressure that will be queried
   */
  constructor(d: Draft, live: LiveRanges, limits: RematLimits, floor: number, points: PressurePoints) {
    this.d = d;
    this.live = live;
    this.limits = limits;
    this.floor = floor;
    this.points = points;
    this.cycles = new Float64Array(d.instructionNumbers).fill(-1);
    this.often = frequencyOf(d.fn).block;
    this.tree = dominatorsOf(d.fn);
  }

  /** Starts over, with the original live ranges of the function. */
  begin(): void {
    this.uses = new Map();
    this.ranges = new Map();
  }

  /** Sets the uses of a register from now on, and its range if it is given. */
  set(r: Reg, uses: readonly Use[], range?: LiveRange): void {
    this.uses.set(r, uses);
    if (range !== undefined) this.ranges.set(r, range);
  }

  /** Alternatives for recomputing a value before anything was chosen. */
  before(r: Reg): readonly Judged[] {
    let ways = this.first.get(r);
    if (ways === undefined) this.first.set(r, (ways = this.now(r)));
    return ways;
  }

  /** Does a judgement made before anything was chosen still hold? Live ranges only shrink. */
  isAsJudged(j: Judged): boolean {
    return !this.uses.has(j.r) && !j.leaves.some((list) => list.some((r) => this.ranges.has(r)));
  }

  /** Alternatives for recomputing a value in the current state. */
  now(r: Reg): readonly Judged[] {
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

  /** Is a value computed by something that may be computed again? */
  mayRecompute(r: Reg): boolean {
    const n = this.d.def(r);
    if (n < 0 || this.d.isReturned(r)) return false;
    const cycles = this.cyclesOf(n);
    return Number.isFinite(cycles) && cycles <= this.limits.mostCycles;
  }

  private cyclesOf(n: Ins): number {
    const cached = this.cycles[n];
    return cached >= 0 ? cached : (this.cycles[n] = this.limits.costOf(this.d.at(n)));
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

  /**
   * Partitions of the uses: each recomputed in its block; each at the cheapest place above it; and the latter only where it is not more
   * expensive than the definition.
   */
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
      if (joined === undefined) cold.groups.push({ block: place, at: there.at, users: [...far] });
      else joined.users.push(...far);
      if (often[place] > often[home]) cheap.stay.push(...far);
      else {
        const same = cheap.groups.find((g) => g.block === place && g.at === there.at);
        if (same === undefined) cheap.groups.push({ block: place, at: there.at, users: [...far] });
        else same.users.push(...far);
      }
    }
    return [near, cold, cheap];
  }

  private groupAt(block: BlockNo, first: Use, users: Use[]): Group {
    return { block, at: first.phi ? this.live.endOf(block) : first.at, users };
  }

  /** The block that runs least among `b` and its dominators below `home`; the nearest of them. */
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
      const g: Group = { block: wanted.block, at, users: wanted.users };
      const temporary = chain.reduce((sum, x, k) => sum + (k < chain.length - 1 ? this.unitsOf(x) : 0), 0);
      if (temporary > units && this.points.at(g.block, at) - units + temporary > this.floor) return null;
      cost += often[g.block] * cycles;
      groups.push(g);
      chains.push(chain);
      leaves.push(read);
    }
    const ranges = groups.map((g) => this.live.walk(g.block, g.at, g.users));
    if (c.stay.length > 0) ranges.push(this.live.walk(d.block(c.def), this.live.indexOf(c.def) + 1, c.stay));
    const { r, def, stay } = c;
    const freed = this.points.freedBy(this.rangeOf(r), ranges);
    return { r, def, stay, groups, chains, leaves, cost, ranges, freed };
  }

  /** The nearest point above the wanted one at which everything is available; null if there is none near enough. */
  private placeFor(def: Ins, { block, at }: Group): RematPoint | null {
    // A copy must be after phis, and after the definition.
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
   * Cycles of everything that has to be computed for `def` at a place; infinite if an operand is neither live there nor may be computed
   * again.
   * @param chain extended by the instructions, in order
   * @param read extended by the registers that are live there
   */
  private chainAt(def: Ins, b: BlockNo, at: number, height: number, chain: Instr[], read: Reg[]): number {
    const x = this.d.at(def);
    if (chain.includes(x)) return 0;
    let cycles = this.cyclesOf(def);
    for (const r of this.operandsOf(def)) {
      if (cycles > this.limits.mostCycles) break;
      if (read.includes(r)) continue;
      if (this.isLiveAt(r, b, at)) read.push(r);
      // In another pool it would take registers that are not counted.
      else if (height < HEIGHT && poolOf(r) === this.limits.pool && this.mayRecompute(r))
        cycles += this.chainAt(this.d.def(r), b, at, height + 1, chain, read);
      else cycles = Number.POSITIVE_INFINITY;
    }
    chain.push(x);
    return cycles;
  }

  private unitsOf(x: Instr): number {
    return x.dst.reduce((sum, r) => sum + (poolOf(r) === this.limits.pool ? unitsIn(r) : 0), 0);
  }

  private isLiveAt(r: Reg, b: BlockNo, at: number): boolean {
    return this.live.covers(this.rangeOf(r), b, at);
  }

  /** The current uses of a register. */
  usesOf(r: Reg): readonly Use[] {
    const now = this.uses.get(r);
    if (now !== undefined) return now;
    let uses = this.original.get(r);
    if (uses === undefined) this.original.set(r, (uses = this.live.usesOf(r)));
    return uses;
  }

  /** The current live range of a register. */
  rangeOf(r: Reg): LiveRange {
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

function addTo(groups: Group[], g: Group): void {
  if (!groups.includes(g)) groups.push(g);
}
