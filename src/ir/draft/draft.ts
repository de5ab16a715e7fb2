import { withSrc } from '../edit.ts';
import { endsFlow, isControl } from '../flow.ts';
import type { Isa, Opcode } from '../opcode.ts';
import { Kind, label, type Operand, table } from '../operand.ts';
import { type Fn, type FnAttrs, type Instr, instr } from '../program.ts';
import type { BlockNo, Ins } from './instruction-list.ts';
import { PhiDraft } from './phis.ts';

const NOTHING: readonly number[] = [];

/**
 * A function while a pass edits it. It knows instructions in order, blocks in layout, edges, definitions and uses, and keeps
 * them current; each edit costs what it touches, and what nobody asks for (uses, definitions, predecessors) is not built. The
 * snapshot it was opened on is not touched; `edit` gives the new one.
 *
 * Fall-through is an edge like any other: layout may be changed freely, and `edit` writes the branches that this makes necessary.
 * Edits of more than one block stand in `blocks.ts`, `clone.ts` and `loops.ts` beside this file.
 */
export class Draft extends PhiDraft {
  private readonly isa: Isa | null;
  private readonly succ: (readonly BlockNo[] | undefined)[] = [];
  private pred: BlockNo[][] | null = null;
  private tableList: (readonly number[])[];

  /** By block id: where each pragma stands. */
  pragmas: FnAttrs['pragmas'];
  /** Grows with every edit of blocks, edges or layout; 0: the flow graph is that of `fn`. */
  shapeVersion = 0;

  constructor(fn: Fn, isa: Isa | null) {
    super(fn);
    this.isa = isa;
    this.tableList = fn.tables as (readonly number[])[];
    this.pragmas = fn.attrs.pragmas;
    const { fall, count } = this.blocks;
    for (let b = 0; b < count; b++) fall[b] = b + 1 < count && this.passesEnd(b) ? b + 1 : -1;
  }

  // ------------------------------------------------------------------ blocks and edges

  /** One past the highest block number. */
  get blockNumbers(): number {
    return this.blocks.count;
  }

  isAlive(b: BlockNo): boolean {
    return this.blocks.alive[b] === 1;
  }

  /** First block of the layout: the entry. */
  get entryBlock(): BlockNo {
    return this.blocks.head;
  }

  /** Last block of the layout. */
  get lastBlock(): BlockNo {
    return this.blocks.tail;
  }

  /** The block behind `b` in the layout, or -1. */
  below(b: BlockNo): BlockNo {
    return this.blocks.next[b];
  }

  /** The block in front of `b` in the layout, or -1. */
  above(b: BlockNo): BlockNo {
    return this.blocks.prev[b];
  }

  /** Blocks in layout order. */
  layout(): BlockNo[] {
    const out: BlockNo[] = [];
    for (let b = this.blocks.head; b >= 0; b = this.blocks.next[b]) out.push(b);
    return out;
  }

  /** Where control goes at the end of the block without a jump; -1 where it does not. */
  fall(b: BlockNo): BlockNo {
    return this.blocks.fall[b];
  }

  /** Distinct successors, jumps first and the fall-through last. */
  successors(b: BlockNo): readonly BlockNo[] {
    let s = this.succ[b];
    if (s === undefined) this.succ[b] = s = this.findSuccessors(b);
    return s;
  }

  /** Distinct predecessors. */
  predecessors(b: BlockNo): readonly BlockNo[] {
    if (this.pred === null) {
      const pred: BlockNo[][] = Array.from({ length: this.blocks.count }, () => []);
      for (let p = this.blocks.head; p >= 0; p = this.blocks.next[p])
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
    let seen: Set<BlockNo> | null = null;
    this.eachWay(b, (to, fromTable) => {
      if (fromTable) {
        seen ??= new Set(out);
        if (seen.has(to)) return;
      }
      seen?.add(to);
      out.push(to);
    });
    if (this.blocks.fall[b] >= 0) out.push(this.blocks.fall[b]);
    return out;
  }

  /** A new, empty block behind `after` in the layout (-1: in front of everything, as the entry); it falls through to `to`. */
  newBlock(after: BlockNo, to: BlockNo, name = ''): BlockNo {
    const old = this.blocks.head;
    const b = this.createBlock(after, name);
    this.edgesChange(b, () => {
      this.blocks.fall[b] = to;
    });
    // A pragma at the entry is one of the whole function.
    if (after < 0 && old >= 0) this.movePragmas(old, b);
    return b;
  }

  /** Takes a block out of the layout. Its instructions go, phis of its successors forget it; nothing may lead to it any more. */
  eraseBlock(b: BlockNo): void {
    this.edgesChange(b, () => {
      this.blocks.fall[b] = -1;
      while (this.blocks.last[b] >= 0) this.discard(this.blocks.last[b]);
    });
    this.unlinkBlock(b);
    if (this.pragmas.some((p) => p.block === this.blocks.ids[b]))
      this.pragmas = this.pragmas.filter((p) => p.block !== this.blocks.ids[b]);
  }

  /** Moves a block in the layout, behind `after` (-1: to the front). Edges stay. */
  moveBlock(b: BlockNo, after: BlockNo): void {
    if (after === b || this.blocks.prev[b] === after) return;
    this.blocks.unlink(b);
    this.blocks.link(b, after);
    this.shapeChanges();
  }

  /**
   * Sets how control leaves the block: a control operation or none, and where it goes on without a jump.
   * @param fall the fall-through; must be given exactly where control can pass the end of the block
   */
  setTerminator(b: BlockNo, ins: Instr | null, fall: BlockNo): void {
    if (ins === null || !endsFlow(ins) ? fall < 0 : fall >= 0)
      throw new Error(
        `BB${this.blocks.ids[b]}: ${fall < 0 ? 'no' : 'a'} fall-through behind ${ins?.op.name ?? 'nothing'}`,
      );
    const old = this.terminator(b);
    this.edgesChange(b, () => {
      this.blocks.fall[b] = fall;
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
        if (isControl(x) && leadsTo(x, this.blocks.ids[from], this.tableList))
          this.exchange(n, this.retargeted(x, from, to));
      }
      if (this.blocks.fall[b] === from) this.blocks.fall[b] = to;
    });
  }

  /** One edge (its place in `edges`) leads to `to`. */
  redirectEdge(b: BlockNo, edge: number, to: BlockNo): void {
    const all = this.edges(b);
    const from = all[edge];
    if (from === to) return;
    if (edge === all.length - 1 && this.blocks.fall[b] >= 0) {
      this.edgesChange(b, () => {
        this.blocks.fall[b] = to;
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
            seen.add(this.blocks.numberOf[o.lo]);
            if (k++ !== edge) return o;
            changed = true;
            return this.labelOf(to);
          }
          if (o.kind !== Kind.Table) return o;
          let out = o;
          for (const id of this.tableList[o.lo]) {
            if (seen.has(this.blocks.numberOf[id])) continue;
            seen.add(this.blocks.numberOf[id]);
            if (k++ !== edge) continue;
            changed = true;
            out = table(this.addTable(this.tableList[o.lo].map((e) => (e === id ? this.blocks.ids[to] : e))));
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
    for (let b = this.blocks.head; b >= 0; b = this.blocks.next[b])
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
    return this.cut(this.block(n), [n])[0];
  }

  /**
   * Cuts a block in front of each of the given instructions, which stand in order. Each piece falls into the next one unless it ends
   * in an unguarded jump. Costs as much as the block is long, however many the pieces are.
   * @returns the new blocks
   */
  cut(b: BlockNo, before: readonly Ins[]): BlockNo[] {
    const old = this.successors(b);
    const fall = this.blocks.fall[b];
    const pieces: BlockNo[] = [];
    for (let i = 0; i < before.length; i++) pieces.push(this.createBlock(i === 0 ? b : pieces[i - 1], ''));
    for (let i = before.length - 1; i >= 0; i--) this.moveTail(before[i], pieces[i]);
    for (let i = -1; i < pieces.length; i++) {
      const p = i < 0 ? b : pieces[i];
      const passes = this.passesEnd(p);
      if (i + 1 < pieces.length) this.blocks.fall[p] = passes ? pieces[i + 1] : -1;
      // Behind an unguarded jump inside of the block control never came: there it goes on to whatever stands below, or anywhere.
      else if (fall >= 0 || !passes) this.blocks.fall[p] = fall;
      else this.blocks.fall[p] = this.blocks.next[p] >= 0 ? this.blocks.next[p] : b;
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
    if (lower === undefined || other !== undefined || lower === b || lower === this.blocks.head) return false;
    // An instruction that names the block needs it.
    if (this.predecessors(lower).length !== 1 || this.isPinned(this.blocks.ids[lower])) return false;
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
    if (this.blocks.first[lower] >= 0) this.appendAll(lower, b);
    this.blocks.fall[b] = this.blocks.fall[lower];
    this.succ[b] = after;
    for (const s of after) {
      this.renameWay(s, lower, b);
      if (this.pred !== null) this.pred[s][this.pred[s].indexOf(lower)] = b;
    }
    this.movePragmas(lower, b);
    this.blocks.fall[lower] = -1;
    this.succ[lower] = NOTHING;
    if (this.pred !== null) this.pred[lower] = [];
    this.unlinkBlock(lower);
    this.shapeChanges();
    return true;
  }

  /** Sets the fall-through where the instructions of the block do not change. */
  setFall(b: BlockNo, to: BlockNo): void {
    this.edgesChange(b, () => {
      this.blocks.fall[b] = to;
    });
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
    return this.blocks.touched[b] === 1;
  }

  get counters(): { readonly regs: number; readonly blocks: number } {
    return { regs: this.regCount, blocks: this.blocks.nextId };
  }

  // ------------------------------------------------------------------ inside

  private retargeted(x: Instr, from: BlockNo, to: BlockNo): Instr {
    const old = this.blocks.ids[from];
    const id = this.blocks.ids[to];
    return withSrc(
      x,
      x.src.map((o) => {
        if (o.kind === Kind.Label) return o.lo === old ? label(id) : o;
        if (o.kind !== Kind.Table || !this.tableList[o.lo].includes(old)) return o;
        return table(this.addTable(this.tableList[o.lo].map((e) => (e === old ? id : e))));
      }),
    );
  }

  private unlinkBlock(b: BlockNo): void {
    this.blocks.unlink(b);
    this.blocks.alive[b] = 0;
  }

  private createBlock(after: BlockNo, name: string): BlockNo {
    const b = this.blocks.add(after, name);
    this.succ[b] = NOTHING;
    this.pred?.push([]);
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
        if (this.isAlive(s)) for (const phi of this.phis(s)) this.setWay(phi, b, null);
      }
    if (this.pred !== null) for (const s of after) if (!was(s)) this.pred[s].push(b);
    this.shapeChanges();
  }

  /** What stands at the start of one block stands at that of another. */
  private movePragmas(from: BlockNo, to: BlockNo): void {
    if (this.pragmas.some((p) => p.block === this.blocks.ids[from]))
      this.pragmas = this.pragmas.map((p) =>
        p.block === this.blocks.ids[from] ? { block: this.blocks.ids[to], text: p.text } : p,
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
        if (o.kind === Kind.Label) visit(this.blocks.numberOf[o.lo], false);
        else if (o.kind === Kind.Table)
          for (const id of this.tableList[o.lo]) visit(this.blocks.numberOf[id], true);
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
    if (this.blocks.fall[b] >= 0) add(this.blocks.fall[b]);
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
