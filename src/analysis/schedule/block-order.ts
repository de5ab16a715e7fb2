import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { NO_REG, type Reg, RegFile, regFile } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import {
  isLiveBehind,
  type Liveness,
  livenessOf,
  Pool,
  poolOf,
  reads,
  unitsIn,
} from '../registers/liveness.ts';
import { pressureOf } from '../registers/pressure.ts';

/** One move within a block: some instructions, in order, go in front of another. */
export interface Move {
  readonly group: readonly Ins[];
  readonly before: Ins;
}

/**
 * May the instruction be elsewhere in its block, as far as registers are concerned? It may if its results are general registers, which
 * are counted here; if what it reads is in SSA; and if it has no uniform register, which lanes at different places share.
 */
export function mayChangePlaces(x: Instr): boolean {
  if (isPhi(x)) return false;
  for (const r of x.dst)
    if (r !== NO_REG && (poolOf(r) !== Pool.R || regFile(r) === RegFile.RQ)) return false;
  let may = true;
  reads(x, (r) => {
    if ((poolOf(r) !== Pool.R && poolOf(r) !== Pool.P) || regFile(r) === RegFile.RQ) may = false;
  });
  return may;
}

/** Another order of some adjacent instructions, and the register pressure in it. */
export interface Reordering {
  /** Position of the first of them. */
  readonly from: number;
  readonly list: readonly Ins[];
  /** General registers, in 32-bit units, live before each of them in that order. */
  readonly units: Int32Array;
  /** By element of `list`: the units before this instruction in the current order; for one that moves, those at its new place. */
  readonly before: Int32Array;
  /** By element of `list`: 1 if it moves. */
  readonly moves: Uint8Array;
  /** By register that moving instructions read or write: its last reader in the block, -1 for none. */
  readonly last: ReadonlyMap<Reg, Ins>;
}

/**
 * The instructions of one block of a draft in SSA, in an order that is tried out before anything is moved: their positions, and how
 * many registers are live at each point, kept exact while they move. The block must not be edited meanwhile.
 */
export class BlockOrder {
  readonly list: Ins[];
  /** Number of phis, which stay in front. */
  readonly phis: number;
  private readonly d: Draft;
  private readonly b: BlockNo;
  private readonly first: Ins;
  private readonly live: Liveness;
  /** Units before each instruction, and at the end of the block. */
  private readonly units: Int32Array;
  /** By instruction, counted from the first one: its position, and its position in the order being tried. */
  private readonly at: Int32Array;
  private readonly next: Int32Array;
  /** By instruction: 1 while an order in which it moves is tried. */
  private readonly moving: Uint8Array;
  /** Registers that phis of successors read at the end of this block. */
  private readonly taken: ReadonlySet<Reg>;
  private readonly lastUser = new Map<Reg, Ins>();

  constructor(d: Draft, b: BlockNo) {
    const { ins } = d.fn.blocks[b];
    this.d = d;
    this.b = b;
    this.first = d.first(b);
    this.live = livenessOf(d.fn);
    this.units = pressureOf(d.fn).at(b, Pool.R);
    this.list = ins.map((_, i) => this.first + i);
    this.at = Int32Array.from(ins, (_, i) => i);
    this.next = new Int32Array(ins.length);
    this.moving = new Uint8Array(ins.length);
    this.taken = new Set(this.live.phiUses?.get(b));
    let phis = 0;
    while (phis < ins.length && isPhi(ins[phis])) phis++;
    this.phis = phis;
  }

  /** Position of an instruction of the block. */
  position(n: Ins): number {
    return this.at[n - this.first];
  }

  /** The only definition of a register, if it is an instruction of this block and no phi; else -1. */
  defHere(r: Reg): Ins {
    const n = this.d.def(r);
    return n >= 0 && this.d.block(n) === this.b && !isPhi(this.d.at(n)) ? n : -1;
  }

  /** Are more than `most` registers live before one of the instructions from position `from` up to `to`? */
  exceeds(most: number, from: number, to: number): boolean {
    for (let k = from; k < to; k++) if (this.units[k] > most) return true;
    return false;
  }

  /** Is the register live after the block? */
  isLiveAfter(r: Reg): boolean {
    return isLiveBehind(this.live, r, this.b) || this.taken.has(r) || this.d.isReturned(r);
  }

  /**
   * The register pressure if some instructions, in order, preceded the one at position `to`. It takes time in the number of
   * instructions passed (and, if the last reader of a register rises, in its readers), and does not check whether they may pass.
   */
  reorder(group: readonly Ins[], to: number): Reordering {
    const from = Math.min(to, this.position(group[0]));
    const end = Math.max(to, this.position(group[group.length - 1]) + 1);
    const { first, at, moving } = this;
    for (const n of group) moving[n - first] = 1;
    const list: Ins[] = [];
    for (let k = from; k < to; k++) if (moving[this.list[k] - first] === 0) list.push(this.list[k]);
    list.push(...group);
    for (let k = to; k < end; k++) if (moving[this.list[k] - first] === 0) list.push(this.list[k]);
    for (let k = 0; k < list.length; k++) this.next[list[k] - first] = from + k;

    // Registers that no moving instruction reads or writes are live before the others as they were.
    const base = this.units.slice(from, end + 1);
    const touched = this.touchedBy(group);
    for (const r of touched) this.cover(r, this.defPoint(r, this.at), this.lastPoint(r), from, base, -1);
    const before = new Int32Array(list.length);
    const units = new Int32Array(list.length + 1);
    const moves = new Uint8Array(list.length);
    let rest = base[base.length - 1];
    let was = this.units[end];
    units[list.length] = rest;
    for (let k = list.length - 1; k >= 0; k--) {
      const i = list[k] - first;
      if (moving[i] === 1) moves[k] = 1;
      else {
        rest = base[at[i] - from];
        was = this.units[at[i]];
      }
      units[k] = rest;
      before[k] = was;
    }
    const place = (n: Ins): number => {
      const p = this.position(n);
      return p < from || p >= end ? p : this.next[n - this.first];
    };
    const last = new Map<Reg, Ins>();
    for (const r of touched) {
      last.set(r, this.lastAmong(r, group, place));
      this.cover(r, this.defPoint(r, place), this.pointOf(r, last.get(r)!, place), from, units, 1);
    }
    for (const n of group) moving[n - first] = 0;
    return { from, list, units, before, moves, last };
  }

  /** Adopts the order. */
  accept({ from, list, units, last }: Reordering): void {
    for (let k = 0; k < list.length; k++) {
      this.list[from + k] = list[k];
      this.at[list[k] - this.first] = from + k;
      this.units[from + k] = units[k];
    }
    // The readers of other registers have kept their order.
    for (const [r, n] of last) this.lastUser.set(r, n);
  }

  /** The instructions in this order. */
  instructions(): Instr[] {
    return this.list.map((n) => this.d.at(n));
  }

  private touchedBy(group: readonly Ins[]): ReadonlySet<Reg> {
    const out = new Set<Reg>();
    const add = (r: Reg): void => {
      if (poolOf(r) === Pool.R) out.add(r);
    };
    for (const n of group) {
      this.d.at(n).dst.forEach(add);
      reads(this.d.at(n), add);
    }
    return out;
  }

  /** Adds `by` times the register's units to each point from `from` on at which it is live. */
  private cover(r: Reg, def: number, last: number, from: number, units: Int32Array, by: number): void {
    const end = Math.min(last, from + units.length - 1);
    for (let k = Math.max(def + 1, from); k <= end; k++) units[k - from] += by * unitsIn(r);
  }

  /** Position of its definition; -1 if that is outside of the block. */
  private defPoint(r: Reg, place: Int32Array | ((n: Ins) => number)): number {
    const n = this.d.def(r);
    if (n < 0 || this.d.block(n) !== this.b) return -1;
    return typeof place === 'function' ? place(n) : place[n - this.first];
  }

  private lastPoint(r: Reg): number {
    return this.pointOf(r, this.lastUserOf(r), (n) => this.position(n));
  }

  private pointOf(r: Reg, last: Ins, place: (n: Ins) => number): number {
    if (this.isLiveAfter(r)) return this.list.length;
    return last < 0 ? -1 : place(last);
  }

  private lastUserOf(r: Reg): Ins {
    let n = this.lastUser.get(r);
    if (n === undefined) this.lastUser.set(r, (n = this.userFurthestDown(r, (u) => this.position(u))));
    return n;
  }

  /** The last reader of a register in another order. Readers that do not move keep their order, so usually only two are compared. */
  private lastAmong(r: Reg, group: readonly Ins[], place: (n: Ins) => number): Ins {
    const was = this.lastUserOf(r);
    if (was < 0) return was;
    // If it rises, another one that stays may be below it.
    if (this.moving[was - this.first] === 1 && place(was) < this.position(was))
      return this.userFurthestDown(r, place);
    let last = was;
    for (const n of group)
      if (place(n) > place(last))
        reads(this.d.at(n), (read) => {
          if (read === r) last = n;
        });
    return last;
  }

  private userFurthestDown(r: Reg, place: (n: Ins) => number): Ins {
    let last: Ins = -1;
    this.d.eachUse(r, (u) => {
      if (this.d.block(u) === this.b && !isPhi(this.d.at(u)) && (last < 0 || place(u) > place(last)))
        last = u;
    });
    return last;
  }
}
