import { accessesOf } from '../analysis/address.ts';
import { staysInOrder } from '../analysis/alias.ts';
import { type BlockOrder, type Move, mayChangePlaces, type Reordering } from '../analysis/block-order.ts';
import { blockTime, latency, type Times } from '../analysis/block-time.ts';
import { instrCost } from '../analysis/costs.ts';
import { isSafeLoad, isValue } from '../analysis/effects.ts';
import { reads } from '../analysis/liveness.ts';
import { isOrdering } from '../analysis/memory-ops.ts';
import type { Draft, Ins } from '../ir/draft/index.ts';
import { OpFlag } from '../ir/opcode.ts';
import type { Instr } from '../ir/program.ts';
import type { PassContext } from './pass.ts';

/** Computations of its address that a load takes along; further ones stay where they are. */
const MOST_COMPANIONS = 16;
/** Writes to memory that a load is compared with; it does not pass a further one. */
const MOST_WRITES = 64;
/** Places tried for one load, each below the last point that had too many live registers. */
const MOST_PLACES = 8;
/** Instructions passed in a block, for each that it has: a register more at each of them, as often as there are registers. */
const MOST_PASSED = 256;

export interface Rise {
  /** Loads that are worth it. */
  readonly isSlow: (x: Instr) => boolean;
  readonly times: Times;
  /** Most registers that may be live. */
  readonly most: number;
  /** Cycles by which a load must issue earlier. */
  readonly leastGain: number;
}

/**
 * Moves loads that take long up within a block, each as far as its operands, writes to what it reads, and instructions that nothing
 * passes allow; what computes its address goes along. Loads keep their order where they meet. A load moves only if the work below it
 * is too short to hide it, and if it then issues at least `leastGain` cycles earlier, by the estimate of `blockTime`.
 *
 * @param order the block; changed
 * @returns the moves, to be made one after the other
 */
export function raiseLoads(
  d: Draft,
  order: BlockOrder,
  { isSlow, times, most, leastGain }: Rise,
  ctx: PassContext,
  refuse: (n: Ins, name: string, message: string) => void,
): Move[] {
  const accesses = accessesOf(d.fn, ctx.program.variables);
  const all = order.list.slice();
  const issue = new Map<Ins, number>();
  const starts: number[] = [];
  blockTime({ ins: order.instructions() }, times, starts);
  all.forEach((n, k) => void issue.set(n, starts[k]));
  const moves: Move[] = [];
  const writes: Ins[] = [];
  /** Loads that were looked at, and what was computed for them: others go below. */
  const settled = new Set<Ins>();
  let fence: Ins = -1;
  let left = MOST_PASSED * all.length;

  /** The cycle in which an instruction may issue that stands at a position: the one behind the instruction above it. */
  const earliest = (at: number): number => (at > order.phis ? issue.get(order.list[at - 1])! + 1 : 0);

  /** What goes along with a load, and the first place that it may have, with what holds it there. */
  const freedom = (n: Ins): { companions: ReadonlySet<Ins>; place: number; held: string } => {
    const companions = new Set<Ins>();
    let place = order.phis;
    let held = 'the start of the block';
    const below = (m: Ins, what: string): void => {
      if (order.position(m) < place) return;
      place = order.position(m) + 1;
      held = what;
    };
    const follow = (m: Ins): void =>
      reads(d.at(m), (r) => {
        const def = order.defHere(r);
        if (def < 0 || companions.has(def)) return;
        if (companions.size === MOST_COMPANIONS || !mayGoAlong(d.at(def))) return below(def, 'an operand');
        companions.add(def);
        follow(def);
      });
    follow(n);
    if (fence >= 0) below(fence, 'what nothing passes');
    for (let k = writes.length - 1; k >= 0 && order.position(writes[k]) >= place; k--)
      if (writes.length - k > MOST_WRITES || staysInOrder(accesses, n, writes[k]))
        below(writes[k], 'a write to memory');
    return { companions, place, held };
  };

  const raise = (n: Ins): void => {
    const { companions, place, held } = freedom(n);
    const settle = (): void => {
      settled.add(n);
      for (const m of companions) settled.add(m);
    };
    if (isHidden(d, order, n, times)) {
      settle();
      return refuse(n, 'hidden', 'what stands below it takes as long');
    }
    let to = place;
    for (let k = 0; k < MOST_PLACES; k++) {
      while (settled.has(order.list[to])) to++;
      const group = [...companions].filter((m) => order.position(m) >= to);
      group.sort((x, y) => order.position(x) - order.position(y)).push(n);
      const above = order.position(n) - to;
      const start = earliest(to);
      const gain = issue.get(n)! - start;
      if (above < group.length || gain < leastGain) {
        settle();
        const name = k > 0 ? 'pressure' : above < group.length ? 'held' : 'gain';
        const why = { pressure: `${most} registers may be live`, held, gain: `${gain} cycles earlier` }[name];
        return refuse(n, name, why);
      }
      left -= above;
      if (left < 0) break;
      const r = order.reorder(group, to);
      const high = lastAbove(r, most);
      if (high < 0) {
        moves.push({ group, before: r.list[r.moves.lastIndexOf(1) + 1] });
        for (const m of group) issue.set(m, start);
        order.accept(r);
        return settle();
      }
      to = r.moves[high] === 1 ? to + 1 : order.position(r.list[high]) + 1;
    }
    settle();
    refuse(n, 'given-up', 'too many places');
  };

  for (const n of all) {
    const x = d.at(n);
    if (isFence(x)) fence = n;
    else if (isSlow(x)) raise(n);
    if ((x.op.flags & OpFlag.WritesMemory) !== 0) writes.push(n);
  }
  return moves;
}

/** What computes an address and may be anywhere above. */
const mayGoAlong = (x: Instr): boolean => (isValue(x) || isSafeLoad(x)) && mayChangePlaces(x);

/** What waits, orders (as a load that acquires does), may end the thread, or does something that lanes do together. */
const isFence = (x: Instr): boolean =>
  (x.op.flags & (OpFlag.Barrier | OpFlag.Volatile | OpFlag.Control)) !== 0 ||
  ((x.op.flags & OpFlag.SideEffect) !== 0 && (x.op.flags & OpFlag.Convergent) !== 0) ||
  isOrdering(x);

/** Does what stands between a load and its first use take as long as the load? */
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

/** The last instruction of a new order before which too many registers would be live, and more than there are; -1 for none. */
function lastAbove({ list, units, before }: Reordering, most: number): number {
  for (let k = list.length - 1; k >= 0; k--) if (units[k] > most && units[k] > before[k]) return k;
  return -1;
}
