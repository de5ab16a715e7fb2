import { type End, EqualTails } from '../../analysis/flow/equal-tails.ts';
import { livenessOf } from '../../analysis/registers/liveness.ts';
import { type Meetings, meetingsOf } from '../../analysis/synchronization/convergent-operations.ts';
import { mayWaitInLoops } from '../../analysis/synchronization/waiting-loops.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { type BlockNo, type Draft, edit, type Ins, pinnedBlocks } from '../../ir/draft/index.ts';
import { withSource } from '../../ir/edit.ts';
import { Lanes } from '../../ir/opcode.ts';
import { Kind, NO_REG, table } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import type { Pass, PassContext } from '../pass.ts';
import { BUDGET } from './branch-budget.ts';
import { hasControlLast } from './control-last.ts';
import { foldBranch, foldJump } from './one-way.ts';

/** Shorter tails are not merged: LLVM's branch folder has the same bound (tail-merge-size). */
const LEAST = 3;
/** By default every arm of a branch may be shared. */
const LEAST_ARM = 0;
/** Maximum number of empty blocks skipped between a branch and its arm. */
const MOST_PASSED_ON = 4;
/** How merged blocks may end: a call is excluded because it may contain operations between lanes. */
const ENDS: ReadonlySet<string | null> = new Set(['branch', 'branch-table', 'exit', 'return']);

/**
 * Phases 133 and 136, first step: merges blocks that do the same and have the same successors. If only their last
 * instructions are equal, these become a separate block.
 *
 *     before                         after
 *     BB0:                           BB0:
 *       @P1 BRA BB2                    @P1 BRA BB2
 *     BB1:                           BB1:
 *           IADD3 R2, R2, 1                IADD3 R2, R2, 1
 *           IMAD R4, R2, R2, RZ            BRA BB5
 *           IADD3 R5, R4, 7          BB2:
 *           STG [RD6], R5                  SHL R2, R2, 1
 *           BRA BB3                  BB5:
 *     BB2:                                 IMAD R4, R2, R2, RZ
 *           SHL R2, R2, 1                  IADD3 R5, R4, 7
 *           IMAD R8, R2, R2, RZ            STG [RD6], R5
 *           IADD3 R9, R8, 7          BB3:
 *           STG [RD6], R9                  EXIT
 *     BB3:
 *           EXIT
 *
 * Registers may differ if the tail itself writes what it reads and nothing reads them afterwards. Whole blocks are
 * found by hash. When two are merged, their predecessors are examined again, because these now have the same
 * successor. Tails are found among blocks with equal ends, sorted by their instructions from the end upwards, each
 * compared with its neighbour. A merged instruction keeps the line number of the one that stays.
 *
 * Not merged: blocks that a convergence label names; operations between lanes and barriers, which lanes that arrived
 * separately might run together; a tail that ends in a two-way branch, if such an operation comes before its paths
 * meet again; tails shorter than `least-tail` of the binding; arms of a branch shorter than `least-arm`; blocks whose
 * merging saves no instruction because a jump replaces them; blocks that only some lanes run, in a function with a
 * loop that waits for other threads (`mayWaitInLoops`).
 *
 * Requires: control-last. Guarantees: control-last; SSA stays SSA. A second application changes nothing.
 * Bound: n log n in instructions for each round; the last round is one in which nothing is merged.
 */
export const tailMerging: Pass = (fn, ctx) => {
  if (!hasControlLast(fn, ctx)) return fn;
  // A tail that was split off may be the end of a block visited earlier.
  for (let now = fn; ; ) {
    const merger = new TailMerger(now, ctx);
    const out = edit(now, (d) => merger.run(d), ctx.isa);
    if (out === now || merger.spent) return out;
    now = out;
  }
};

/** A block that may be merged, with its properties. */
interface Candidate {
  readonly block: BlockNo;
  readonly body: readonly Ins[];
  readonly whole: boolean;
  readonly end: End;
}

class TailMerger {
  spent = false;
  private readonly fn: Fn;
  private readonly ctx: PassContext;
  private readonly meetings: Meetings;
  private readonly leastArm: number;
  private d!: Draft;
  private tails!: EqualTails;
  private pinned = new Set<BlockNo>();
  /** Blocks replaced by others, to be erased. */
  private readonly gone: BlockNo[] = [];

  constructor(fn: Fn, ctx: PassContext) {
    this.fn = fn;
    this.ctx = ctx;
    this.meetings = meetingsOf(fn);
    this.leastArm = Number(ctx.params['least-arm'] ?? LEAST_ARM);
  }

  run(d: Draft): void {
    this.d = d;
    this.tails = new EqualTails(d, () => livenessOf(this.fn));
    this.pinned = pinnedBlocks(d);
    for (const { block } of d.pragmas) this.pinned.add(d.blockById(block));
    this.wholeBlocks();
    if (!this.spent) this.lowerParts();
    this.settle();
  }

  // ------------------------------------------------------------------ whole blocks

  private wholeBlocks(): void {
    const { d } = this;
    const byShape = new Map<number, BlockNo | Map<number, BlockNo[]>>();
    const stack = d.layout().reverse();
    for (let b = stack.pop(); b !== undefined && !this.spent; b = stack.pop()) {
      const c = this.tails.keptFor(b) === b && this.mayGo(b) ? this.candidate(b) : null;
      if (c === null || !c.whole || c.body.length + (c.end.ins === null ? 0 : 1) === 0) continue;
      const list = this.listOf(byShape, c);
      const at = list.findIndex(
        (a) => a !== b && this.isWholly(a, c) && this.mayShare(a, b) && !this.isShortArm(a, b),
      );
      if (at < 0) {
        if (!list.includes(b)) list.push(b);
        continue;
      }
      const [kept, gone] = this.inOrder(list[at], b);
      if (this.size(gone) <= (this.isFallenInto(gone) ? 1 : 0)) continue;
      if (!this.take('blocks-merged', gone)) return;
      this.say('blocks-merged', gone, `BB${d.id(gone)} does the same as BB${d.id(kept)}`);
      list[at] = kept;
      for (const x of this.replaceBy(gone, kept)) for (const before of d.predecessors(x)) stack.push(before);
    }
  }

  /** The earlier blocks with the candidate's hash. Which registers matter is computed only once a second block has the same shape. */
  private listOf(byShape: Map<number, BlockNo | Map<number, BlockNo[]>>, c: Candidate): BlockNo[] {
    const { tails } = this;
    const shape = tails.hashShapes(c.body, c.end);
    let lists = byShape.get(shape);
    if (lists === undefined || lists === c.block) {
      byShape.set(shape, c.block);
      return [];
    }
    if (typeof lists === 'number') {
      const first = lists;
      byShape.set(shape, (lists = new Map()));
      if (tails.keptFor(first) === first)
        lists.set(tails.hashWhole(first, tails.body(first), tails.endOf(first)), [first]);
    }
    const h = tails.hashWhole(c.block, c.body, c.end);
    const list = lists.get(h) ?? [];
    lists.set(h, list);
    return list;
  }

  /** Does all of block `a` equal the candidate, if `a` stays? */
  private isWholly(a: BlockNo, c: Candidate): boolean {
    const { tails } = this;
    if (tails.keptFor(a) !== a) return false;
    const body = tails.body(a);
    return (
      body.length === c.body.length &&
      tails.isWhole(a, body) &&
      tails.common(a, c.block, body.length) === body.length
    );
  }

  /** The block to keep, then the one to remove: a block between its neighbours needs no jump. */
  private inOrder(a: BlockNo, b: BlockNo): [BlockNo, BlockNo] {
    const falls = (x: BlockNo): number => (this.fallsOut(x) ? 1 : 0) + (this.isFallenInto(x) ? 1 : 0);
    return falls(b) > falls(a) ? [b, a] : [a, b];
  }

  private fallsOut(b: BlockNo): boolean {
    return this.d.fall(b) >= 0 && this.d.fall(b) === this.d.below(b);
  }

  private isFallenInto(b: BlockNo): boolean {
    const { d } = this;
    return d.above(b) >= 0 && d.fall(d.above(b)) === b;
  }

  private size(b: BlockNo): number {
    let size = 0;
    for (let n = this.d.first(b); n >= 0; n = this.d.next(n)) size++;
    return size;
  }

  // ------------------------------------------------------------------ lower parts of blocks

  private lowerParts(): void {
    const { d, tails } = this;
    const least = Math.max(1, Number(this.ctx.params['least-tail'] ?? LEAST));
    const groups = new Map<number, { c: Candidate; shapes: number[] }[]>();
    for (const b of d.layout()) {
      const c = tails.keptFor(b) === b ? this.candidate(b) : null;
      if (c === null || c.body.length < least) continue;
      const shapes = c.body.map((n) => tails.hashShape(d.at(n)));
      let h = tails.hashEnd(c.end);
      for (let i = 0; i < least; i++) h = (Math.imul(h, 31) + shapes[i]) | 0;
      const list = groups.get(h);
      if (list === undefined) groups.set(h, [{ c, shapes }]);
      else list.push({ c, shapes });
    }
    for (const list of groups.values()) {
      if (list.length < 2) continue;
      list.sort((a, b) => byShapes(a.shapes, b.shapes));
      let shared = list[0].c.block;
      for (let i = 1; i < list.length; i++) {
        const next = list[i].c.block;
        const most = this.tails.body(shared).length;
        const length = tails.common(shared, next, most);
        if (
          length < least ||
          !this.mayShare(shared, next) ||
          (!this.hasAbove(shared, length) && !this.hasAbove(next, length))
        ) {
          shared = next;
          continue;
        }
        if (!this.take('tails-merged', next)) return;
        shared = this.share(shared, next, length);
      }
    }
  }

  /** Is something left of the block without its last instructions, or must it stay anyway? */
  private hasAbove(b: BlockNo, length: number): boolean {
    const body = this.tails.body(b);
    return body.length > length || !this.tails.isWhole(b, body) || !this.mayGo(b);
  }

  /** Makes the last `length` instructions of both blocks one shared block. @returns that block */
  private share(a: BlockNo, b: BlockNo, length: number): BlockNo {
    const { d } = this;
    // Prefer to keep the part that falls through, and that needs no split.
    const worth = (x: BlockNo): number => (this.fallsOut(x) ? 2 : 0) + (this.hasAbove(x, length) ? 0 : 1);
    const [host, guest] = worth(b) > worth(a) ? [b, a] : [a, b];
    const what = `the last ${length} instructions of BB${d.id(guest)} are those of BB${d.id(host)}`;
    this.say('tails-merged', guest, what);
    const kept = this.hasAbove(host, length) ? this.cut(host, length) : host;
    if (!this.hasAbove(guest, length)) this.replaceBy(guest, kept);
    else {
      const gone = this.cut(guest, length);
      d.setFall(guest, kept);
      this.erase(gone);
    }
    return kept;
  }

  private cut(b: BlockNo, length: number): BlockNo {
    const { d, tails } = this;
    const lower = d.splitBefore(tails.body(b)[length - 1]);
    tails.cutFrom(lower, b);
    return lower;
  }

  // ------------------------------------------------------------------ for both

  /** The part of a block that may be merged, or null if its end prevents merging. */
  private candidate(b: BlockNo): Candidate | null {
    const { tails, meetings } = this;
    const end = tails.endOf(b);
    if (end.ins !== null) {
      if (!ENDS.has(end.ins.op.primitive)) return null;
      const parts = end.ins.guard !== NO_REG || end.ins.src.some((o) => o.kind === Kind.Table);
      // A branch that asserts that its lanes agree might otherwise be run by other lanes together with them.
      if (parts && (end.ins.mods !== 0 || !meetings.clearBehind(tails.originOf(b)))) return null;
    }
    const body = tails.body(b);
    return { block: b, body, whole: tails.isWhole(b, body), end };
  }

  /**
   * May lanes that ran the two blocks separately share one now? Not in a function with a loop that waits for other
   * threads, where a lane must not be delayed before doing what the others wait for.
   */
  private mayShare(a: BlockNo, b: BlockNo): boolean {
    const { fn, tails } = this;
    if (mayWaitInLoops(fn)) {
      const { control } = divergenceOf(fn);
      const together = (x: BlockNo): boolean => control[tails.originOf(x)] < Lanes.Varying;
      if (!together(a) || !together(b)) return false;
    }
    return true;
  }

  /**
   * Is one of two equal blocks such a short arm of a branch that the assembler would run it under a guard, without a
   * branch? Then each keeps its own copy, unless both are arms of one branch, which disappears if they are merged.
   */
  private isShortArm(a: BlockNo, b: BlockNo): boolean {
    if (this.tails.endOf(a).ins !== null || this.tails.body(a).length >= this.leastArm) return false;
    const [p, q] = [this.branchAbove(a), this.branchAbove(b)];
    return p !== q && (p >= 0 || q >= 0);
  }

  /**
   * The block with a guarded branch one of whose edges leads only to `b`, possibly through blocks that only pass
   * control on; or -1.
   */
  private branchAbove(b: BlockNo): BlockNo {
    const { d } = this;
    let at = b;
    for (let steps = 0; steps < MOST_PASSED_ON; steps++) {
      const [p, other] = d.predecessors(at);
      if (p === undefined || other !== undefined) return -1;
      const n = d.terminator(p);
      if (n >= 0 && d.at(n).guard !== NO_REG) return d.at(n).op.primitive === 'branch' ? p : -1;
      if (d.successors(p).length !== 1 || d.first(p) !== n) return -1;
      at = p;
    }
    return -1;
  }

  /**
   * May the block be erased, with its edges redirected to an equal one? The entry is entered only once, and labels of
   * other instructions stay.
   */
  private mayGo(b: BlockNo): boolean {
    return b !== this.d.entryBlock && !this.pinned.has(b) && this.d.phis(b).length === 0;
  }

  /** Replaces `gone` as a target by `kept`. @returns blocks with an edge whose target class changed */
  private replaceBy(gone: BlockNo, kept: BlockNo): readonly BlockNo[] {
    this.gone.push(gone);
    return this.tails.join(kept, gone);
  }

  /**
   * Redirects edges to the blocks that stay. Done at the end, so that a jump table is written once, however many of
   * its entries change.
   */
  private settle(): void {
    const { d, tails, gone } = this;
    const keptFor = (b: BlockNo): BlockNo => tails.keptFor(b);
    const before = new Set(gone.flatMap((b) => d.predecessors(b)));
    const tables = new Map<number, number>();
    for (const p of before) {
      if (keptFor(p) !== p) continue;
      const t = d.terminator(p);
      const at = t < 0 ? -1 : d.at(t).src.findIndex((o) => o.kind === Kind.Table);
      if (at >= 0) {
        const old = d.at(t).src[at].lo;
        const ids = d.tables()[old];
        let now = tables.get(old);
        if (now === undefined && ids.some((id) => keptFor(d.blockById(id)) !== d.blockById(id)))
          tables.set(old, (now = d.addTable(ids.map((id) => d.id(keptFor(d.blockById(id)))))));
        const fall = d.fall(p) < 0 ? -1 : keptFor(d.fall(p));
        d.setTerminator(p, withSource(d.at(t), at, table(now ?? old)), fall);
      } else for (const s of [...d.successors(p)]) d.redirect(p, s, keptFor(s));
      foldBranch(d, p);
    }
    for (const b of gone) this.erase(b);
  }

  private erase(b: BlockNo): void {
    const { d } = this;
    const above = d.above(b);
    d.eraseBlock(b);
    if (above >= 0) foldJump(d, above);
  }

  private take(name: string, b: BlockNo): boolean {
    const n = this.d.first(b);
    if (!this.ctx.mayRewrite(name, this.d.id(b), n < 0 ? undefined : this.d.at(n))) {
      this.spent = true;
      return false;
    }
    if (this.ctx.budget(BUDGET)) return true;
    this.spent = true;
    this.ctx.remark('missed', 'budget-spent', `${BUDGET} is spent: equal blocks stay apart`);
    return false;
  }

  private say(name: string, b: BlockNo, message: string): void {
    const { d } = this;
    const n = d.first(b);
    this.ctx.remark('passed', name, message, n < 0 ? { block: d.id(b) } : { block: d.id(b), ins: d.at(n) });
  }
}

/** An order in which tails with much in common are adjacent. */
function byShapes(a: readonly number[], b: readonly number[]): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}
