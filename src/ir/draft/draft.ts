import { toOperands, withSrc } from '../edit.ts';
import { endsFlow, isControl } from '../flow.ts';
import type { Isa, Opcode } from '../opcode.ts';
import { Kind, label, type Operand, table } from '../operand.ts';
import { type Fn, type FnAttrs, type Instr, instr } from '../program.ts';
import { FlowDraft, memberOf, NOTHING } from './flow.ts';
import type { BlockNo, Ins } from './instruction-list.ts';

/**
 * A mutable copy of a function, for a pass to edit. A draft keeps the order of instructions, the layout, edges,
 * definitions and uses up to date. The cost of an edit depends only on the size of the change, and indexes (uses,
 * definitions, predecessors) are built on first use. The snapshot is not modified; `edit` returns the new one.
 *
 * Fall-through is an edge like any other: the layout may be changed freely, and `edit` inserts the branches that the final
 * layout requires. Edits of several blocks are in `blocks.ts`, `clone.ts` and `loops.ts` beside this file.
 */
export class Draft extends FlowDraft {
  /** Needed by edits that create branches. */
  isa: Isa | null;

  /** Pragmas, by the id of their block. */
  pragmas: FnAttrs['pragmas'];

  constructor(fn: Fn, isa: Isa | null) {
    super(fn);
    this.isa = isa;
    this.pragmas = fn.attrs.pragmas;
  }

  /** Whether nothing was changed, and no register, instruction or table was numbered. */
  get isAsOpened(): boolean {
    const { fn } = this;
    return (
      !this.changed &&
      this.regCount === fn.regCount &&
      this.instructionNumbers === this.opened &&
      this.tableList === fn.tables &&
      this.shapeVersion === 0
    );
  }

  /** Adds an empty block after `after` in the layout (-1: before everything, as the entry) that falls through to `to`. */
  newBlock(after: BlockNo, to: BlockNo, name = ''): BlockNo {
    const old = this.blocks.head;
    const b = this.createBlock(after, name);
    this.edgesChange(b, () => {
      this.blocks.fall[b] = to;
    });
    // A pragma at the entry applies to the whole function.
    if (after < 0 && old >= 0) this.movePragmas(old, b);
    return b;
  }

  /** Erases a block with its instructions and its operands in phis of successors. The block must not have a predecessor. */
  eraseBlock(b: BlockNo): void {
    this.edgesChange(b, () => {
      this.blocks.fall[b] = -1;
      while (this.blocks.last[b] >= 0) this.discard(this.blocks.last[b]);
    });
    this.unlinkBlock(b);
    if (this.pragmas.some((p) => p.block === this.blocks.ids[b]))
      this.pragmas = this.pragmas.filter((p) => p.block !== this.blocks.ids[b]);
  }

  /** Moves a block in the layout, after `after` (-1: to the front). Edges stay. */
  moveBlock(b: BlockNo, after: BlockNo): void {
    if (after === b || this.blocks.prev[b] === after) return;
    this.blocks.unlink(b);
    this.blocks.link(b, after);
    this.shapeChanges();
  }

  /**
   * Sets how control leaves the block: by an optional control operation and an optional fall-through.
   * @param fall the fall-through; required if and only if control can pass the end of the block, else -1
   * @throws Error otherwise
   */
  setTerminator(b: BlockNo, ins: Instr | null, fall: BlockNo): void {
    if (ins === null || !endsFlow(ins) ? fall < 0 : fall >= 0)
      throw new Error(
        `BB${this.blocks.ids[b]}: ${fall < 0 ? 'no' : 'a'} fall-through after ${ins?.op.name ?? 'nothing'}`,
      );
    const old = this.terminator(b);
    this.edgesChange(b, () => {
      this.blocks.fall[b] = fall;
      if (old >= 0 && ins !== null) this.exchange(old, ins);
      else if (old >= 0) this.discard(old);
      else if (ins !== null) this.link(this.enroll(ins), b, -1);
    });
  }

  /**
   * Redirects all edges from `b` to `from` so that they lead to `to`. Phis of `from` lose their operand for `b`; the caller
   * adds one to the phis of `to` (`setIncoming`).
   */
  redirect(b: BlockNo, from: BlockNo, to: BlockNo): void {
    if (from === to) return;
    this.edgesChange(b, () => {
      for (let n = this.firstControl(b); n >= 0; n = this.nextOf[n]) {
        const x = this.at(n);
        if (isControl(x) && leadsTo(x, this.blocks.ids[from], this.tableList)) this.retarget(n, from, to);
      }
      if (this.blocks.fall[b] === from) this.blocks.fall[b] = to;
    });
  }

  /** Redirects one edge (its index in `edges`) to `to`. The caller adds the operands of phis of `to`. */
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
        const src = toOperands(x.src, (o) => {
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
            out = this.tableWith(o, id, this.blocks.ids[to]);
            changed = out !== o;
          }
          return out;
        });
        if (changed) this.exchange(n, withSrc(x, src));
      }
    });
  }

  /**
   * Replaces the entries of a jump table, for every block that jumps through it. The caller adds the operands of phis of new
   * targets.
   */
  replaceTable(t: number, ids: readonly number[]): void {
    const users: BlockNo[] = [];
    for (let b = this.blocks.head; b >= 0; b = this.blocks.next[b])
      for (let n = this.firstControl(b); n >= 0; n = this.nextOf[n]) {
        const { src } = this.at(n);
        if (!isControl(this.at(n)) || !src.some((o) => o.kind === Kind.Table && o.lo === t)) continue;
        if (users[users.length - 1] !== b) users.push(b);
      }
    const before = users.map((b) => this.successors(b));
    this.setTable(t, ids);
    users.forEach((b, i) => void this.edgesChanged(b, before[i]));
  }

  /**
   * Splits the block before `n`: the instructions from `n` on, and all outgoing edges, move to a new block, to which the old
   * one falls through. `n` must not be a phi.
   * @returns the new block
   */
  splitBefore(n: Ins): BlockNo {
    return this.cut(this.block(n), [n])[0];
  }

  /**
   * Splits a block before each of the given instructions, which are in order. Each piece falls through to the next one
   * unless it ends in an unguarded jump. The time is linear in the length of the block, for any number of pieces.
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
      // Control never passes an unguarded jump inside the block, so the piece after it may fall through to any block.
      else if (fall >= 0 || !passes) this.blocks.fall[p] = fall;
      else this.blocks.fall[p] = this.blocks.next[p] >= 0 ? this.blocks.next[p] : b;
      this.succ[p] = this.findSuccessors(p);
    }
    const stays = memberOf(this.successors(b));
    for (const p of pieces)
      for (const s of this.successors(p)) {
        this.pred?.[s].push(p);
        if (stays(s)) for (const phi of this.phis(s)) this.setIncoming(phi, p, this.incoming(phi, b));
        else this.renamePredecessor(s, b, p);
      }
    if (this.pred !== null) {
      for (const s of old) if (!stays(s)) this.pred[s].splice(this.pred[s].indexOf(b), 1);
      if (pieces.length > 0 && stays(pieces[0])) this.pred[pieces[0]].push(b);
    }
    this.shapeChanges();
    return pieces;
  }

  /**
   * Merges `b` with its only successor, if that has no other predecessor. The phis of the successor are replaced by their
   * only operand.
   * @returns false if the two cannot be merged, or if control operations may occur inside blocks
   */
  mergeWithSuccessor(b: BlockNo): boolean {
    if (this.innerControl) return false;
    const [lower, other] = this.successors(b);
    if (lower === undefined || other !== undefined || lower === b || lower === this.blocks.head) return false;
    // A block that an instruction names must stay.
    if (this.predecessors(lower).length !== 1 || this.isPinned(this.blocks.ids[lower])) return false;
    const t = this.terminator(b);
    // A block that ends in a call or a jump through a table is not merged.
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
      this.renamePredecessor(s, lower, b);
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

  /** Sets the fall-through; the instructions of the block stay. */
  setFall(b: BlockNo, to: BlockNo): void {
    this.edgesChange(b, () => {
      this.blocks.fall[b] = to;
    });
  }

  // ------------------------------------------------------------------ for the files beside this one

  /** An opcode of the instruction set. @throws Error if the draft was opened without one */
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

  private retarget(n: Ins, from: BlockNo, to: BlockNo): void {
    const x = this.at(n);
    const old = this.blocks.ids[from];
    const id = this.blocks.ids[to];
    const src = toOperands(x.src, (o) => {
      if (o.kind === Kind.Label) return o.lo === old ? label(id) : o;
      return o.kind === Kind.Table ? this.tableWith(o, old, id) : o;
    });
    if (src.some((o, i) => o !== x.src[i])) this.exchange(n, withSrc(x, src));
  }

  /** A table with one target replaced: the same table, changed, if the operand is its only use, else a new one. */
  private tableWith(o: Operand, from: number, to: number): Operand {
    if (!this.tableList[o.lo].includes(from)) return o;
    const ids = this.tableList[o.lo].map((e) => (e === from ? to : e));
    if (this.tableUses(o.lo) > 1) return table(this.addTable(ids));
    this.setTable(o.lo, ids);
    return o;
  }

  private movePragmas(from: BlockNo, to: BlockNo): void {
    if (this.pragmas.some((p) => p.block === this.blocks.ids[from]))
      this.pragmas = this.pragmas.map((p) =>
        p.block === this.blocks.ids[from] ? { block: this.blocks.ids[to], text: p.text } : p,
      );
  }
}

const leadsTo = (x: Instr, id: number, tables: readonly (readonly number[])[]): boolean =>
  x.src.some(
    (o) => (o.kind === Kind.Label && o.lo === id) || (o.kind === Kind.Table && tables[o.lo].includes(id)),
  );

/** Is the operand a register without modifiers? */
export const isPlain = (o: Operand): boolean => o.kind === Kind.Reg && o.mods === 0;
