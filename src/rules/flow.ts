import { type DominatorTree, dominates, dominatorsOf } from '../analysis/dominators.ts';
import { FnEditor, withIns } from '../ir/edit.ts';
import { NO_REG, type Reg, regIndex } from '../ir/operand.ts';
import type { Block, Fn, Instr } from '../ir/program.ts';

/**
 * A function while it is rewritten: instructions in linked lists, with definitions and uses of every register kept current.
 * Blocks and edges stay as they are, so dominance is that of the function it was made from.
 */
export interface Place {
  ins: Instr;
  /** Position of its block in layout order. */
  readonly block: number;
  /** Grows along the block. */
  order: number;
  prev: Place | null;
  next: Place | null;
  dead: boolean;
  /** Waits in the work list. */
  queued: boolean;
}

/** Registers with more definitions than this are not followed: scanning them would cost the square of their number. */
const MOST_DEFS = 16;
/** Lists up to this length are kept exact. */
const SHORT = 32;
/** Distance of neighbours at the start, so that replacements fit between them. */
const GAP = 1024;

export class Flow {
  readonly fn: Fn;
  private readonly editor: FnEditor;
  private readonly first: (Place | null)[] = [];
  private readonly lastOf: (Place | null)[] = [];
  private readonly changed: boolean[] = [];
  private readonly defs: Place[][] = [];
  /** Definitions of each register; longer lists in `defs` may hold some that are gone. */
  private readonly defCounts: number[] = [];
  private readonly users: (Place[] | undefined)[] = [];
  private readonly useCounts: number[] = [];
  /** Definitions that may be copies, by register: a cheap first answer for the many that are none. */
  private readonly copyDefs: number[] = [];
  private readonly mayCopy: (ins: Instr) => boolean;
  /** 1: holds a parameter on entry. */
  private readonly entry: Uint8Array;
  private readonly dom: DominatorTree;
  private any = false;

  /** @param mayCopy true for instructions that may copy their first source */
  constructor(fn: Fn, mayCopy: (ins: Instr) => boolean) {
    this.fn = fn;
    this.mayCopy = mayCopy;
    this.editor = new FnEditor(fn);
    this.dom = dominatorsOf(fn);
    this.entry = new Uint8Array(fn.regCount);
    for (let r = 0; r < fn.regCount; r++) {
      this.defs.push([]);
      this.defCounts.push(0);
      this.users.push(undefined);
      this.useCounts.push(0);
      this.copyDefs.push(0);
    }
    for (const p of fn.params) if (p.reg !== NO_REG) this.entry[regIndex(p.reg)] = 1;
    for (const p of fn.returns) if (p.reg !== NO_REG) this.useCounts[regIndex(p.reg)]++;
    fn.blocks.forEach((b, block) => {
      let prev: Place | null = null;
      this.first.push(null);
      this.lastOf.push(null);
      this.changed.push(false);
      for (let i = 0; i < b.ins.length; i++) {
        const p: Place = {
          ins: b.ins[i],
          block,
          order: i * GAP,
          prev,
          next: null,
          dead: false,
          queued: true,
        };
        if (prev === null) this.first[block] = p;
        else prev.next = p;
        prev = p;
        this.enter(p);
      }
      this.lastOf[block] = prev;
    });
  }

  /** All instructions in layout order. */
  places(): Place[] {
    const out: Place[] = [];
    for (const f of this.first) for (let p = f; p !== null; p = p.next) out.push(p);
    return out;
  }

  freshReg(file: number): Reg {
    const r = this.editor.freshReg(file);
    this.defs[regIndex(r)] = [];
    this.defCounts[regIndex(r)] = 0;
    this.users[regIndex(r)] = undefined;
    this.useCounts[regIndex(r)] = 0;
    this.copyDefs[regIndex(r)] = 0;
    return r;
  }

  /** Operands (and guards, and returns) that read the register. */
  useCount(r: Reg): number {
    return this.useCounts[regIndex(r)];
  }

  /** May the register be a copy of something? */
  isCopied(r: Reg): boolean {
    return this.copyDefs[regIndex(r)] > 0;
  }

  /** Calls `visit` with every instruction that may see what `p` puts, or put, into the register. */
  eachUser(r: Reg, p: Place, visit: (p: Place) => void): void {
    const i = regIndex(r);
    const list = this.users[i];
    if (list === undefined) return;
    if (this.defCounts[i] > 1 && list.length > SHORT) {
      // With several definitions only what follows in the block is certain to see this one.
      let left = this.useCounts[i];
      for (let q = p.next; q !== null && left > 0; q = q.next) {
        if (reads(q.ins, r)) {
          visit(q);
          left--;
        }
        if (q.ins.dst.includes(r)) return;
      }
      return;
    }
    let kept = 0;
    for (let k = 0; k < list.length; k++) {
      const u = list[k];
      // Entries of instructions that were replaced are dropped when somebody looks.
      if (u.dead || !reads(u.ins, r)) continue;
      list[kept++] = u;
    }
    list.length = kept;
    for (let k = 0; k < kept; k++) visit(list[k]);
  }

  /** Calls `visit` with every instruction that defines the register. */
  eachDef(r: Reg, visit: (p: Place) => void): void {
    for (const d of this.defsOf(regIndex(r))) visit(d);
  }

  /** Definitions of a register, those that are gone taken out if they are many. */
  private defsOf(i: number): readonly Place[] {
    const list = this.defs[i];
    if (list.length <= SHORT || list.length === this.defCounts[i]) return list;
    if (list.length < 2 * this.defCounts[i] && this.defCounts[i] > MOST_DEFS) return list;
    const kept = list.filter((p) => !p.dead && p.ins.dst.some((d) => d !== NO_REG && regIndex(d) === i));
    this.defs[i] = [...new Set(kept)];
    return this.defs[i];
  }

  /**
   * The instruction whose result the register holds at `at`, if it is certain: the nearest definition above it in its
   * block, or the only one there is, if that dominates. A guarded definition is never certain.
   */
  reaching(r: Reg, at: Place): Place | null {
    const i = regIndex(r);
    if (this.defCounts[i] > MOST_DEFS) return null;
    const list = this.defsOf(i);
    let found: Place | null = null;
    if (list.length === 1 && (i >= this.entry.length || this.entry[i] === 0)) {
      const d = list[0];
      if (d.block === at.block ? d.order < at.order : dominates(this.dom, d.block, at.block)) found = d;
    } else {
      for (let k = 0; k < list.length; k++) {
        const d = list[k];
        if (d.block === at.block && d.order < at.order && (found === null || d.order > found.order))
          found = d;
      }
    }
    return found !== null && found.ins.guard === NO_REG ? found : null;
  }

  /**
   * Does the register hold at `to` what it held when `from`, which comes before it, read its sources? With one definition
   * that dominates `from` it does: to run again between the two, that definition would have to come before `from` again. With
   * several, the two must stand in one block with none of them between.
   */
  unchanged(r: Reg, from: Place, to: Place): boolean {
    const i = regIndex(r);
    if (this.defCounts[i] > MOST_DEFS) return false;
    const list = this.defsOf(i);
    if (list.length === 0) return true;
    if (list.length === 1 && (i >= this.entry.length || this.entry[i] === 0)) {
      const d = list[0];
      if (
        d !== from &&
        (d.block === from.block ? d.order < from.order : dominates(this.dom, d.block, from.block))
      )
        return true;
    }
    if (from.block !== to.block) return false;
    for (let k = 0; k < list.length; k++) {
      const d = list[k];
      if (d.block === from.block && d.order >= from.order && d.order < to.order) return false;
    }
    return true;
  }

  // ------------------------------------------------------------------ changes

  /** Another instruction at the same place. */
  set(p: Place, ins: Instr): void {
    this.leave(p);
    p.ins = ins;
    this.enter(p);
    this.touch(p.block);
  }

  /** A new instruction in front of `p`. */
  insertBefore(p: Place, ins: Instr): Place {
    const low = p.prev === null ? p.order - 2 * GAP : p.prev.order;
    let order = (low + p.order) / 2;
    if (order <= low || order >= p.order) {
      this.renumber(p.block);
      order = ((p.prev === null ? p.order - 2 * GAP : p.prev.order) + p.order) / 2;
    }
    const q: Place = { ins, block: p.block, order, prev: p.prev, next: p, dead: false, queued: false };
    if (p.prev === null) this.first[p.block] = q;
    else p.prev.next = q;
    p.prev = q;
    this.enter(q);
    this.touch(p.block);
    return q;
  }

  remove(p: Place): void {
    this.leave(p);
    p.dead = true;
    if (p.prev === null) this.first[p.block] = p.next;
    else p.prev.next = p.next;
    if (p.next === null) this.lastOf[p.block] = p.prev;
    else p.next.prev = p.prev;
    this.touch(p.block);
  }

  private renumber(block: number): void {
    let order = 0;
    for (let p = this.first[block]; p !== null; p = p.next, order += GAP) p.order = order;
  }

  private touch(block: number): void {
    this.changed[block] = true;
    this.any = true;
  }

  private enter(p: Place): void {
    const { ins } = p;
    for (let i = 0; i < ins.dst.length; i++)
      if (ins.dst[i] !== NO_REG) {
        const r = regIndex(ins.dst[i]);
        const list = this.defs[r];
        this.defCounts[r]++;
        list.push(p);
      }
    if (ins.dst.length === 1 && ins.dst[0] !== NO_REG && this.mayCopy(ins))
      this.copyDefs[regIndex(ins.dst[0])]++;
    for (let i = 0; i < ins.src.length; i++) if (ins.src[i].reg !== NO_REG) this.addUse(ins.src[i].reg, p);
    if (ins.guard !== NO_REG) this.addUse(ins.guard, p);
  }

  private addUse(r: Reg, p: Place): void {
    const i = regIndex(r);
    this.useCounts[i]++;
    const list = this.users[i];
    if (list === undefined) this.users[i] = [p];
    else if (list[list.length - 1] !== p) list.push(p);
  }

  private leave(p: Place): void {
    const { ins } = p;
    for (let i = 0; i < ins.dst.length; i++)
      if (ins.dst[i] !== NO_REG) {
        const r = regIndex(ins.dst[i]);
        const list = this.defs[r];
        this.defCounts[r]--;
        // Searching a long list each time would cost the square of its length.
        const at = list.length <= SHORT ? list.indexOf(p) : -1;
        if (at >= 0) list.splice(at, 1);
      }
    if (ins.dst.length === 1 && ins.dst[0] !== NO_REG && this.mayCopy(ins))
      this.copyDefs[regIndex(ins.dst[0])]--;
    for (let i = 0; i < ins.src.length; i++)
      if (ins.src[i].reg !== NO_REG) this.useCounts[regIndex(ins.src[i].reg)]--;
    if (ins.guard !== NO_REG) this.useCounts[regIndex(ins.guard)]--;
  }

  /** The function as it is now; the one it was made from if nothing changed. Blocks that did not change are shared. */
  finish(): Fn {
    if (!this.any) return this.fn;
    const blocks = this.fn.blocks.map((b, i): Block => {
      if (!this.changed[i]) return b;
      const ins: Instr[] = [];
      for (let p = this.first[i]; p !== null; p = p.next) ins.push(p.ins);
      return withIns(b, ins);
    });
    return this.editor.finish(blocks);
  }
}

function reads(ins: Instr, r: Reg): boolean {
  if (ins.guard === r) return true;
  for (let i = 0; i < ins.src.length; i++) if (ins.src[i].reg === r) return true;
  return false;
}
