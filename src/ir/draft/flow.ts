import { endsFlow, isControl } from '../flow.ts';
import { Kind } from '../operand.ts';
import type { Fn } from '../program.ts';
import type { BlockNo } from './instruction-list.ts';
import { PhiDraft } from './phis.ts';

export const NOTHING: readonly number[] = [];

/** The part of a draft for layout, edges and jump tables. See `Draft`. */
export class FlowDraft extends PhiDraft {
  protected readonly succ: (readonly BlockNo[] | undefined)[] = [];
  protected pred: BlockNo[][] | null = null;
  protected tableList: (readonly number[])[];

  /** Incremented by every edit of blocks, edges or layout; 0: the flow graph is still that of `fn`. */
  shapeVersion = 0;

  constructor(fn: Fn) {
    super(fn);
    this.tableList = fn.tables as (readonly number[])[];
  }

  /** One past the highest block number. */
  get blockNumbers(): number {
    return this.blocks.count;
  }

  /** False once the block has been erased. */
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

  /** The block after `b` in the layout, or -1. */
  below(b: BlockNo): BlockNo {
    return this.blocks.next[b];
  }

  /** The block before `b` in the layout, or -1. */
  above(b: BlockNo): BlockNo {
    return this.blocks.prev[b];
  }

  /** Blocks in layout order. */
  layout(): BlockNo[] {
    const out: BlockNo[] = [];
    for (let b = this.blocks.head; b >= 0; b = this.blocks.next[b]) out.push(b);
    return out;
  }

  /** The fall-through of the block; -1 if it has none. */
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
   * Target blocks of the outgoing edges: label operands in order, distinct targets of tables, the fall-through. An edge is
   * identified by its index in this list; two of them may lead to one block.
   */
  edges(b: BlockNo): BlockNo[] {
    const out: BlockNo[] = [];
    let seen: Set<BlockNo> | null = null;
    this.eachTarget(b, (to, fromTable) => {
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

  tables(): readonly (readonly number[])[] {
    return this.tableList;
  }

  /** Adds a jump table of block ids. @returns its index */
  addTable(ids: readonly number[]): number {
    if (this.tableList === this.fn.tables) this.tableList = [...this.fn.tables];
    this.tableList.push(ids);
    this.changed = true;
    return this.tableList.length - 1;
  }

  protected setTable(t: number, ids: readonly number[]): void {
    if (this.tableList === this.fn.tables) this.tableList = [...this.fn.tables];
    this.tableList[t] = ids;
    this.changed = true;
  }

  protected unlinkBlock(b: BlockNo): void {
    this.blocks.unlink(b);
    this.blocks.alive[b] = 0;
  }

  protected createBlock(after: BlockNo, name: string): BlockNo {
    const b = this.blocks.add(after, name);
    this.succ[b] = NOTHING;
    this.pred?.push([]);
    return b;
  }

  /** Performs an edit of a block's outgoing edges and updates successors, predecessors and phis of former successors. */
  protected edgesChange(b: BlockNo, change: () => void): void {
    const before = this.successors(b);
    change();
    this.edgesChanged(b, before);
  }

  /** Updates everything that depends on a block's outgoing edges. */
  protected edgesChanged(b: BlockNo, before: readonly BlockNo[]): void {
    const after = this.findSuccessors(b);
    this.succ[b] = after;
    const is = memberOf(after);
    const was = memberOf(before);
    for (const s of before)
      if (!is(s)) {
        if (this.pred !== null) this.pred[s].splice(this.pred[s].indexOf(b), 1);
        if (this.isAlive(s)) for (const phi of this.phis(s)) this.setIncoming(phi, b, null);
      }
    if (this.pred !== null) for (const s of after) if (!was(s)) this.pred[s].push(b);
    this.shapeChanges();
  }

  protected shapeChanges(): void {
    this.shapeVersion++;
    this.changed = true;
  }

  protected eachTarget(b: BlockNo, visit: (to: BlockNo, fromTable: boolean) => void): void {
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

  protected findSuccessors(b: BlockNo): readonly BlockNo[] {
    const out: BlockNo[] = [];
    let seen: Set<BlockNo> | null = null;
    const add = (to: BlockNo): void => {
      if (seen === null ? out.includes(to) : seen.has(to)) return;
      out.push(to);
      if (seen !== null) seen.add(to);
      else if (out.length === 8) seen = new Set(out);
    };
    this.eachTarget(b, add);
    if (this.blocks.fall[b] >= 0) add(this.blocks.fall[b]);
    return out;
  }
}

/** A membership test for a list of blocks, fast for long lists such as the successors of a large table too. */
export function memberOf(list: readonly BlockNo[]): (b: BlockNo) => boolean {
  if (list.length <= 8) return (b) => list.includes(b);
  const set = new Set(list);
  return (b) => set.has(b);
}
