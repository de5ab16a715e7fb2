import { type Cfg, cfgOf, endsFlow, isControl, terminator } from '../analysis/cfg.ts';
import { copyFn, withIns } from '../ir/edit.ts';
import { Kind } from '../ir/operand.ts';
import type { Block, Fn, Instr } from '../ir/program.ts';

/**
 * The control flow of a function while a pass rewrites it: blocks in a linked layout, counted edges, the cascade that
 * erases what has lost its last edge, and the forwarding of blocks that only pass control on. Blocks are named by their
 * position in the original; every edit costs the block that it touches.
 *
 * Requires that control operations end their blocks.
 */
export class FlowDraft {
  readonly fn: Fn;
  readonly cfg: Cfg;
  /** Current instructions by position. */
  readonly ins: (readonly Instr[])[];
  /** Jump tables as positions. */
  readonly tables: (readonly number[])[];
  /** Next and previous block in the layout of what is left; -1 at the ends. */
  readonly next: Int32Array;
  private readonly prev: Int32Array;
  private readonly alive: Uint8Array;
  /** Edges into a block; an edge of a table counts once for each entry, whatever the number of its users. */
  private readonly refs: Int32Array;
  private readonly tableUsers: Int32Array;
  /** Must stay though no edge may lead to it: the entry, and labels of instructions that do not jump (BSSY). */
  private readonly pinned: Uint8Array;
  /** Union-find over blocks that only pass control on; a block that does something is its own root. */
  private readonly forward: Int32Array;
  private readonly extraPreds = new Map<number, number[]>();
  /** Set once the first links are made: nobody has looked at a block before. */
  private ready = false;
  /** Told about blocks that should be looked at again. */
  private readonly reopen: (b: number) => void;
  /** Told about blocks that are erased. */
  private readonly onErase: (b: number) => void;

  constructor(fn: Fn, reopen: (b: number) => void, onErase: (b: number) => void) {
    const count = fn.blocks.length;
    this.fn = fn;
    this.cfg = cfgOf(fn);
    this.reopen = reopen;
    this.onErase = onErase;
    this.ins = fn.blocks.map((b) => b.ins);
    this.tables = fn.tables.map((t) => t.map((id) => this.cfg.positionOf[id]));
    this.next = Int32Array.from({ length: count }, (_, b) => (b + 1 < count ? b + 1 : -1));
    this.prev = Int32Array.from({ length: count }, (_, b) => b - 1);
    this.alive = new Uint8Array(count).fill(1);
    this.refs = new Int32Array(count);
    this.tableUsers = new Int32Array(fn.tables.length);
    this.pinned = new Uint8Array(count);
    this.forward = Int32Array.from({ length: count }, (_, b) => b);
    this.pinned[0] = 1;
    const reached = this.reachable();
    for (let b = 0; b < count; b++) {
      if (reached[b] === 0) this.unlink(b);
      else this.countEdges(b);
    }
    for (let b = 0; b < count; b++) if (this.alive[b] === 1) this.tryForward(b);
    this.ready = true;
  }

  isAlive(b: number): boolean {
    return this.alive[b] === 1;
  }

  /** The control operation that ends the block, or null. */
  terminator(b: number): Instr | null {
    const { [b]: ins } = this.ins;
    const last = ins.length > 0 ? ins[ins.length - 1] : null;
    return last !== null && isControl(last) ? last : null;
  }

  /** Where control that enters `b` first does something. */
  target(b: number): number {
    const f = this.forward;
    let root = b;
    while (f[root] !== root) root = f[root];
    while (f[b] !== root) {
      const up = f[b];
      f[b] = root;
      b = up;
    }
    return root;
  }

  /**
   * Does control that falls out of `b` first do something at `to`? For a block that is itself forwarded only empty blocks
   * may lie between: a jump there could lead back through `b`, whose forwarding would then describe what no longer is.
   */
  fallsTo(b: number, to: number): boolean {
    let n = this.next[b];
    if (this.forward[b] === b) return n >= 0 && to !== b && this.target(n) === to;
    while (n >= 0 && n !== to && this.ins[n].length === 0) n = this.next[n];
    return n === to;
  }

  /** Position of the block that a label operand names. */
  position(id: number): number {
    return this.cfg.positionOf[id];
  }

  /** Replaces the terminator; null removes it, so that control falls through. */
  replaceTerminator(b: number, t: Instr | null): void {
    const body = this.ins[b].slice(0, -1);
    const gone = this.edges(b);
    const goneTables = this.tablesOf(b);
    if (t !== null) body.push(t);
    this.ins[b] = body;
    this.countEdges(b);
    for (const to of this.edges(b)) this.addPred(to, b);
    this.drop(gone, goneTables);
    this.tryForward(b);
  }

  /** Replaces the entries of a jump table; `user` is a block that jumps through it. */
  replaceTable(t: number, entries: readonly number[], user: number): void {
    const old = this.tables[t];
    this.tables[t] = entries;
    if (this.tableUsers[t] === 0) return;
    for (const to of entries) {
      this.refs[to]++;
      this.addPred(to, user);
    }
    this.drop(old, []);
  }

  /** Erases cycles that nothing enters any more; true if there were any. */
  eraseUnreachable(): boolean {
    const reached = this.reachable();
    const lost: number[] = [];
    for (let b = this.first(); b >= 0; b = this.next[b]) if (reached[b] === 0) lost.push(b);
    const gone: number[] = [];
    const goneTables: number[] = [];
    for (const b of lost) {
      gone.push(...this.edges(b));
      goneTables.push(...this.tablesOf(b));
    }
    for (const b of lost) {
      if (this.prev[b] >= 0) this.reopen(this.prev[b]);
      this.unlink(b);
    }
    this.drop(gone, goneTables);
    return lost.length > 0;
  }

  /** The function as it now is; `fn` itself if nothing changed. Empty blocks that no jump names are left out. */
  finish(): Fn {
    const { fn } = this;
    const named = this.named();
    const empty = (b: number): boolean => this.ins[b].length === 0 && named[b] === 0 && this.next[b] >= 0;
    let start = this.first();
    while (start >= 0 && empty(start)) start = this.next[start];
    const blocks: Block[] = [];
    for (let b = this.first(); b >= 0; b = this.next[b]) {
      // An empty entry may only go if the block where work begins has no other way in: an entry is entered once.
      if (empty(b) && (b !== 0 || this.refs[start] === 1)) continue;
      blocks.push(withIns(fn.blocks[b], this.ins[b]));
    }
    let tablesChanged = false;
    const tables = this.tables.map((t, i) => {
      const dangling = this.tableUsers[i] === 0 && t.some((b) => this.alive[b] === 0);
      const ids = dangling ? [] : t.map((b) => fn.blocks[b].id);
      if (ids.length === fn.tables[i].length && ids.every((id, k) => id === fn.tables[i][k]))
        return fn.tables[i];
      tablesChanged = true;
      return ids;
    });
    const same = blocks.length === fn.blocks.length && blocks.every((b, i) => b === fn.blocks[i]);
    if (same && !tablesChanged) return fn;
    return copyFn(fn, blocks, fn.regCount, fn.blockCount, tablesChanged ? tables : fn.tables);
  }

  private first(): number {
    // The entry is pinned, so position 0 is always alive.
    return this.ins.length > 0 ? 0 : -1;
  }

  /** 1 for blocks that a label or a table in use names. */
  private named(): Uint8Array {
    const named = new Uint8Array(this.ins.length);
    for (let b = this.first(); b >= 0; b = this.next[b])
      for (const x of this.ins[b])
        for (const o of x.src) if (o.kind === Kind.Label) named[this.position(o.lo)] = 1;
    this.tables.forEach((t, i) => {
      if (this.tableUsers[i] > 0 || t.every((b) => this.alive[b] === 1)) for (const b of t) named[b] = 1;
    });
    return named;
  }

  /** Blocks that the entry reaches; labels of instructions that do not jump count as reached, and are pinned. */
  private reachable(): Uint8Array {
    const reached = new Uint8Array(this.ins.length);
    if (reached.length === 0) return reached;
    const stack = [0];
    reached[0] = 1;
    const visit = (b: number): void => {
      if (b < 0 || reached[b] === 1) return;
      reached[b] = 1;
      stack.push(b);
    };
    while (stack.length > 0) {
      const b = stack.pop()!;
      for (const to of this.edges(b)) visit(to);
      for (const t of this.tablesOf(b)) for (const to of this.tables[t]) visit(to);
      for (const x of this.ins[b]) {
        if (isControl(x)) continue;
        for (const o of x.src) {
          if (o.kind !== Kind.Label) continue;
          const to = this.position(o.lo);
          this.pinned[to] = 1;
          visit(to);
        }
      }
    }
    return reached;
  }

  /** Targets of a block with repetitions, without those of tables. */
  private edges(b: number): number[] {
    const out: number[] = [];
    const t = this.terminator(b);
    if (t !== null) for (const o of t.src) if (o.kind === Kind.Label) out.push(this.position(o.lo));
    if ((t === null || !endsFlow(t)) && this.next[b] >= 0) out.push(this.next[b]);
    return out;
  }

  private tablesOf(b: number): number[] {
    const t = this.terminator(b);
    return t === null ? [] : t.src.filter((o) => o.kind === Kind.Table).map((o) => o.lo);
  }

  private countEdges(b: number): void {
    for (const to of this.edges(b)) this.refs[to]++;
    for (const t of this.tablesOf(b))
      if (this.tableUsers[t]++ === 0) for (const to of this.tables[t]) this.refs[to]++;
  }

  /** Takes edges away and erases, with an explicit stack, every block that loses its last one. */
  private drop(targets: readonly number[], tables: readonly number[]): void {
    const stack: number[] = [];
    const loose = (b: number): void => {
      if (--this.refs[b] === 0 && this.alive[b] === 1 && this.pinned[b] === 0) stack.push(b);
    };
    const looseTable = (t: number): void => {
      if (--this.tableUsers[t] === 0) for (const b of this.tables[t]) loose(b);
    };
    for (const b of targets) loose(b);
    for (const t of tables) looseTable(t);
    while (stack.length > 0) {
      const b = stack.pop()!;
      if (this.alive[b] === 0) continue;
      const gone = this.edges(b);
      const goneTables = this.tablesOf(b);
      if (this.prev[b] >= 0) this.reopen(this.prev[b]);
      this.unlink(b);
      for (const to of gone) loose(to);
      for (const t of goneTables) looseTable(t);
    }
  }

  private unlink(b: number): void {
    const { next, prev } = this;
    this.alive[b] = 0;
    if (prev[b] >= 0) next[prev[b]] = next[b];
    if (next[b] >= 0) prev[next[b]] = prev[b];
    this.onErase(b);
  }

  private addPred(to: number, from: number): void {
    const list = this.extraPreds.get(to);
    if (list === undefined) this.extraPreds.set(to, [from]);
    else list.push(from);
  }

  /**
   * Lets a block that only passes control on be stepped over, and reopens its predecessors. A link that would close a
   * ring of such blocks (an endless empty loop) is refused, so following links always ends; no depth limit is needed.
   */
  private tryForward(b: number): void {
    const { [b]: ins } = this.ins;
    if (ins.length > 1 || this.forward[b] !== b) return;
    let to = this.next[b];
    if (ins.length === 1) {
      const t = ins[0];
      if (t.op.primitive !== 'branch' || !endsFlow(t)) return;
      to = this.position(t.src[0].lo);
    }
    if (to < 0) return;
    if (this.target(to) === b) {
      // A ring keeps one block as its root: one that branches, so that the empty ones can be left out.
      if (ins.length === 1) return;
      while (this.ins[to].length === 0) to = this.next[to];
      this.forward[to] = to;
    }
    this.forward[b] = to;
    if (this.ready) this.reopenBefore(b);
  }

  /** Reopens every block whose control ends up in `b`, also through blocks that only pass it on. */
  private reopenBefore(b: number): void {
    const { pred, predStart } = this.cfg;
    const stack = [b];
    const seen = new Set(stack);
    const visit = (p: number): void => {
      if (this.alive[p] === 0 || seen.has(p)) return;
      seen.add(p);
      this.reopen(p);
      if (this.forward[p] !== p) stack.push(p);
    };
    while (stack.length > 0) {
      const t = stack.pop()!;
      for (let e = predStart[t]; e < predStart[t + 1]; e++) visit(pred[e]);
      for (const p of this.extraPreds.get(t) ?? []) visit(p);
      if (this.prev[t] >= 0) visit(this.prev[t]);
    }
  }
}

/** True if every control operation of the function ends its block. */
export const controlIsLast = (fn: Fn): boolean =>
  fn.blocks.every((b) => {
    const t = terminator(b);
    return b.ins.every((x) => !isControl(x) || x === t);
  });
