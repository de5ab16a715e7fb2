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

/** Values that one value takes along, which nothing else needs. */
const MOST_COMPANIONS = 8;
/** Instructions that may stand between a value and its use because they are computed for that use too. */
const MOST_ARGUMENTS = 32;
/** Instructions passed in a block, for each that it has, as where loads rise. */
const MOST_PASSED = 256;

/**
 * Moves values down to their only use within a block, behind what else is computed for that use, from the last to the first. A value must
 * pass a point with more than `spared` live registers; afterwards fewer are live at some point that it passed, and more at none: an operand
 * that ended with it ends with it again. Where operands would take the room, what only the value needs goes along.
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
  /** By value that was looked at: its only use, if that is in this block. */
  private readonly useOf = new Map<Ins, Ins>();
  private readonly known = new Map<Ins, Ins>();

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
        refuse(n, 'not-shorter', 'operands would take the room');
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
    let user = this.known.get(n);
    if (user === undefined) {
      const x = this.d.at(n);
      user = isValue(x) && mayChangePlaces(x) ? onlyUse(this.d, n) : -1;
      this.known.set(n, user);
    }
    return user;
  }

  /** A value behind all that is computed for it alone, in order. */
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

  /** The position in front of a use of `n`, and of what stands there because it is computed for that use too. */
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

/** The instruction that alone reads the results, if it stands in the same block and is no phi; else -1. */
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

/** Are fewer registers live before something that is passed, and more before nothing? */
function shortens({ units, before }: Reordering): boolean {
  let fewer = false;
  for (let k = 0; k < before.length; k++) {
    if (units[k] > before[k]) return false;
    if (units[k] < before[k]) fewer = true;
  }
  return fewer;
}
