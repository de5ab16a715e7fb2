import { mayRunAnywhere } from '../../analysis/calls/effects.ts';
import { type Accesses, accessesOf } from '../../analysis/memory/address.ts';
import { staysInOrder } from '../../analysis/memory/alias.ts';
import { isOrdering } from '../../analysis/memory/memory-ops.ts';
import { reads } from '../../analysis/registers/liveness.ts';
import {
  type BlockOrder,
  type Move,
  mayChangePlaces,
  type Reordering,
} from '../../analysis/schedule/block-order.ts';
import { blockTime, latency, type Times } from '../../analysis/schedule/block-time.ts';
import { instrCost } from '../../analysis/schedule/costs.ts';
import type { Draft, Ins } from '../../ir/draft/index.ts';
import { OpFlag } from '../../ir/opcode.ts';
import type { Instr } from '../../ir/program.ts';
import type { PassContext } from '../pass.ts';

/** Maximum number of address computations that move with a load; further ones stay, and stop it. */
const MOST_COMPANIONS = 16;
/** Maximum number of writes to memory that a load is compared with; it does not pass a further one. */
const MOST_WRITES = 64;
/** Places tried for one load, each below the last point that had too many live registers. */
const MOST_PLACES = 8;
/** Instructions passed in a block, per instruction of the block: each load adds a register at each, and there are about that many. */
const MOST_PASSED = 256;

/** Settings for loads that rise. */
export interface Rise {
  /** Loads that are worth moving. */
  readonly isSlow: (x: Instr) => boolean;
  readonly times: Times;
  /** Most registers that may be live. */
  readonly most: number;
  /** Cycles by which a load must issue earlier. */
  readonly leastGain: number;
}

/**
 * Moves slow loads up within a block, each as far as its operands, writes to the memory it reads, and instructions that no load passes
 * allow; its address computations move along. Loads that would pass each other keep their order. A load moves only if the work below it
 * is too short to hide its latency, and if it then issues at least `leastGain` cycles earlier, by the estimate of `blockTime`.
 *
 * @param order the block; changed
 * @returns the moves, to be made one after the other
 */
export const raiseLoads = (
  d: Draft,
  order: BlockOrder,
  rise: Rise,
  ctx: PassContext,
  refuse: (n: Ins, name: string, message: string) => void,
): Move[] => new Raising(d, order, rise, ctx, refuse).run();

/** What moves with a load, the highest place that it may have, and what stops it there. */
interface Freedom {
  readonly companions: Set<Ins>;
  place: number;
  held: string;
}

class Raising {
  private readonly d: Draft;
  private readonly order: BlockOrder;
  private readonly rise: Rise;
  private readonly refuse: (n: Ins, name: string, message: string) => void;
  private readonly accesses: Accesses;
  /** The cycle in which each instruction issues. */
  private readonly issue = new Map<Ins, number>();
  private readonly moves: Move[] = [];
  private readonly writes: Ins[] = [];
  /** Loads that were examined, and their address computations: later loads stay below. */
  private readonly settled = new Set<Ins>();
  private fence: Ins = -1;
  private left: number;

  constructor(
    d: Draft,
    order: BlockOrder,
    rise: Rise,
    ctx: PassContext,
    refuse: (n: Ins, name: string, message: string) => void,
  ) {
    this.d = d;
    this.order = order;
    this.rise = rise;
    this.refuse = refuse;
    this.accesses = accessesOf(d.fn, ctx.program.variables);
    this.left = MOST_PASSED * order.list.length;
  }

  run(): Move[] {
    const { d, order, rise } = this;
    const all = order.list.slice();
    const starts: number[] = [];
    blockTime({ ins: order.instructions() }, rise.times, starts);
    for (let k = 0; k < all.length; k++) this.issue.set(all[k], starts[k]);
    for (const n of all) {
      const x = d.at(n);
      if (isFence(x)) this.fence = n;
      else if (rise.isSlow(x)) this.raise(n);
      if ((x.op.flags & OpFlag.WritesMemory) !== 0) this.writes.push(n);
    }
    return this.moves;
  }

  private raise(n: Ins): void {
    const { order, rise, issue } = this;
    const { companions, place, held } = this.rangeOf(n);
    if (isHidden(this.d, order, n, rise.times)) {
      this.settle(n, companions);
      return this.refuse(n, 'hidden', 'what stands below it takes as long');
    }
    let to = place;
    for (let k = 0; k < MOST_PLACES; k++) {
      while (this.settled.has(order.list[to])) to++;
      const group = [...companions].filter((m) => order.position(m) >= to);
      group.sort((x, y) => order.position(x) - order.position(y)).push(n);
      const above = order.position(n) - to;
      const start = this.earliest(to);
      const gain = issue.get(n)! - start;
      if (above < group.length || gain < rise.leastGain) {
        this.settle(n, companions);
        if (k > 0) return this.refuse(n, 'pressure', `${rise.most} registers may be live`);
        if (above < group.length) return this.refuse(n, 'held', held);
        return this.refuse(n, 'gain', `${gain} cycles earlier`);
      }
      this.left -= above;
      if (this.left < 0) break;
      const r = order.reorder(group, to);
      const high = lastAbove(r, rise.most);
      if (high < 0) {
        this.moves.push({ group, before: r.list[r.moves.lastIndexOf(1) + 1] });
        for (const m of group) issue.set(m, start);
        order.accept(r);
        return this.settle(n, companions);
      }
      to = r.moves[high] === 1 ? to + 1 : order.position(r.list[high]) + 1;
    }
    this.settle(n, companions);
    this.refuse(n, 'given-up', 'too many places');
  }

  private settle(n: Ins, companions: ReadonlySet<Ins>): void {
    this.settled.add(n);
    for (const m of companions) this.settled.add(m);
  }

  /** The cycle in which an instruction at a position may issue: the one after the instruction above it. */
  private earliest(at: number): number {
    return at > this.order.phis ? this.issue.get(this.order.list[at - 1])! + 1 : 0;
  }

  private rangeOf(n: Ins): Freedom {
    const { order, fence, writes } = this;
    const f: Freedom = { companions: new Set(), place: order.phis, held: 'the start of the block' };
    this.follow(n, f);
    if (fence >= 0) this.below(fence, 'an instruction that nothing moves across', f);
    for (let k = writes.length - 1; k >= 0 && order.position(writes[k]) >= f.place; k--)
      if (writes.length - k > MOST_WRITES || staysInOrder(this.accesses, n, writes[k]))
        this.below(writes[k], 'a write to memory', f);
    return f;
  }

  /** Collects the instructions that compute the operands and may move along; others bound the place. */
  private follow(m: Ins, f: Freedom): void {
    reads(this.d.at(m), (r) => {
      const def = this.order.defHere(r);
      if (def < 0 || f.companions.has(def)) return;
      if (f.companions.size === MOST_COMPANIONS || !mayGoAlong(this.d.at(def)))
        return this.below(def, 'an operand', f);
      f.companions.add(def);
      this.follow(def, f);
    });
  }

  private below(m: Ins, what: string, f: Freedom): void {
    if (this.order.position(m) < f.place) return;
    f.place = this.order.position(m) + 1;
    f.held = what;
  }
}

/** Does it compute an address, and may it be anywhere above? */
const mayGoAlong = (x: Instr): boolean => mayRunAnywhere(x) && mayChangePlaces(x);

/** Does it wait, order accesses (as an acquiring load does), possibly end the thread, or act between lanes? */
const isFence = (x: Instr): boolean =>
  (x.op.flags & (OpFlag.Barrier | OpFlag.Volatile | OpFlag.Control)) !== 0 ||
  ((x.op.flags & OpFlag.SideEffect) !== 0 && (x.op.flags & OpFlag.Convergent) !== 0) ||
  isOrdering(x);

/** Do the instructions between a load and its first use take as long as the load? */
function isHidden(d: Draft, order: BlockOrder, n: Ins, times: Times): boolean {
  const { dst } = d.at(n);
  let left = latency(d.at(n), times);
  for (let k = order.position(n) + 1; k < order.list.length && left > 0; k++) {
    const x = d.at(order.list[k]);
    let used = false;
    reads(x, (r) => {
      if (dst.includes(r)) used = true;
    });
    if (used) return false;
    left -= instrCost(x, times.costs);
  }
  return left <= 0;
}

/** The last instruction of a new order before which too many registers, and more than now, would be live; -1 if there is none. */
function lastAbove({ list, units, before }: Reordering, most: number): number {
  for (let k = list.length - 1; k >= 0; k--) if (units[k] > most && units[k] > before[k]) return k;
  return -1;
}
