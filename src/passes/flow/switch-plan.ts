import type { Leaf } from '../../analysis/flow/switches.ts';
import type { BlockNo } from '../../ir/draft/index.ts';
import type { SwitchMap } from './switch-map.ts';

/** The parameters of the pass that decide how a switch is written. */
export interface Limits {
  /** Minimum fraction of a table's entries that are cases. */
  readonly tableDensity: number;
  /** Most entries of a table. */
  readonly tableEntries: number;
  /** Cost of a jump through a table, in instructions. */
  readonly tableCost: number;
  /** Lanes of a warp that choose independently. */
  readonly lanes: number;
  /** Cost, in instructions, of lanes that reconverge in between; see `regroups`. */
  readonly regroupCost: number;
}

/** A decision procedure for where a value leads. Positions are those of the map's order. */
export type Plan =
  | { readonly kind: 'leaf'; readonly leaf: Leaf }
  /** Values below `place`, and the others. */
  | { readonly kind: 'less'; readonly place: bigint; readonly yes: Plan; readonly no: Plan }
  | {
      readonly kind: 'range';
      readonly low: bigint;
      readonly high: bigint;
      readonly yes: Leaf;
      readonly no: Plan;
    }
  /**
   * All values from `low` to `high` by a table of a range of cases; `outside` is for other values, null if none are
   * left.
   */
  | {
      readonly kind: 'table';
      readonly first: number;
      readonly last: number;
      readonly low: bigint;
      readonly high: bigint;
      readonly outside: Leaf | null;
    }
  /** Bit v - `low` of a mask says whether v leads to its leaf; masks are tested in order. */
  | {
      readonly kind: 'bits';
      readonly low: bigint;
      readonly masks: readonly { readonly mask: number; readonly leaf: Leaf }[];
      readonly none: Leaf;
    };

/** A plan with the number of instructions that a warp is expected to execute for it. */
export interface Priced {
  readonly plan: Plan;
  readonly cost: number;
}

/** Up to this many cases, all divisions are compared; more cases are divided near the middle, at the widest gap. */
const COMPARED = 40;
/** Bits of a mask. */
const WORD = 32n;

/**
 * How often a warp executes a block that one lane reaches with probability `weight`: the probability that any of the
 * lanes does, because a warp runs a block once for all lanes that go there.
 */
export const visited = (weight: number, lanes: number): number => 1 - (1 - Math.min(1, weight)) ** lanes;

/**
 * The cheapest way to write a switch: comparisons divide the cases until few are left, which are tested one by one,
 * tested against a word of bits, or looked up in a table (the clusters of LLVM's SwitchLoweringUtils, here chosen
 * together, by cost). A comparison and its branch count as two instructions, plus one if a range must be shifted to
 * zero first.
 */
export function cheapest(map: SwitchMap, limits: Limits): Priced {
  return new Planner(map, limits).best(0, map.cases.length - 1);
}

/**
 * The form that the pages on the original give: a table if all cases fit into one, else a search tree that tests the middle case at each
 * node, first for less and then for equal. Its cost decides nothing.
 */
export function byCount(map: SwitchMap, limits: Limits): Priced {
  const planner = new Planner(map, limits);
  const last = map.cases.length - 1;
  return planner.wholeTable(0, last) ?? planner.tree(0, last);
}

/** The leaves of all tables of a plan. */
export function inTables(map: SwitchMap, plan: Plan): Set<Leaf> {
  const out = new Set<Leaf>();
  const work = [plan];
  for (let p = work.pop(); p !== undefined; p = work.pop()) {
    if (p.kind === 'less') work.push(p.yes, p.no);
    if (p.kind === 'range') work.push(p.no);
    if (p.kind !== 'table') continue;
    let at = p.low;
    for (const c of map.cases.slice(p.first, p.last + 1)) {
      out.add(c.leaf);
      if (c.low > at) out.add(map.other);
      at = c.high + 1n;
    }
    if (at <= p.high || p.outside !== null) out.add(map.other);
  }
  return out;
}

/** By target block of a leaf: how many decisions of a plan lead there. */
export function waysOf(map: SwitchMap, plan: Plan): Map<BlockNo, number> {
  const out = new Map<BlockNo, number>();
  const count = (leaves: Iterable<Leaf>): void => {
    for (const b of new Set([...leaves].map((leaf) => leaf.block))) out.set(b, (out.get(b) ?? 0) + 1);
  };
  const ends = (...plans: readonly Plan[]): Leaf[] =>
    plans.flatMap((p) => (p.kind === 'leaf' ? [p.leaf] : []));
  const work = [plan];
  for (let p = work.pop(); p !== undefined; p = work.pop()) {
    if (p.kind === 'less') {
      count(ends(p.yes, p.no));
      work.push(p.yes, p.no);
    } else if (p.kind === 'range') {
      count([p.yes, ...ends(p.no)]);
      work.push(p.no);
    } else if (p.kind === 'table') count(inTables(map, p));
    else if (p.kind === 'bits')
      p.masks.forEach(({ leaf }, k) => count(k + 1 < p.masks.length ? [leaf] : [leaf, p.none]));
  }
  return out;
}

/**
 * A plan after tests of some values that have other targets.
 * @param map the map of the plan, with only the values left after the tests
 */
export function behind(map: SwitchMap, first: readonly Leaf[], rest: Priced, limits: Limits): Priced {
  let { plan, cost } = rest;
  for (const leaf of first)
    for (const { low, high } of map.placesOf(leaf.values)) {
      plan = { kind: 'range', low, high, yes: leaf, no: plan };
      cost += (low === high ? 2 : 3) * visited(1, limits.lanes);
    }
  return { plan, cost };
}

class Planner {
  private readonly map: SwitchMap;
  private readonly limits: Limits;
  /** By case: weight of all values below it, including gaps. */
  private readonly below: number[] = [];
  private readonly done = new Map<number, Priced>();

  constructor(map: SwitchMap, limits: Limits) {
    this.map = map;
    this.limits = limits;
    let sum = 0;
    map.cases.forEach((c, i) => {
      sum += map.gaps[i];
      this.below.push(sum);
      sum += c.weight;
    });
  }

  /** The best plan for the values left between comparisons, for cases `a` to `b`. */
  best(a: number, b: number): Priced {
    if (a > b) return { plan: this.leaf(this.map.other), cost: 0 };
    const key = a * this.map.cases.length + b;
    let p = this.done.get(key);
    if (p === undefined) {
      p = this.compared(a, b);
      this.done.set(key, p);
    }
    return p;
  }

  private compared(a: number, b: number): Priced {
    let best: Priced | null = null;
    const consider = (p: Priced | null): void => {
      if (p !== null && (best === null || p.cost < best.cost)) best = p;
    };
    consider(this.table(a, b));
    if (b - a < COMPARED) {
      consider(this.chain(a, b));
      consider(this.bits(a, b));
      for (let k = a + 1; k <= b; k++) consider(this.split(a, k, b));
    } else consider(this.split(a, this.middle(a, b), b));
    return best!;
  }

  /** Least and greatest value left for some cases. */
  private low(a: number): bigint {
    return a === 0 ? this.map.least : this.map.cases[a].low;
  }

  private high(b: number): bigint {
    const { cases, most } = this.map;
    return b === cases.length - 1 ? most : cases[b + 1].low - 1n;
  }

  /** Weight of the values left for some cases. */
  private weight(a: number, b: number): number {
    const { cases, gaps } = this.map;
    const end = this.below[b] + cases[b].weight + gaps[b + 1];
    return end - (a === 0 ? 0 : this.below[a]);
  }

  private price(weight: number): number {
    return visited(weight, this.limits.lanes);
  }

  private leaf(leaf: Leaf): Plan {
    return { kind: 'leaf', leaf };
  }

  private split(a: number, k: number, b: number): Priced {
    const yes = this.best(a, k - 1);
    const no = this.best(k, b);
    const cost = 2 * this.price(this.weight(a, b)) + yes.cost + no.cost;
    return { plan: { kind: 'less', place: this.map.cases[k].low, yes: yes.plan, no: no.plan }, cost };
  }

  /** Divides cases at the middle one, which has a test of its own. */
  tree(a: number, b: number): Priced {
    const { cases, other } = this.map;
    if (a > b) return { plan: this.leaf(other), cost: 0 };
    const mid = (a + b) >> 1;
    const { low, high, leaf } = cases[mid];
    const above = this.tree(mid + 1, b);
    const price = 2 * this.price(this.weight(a, b));
    const equal: Plan = { kind: 'range', low, high, yes: leaf, no: above.plan };
    if (a === b) return { plan: equal, cost: price };
    const below = this.tree(a, mid - 1);
    // Without cases below, the test for less would decide nothing.
    if (a === mid) return { plan: equal, cost: price + above.cost };
    const cost = price + 2 * this.price(this.weight(mid, b)) + below.cost + above.cost;
    return { plan: { kind: 'less', place: low, yes: below.plan, no: equal }, cost };
  }

  /** A table of the cases alone; null if they are too far apart. */
  wholeTable(a: number, b: number): Priced | null {
    const { cases } = this.map;
    return a > b ? null : this.tableOf(a, b, cases[a].low, cases[b].high);
  }

  /** Where to divide many cases: at the widest gap in the middle half. */
  private middle(a: number, b: number): number {
    const { cases } = this.map;
    const quarter = (b - a) >> 2;
    let at = (a + b + 1) >> 1;
    let widest = cases[at].low - cases[at - 1].high;
    for (let k = a + quarter + 1; k <= b - quarter; k++) {
      const gap = cases[k].low - cases[k - 1].high;
      if (gap > widest) {
        widest = gap;
        at = k;
      }
    }
    return at;
  }

  /** Tests the cases one after another. */
  private chain(a: number, b: number): Priced {
    const { cases, other } = this.map;
    let low = this.low(a);
    const high = this.high(b);
    let weight = this.weight(a, b);
    let cost = 0;
    const steps: ((rest: Plan) => Plan)[] = [];
    let end: Plan = this.leaf(other);
    for (let k = a; k <= b; k++) {
      const c = cases[k];
      if (c.low === low && c.high === high) {
        end = this.leaf(c.leaf);
        break;
      }
      const yes = this.leaf(c.leaf);
      let instructions = 2;
      if (c.low === c.high)
        steps.push((no) => ({ kind: 'range', low: c.low, high: c.high, yes: c.leaf, no }));
      else if (c.low === low) steps.push((no) => ({ kind: 'less', place: c.high + 1n, yes, no }));
      else if (c.high === high) steps.push((no) => ({ kind: 'less', place: c.low, yes: no, no: yes }));
      else {
        if (this.map.valueAt(c.low) !== 0n) instructions = 3;
        steps.push((no) => ({ kind: 'range', low: c.low, high: c.high, yes: c.leaf, no }));
      }
      cost += instructions * this.price(weight);
      weight -= c.weight;
      if (c.low === low) low = c.high + 1n;
    }
    return { plan: steps.reduceRight((rest, step) => step(rest), end), cost };
  }

  /** A table of the cases alone, or of all values left, which needs no range test. */
  private table(a: number, b: number): Priced | null {
    const { cases } = this.map;
    const own = this.tableOf(a, b, cases[a].low, cases[b].high);
    const whole = this.tableOf(a, b, this.low(a), this.high(b));
    return own !== null && whole !== null && whole.cost < own.cost ? whole : (own ?? whole);
  }

  private tableOf(a: number, b: number, low: bigint, high: bigint): Priced | null {
    const { map, limits } = this;
    const { cases, other } = map;
    const entries = high - low + 1n;
    if (a === b || entries > BigInt(limits.tableEntries)) return null;
    let filled = 0n;
    for (let k = a; k <= b; k++) filled += cases[k].high - cases[k].low + 1n;
    if (Number(filled) < limits.tableDensity * Number(entries)) return null;
    const all = this.low(a) === low && this.high(b) === high;
    const wide = map.width > 32 ? 1 : 0;
    const before = (map.valueAt(low) === 0n ? 0 : 1) + (all ? 0 : 1);
    const cost = (before + limits.tableCost + wide) * this.price(this.weight(a, b));
    const outside = all ? null : other;
    return { plan: { kind: 'table', first: a, last: b, low, high, outside }, cost };
  }

  /**
   * Up to two leaves whose values lie within a word. A shift by the word size or more gives no bit, so no bound needs a test; a wide
   * selector is first limited to the word size by a minimum.
   */
  private bits(a: number, b: number): Priced | null {
    const { map } = this;
    const { cases, other } = map;
    if (a === b || cases[b].high - cases[a].low >= WORD) return null;
    // From zero if that fits, which saves the subtraction.
    const zero = map.placeOf(0n);
    const fits = cases[a].low >= zero && cases[b].high < zero + WORD;
    const from = fits ? zero : cases[a].low;
    const byLeaf = new Map<Leaf, { mask: number; weight: number }>();
    for (let k = a; k <= b; k++) {
      const c = cases[k];
      let m = byLeaf.get(c.leaf);
      if (m === undefined) byLeaf.set(c.leaf, (m = { mask: 0, weight: 0 }));
      m.weight += c.weight;
      for (let v = c.low; v <= c.high; v++) m.mask |= 1 << Number(v - from);
      if (byLeaf.size > 2) return null;
    }
    const masks = [...byLeaf].sort(([, x], [, y]) => y.weight - x.weight);
    let weight = this.weight(a, b);
    const wide = map.width > 32 ? 2 : 0;
    let cost = ((fits ? 1 : 2) + wide) * this.price(weight);
    for (const [, m] of masks) {
      cost += 3 * this.price(weight);
      weight -= m.weight;
    }
    const list = masks.map(([leaf, { mask }]) => ({ leaf, mask }));
    return { plan: { kind: 'bits', low: from, masks: list, none: other }, cost };
  }
}
