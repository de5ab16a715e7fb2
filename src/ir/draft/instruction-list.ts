import { endsFlow, isControl, isPhi } from '../flow.ts';
import type { Fn, Instr, Shape } from '../program.ts';
import { BlockTable } from './block-table.ts';
import { giveWords, grown, NO_WORDS, takeWords } from './grow.ts';

/** Number of an instruction in a draft. It stays the same when the instruction moves; -1 for none. */
export type Ins = number;
/** Number of a block in a draft: its position in the opened function, or a higher one if it is new; -1 for none. */
export type BlockNo = number;

/** Initial distance between the order keys of neighbours, which leaves room for insertions. */
const GAP = 1024;

/** For functions of one shape: do control operations occur inside a block (legal until phase 6)? */
const innerControl = new WeakMap<Shape, boolean>();

function hasInnerControl(fn: Fn): boolean {
  let has = innerControl.get(fn.shape);
  if (has === undefined) {
    has = fn.blocks.some(({ ins }) => {
      for (let i = 0; i + 1 < ins.length; i++) if (isControl(ins[i])) return true;
      return false;
    });
    innerControl.set(fn.shape, has);
  }
  return has;
}

/** Instructions of a draft: their numbers, blocks and order. */
export class InstructionList {
  /** The snapshot that was opened. Analyses of it hold as long as the draft has not changed their input. */
  readonly fn: Fn;

  protected instrs: Instr[];
  /** Mark of the block of each instruction, -1 once it is removed. A mark is a block number unless `blockOfMark` maps it. */
  private markOf: Int32Array;
  /** Block of each mark, and mark of each block, once blocks were merged. A merge re-marks only the shorter block. */
  private blockOfMark: Int32Array | null = null;
  private marks: Int32Array | null = null;
  protected nextOf: Int32Array;
  protected prevOf: Int32Array;
  /** The array that the three are views of, unless they have grown. */
  private words: Int32Array;
  protected total: number;
  /** Order keys within a block, kept for blocks whose order was queried. */
  private place: Float64Array | null = null;
  private readonly ordered = new Set<BlockNo>();
  /** Whether control operations may occur inside blocks. */
  protected readonly innerControl: boolean;
  protected readonly blocks: BlockTable;
  /** Whether anything was changed. */
  changed = false;
  /** Number of instructions of the opened function. */
  protected readonly opened: number;

  constructor(fn: Fn) {
    this.fn = fn;
    this.innerControl = hasInnerControl(fn);
    const { blocks } = fn;
    let total = 0;
    for (let b = 0; b < blocks.length; b++) total += blocks[b].ins.length;
    const room = total + (total >> 3) + 32;
    this.total = total;
    this.opened = total;
    const instrs = new Array<Instr>(total);
    const words = takeWords(3 * room);
    const markOf = words.subarray(0, room);
    const nextOf = words.subarray(room, 2 * room);
    const prevOf = words.subarray(2 * room, 3 * room);
    this.blocks = new BlockTable(fn, this.innerControl);
    const { first, last } = this.blocks;
    let n = 0;
    for (let b = 0; b < blocks.length; b++) {
      const { ins } = blocks[b];
      const from = n;
      for (let i = 0; i < ins.length; i++, n++) {
        instrs[n] = ins[i];
        markOf[n] = b;
        nextOf[n] = n + 1;
        prevOf[n] = n - 1;
      }
      if (n > from) {
        prevOf[from] = -1;
        nextOf[n - 1] = -1;
      }
      first[b] = n > from ? from : -1;
      last[b] = n > from ? n - 1 : -1;
    }
    this.instrs = instrs;
    this.markOf = markOf;
    this.nextOf = nextOf;
    this.prevOf = prevOf;
    this.words = words;
  }

  /** Releases the memory of a finished draft, which must not be used afterwards. */
  release(): void {
    giveWords(this.words);
    this.words = this.markOf = this.nextOf = this.prevOf = NO_WORDS;
    this.instrs = [];
  }

  /** One past the highest instruction number. */
  get instructionNumbers(): number {
    return this.total;
  }

  /** The instruction with a number. */
  at(n: Ins): Instr {
    return this.instrs[n];
  }

  /** Block of an instruction, -1 once it is removed. */
  block(n: Ins): BlockNo {
    const mark = this.markOf[n];
    return this.blockOfMark === null || mark < 0 || mark >= this.blockOfMark.length
      ? mark
      : this.blockOfMark[mark];
  }

  isRemoved(n: Ins): boolean {
    return this.markOf[n] < 0;
  }

  first(b: BlockNo): Ins {
    return this.blocks.first[b];
  }

  last(b: BlockNo): Ins {
    return this.blocks.last[b];
  }

  next(n: Ins): Ins {
    return this.nextOf[n];
  }

  previous(n: Ins): Ins {
    return this.prevOf[n];
  }

  /** Is `a` above `b`? Both are in one block. */
  precedes(a: Ins, b: Ins): boolean {
    const block = this.block(a);
    if (!this.ordered.has(block)) this.order(block);
    return this.place![a] < this.place![b];
  }

  /** The control operation at the end of the block, or -1. */
  terminator(b: BlockNo): Ins {
    const n = this.blocks.last[b];
    return n >= 0 && isControl(this.instrs[n]) ? n : -1;
  }

  /** The instruction before which one is appended to the block: its terminator; -1: at the very end. */
  protected end(b: BlockNo): Ins {
    return this.terminator(b);
  }

  /** The first instruction that is not a phi, or -1. */
  afterPhis(b: BlockNo): Ins {
    let n = this.blocks.first[b];
    while (n >= 0 && isPhi(this.instrs[n])) n = this.nextOf[n];
    return n;
  }

  // ------------------------------------------------------------------ inside

  /** Assigns a number to an instruction. */
  protected enroll(ins: Instr): Ins {
    const n = this.total++;
    this.instrs.push(ins);
    if (n >= this.markOf.length) {
      this.markOf = grown(this.markOf, n);
      this.nextOf = grown(this.nextOf, n);
      this.prevOf = grown(this.prevOf, n);
    }
    return n;
  }

  /** Inserts an instruction before `before`; -1: at the end of the block. */
  protected relink(n: Ins, b: BlockNo, before: Ins): void {
    const after = before >= 0 ? this.prevOf[before] : this.blocks.last[b];
    this.markOf[n] = this.mark(b);
    this.prevOf[n] = after;
    this.nextOf[n] = before;
    if (after >= 0) this.nextOf[after] = n;
    else this.blocks.first[b] = n;
    if (before >= 0) this.prevOf[before] = n;
    else this.blocks.last[b] = n;
    if (this.ordered.has(b)) this.keepOrder(n, b, after, before);
    this.touch(b);
  }

  /** Chooses an order key between those of the neighbours; if there is none, the block is renumbered at the next query. */
  private keepOrder(n: Ins, b: BlockNo, after: Ins, before: Ins): void {
    const places = this.places();
    const low = after >= 0 ? places[after] : before >= 0 ? places[before] - 2 * GAP : 0;
    const high = before >= 0 ? places[before] : low + 2 * GAP;
    const place = (low + high) / 2;
    places[n] = place;
    if (place <= low || place >= high) this.ordered.delete(b);
  }

  private places(): Float64Array {
    if (this.place === null || this.place.length < this.total) {
      const place = new Float64Array(this.markOf.length);
      if (this.place !== null) place.set(this.place);
      this.place = place;
    }
    return this.place;
  }

  private order(b: BlockNo): void {
    const places = this.places();
    let place = 0;
    for (let n = this.blocks.first[b]; n >= 0; n = this.nextOf[n], place += GAP) places[n] = place;
    this.ordered.add(b);
  }

  /** Unlinks an instruction from its block; it counts as removed until it is linked again. */
  protected unlink(n: Ins): void {
    const b = this.block(n);
    const before = this.prevOf[n];
    const after = this.nextOf[n];
    if (before >= 0) this.nextOf[before] = after;
    else this.blocks.first[b] = after;
    if (after >= 0) this.prevOf[after] = before;
    else this.blocks.last[b] = before;
    this.markOf[n] = -1;
    this.touch(b);
  }

  protected touch(b: BlockNo): void {
    this.blocks.touched[b] = 1;
    this.changed = true;
  }

  /** Moves the instructions of a block from `n` on into the empty block `into`. */
  protected moveTail(n: Ins, into: BlockNo): void {
    const b = this.block(n);
    const before = this.prevOf[n];
    const last = this.blocks.last[b];
    this.blocks.last[b] = before;
    if (before >= 0) this.nextOf[before] = -1;
    else this.blocks.first[b] = -1;
    this.blocks.first[into] = n;
    this.blocks.last[into] = last;
    this.prevOf[n] = -1;
    const mark = this.mark(into);
    for (let x = n; x >= 0; x = this.nextOf[x]) this.markOf[x] = mark;
    if (this.ordered.has(b)) this.ordered.add(into);
    this.touch(b);
    this.touch(into);
  }

  /** Appends all instructions of `from` to `b`, in time linear in the shorter of the two. */
  protected appendAll(from: BlockNo, b: BlockNo): void {
    const { first, last } = this.blocks;
    const lower = first[from];
    const upper = last[b];
    const upperIsShorter = this.isShorter(first[b], lower);
    if (upper >= 0) this.nextOf[upper] = lower;
    else first[b] = lower;
    this.prevOf[lower] = upper;
    if (upperIsShorter) this.exchangeMarks(from, b);
    const mark = this.mark(b);
    const orderKept = this.ordered.has(upperIsShorter ? from : b) && upper >= 0;
    const places = orderKept ? this.places() : null;
    if (upperIsShorter)
      for (let x = upper; x >= 0; x = this.prevOf[x]) {
        this.markOf[x] = mark;
        if (places !== null) places[x] = places[this.nextOf[x]] - GAP;
      }
    else
      for (let x = lower; x >= 0; x = this.nextOf[x]) {
        this.markOf[x] = mark;
        if (places !== null) places[x] = places[this.prevOf[x]] + GAP;
      }
    if (orderKept) this.ordered.add(b);
    else this.ordered.delete(b);
    this.ordered.delete(from);
    last[b] = last[from];
    first[from] = -1;
    last[from] = -1;
    this.touch(b);
  }

  /** Are there fewer instructions from `a` on than from `b` on? Walks only as far as the shorter list. */
  private isShorter(a: Ins, b: Ins): boolean {
    while (a >= 0 && b >= 0) {
      a = this.nextOf[a];
      b = this.nextOf[b];
    }
    return a < 0 && b >= 0;
  }

  private mark(b: BlockNo): number {
    return this.marks === null || b >= this.marks.length ? b : this.marks[b];
  }

  private exchangeMarks(a: BlockNo, b: BlockNo): void {
    const most = Math.max(a, b);
    if (this.blockOfMark === null || this.marks === null || most >= this.blockOfMark.length) {
      const before = this.blockOfMark?.length ?? 0;
      this.blockOfMark = grown(this.blockOfMark ?? new Int32Array(0), Math.max(most, this.blocks.count));
      this.marks = grown(this.marks ?? new Int32Array(0), Math.max(most, this.blocks.count));
      for (let x = before; x < this.blockOfMark.length; x++) this.blockOfMark[x] = this.marks[x] = x;
    }
    const { blockOfMark, marks } = this;
    [marks[a], marks[b]] = [marks[b], marks[a]];
    blockOfMark[marks[a]] = a;
    blockOfMark[marks[b]] = b;
  }

  /** Can control pass the block's last instruction? */
  protected passesEnd(b: BlockNo): boolean {
    for (let n = this.firstControl(b); n >= 0; n = this.nextOf[n]) if (endsFlow(this.instrs[n])) return false;
    return true;
  }

  /** Where to start a search for control operations of a block: at its last instruction, unless they may be inside the block. */
  protected firstControl(b: BlockNo): Ins {
    return this.innerControl ? this.blocks.first[b] : this.blocks.last[b];
  }
}
