import { isValue } from '../../analysis/calls/effects.ts';
import { reads } from '../../analysis/registers/liveness.ts';
import {
  type BlockOrder,
  type Move,
  mayChangePlaces,
  type Reordering,
} from '../../analysis/schedule/block-order.ts';
import type { Draft, Ins } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { NO_REG } from '../../ir/operand.ts';

/** Maximum number of computations that move with a value because nothing else needs them. */
const MOST_COMPANIONS = 8;
/** Maximum number of instructions between a value and its use that are there because they are computed for that use too. */
const MOST_ARGUMENTS = 32;
/** Instructions passed in a block, per instruction of the block; the same bound as for loads that rise. */
const MOST_PASSED = 256;

/**
 * Moves values down to their only use within a block, past other instructions up to those computed for the same use; the last value
 * first. A value moves only if it passes a point with more than `spared` live registers, if afterwards fewer are live at some passed
 * point, and if more are live at none: an operand that died at the value must again die there. If operands would need as much room,
 * what only the value needs moves along.
 *
 * @param order the block; changed
 * @returns the moves, to be made one after the other
 */
export const lowerValues = (
  d: Draft,
  order: BlockOrder,
  spared: number,
  refuse: (n: Ins, name: string, message: string) => void,
): Move[] => new Lowering(d, order).run(spared, refuse);

class Lowering {
  private readonly d: Draft;
  private readonly order: BlockOrder;
  /** By examined value: its only use, if that is in this block. */
  private readonly useOf = new Map<Ins, Ins>();
  private readonly userCache = new Map<Ins, Ins>();

  constructor(d: Draft, order: BlockOrder) {
    this.d = d;
    this.order = order;
  }

  run(spared: number, refuse: (n: Ins, name: string, message: string) => void): Move[] {
    const { order } = this;
    const all = order.list.slice();
    const moves: Move[] = [];
    let left = MOST_PASSED * all.length;
    for (let i = all.length - 1; i >= order.phis; i--) {
      const n = all[i];
      const user = this.userOf(n);
      if (user < 0) continue;
      this.useOf.set(n, user);
      const to = this.placeAbove(user, n);
      if (order.position(n) >= to - 1) continue;
      left -= to - order.position(n);
      if (left < 0) {
        refuse(n, 'bound', 'enough was passed in this block');
        break;
      }
      if (!order.exceeds(spared, order.position(n) + 1, to)) continue;
      let r = order.reorder([n], to);
      let group = [n];
      if (!shortens(r)) {
        group = this.withOwn(n);
        r = order.reorder(group, to);
      }
      if (!shortens(r)) {
        refuse(n, 'not-shorter', 'its operands would take as many registers');
        continue;
      }
      for (const m of group) this.useOf.set(m, this.userOf(m));
      moves.push({ group, before: order.list[to] });
      order.accept(r);
    }
    return moves;
  }

  /** The only use of a value that may change places, if that is in this block; else -1. */
  private userOf(n: Ins): Ins {
    let user = this.userCache.get(n);
    if (user === undefined) {
      const x = this.d.at(n);
      user = isValue(x) && mayChangePlaces(x) ? onlyUse(this.d, n) : -1;
      this.userCache.set(n, user);
    }
    return user;
  }

  /** A value, preceded by everything that is computed for it alone, in order. */
  private withOwn(n: Ins): Ins[] {
    const { d, order } = this;
    const group = [n];
    for (let k = 0; k < group.length; k++)
      reads(d.at(group[k]), (r) => {
        const def = order.defHere(r);
        if (def < 0 || group.length > MOST_COMPANIONS || group.includes(def)) return;
        if (group.includes(this.userOf(def))) group.push(def);
      });
    return group.sort((x, y) => order.position(x) - order.position(y));
  }

  /** The position in front of a use of `n`, and in front of the instructions above it that are computed for that use too. */
  private placeAbove(user: Ins, n: Ins): number {
    const { order } = this;
    const end = order.position(user);
    let to = end;
    while (end - to < MOST_ARGUMENTS) {
      const above = order.list[to - 1];
      const use = this.useOf.get(above);
      if (above === n || use === undefined || order.position(use) < to || order.position(use) > end) break;
      to--;
    }
    return to;
  }
}

/** The only instruction that reads the results, if it is in the same block and not a phi; else -1. */
function onlyUse(d: Draft, n: Ins): Ins {
  let user: Ins = -1;
  let several = false;
  for (const r of d.at(n).dst) {
    if (r === NO_REG) continue;
    if (d.isReturned(r)) return -1;
    for (let u = d.firstUse(r); u >= 0; u = d.nextUse(u)) {
      if (user >= 0 && d.userAt(u) !== user) several = true;
      user = d.userAt(u);
    }
  }
  return user < 0 || several || d.block(user) !== d.block(n) || isPhi(d.at(user)) ? -1 : user;
}

/** Are fewer registers live before some passed instruction, and more before none? */
function shortens({ units, before }: Reordering): boolean {
  let fewer = false;
  for (let k = 0; k < before.length; k++) {
    if (units[k] > before[k]) return false;
    if (units[k] < before[k]) fewer = true;
  }
  return fewer;
}
