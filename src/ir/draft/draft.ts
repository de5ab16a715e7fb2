import { withSource, withSrc } from '../edit.ts';
import { endsFlow, isControl, isPhi } from '../flow.ts';
import type { Isa, Opcode } from '../opcode.ts';
import { Kind, label, type Operand, table } from '../operand.ts';
import { type Fn, type FnAttrs, type Instr, instr } from '../program.ts';
import { type BlockNo, type Ins, InstructionDraft } from './instructions.ts';

const NOTHING: readonly number[] = [];

/**
 * A function while a pass edits it. It knows instructions in order, blocks in layout, edges, definitions and uses, and keeps
 * them current; each edit costs what it touches, and what nobody asks for (uses, definitions, predecessors) is not built. The
 * snapshot it was opened on is not touched; `edit` gives the new one.
 *
 * Fall-through is an edge like any other: layout may be changed freely, and `edit` writes the branches that this makes necessary.
 * Edits of more than one block stand in `blocks.ts`, `clone.ts` and `loops.ts` beside this file.
 */
export class Draft extends InstructionDraft {
  private readonly isa: Isa | null;
  private readonly ids: number[] = [];
  readonly names: string[] = [];
  private readonly byId: number[] = [];
  private readonly fallOf: BlockNo[] = [];
  private readonly nextBlock: BlockNo[] = [];
  private readonly prevBlock: BlockNo[] = [];
  private readonly alive: boolean[] = [];
  private head: BlockNo = -1;
  private succ: (readonly BlockNo[] | null)[] = [];
  private pred: BlockNo[][] | null = null;
  private nextId: number;
  private tableList: (readonly number[])[];

  /** By block id: where each pragma stands. */
  pragmas: FnAttrs['pragmas'];
  /** Grows with every edit of blocks, edges or layout; 0: the flow graph is that of `fn`. */
  shapeVersion = 0;

  constructor(fn: Fn, isa: Isa | null) {
    super(fn);
    this.isa = isa;
    this.nextId = fn.blockCount;
    this.tableList = fn.tables as (readonly number[])[];
    this.pragmas = fn.attrs.pragmas;
    const { blocks } = fn;
    for (let b = 0; b < blocks.length; b++) {
      const { id, name } = blocks[b];
      this.ids.push(id);
      this.byId[id] = b;
      this.names.push(name);
      this.fallOf.push(b + 1 < blocks.length && this.passesEnd(b) ? b + 1 : -1);
      this.nextBlock.push(b + 1 < blocks.length ? b + 1 : -1);
      this.prevBlock.push(b - 1);
      this.alive.push(true);
      this.succ.push(null);
    }
    this.head = blocks.length > 0 ? 0 : -1;
  }

  // ------------------------------------------------------------------ blocks and edges

  /** One past the highest block number. */
  get blockNumbers(): number {
    return this.ids.length;
  }

  isAlive(b: BlockNo): boolean {
    return this.alive[b];
  }

  /** First block of the layout: the entry. */
  get entryBlock(): BlockNo {
    return this.head;
  }

  /** The block behind `b` in the layout, or -1. */
  below(b: BlockNo): BlockNo {
    return this.nextBlock[b];
  }

  /** The block in front of `b` in the layout, or -1. */
  above(b: BlockNo): BlockNo {
    return this.prevBlock[b];
  }

  /** Blocks in layout order. */
  layout(): BlockNo[] {
    const out: BlockNo[] = [];
    for (let b = this.head; b >= 0; b = this.nextBlock[b]) out.push(b);
    return out;
  }

  /** Id of a block, as labels and tables name it. */
  id(b: BlockNo): number {
    return this.ids[b];
  }

  /** The block with this id, -1 if there is none. */
  blockById(id: number): BlockNo {
    const b = this.byId[id];
    return b !== undefined && this.alive[b] ? b : -1;
  }

  /** A label operand that names the block. */
  labelOf(b: BlockNo): Operand {
    return label(this.ids[b]);
  }

  /** Where control goes at the end of the block without a jump; -1 where it does not. */
  fall(b: BlockNo): BlockNo {
    return this.fallOf[b];
  }

  /** Distinct successors, jumps first and the fall-through last. */
  successors(b: BlockNo): readonly BlockNo[] {
    let s = this.succ[b];
    if (s === null) this.succ[b] = s = this.findSuccessors(b);
    return s;
  }

  /** Distinct predecessors. */
  predecessors(b: BlockNo): readonly BlockNo[] {
    if (this.pred === null) {
      const pred: BlockNo[][] = this.ids.map(() => []);
      for (let p = this.head; p >= 0; p = this.nextBlock[p])
        for (const s of this.successors(p)) pred[s].push(p);
      this.pred = pred;
    }
    return this.pred[b];
  }

  /**
   * Edges out of a block, one for each way that control can take: label operands in order, distinct targets of tables, the
   * fall-through. An edge is named by its place here; two of them may lead to one block.
   */
  edges(b: BlockNo): BlockNo[] {
    const out: BlockNo[] = [];
    const seen = new Set<BlockNo>();
    this.eachWay(b, (to, fromTable) => {
      if (fromTable && seen.has(to)) return;
      seen.add(to);
      out.push(to);
    });
    if (this.fallOf[b] >= 0) out.push(this.fallOf[b]);
    return out;
  }

  /** A new, empty block behind `after` in the layout (-1: in front of everything, as the entry); it falls through to `to`. */
  newBlock(after: BlockNo, to: BlockNo, name = ''): BlockNo {
    const old = this.head;
    const b = this.createBlock(after, name);
    this.edgesChange(b, () => {
      this.fallOf[b] = to;
    });
    // A pragma at the entry is one of the whole function.
    if (after < 0 && old >= 0) this.movePragmas(old, b);
    return b;
  }

  /** Takes a block out of the layout. Its instructions go, phis of its successors forget it; nothing may lead to it any more. */
  eraseBlock(b: BlockNo): void {
    this.edgesChange(b, () => {
      this.fallOf[b] = -1;
      while (this.lastOf[b] >= 0) this.discard(this.lastOf[b]);
    });
    this.unlinkBlock(b);
    if (this.pragmas.some((p) => p.block === this.ids[b]))
      this.pragmas = this.pragmas.filter((p) => p.block !== this.ids[b]);
  }

  /** Moves a block in the layout, behind `after` (-1: to the front). Edges stay. */
  moveBlock(b: BlockNo, after: BlockNo): void {
    if (after === b || this.prevBlock[b] === after) return;
    this.unlinkBlock(b);
    this.alive[b] = true;
    this.linkBlock(b, after);
    this.shapeChanges();
  }

  /**
   * Sets how control leaves the block: a control operation or none, and where it goes on without a jump.
   * @param fall the fall-through; must be given exactly where control can pass the end of the block
   */
  setTerminator(b: BlockNo, ins: Instr | null, fall: BlockNo): void {
    if (ins === null || !endsFlow(ins) ? fall < 0 : fall >= 0)
      throw new Error(
        `BB${this.ids[b]}: ${fall < 0 ? 'no' : 'a'} fall-through behind ${ins?.op.name ?? 'nothing'}`,
      );
    const old = this.terminator(b);
    this.edgesChange(b, () => {
      this.fallOf[b] = fall;
      if (old >= 0 && ins !== null) this.exchange(old, ins);
      else if (old >= 0) this.discard(old);
      else if (ins !== null) this.link(this.enroll(ins), b, -1);
    });
  }

  /** All edges of `b` that lead to `from` lead to `to`. Phis of `to` must be told the value, by `setWay`, those of `from` forget. */
  redirect(b: BlockNo, from: BlockNo, to: BlockNo): void {
    if (from === to) return;
    this.edgesChange(b, () => {
      for (let n = this.firstControl(b); n >= 0; n = this.nextOf[n]) {
        const x = this.at(n);
        if (isControl(x) && leadsTo(x, this.ids[from], this.tableList))
          this.exchange(n, this.retargeted(x, from, to));
      }
      if (this.fallOf[b] === from) this.fallOf[b] = to;
    });
  }

  /** One edge (its place in `edges`) leads to `to`. */
  redirectEdge(b: BlockNo, edge: number, to: BlockNo): void {
    const all = this.edges(b);
    const from = all[edge];
    if (from === to) return;
    if (edge === all.length - 1 && this.fallOf[b] >= 0) {
      this.edgesChange(b, () => {
        this.fallOf[b] = to;
      });
      return;
    }
    this.edgesChange(b, () => {
      let k = 0;
      const seen = new Set<BlockNo>();
      for (let n = this.firstControl(b); n >= 0; n = this.nextOf[n]) {
        const x = this.at(n);
        if (!isControl(x)) continue;
        let changed = false;
        const src = x.src.map((o) => {
          if (o.kind === Kind.Label) {
            seen.add(this.byId[o.lo]);
            if (k++ !== edge) return o;
            changed = true;
            return this.labelOf(to);
          }
          if (o.kind !== Kind.Table) return o;
          let out = o;
          for (const id of this.tableList[o.lo]) {
            if (seen.has(this.byId[id])) continue;
            seen.add(this.byId[id]);
            if (k++ !== edge) continue;
            changed = true;
            out = table(this.addTable(this.tableList[o.lo].map((e) => (e === id ? this.ids[to] : e))));
          }
          return out;
        });
        if (changed) this.exchange(n, withSrc(x, src));
      }
    });
  }

  tables(): readonly (readonly number[])[] {
    return this.tableList;
  }

  /** Gives a jump table other entries, for every block that jumps through it. Phis of new targets must be told the values. */
  replaceTable(t: number, ids: readonly number[]): void {
    const users: BlockNo[] = [];
    for (let b = this.head; b >= 0; b = this.nextBlock[b])
      for (let n = this.firstControl(b); n >= 0; n = this.nextOf[n]) {
        const { src } = this.at(n);
        if (!isControl(this.at(n)) || !src.some((o) => o.kind === Kind.Table && o.lo === t)) continue;
        if (users[users.length - 1] !== b) users.push(b);
      }
    const before = users.map((b) => this.successors(b));
    if (this.tableList === this.fn.tables) this.tableList = [...this.fn.tables];
    this.tableList[t] = ids;
    this.changed = true;
    users.forEach((b, i) => void this.edgesChanged(b, before[i]));
  }

  /** Adds a jump table of block ids; gives its index. */
  addTable(ids: readonly number[]): number {
    if (this.tableList === this.fn.tables) this.tableList = [...this.fn.tables];
    this.tableList.push(ids);
    this.changed = true;
    return this.tableList.length - 1;
  }

  /**
   * Cuts the block of `n` in front of it: what stands from there on, and all ways out, are a new block's, into which the old one
   * falls. A phi cannot be the first of the new block.
   * @returns the new block
   */
  splitBefore(n: Ins): BlockNo {
    return this.cut(this.blockOf[n], [n])[0];
  }

  /**
   * Cuts a block in front of each of the given instructions, which stand in order. Each piece falls into the next one unless it ends
   * in an unguarded jump. Costs as much as the block is long, however many the pieces are.
   * @returns the new blocks
   */
  cut(b: BlockNo, before: readonly Ins[]): BlockNo[] {
    const old = this.successors(b);
    const fall = this.fallOf[b];
    const pieces: BlockNo[] = [];
    for (let i = 0; i < before.length; i++) pieces.push(this.createBlock(i === 0 ? b : pieces[i - 1], ''));
    for (let i = before.length - 1; i >= 0; i--) this.moveTail(before[i], pieces[i]);
    for (let i = -1; i < pieces.length; i++) {
      const p = i < 0 ? b : pieces[i];
      const passes = this.passesEnd(p);
      if (i + 1 < pieces.length) this.fallOf[p] = passes ? pieces[i + 1] : -1;
      // Behind an unguarded jump inside of the block control never came: there it goes on to whatever stands below.
      else this.fallOf[p] = fall >= 0 || !passes ? fall : this.nextBlock[p];
      this.succ[p] = this.findSuccessors(p);
    }
    const stays = memberOf(this.successors(b));
    for (const p of pieces)
      for (const s of this.successors(p)) {
        this.pred?.[s].push(p);
        if (stays(s)) for (const phi of this.phis(s)) this.setWay(phi, p, this.way(phi, b));
        else this.renameWay(s, b, p);
      }
    if (this.pred !== null) {
      for (const s of old) if (!stays(s)) this.pred[s].splice(this.pred[s].indexOf(b), 1);
      if (pieces.length > 0 && stays(pieces[0])) this.pred[pieces[0]].push(b);
    }
    this.shapeChanges();
    return pieces;
  }

  /**
   * Puts the only successor of `b`, which has no other predecessor, behind it; its phis give way to their one value.
   * @returns false where the two cannot be one block, or control may stand inside of blocks
   */
  mergeWithSuccessor(b: BlockNo): boolean {
    if (this.innerControl) return false;
    const [lower, other] = this.successors(b);
    if (lower === undefined || other !== undefined || lower === b || lower === this.head) return false;
    // An instruction that names the block needs it.
    if (this.predecessors(lower).length !== 1 || this.isPinned(this.ids[lower])) return false;
    const t = this.terminator(b);
    // A call in the end of the block, or a jump through a table, stays what it is.
    if (t >= 0 && this.at(t).src[0]?.kind !== Kind.Label) return false;
    for (const phi of this.phis(lower)) if (!isPlain(this.at(phi).src[1])) return false;
    for (const phi of this.phis(lower)) {
      const x = this.at(phi);
      this.replaceUses(x.dst[0], x.src[1].reg);
      this.discard(phi);
    }
    if (t >= 0) this.discard(t);
    const after = this.successors(lower);
    if (this.firstOf[lower] >= 0) this.appendAll(lower, b);
    this.fallOf[b] = this.fallOf[lower];
    this.succ[b] = after;
    for (const s of after) {
      this.renameWay(s, lower, b);
      if (this.pred !== null) this.pred[s][this.pred[s].indexOf(lower)] = b;
    }
    this.movePragmas(lower, b);
    this.fallOf[lower] = -1;
    this.succ[lower] = NOTHING;
    if (this.pred !== null) this.pred[lower] = [];
    this.unlinkBlock(lower);
    this.shapeChanges();
    return true;
  }

  /** Sets the fall-through where the instructions of the block do not change. */
  setFall(b: BlockNo, to: BlockNo): void {
    this.edgesChange(b, () => {
      this.fallOf[b] = to;
    });
  }

  // ------------------------------------------------------------------ phis

  /** Phis at the top of a block. */
  phis(b: BlockNo): Ins[] {
    const out: Ins[] = [];
    for (let n = this.firstOf[b]; n >= 0 && isPhi(this.at(n)); n = this.nextOf[n]) out.push(n);
    return out;
  }

  /** What a phi takes from a predecessor, or null. */
  way(phi: Ins, from: BlockNo): Operand | null {
    const { src } = this.at(phi);
    for (let k = 0; k + 1 < src.length; k += 2) if (src[k].lo === this.ids[from]) return src[k + 1];
    return null;
  }

  /** Sets what a phi takes from a predecessor; null takes the way out. */
  setWay(phi: Ins, from: BlockNo, value: Operand | null): void {
    const x = this.at(phi);
    const src = [...x.src];
    const id = this.ids[from];
    let k = 0;
    while (k < src.length && src[k].lo !== id) k += 2;
    if (value === null) {
      if (k >= src.length) return;
      src.splice(k, 2);
    } else if (k < src.length) src[k + 1] = value;
    else src.push(label(id), value);
    this.replace(phi, withSrc(x, src));
  }

  /** In the phis of `b`, what came from `from` comes from `to`. */
  renameWay(b: BlockNo, from: BlockNo, to: BlockNo): void {
    for (const phi of this.phis(b)) {
      const x = this.at(phi);
      const k = x.src.findIndex((o, i) => i % 2 === 0 && o.lo === this.ids[from]);
      if (k >= 0) this.replace(phi, withSource(x, k, this.labelOf(to)));
    }
  }

  /** Takes ways out of phis: those from blocks of which `gone` says so. */
  forgetWays(b: BlockNo, gone: (from: BlockNo) => boolean): void {
    for (const phi of this.phis(b)) {
      const x = this.at(phi);
      const left: Operand[] = [];
      for (let k = 0; k + 1 < x.src.length; k += 2)
        if (!gone(this.byId[x.src[k].lo])) left.push(x.src[k], x.src[k + 1]);
      if (left.length < x.src.length) this.replace(phi, withSrc(x, left));
    }
  }

  // ------------------------------------------------------------------ for the files beside this one

  /** An opcode of the instruction set. Throws if the draft was opened without one. */
  opcode(name: string): Opcode {
    const op = this.isa?.byName.get(name);
    if (op === undefined)
      throw new Error(`this edit needs the opcode ${name}: open the draft with an instruction set`);
    return op;
  }

  /** An unconditional branch. */
  branchTo(b: BlockNo, loc = 0): Instr {
    return instr(this.opcode('BRA'), 0, [], [this.labelOf(b)], loc);
  }

  isTouched(b: BlockNo): boolean {
    return this.touched[b];
  }

  get counters(): { readonly regs: number; readonly blocks: number } {
    return { regs: this.regCount, blocks: this.nextId };
  }

  // ------------------------------------------------------------------ inside

  private retargeted(x: Instr, from: BlockNo, to: BlockNo): Instr {
    const old = this.ids[from];
    const id = this.ids[to];
    return withSrc(
      x,
      x.src.map((o) => {
        if (o.kind === Kind.Label) return o.lo === old ? label(id) : o;
        if (o.kind !== Kind.Table || !this.tableList[o.lo].includes(old)) return o;
        return table(this.addTable(this.tableList[o.lo].map((e) => (e === old ? id : e))));
      }),
    );
  }

  private linkBlock(b: BlockNo, after: BlockNo): void {
    const before = after < 0 ? this.head : this.nextBlock[after];
    this.prevBlock[b] = after;
    this.nextBlock[b] = before;
    if (after < 0) this.head = b;
    else this.nextBlock[after] = b;
    if (before >= 0) this.prevBlock[before] = b;
  }

  private unlinkBlock(b: BlockNo): void {
    const before = this.prevBlock[b];
    const after = this.nextBlock[b];
    if (before >= 0) this.nextBlock[before] = after;
    else this.head = after;
    if (after >= 0) this.prevBlock[after] = before;
    this.alive[b] = false;
  }

  private createBlock(after: BlockNo, name: string): BlockNo {
    const b = this.ids.length;
    this.ids.push(this.nextId);
    this.byId[this.nextId++] = b;
    this.names.push(name);
    this.firstOf.push(-1);
    this.lastOf.push(-1);
    this.fallOf.push(-1);
    this.alive.push(true);
    this.touched.push(true);
    this.nextBlock.push(-1);
    this.prevBlock.push(-1);
    this.succ.push(NOTHING);
    this.pred?.push([]);
    this.linkBlock(b, after);
    return b;
  }

  /** Carries out an edit of a block's ways out; keeps successors, predecessors and phis of lost successors current. */
  private edgesChange(b: BlockNo, change: () => void): void {
    const before = this.successors(b);
    change();
    this.edgesChanged(b, before);
  }

  /** Brings all that is known of a block's ways out up to date. */
  private edgesChanged(b: BlockNo, before: readonly BlockNo[]): void {
    const after = this.findSuccessors(b);
    this.succ[b] = after;
    const is = memberOf(after);
    const was = memberOf(before);
    for (const s of before)
      if (!is(s)) {
        if (this.pred !== null) this.pred[s].splice(this.pred[s].indexOf(b), 1);
        if (this.alive[s]) for (const phi of this.phis(s)) this.setWay(phi, b, null);
      }
    if (this.pred !== null) for (const s of after) if (!was(s)) this.pred[s].push(b);
    this.shapeChanges();
  }

  /** What stands at the start of one block stands at that of another. */
  private movePragmas(from: BlockNo, to: BlockNo): void {
    if (this.pragmas.some((p) => p.block === this.ids[from]))
      this.pragmas = this.pragmas.map((p) =>
        p.block === this.ids[from] ? { block: this.ids[to], text: p.text } : p,
      );
  }

  private shapeChanges(): void {
    this.shapeVersion++;
    this.changed = true;
  }

  private eachWay(b: BlockNo, visit: (to: BlockNo, fromTable: boolean) => void): void {
    for (let n = this.firstControl(b); n >= 0; n = this.nextOf[n]) {
      const x = this.at(n);
      if (!isControl(x)) continue;
      for (let i = 0; i < x.src.length; i++) {
        const o = x.src[i];
        if (o.kind === Kind.Label) visit(this.byId[o.lo], false);
        else if (o.kind === Kind.Table) for (const id of this.tableList[o.lo]) visit(this.byId[id], true);
      }
      if (endsFlow(x)) return;
    }
  }

  private findSuccessors(b: BlockNo): readonly BlockNo[] {
    const out: BlockNo[] = [];
    let seen: Set<BlockNo> | null = null;
    const add = (to: BlockNo): void => {
      if (seen === null ? out.includes(to) : seen.has(to)) return;
      out.push(to);
      if (seen !== null) seen.add(to);
      else if (out.length === 8) seen = new Set(out);
    };
    this.eachWay(b, add);
    if (this.fallOf[b] >= 0) add(this.fallOf[b]);
    return out;
  }
}

const leadsTo = (x: Instr, id: number, tables: readonly (readonly number[])[]): boolean =>
  x.src.some(
    (o) => (o.kind === Kind.Label && o.lo === id) || (o.kind === Kind.Table && tables[o.lo].includes(id)),
  );

/** Is a block in the list? Fast for long lists, as the ways out of a large table are. */
function memberOf(list: readonly BlockNo[]): (b: BlockNo) => boolean {
  if (list.length <= 8) return (b) => list.includes(b);
  const set = new Set(list);
  return (b) => set.has(b);
}

/** Is the operand a register as it is, neither turned round nor negated? */
export const isPlain = (o: Operand): boolean => o.kind === Kind.Reg && o.mods === 0;
