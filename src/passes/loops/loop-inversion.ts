import { inLoop, type LoopForest } from '../../analysis/loops/loops.ts';
import { meetingsOf } from '../../analysis/synchronization/convergent-operations.ts';
import { mayWaitInLoops } from '../../analysis/synchronization/waiting-loops.ts';
import {
  type BlockNo,
  cloneBlocks,
  type Draft,
  pinnedBlocks,
  preheader,
  splitEdge,
} from '../../ir/draft/index.ts';
import { withGuard, withSource } from '../../ir/edit.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { NO_REG } from '../../ir/operand.ts';
import type { PassContext } from '../pass.ts';

/** Each inverted loop takes one unit. */
const BUDGET = 'LoopInversionBudget';

/** The parts of a loop with its test at the top. */
interface TopTested {
  readonly header: BlockNo;
  /** The edge on which control stays in the loop, as an index in `d.edges(header)`. */
  readonly inward: number;
  readonly exit: BlockNo;
  readonly latches: readonly BlockNo[];
}

/**
 * Inverts loops whose test is at the top: a copy of the test goes in front of the loop and guards it, and the test
 * itself moves below the body, where it is the only latch. This saves a jump per iteration.
 *
 * The loops are those of `forest`, which must match the draft's current state; blocks created here are added to it.
 */
export class LoopInversion {
  private readonly d: Draft;
  private readonly forest: LoopForest;
  private readonly ctx: PassContext;
  private readonly skipped: ReadonlySet<BlockNo>;
  /** Blocks created here: their innermost loop, or -1. */
  private readonly innermostOf = new Map<BlockNo, number>();
  private readonly pinned: ReadonlySet<BlockNo>;
  private readonly place: Int32Array;

  /** @param skipped headers of loops that must not change */
  constructor(d: Draft, forest: LoopForest, ctx: PassContext, skipped: ReadonlySet<BlockNo>) {
    this.d = d;
    this.skipped = skipped;
    this.forest = forest;
    this.ctx = ctx;
    this.pinned = pinnedBlocks(d);
    this.place = new Int32Array(d.blockNumbers);
    for (const [k, b] of d.layout().entries()) this.place[b] = k;
  }

  /** @param most most instructions of a header, besides its branch, that may be copied */
  run(most: number): void {
    const { forest, ctx } = this;
    // Inner loops have larger numbers.
    for (let id = forest.loops.length - 1; id >= 0; id--) {
      const loop = this.topTested(id);
      if (loop === null) continue;
      const at = { block: this.d.id(loop.header) };
      const why = this.whyNot(loop, most);
      if (why !== null) {
        ctx.remark(
          'missed',
          'not-inverted',
          `the loop at BB${at.block} keeps its test at the top: ${why}`,
          at,
        );
        continue;
      }
      if (!ctx.mayRewrite('inverted', at.block)) return;
      if (!ctx.budget(BUDGET)) {
        ctx.remark('missed', 'budget-spent', `${BUDGET} is spent: loops from BB${at.block} on are kept`, at);
        return;
      }
      this.invert(id, loop);
      const what = `the loop at BB${at.block} has its test at the bottom, and a copy before it`;
      ctx.remark('passed', 'inverted', what, at);
    }
  }

  private contains(id: number, b: BlockNo): boolean {
    const innermost = this.innermostOf.get(b);
    if (innermost === undefined) return inLoop(this.forest, id, b);
    for (let up = innermost; up >= id; up = this.forest.loops[up].parent) if (up === id) return true;
    return false;
  }

  /** The loop, if its header tests whether to leave it and no latch does. */
  private topTested(id: number): TopTested | null {
    const { d } = this;
    const { header } = this.forest.loops[id];
    if (this.skipped.has(header)) return null;
    const t = d.terminator(header);
    if (t < 0 || d.at(t).op.primitive !== 'branch' || d.at(t).guard === NO_REG) return null;
    const edges = d.edges(header);
    if (edges.length !== 2) return null;
    const inward = this.contains(id, edges[0]) ? 0 : 1;
    if (this.contains(id, edges[1]) === (inward === 0)) return null;
    const latches = d.predecessors(header).filter((p) => this.contains(id, p));
    if (latches.length === 1 && d.successors(latches[0]).some((s) => !this.contains(id, s))) return null;
    // A latch that only jumps back, as nvcc writes it after the exit: the test is at the bottom already.
    if (latches.length === 1 && edges[inward] === latches[0] && this.onlyJumpsBack(latches[0])) return null;
    return { header, inward, exit: edges[1 - inward], latches };
  }

  private whyNot({ header, latches }: TopTested, most: number): string | null {
    const { d } = this;
    let size = 0;
    for (let n = d.first(header); n >= 0; n = d.next(n)) {
      if ((d.at(n).op.flags & OpFlag.Convergent) !== 0) return 'lanes meet in the test';
      size++;
    }
    if (size - 1 > most) return `the test is ${size - 1} instructions long, and ${most} may be copied`;
    if (this.pinned.has(header)) return 'a convergence label names the header';
    // Several latches are merged into one by this, without an additional jump.
    if (latches.length === 1 && !this.onlyGoesBack(latches[0], header)) return 'no jump back would be saved';
    // The copy of the test is an additional place where lanes may diverge.
    if (mayWaitInLoops(d.fn)) return 'lanes may wait for each other in a loop';
    if (!meetingsOf(d.fn).clearBehind(header)) return 'lanes meet in the loop';
    return null;
  }

  /** Does the block end in an unconditional edge to the header, and no other? */
  private onlyGoesBack(latch: BlockNo, header: BlockNo): boolean {
    const { d } = this;
    const t = d.terminator(latch);
    if (t < 0) return d.fall(latch) === header;
    return d.at(t).op.primitive === 'branch' && d.at(t).guard === NO_REG;
  }

  private onlyJumpsBack(latch: BlockNo): boolean {
    const { d } = this;
    return d.first(latch) === d.terminator(latch) && this.onlyGoesBack(latch, d.successors(latch)[0]);
  }

  private invert(id: number, { header, inward, exit, latches }: TopTested): void {
    const { d, forest } = this;
    const parent = forest.loops[id].parent;
    const before = d.blockNumbers;
    const entry = preheader(d, { header, contains: (b) => this.contains(id, b) });
    if (entry >= before) this.innermostOf.set(entry, parent);
    let top = d.edges(header)[inward];
    // If the body starts with the header of an inner loop, or has other predecessors, the loop needs a separate top
    // block.
    if (d.predecessors(top).length > 1) {
      top = splitEdge(d, header, inward);
      this.innermostOf.set(top, id);
    }
    const copy = cloneBlocks(d, [header], entry, false).blocks.get(header)!;
    this.innermostOf.set(copy, parent);
    d.redirect(entry, header, copy);
    this.dropJump(entry, copy);
    this.movePragmas(header, copy, top);

    const t = d.at(d.terminator(header));
    if (inward === 1) {
      const back = withSource(withGuard(t, t.guard, !t.guardNot), 0, d.labelOf(top));
      d.setTerminator(header, back, exit);
    }
    this.moveBelowBody(header, latches);
  }

  /** Places the header where a latch falls into it; after everything else if all latches jump conditionally. */
  private moveBelowBody(header: BlockNo, latches: readonly BlockNo[]): void {
    const { d } = this;
    if (latches.some((l) => d.below(l) === header && d.fall(l) === header)) return;
    let last = -1;
    for (const l of latches)
      if (this.onlyGoesBack(l, header) && (last < 0 || this.placeOf(l) > this.placeOf(last))) last = l;
    d.moveBlock(header, last < 0 ? d.lastBlock : last);
    if (last >= 0) this.dropJump(last, header);
  }

  private placeOf(b: BlockNo): number {
    return b < this.place.length ? this.place[b] : -1;
  }

  /** Removes an unconditional branch to the block that now comes next. */
  private dropJump(from: BlockNo, to: BlockNo): void {
    const { d } = this;
    const t = d.terminator(from);
    if (t >= 0 && d.at(t).guard === NO_REG && d.below(from) === to) d.setTerminator(from, null, to);
  }

  /** A loop's pragma is attached to its header. */
  private movePragmas(header: BlockNo, copy: BlockNo, top: BlockNo): void {
    const { d } = this;
    if (!d.pragmas.some((p) => p.block === d.id(header))) return;
    d.pragmas = d.pragmas
      .filter((p) => p.block !== d.id(copy))
      .map((p) => (p.block === d.id(header) ? { block: d.id(top), text: p.text } : p));
  }
}
