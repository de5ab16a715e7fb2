import { isPhi } from '../../ir/flow.ts';
import { NO_REG, type Reg, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { cfgOf } from '../flow/cfg.ts';
import { type DominatorTree, dominates, dominators } from '../flow/dominators.ts';
import { type Segments, segmentsOf } from '../flow/segments.ts';
import { isReturn, kills, type Liveness, livenessOf, returnedRegs } from '../registers/liveness.ts';
import { Heap } from '../structures/heap.ts';

/**
 * Which instructions are needed: those needed regardless of their results, and the reaching definitions of what a
 * needed instruction reads. It is liveness in which a use counts only if its instruction is needed itself ("faint
 * variables", Giegerich, Moencke and Wilhelm, "Invariance of Approximate Semantics with Respect to Program
 * Transformations", 1981): a chain of definitions that leads to no needed instruction, even around a loop, is not
 * needed.
 *
 * From each newly needed use the search goes up to the reaching definitions: directly to the definition if it is the
 * only one and dominates, as in SSA; else through the segments where the register is live, each once per register.
 *
 * @param rooted whether an instruction, with its number, is needed regardless of its results
 * @returns by instruction number: 1 for needed instructions; instructions are numbered through the function in layout
 * order
 */
export function neededOf(fn: Fn, rooted: (ins: Instr, n: number) => boolean): Uint8Array {
  return new Search(fn).run(rooted);
}

/** Value of `before` for a definition that ends the old value of its register. */
const ENDS = -2;
/** Value of `only` for a register with several definitions. */
const SEVERAL = -2;

class Search {
  private readonly fn: Fn;
  private readonly seg: Segments;
  private readonly returned: readonly Reg[];
  private readonly positionOf: Int32Array;
  /** Dominators of the blocks, if each block is one segment. */
  private readonly dom: DominatorTree | null;
  private readonly ins: Instr[] = [];
  private readonly segmentAt: Int32Array;
  /** By instruction number: its first read; reads are numbered through the function. */
  private readonly readStart: Int32Array;
  /** By read: the last definition above it in its segment, or -1. */
  private readonly reached: Int32Array;
  /** First definition of each segment; each destination is one definition, numbered through the function. */
  private readonly defStart: Int32Array;
  /** By definition: its instruction and register, and the definition above in its segment whose value may survive it. */
  private readonly defIns: Int32Array;
  private readonly defReg: Int32Array;
  private readonly before: Int32Array;
  /** Register index -> its definition, -1 for none. */
  private readonly only: Int32Array;

  private readonly needed: Uint8Array;
  /** By definition: 1 if its value is needed. */
  private readonly wanted: Uint8Array;
  private readonly work: number[] = [];
  private rows: Rows | null = null;

  constructor(fn: Fn) {
    this.fn = fn;
    const seg = segmentsOf(fn);
    const cfg = cfgOf(fn);
    this.seg = seg;
    this.returned = returnedRegs(fn);
    this.positionOf = cfg.positionOf;
    this.dom = seg.count === cfg.count ? dominators(cfg) : null;
    let total = 0;
    let defs = 0;
    let reads = 0;
    for (const b of fn.blocks)
      for (const x of b.ins) {
        total++;
        defs += x.dst.length;
        reads += this.readsOf(x);
      }
    this.segmentAt = new Int32Array(total);
    this.readStart = new Int32Array(total);
    this.reached = new Int32Array(reads);
    this.defStart = new Int32Array(seg.count + 1);
    this.defIns = new Int32Array(defs);
    this.defReg = new Int32Array(defs);
    this.before = new Int32Array(defs);
    this.only = new Int32Array(fn.regCount).fill(-1);
    this.needed = new Uint8Array(total);
    this.wanted = new Uint8Array(defs);
    this.number();
  }

  /** Number of reads to reserve; an operand that is not a register leaves its place unused. */
  private readsOf(x: Instr): number {
    if (isPhi(x)) return 0;
    const own = x.src.length + (x.guard === NO_REG ? 0 : 1 + x.otherwise.length);
    return isReturn(x) && x.src.length === 0 ? own + this.returned.length : own;
  }

  private number(): void {
    const { fn, seg, reached } = this;
    /** Register index -> its last definition, which is in this segment if its number is at least the segment's first. */
    const last = new Int32Array(fn.regCount).fill(-1);
    let n = 0;
    let def = 0;
    let read = 0;
    for (let s = 0; s < seg.count; s++) {
      const first = def;
      this.defStart[s] = first;
      const { ins } = fn.blocks[seg.block[s]];
      const reach = (r: Reg): void => {
        if (r !== NO_REG) reached[read] = last[regIndex(r)] >= first ? last[regIndex(r)] : -1;
        read++;
      };
      for (let i = seg.from[s]; i < seg.to[s]; i++, n++) {
        const x = ins[i];
        this.ins.push(x);
        this.segmentAt[n] = s;
        this.readStart[n] = read;
        if (!isPhi(x)) {
          for (let k = 0; k < x.src.length; k++) reach(x.src[k].reg);
          if (x.guard !== NO_REG) {
            reach(x.guard);
            for (let k = 0; k < x.otherwise.length; k++) reach(x.otherwise[k]);
          }
          if (isReturn(x) && x.src.length === 0) for (const r of this.returned) reach(r);
        }
        const ends = kills(x);
        for (let k = 0; k < x.dst.length; k++, def++) {
          const r = x.dst[k];
          this.defIns[def] = n;
          this.defReg[def] = r;
          if (r === NO_REG) continue;
          const j = regIndex(r);
          this.before[def] = ends ? ENDS : last[j] >= first ? last[j] : -1;
          last[j] = def;
          this.only[j] = this.only[j] === -1 ? def : SEVERAL;
        }
      }
    }
    this.defStart[seg.count] = def;
  }

  run(rooted: (ins: Instr, n: number) => boolean): Uint8Array {
    const { ins, work } = this;
    for (let n = 0; n < ins.length; n++) if (rooted(ins[n], n)) this.need(n);
    for (;;) {
      for (let n = work.pop(); n !== undefined; n = work.pop()) this.follow(n);
      if (this.rows === null || !this.climb(this.rows)) return this.needed;
    }
  }

  private need(n: number): void {
    if (this.needed[n] === 1) return;
    this.needed[n] = 1;
    this.work.push(n);
  }

  /** Marks everything that a needed instruction reads. */
  private follow(n: number): void {
    const x = this.ins[n];
    const { src } = x;
    if (isPhi(x)) {
      for (let k = 0; k + 1 < src.length; k += 2)
        if (src[k + 1].reg !== NO_REG) this.wantAtEnd(src[k + 1].reg, this.positionOf[src[k].lo]);
      return;
    }
    const s = this.segmentAt[n];
    let read = this.readStart[n];
    for (let k = 0; k < src.length; k++, read++) this.wantRead(src[k].reg, read, s);
    if (x.guard !== NO_REG) {
      this.wantRead(x.guard, read++, s);
      for (let k = 0; k < x.otherwise.length; k++, read++) this.wantRead(x.otherwise[k], read, s);
    }
    if (isReturn(x) && src.length === 0) for (const r of this.returned) this.wantRead(r, read++, s);
  }

  private wantRead(r: Reg, read: number, s: number): void {
    if (r === NO_REG) return;
    if (this.reached[read] >= 0) this.want(this.reached[read], s);
    else this.wantOnEntry(r, s);
  }

  /** Marks a definition as needed, and the value that remains if its guard is false. */
  private want(def: number, s: number): void {
    const r = this.defReg[def];
    while (def >= 0) {
      if (this.wanted[def] === 1) return;
      this.wanted[def] = 1;
      this.need(this.defIns[def]);
      def = this.before[def];
    }
    if (def !== ENDS) this.wantOnEntry(r, s);
  }

  /**
   * The only definition of a register, if it dominates the block at position `b` and no older value survives it; else
   * -1.
   */
  private dominating(r: Reg, b: number): number {
    const def = this.only[regIndex(r)];
    if (def < 0 || this.dom === null || this.before[def] !== ENDS) return -1;
    return dominates(this.dom, this.segmentAt[this.defIns[def]], b) ? def : -1;
  }

  private wantOnEntry(r: Reg, s: number): void {
    if (this.only[regIndex(r)] === -1) return;
    const def = this.dominating(r, s);
    // A definition in the same block comes too late, unless control loops back.
    if (def >= 0 && this.segmentAt[this.defIns[def]] !== s) return this.want(def, s);
    this.rows ??= new Rows(this.fn, this.seg, this.defStart, this.defReg);
    this.rows.raise(s, r);
  }

  private wantAtEnd(r: Reg, b: number): void {
    if (b < 0 || this.only[regIndex(r)] === -1) return;
    const def = this.dominating(r, b);
    if (def >= 0) return this.want(def, b);
    this.rows ??= new Rows(this.fn, this.seg, this.defStart, this.defReg);
    const s = this.seg.first[b + 1] - 1;
    const slot = this.rows.slotOf(r);
    if (slot >= 0) this.descend(this.rows, s, slot >>> 5, 1 << (slot & 31));
  }

  /** Continues from the last mark to the segments before it; false if there is none. */
  private climb(rows: Rows): boolean {
    const { predStart, pred } = this.seg;
    const s = rows.takeSegment();
    if (s < 0) return false;
    for (let e = predStart[s]; e < predStart[s + 1]; e++) this.descend(rows, pred[e], rows.column, rows.bits);
    return true;
  }

  /** Marks registers of a column at the end of a segment: at their definitions, or on entry. */
  private descend(rows: Rows, s: number, column: number, bits: number): void {
    const { lastStart, lastSlot, lastDef } = rows;
    for (let i = rows.firstOf(s, column); i < lastStart[s + 1] && bits !== 0; i++) {
      const bit = 1 << (lastSlot[i] & 31);
      if (lastSlot[i] >>> 5 !== column || (bits & bit) === 0) continue;
      bits &= ~bit;
      this.want(lastDef[i], s);
    }
    if (bits !== 0) rows.raiseBits(s, column, bits);
  }
}

/** Segments with more definitions are searched by bisection. */
const LONG = 16;

/** The registers needed on entry to segments: a subset of those that are live there. */
class Rows {
  private readonly live: Liveness;
  /** By word of the live rows: the needed registers, and those of them that have not been followed yet. */
  private readonly raised: Int32Array;
  private readonly pending: Int32Array;
  /** By segment: words with registers that have not been followed yet. */
  private readonly words: (number[] | undefined)[] = [];
  /**
   * Segments with such words, counted from the last one: those from the current segment up, and those below it, which wait for another
   * sweep. So registers that are needed in the same places are propagated together, 32 at a time.
   */
  private above = new Heap();
  private below = new Heap();
  private at: number;
  /**
   * By segment: the slots of registers that it defines, and the last definition of each; sorted by slot in long
   * segments.
   */
  readonly lastStart: Int32Array;
  readonly lastSlot: Int32Array;
  readonly lastDef: Int32Array;
  /** The column taken last. */
  column = 0;
  bits = 0;

  constructor(fn: Fn, seg: Segments, defStart: Int32Array, defReg: Int32Array) {
    this.live = livenessOf(fn);
    const { slot } = this.live.globals;
    this.raised = new Int32Array(this.live.liveIn.bits.length);
    this.pending = new Int32Array(this.raised.length);
    this.at = seg.count;
    this.lastStart = new Int32Array(seg.count + 1);
    this.lastSlot = new Int32Array(defReg.length);
    this.lastDef = new Int32Array(defReg.length);
    const seenIn = new Int32Array(fn.regCount).fill(-1);
    let at = 0;
    for (let s = 0; s < seg.count; s++) {
      const from = at;
      for (let def = defStart[s + 1] - 1; def >= defStart[s]; def--) {
        const r = defReg[def];
        if (r === NO_REG || slot[regIndex(r)] < 0 || seenIn[regIndex(r)] === s) continue;
        seenIn[regIndex(r)] = s;
        this.lastSlot[at] = slot[regIndex(r)];
        this.lastDef[at++] = def;
      }
      if (at - from > LONG) this.sort(from, at);
      this.lastStart[s + 1] = at;
    }
  }

  private sort(from: number, to: number): void {
    const { lastSlot, lastDef } = this;
    const order = Array.from({ length: to - from }, (_, i) => from + i).sort(
      (i, j) => lastSlot[i] - lastSlot[j],
    );
    const slots = order.map((i) => lastSlot[i]);
    const defs = order.map((i) => lastDef[i]);
    lastSlot.set(slots, from);
    lastDef.set(defs, from);
  }

  slotOf(r: Reg): number {
    return this.live.globals.slot[regIndex(r)];
  }

  /** Index at which definitions of a column can start in the list of a segment. */
  firstOf(s: number, column: number): number {
    let low = this.lastStart[s];
    let high = this.lastStart[s + 1];
    if (high - low <= LONG) return low;
    while (low < high) {
      const mid = (low + high) >>> 1;
      if (this.lastSlot[mid] < column << 5) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  /** Marks a register as needed on entry to a segment. */
  raise(s: number, r: Reg): void {
    const slot = this.slotOf(r);
    if (slot >= 0) this.raiseBits(s, slot >>> 5, 1 << (slot & 31));
  }

  raiseBits(s: number, column: number, bits: number): void {
    const i = this.live.liveIn.at(s, column);
    const more = bits & ~this.raised[i];
    if (more === 0) return;
    this.raised[i] |= more;
    if (this.pending[i] === 0) this.wait(s, i);
    this.pending[i] |= more;
  }

  private wait(s: number, word: number): void {
    const list = this.words[s];
    if (list !== undefined && list.length > 0) return void list.push(word);
    if (list === undefined) this.words[s] = [word];
    else list.push(word);
    (s <= this.at ? this.above : this.below).push(this.lastStart.length - s);
  }

  /** A segment with marks that have not been followed yet, with their column and bits; -1 if there is none. */
  takeSegment(): number {
    let list = this.words[this.at];
    if (list === undefined || list.length === 0) {
      let next = this.above.pop();
      if (next < 0) {
        [this.above, this.below] = [this.below, this.above];
        next = this.above.pop();
        if (next < 0) return -1;
      }
      this.at = this.lastStart.length - next;
      list = this.words[this.at]!;
    }
    const i = list.pop()!;
    this.column = this.live.liveIn.column[i];
    this.bits = this.pending[i];
    this.pending[i] = 0;
    return this.at;
  }
}
