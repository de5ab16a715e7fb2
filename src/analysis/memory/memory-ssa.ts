import { memo, memoPair } from '../../ir/memo.ts';
import type { Fn, Program } from '../../ir/program.ts';
import { callEffect } from '../calls/mod-ref.ts';
import { type Cfg, cfgOf } from '../flow/cfg.ts';
import { dominates } from '../flow/dominators.ts';
import { joinsOf } from '../flow/joins.ts';
import { type Accesses, accessesOf, Does, rowsOf } from './address.ts';
import { Alias, alias } from './alias.ts';
import { isCall, MUTABLE } from './memory-ops.ts';

/**
 * Maximum number of writes visited for one query; the query then returns the version reached. Results are cached, so a function costs
 * at most this for each load. LLVM's walker has the same limit (memssa-check-limit).
 */
const MOST_STEPS = 100;

/**
 * Memory in SSA: every instruction that may write memory, and every join that different versions reach, makes a new
 * version of all memory.
 *
 * For plain (weak) loads it states what one thread may assume: the same address holds the same bytes as long as this thread does not
 * write there and does nothing that orders it after another thread's writes. A barrier, a fence, an atomic or other strong operation on
 * the same kind of memory, and a call that may do any of these begin a new version. A weak load that is not ordered in this way after
 * another thread's write races with it and may return the older value (PTX ISA 9.0, chapter 8: what a read must see is defined only for
 * writes that precede it in causality order, and between morally strong operations). ptxas 13.0.88 merges two weak loads under the same
 * conditions.
 *
 * Versions are numbers; 0 is memory on entry. A negative version equals no other.
 */
export interface MemorySsa {
  readonly accesses: Accesses;
  /** Version in effect before an instruction, whether or not it matters to the instruction. */
  versionBefore(n: number): number;
  /**
   * Version that decides what a load returns: the latest one before it that may have written what it reads. Two loads
   * with equal address (equal registers, in SSA) and size return the same value if this is equal. Negative for loads
   * about which nothing is known, and for instructions that are not plain loads.
   */
  versionSeenBy(n: number): number;
  /** Number of the instruction that made a version; -1 for memory on entry and for joins. */
  writerOf(version: number): number;
  /** Position of the block in which a version begins. */
  blockOf(version: number): number;
}

/**
 * Memory SSA of a function. It takes time linear in blocks and accesses, except for walks past irrelevant writes,
 * which are bounded and happen on demand.
 *
 * If control operations occur inside blocks (before phase 6), nothing is known about any load.
 */
export function memorySsaOf(fn: Fn, program: Program): MemorySsa {
  // The program matters only to functions with calls.
  return hasCalls(fn) ? withCalls(fn, program) : withoutCalls(fn, program.variables);
}
const withCalls = memoPair(
  (fn: Fn, program: Program): MemorySsa => new Versions(accessesOf(fn, program.variables), program),
);
const withoutCalls = memoPair(
  (fn: Fn, variables: Program['variables']): MemorySsa => new Versions(accessesOf(fn, variables), null),
);
const hasCalls = memo((fn: Fn): boolean => fn.blocks.some((b) => b.ins.some(isCall)));

class Versions implements MemorySsa {
  readonly accesses: Accesses;
  private readonly program: Program | null;
  private readonly g: Cfg;
  private readonly isCovered: boolean;
  /** By version: its instruction or -1, its block, and the version before it (joins: -1). */
  private readonly writer: number[] = [-1];
  private readonly block: number[] = [0];
  private readonly previous: number[] = [-1];
  /** By block: versions at its start and end; -1 for unreachable blocks. */
  private readonly begin: Int32Array;
  private readonly end: Int32Array;
  /** By block: its first row; in the second half of the array, one past its last. */
  private readonly rows: Int32Array;
  /** By row: the version before its instruction. */
  private readonly before: Int32Array;
  /** By row: the version after its instruction. */
  private readonly after: Int32Array;
  /** By row: the cached result of `versionSeenBy`, -1 before it is computed. */
  private readonly found: Int32Array;
  /** By version: the last query that visited it. */
  private readonly visitedBy: Int32Array;
  private query = 0;
  private steps = 0;

  constructor(accesses: Accesses, program: Program | null) {
    this.accesses = accesses;
    this.program = program;
    this.g = cfgOf(accesses.fn);
    this.isCovered = !this.g.midBlockControl;
    this.begin = new Int32Array(this.g.count).fill(-1);
    this.end = new Int32Array(this.g.count).fill(-1);
    this.rows = new Int32Array(2 * this.g.count);
    this.before = new Int32Array(accesses.count);
    this.after = new Int32Array(accesses.count);
    this.found = new Int32Array(accesses.count).fill(-1);
    if (this.isCovered) this.build();
    this.visitedBy = new Int32Array(this.writer.length);
  }

  versionBefore(n: number): number {
    const { du, at } = this.accesses;
    const b = du.blockAt[n];
    if (this.begin[b] < 0) return -1 - n;
    // Rows are in instruction order within a block: the last one before n decides.
    let lo = this.rows[b];
    let hi = this.rows[b + this.g.count];
    const first = lo;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (at[mid] < n) lo = mid + 1;
      else hi = mid;
    }
    return lo === first ? this.begin[b] : this.after[lo - 1];
  }

  versionSeenBy(n: number): number {
    const { firstRow, count, at, does } = this.accesses;
    const row = firstRow[n];
    const alone = row >= 0 && (row + 1 === count || at[row + 1] !== n);
    if (!this.isCovered || !alone || does[row] !== Does.Read) return -1 - n;
    let v = this.found[row];
    if (v < 0) this.found[row] = v = this.search(row);
    return v;
  }

  writerOf(version: number): number {
    return version < 0 ? -1 : this.writer[version];
  }

  blockOf(version: number): number {
    return version < 0 ? this.accesses.du.blockAt[-1 - version] : this.block[version];
  }

  // ------------------------------------------------------------------ building

  private build(): void {
    const { g, begin, end, before, after } = this;
    const { at, du, dominators } = this.accesses;
    const { count } = this.accesses;
    const makes = new Uint8Array(g.count);
    const writes = new Uint8Array(count);
    for (let x = 0; x < count; x++) {
      if (!this.writes(x)) continue;
      writes[x] = 1;
      makes[du.blockAt[at[x]]] = 1;
    }
    for (let x = 0; x < count; x++) {
      const b = du.blockAt[at[x]];
      if (x === 0 || du.blockAt[at[x - 1]] !== b) this.rows[b] = x;
      this.rows[b + g.count] = x + 1;
    }
    const joins = joinsOf(g, dominators, makes);
    // A block starts with the version at the end of its immediate dominator, unless versions meet in it.
    for (const b of dominators.preorder) {
      const above = dominators.idom[b];
      let v = joins[b] === 1 ? this.add(-1, b, -1) : above < 0 ? 0 : end[above];
      begin[b] = v;
      for (let x = this.rows[b]; x < this.rows[b + g.count]; ) {
        const n = at[x];
        const first = x;
        let made = false;
        for (; x < count && at[x] === n; x++) if (writes[x] === 1) made = true;
        const next = made ? this.add(n, b, v) : v;
        before.fill(v, first, x);
        after.fill(next, first, x);
        v = next;
      }
      end[b] = v;
    }
  }

  /** May the row change anything that a load could read? */
  private writes(x: number): boolean {
    const { does, memory } = this.accesses;
    return (does[x] & Does.Write) !== 0 && (memory[x] & MUTABLE) !== 0;
  }

  private add(writer: number, block: number, previous: number): number {
    this.writer.push(writer);
    this.block.push(block);
    this.previous.push(previous);
    return this.writer.length - 1;
  }

  // ------------------------------------------------------------------ questions

  /** The nearest version above a load that may have written what it reads. */
  private search(row: number): number {
    const { accesses } = this;
    if ((accesses.memory[row] & MUTABLE) === 0) return 0;
    let v = this.before[row];
    this.steps = MOST_STEPS;
    while (v > 0 && this.steps > 0) {
      const up = this.writer[v] >= 0 ? this.pastWriter(v, row, false) : this.pastJoin(v, row);
      if (up < 0) break;
      v = up;
    }
    return v;
  }

  /** The version before a writer that cannot write what the load reads; -1 if it can. */
  private pastWriter(v: number, row: number, apart: boolean): number {
    this.steps--;
    const { does, memory } = this.accesses;
    const { first, end } = rowsOf(this.accesses, this.writer[v]);
    for (let x = first; x < end; x++) {
      if ((does[x] & Does.Write) === 0) continue;
      const writes =
        (does[x] & Does.Call) !== 0
          ? callEffect(this.program!, this.accesses.du.ins[this.writer[v]]).writes
          : memory[x];
      if ((writes & memory[row] & MUTABLE) !== 0 && alias(this.accesses, x, row, apart) !== Alias.No)
        return -1;
    }
    return this.previous[v];
  }

  /**
   * The version at the end of the join's immediate dominator, if nothing on the paths from there may write what the
   * load reads; else -1. A writer on such a path may belong to a different loop iteration than the load, so values
   * that change at or below the join may differ for the two.
   */
  private pastJoin(v: number, row: number): number {
    const { predStart, pred } = this.g;
    const { accesses } = this;
    const tree = accesses.dominators;
    const at = this.block[v];
    const above = tree.idom[at];
    // Memory on entry enters the first block from outside.
    const target = above < 0 ? 0 : this.end[above];
    const form = accesses.form[row];
    const home = form < 0 ? -1 : accesses.forms[form].home;
    const apart = home >= 0 && (home === at || !dominates(tree, home, at));
    this.query++;
    const stack = [v];
    this.visitedBy[v] = this.query;
    while (stack.length > 0) {
      const w = stack.pop()!;
      if (this.steps <= 0) return -1;
      if (this.writer[w] < 0) {
        this.steps--;
        const b = this.block[w];
        if (b === this.g.rpo[0]) this.visit(0, target, stack);
        for (let e = predStart[b]; e < predStart[b + 1]; e++)
          if (this.end[pred[e]] >= 0) this.visit(this.end[pred[e]], target, stack);
        continue;
      }
      const up = this.pastWriter(w, row, apart);
      if (up < 0) return -1;
      this.visit(up, target, stack);
    }
    return target;
  }

  private visit(v: number, target: number, stack: number[]): void {
    if (v === target || this.visitedBy[v] === this.query) return;
    this.visitedBy[v] = this.query;
    stack.push(v);
  }
}
