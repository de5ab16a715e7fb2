import { cfgOf } from '../../analysis/flow/cfg.ts';
import { inLoop, loopsOf } from '../../analysis/loops/loops.ts';
import { meetingsOf } from '../../analysis/synchronization/convergent-operations.ts';
import { mayWaitInLoops } from '../../analysis/synchronization/waiting-loops.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { type Known, walkConditions } from '../../analysis/values/edge-conditions.ts';
import {
  type BlockNo,
  cloneBlocks,
  type Draft,
  edit,
  type Ins,
  pinnedBlocks,
  removeUnreachable,
} from '../../ir/draft/index.ts';
import { Lanes, OpFlag } from '../../ir/opcode.ts';
import { NO_REG, type Reg, sameOperand } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import type { Pass, PassContext } from '../pass.ts';
import { BUDGET } from './branch-budget.ts';
import { hasControlLast } from './control-last.ts';
import { maySettle, settleGuard } from './known-guards.ts';
import { foldBranch, foldJump } from './one-way.ts';

/** Maximum number of branches that one edge bypasses at once. */
const MOST_PASSED = 64;
/**
 * Maximum number of rounds. One suffices, except for edges that bypass more than 64 branches and for what these expose; so a second
 * application finds nothing unless an edge bypasses more than two thousand.
 */
const ROUNDS = 32;

/** Knob 91: ids of blocks whose branch stays as it is (reference passes-g: an exception by block). */
const EXCEPTED = 'Knob91';

/**
 * Phase 13, last step, and phases 133 and 136, first step: removes or bypasses a branch on a condition, or its negation, that an
 * earlier branch has already decided.
 *
 *     before                         after
 *     BB0:                           BB0:
 *       @P1 BRA BB2                    @P1 BRA BB2
 *     BB1:                           BB1:
 *           IADD3 R2, R2, 1                IADD3 R2, R2, 1
 *           BRA BB3                        BRA BB4
 *     BB2:                           BB2:
 *           SHL R2, R2, 1                  SHL R2, R2, 1
 *     BB3:                           BB5:
 *       @P1 BRA BB5                        STG [RD3], R2
 *     BB4:                           BB4:
 *           IADD3 R2, R2, 3                EXIT
 *     ...
 *
 * 1. A branch whose condition is decided on all incoming edges is always or never taken.
 * 2. An edge to a block that contains only a branch bypasses the block if it decides the branch (jump threading).
 * 3. An edge to a block of at most `most-copied` other instructions gets a copy of the block without its branch, if the edge decides
 *    the branch and all lanes of a warp arrive over one edge, so that nothing runs twice. Registers that the block alone reads get
 *    other names in the copy; a register with a single definition that is read elsewhere prevents the copy, because it would get two.
 *    Calls, barriers and operations between lanes are not copied.
 *
 * Conditions are equal if they compare the same values (`ConditionKeys`). A condition is known if the edge that
 * decided it is on every path to the branch (`walkConditions`).
 *
 * Bypassing a branch must not separate lanes that reconverge at its block, or the code after it would run twice. It is allowed if the
 * lanes of a warp arrive together, all over the same edge. It is also allowed if each outcome of the branch is decided by one incoming
 * edge, so that nothing is left of the meeting point, and: neither edge leaves a loop, from which lanes come in different iterations;
 * no operation between lanes and no barrier comes before the paths meet again; and no loop of the function may wait for other threads.
 * A loop keeps its header.
 *
 * Blocks that knob 91 names keep their branch (`excepts` of the step says whether the phase reads the knob).
 *
 * Requires: control-last. Guarantees: control-last; SSA stays SSA; no executed path gets longer; every block is
 * reachable or named by a convergence label.
 * Bound: each round is linear in blocks and instructions, except for edges that bypass several branches.
 */
export const equivalentConditions: Pass = (fn, ctx) => {
  if (!hasControlLast(fn, ctx)) return fn;
  const reported = new Set<string>();
  let now = fn;
  for (let round = 0; round < ROUNDS; round++) {
    const threader = new Threader(now, ctx, reported);
    const out = edit(now, (d) => threader.run(d), ctx.isa);
    if (out === now || threader.spent) return out;
    now = out;
  }
  return now;
};

/** A branch on the path from a block, and where control goes after it. */
interface Passed {
  readonly branch: BlockNo;
  readonly to: BlockNo;
}

/** What a copy of a block cannot contain: its branch is the only control, and lanes must not meet in it. */
const NOT_COPIED = OpFlag.Control | OpFlag.Convergent | OpFlag.Barrier | OpFlag.Phi;

class Threader {
  spent = false;
  private readonly fn: Fn;
  private readonly ctx: PassContext;
  private readonly reported: Set<string>;
  private d!: Draft;
  private pinned: ReadonlySet<BlockNo> = new Set();
  private readonly decided: { readonly block: BlockNo; readonly runs: boolean }[] = [];
  private readonly ways: { readonly from: BlockNo; readonly passed: readonly Passed[] }[] = [];
  private readonly copies: ({ readonly from: BlockNo } & Passed)[] = [];
  private readonly mostCopied: number;
  private readonly excepted: ReadonlySet<number>;
  /** By block that contains only a branch: the targets of the incoming edges that decide it. */
  private readonly outcomes = new Map<BlockNo, BlockNo[]>();

  /** @param reported reasons already reported, each for one block */
  constructor(fn: Fn, ctx: PassContext, reported: Set<string>) {
    this.fn = fn;
    this.ctx = ctx;
    this.reported = reported;
    this.mostCopied = Number(ctx.params['most-copied'] ?? 0);
    this.excepted = new Set(
      ctx.params['excepts'] === true ? (ctx.knob(EXCEPTED) as readonly number[] | null) : null,
    );
  }

  run(d: Draft): void {
    this.d = d;
    // A condition that guards a single branch does not decide another, unless both compare the same values: then both are guards.
    let guarded = 0;
    for (const b of d.layout()) {
      const n = d.terminator(b);
      if (n >= 0 && d.at(n).guard !== NO_REG) guarded++;
    }
    if (guarded < 2) return;
    this.pinned = pinnedBlocks(d);
    walkConditions(d, (b, known) => this.examine(b, known));
    const changed =
      this.ways.reduce((n, w) => n + (this.thread(w.from, w.passed) ? 1 : 0), 0) +
      this.copies.reduce((n, c) => n + (this.copy(c.from, c) ? 1 : 0), 0) +
      this.decided.reduce((n, c) => n + (this.decide(c.block, c.runs) ? 1 : 0), 0);
    if (changed > 0) removeUnreachable(d, (b) => this.erased(b));
  }

  private examine(b: BlockNo, known: Known): void {
    const { d } = this;
    const n = d.terminator(b);
    if (n >= 0 && d.at(n).guard !== NO_REG && !this.excepted.has(d.id(b))) {
      const value = known.atEnd(d.at(n).guard);
      if (value !== null) this.decided.push({ block: b, runs: value !== d.at(n).guardNot });
    }
    for (const s of d.successors(b)) {
      const passed = this.passedFrom(s, (n) => known.onEdge(s, d.at(n).guard));
      if (passed.length === 0) {
        const to = this.copiedWay(s, known);
        if (to >= 0) this.copies.push({ from: b, branch: s, to });
        continue;
      }
      this.ways.push({ from: b, passed });
      const list = this.outcomes.get(s);
      if (list === undefined) this.outcomes.set(s, [passed[0].to]);
      else list.push(passed[0].to);
    }
  }

  /** The sequence of branches that are decided for control that reaches `s`; empty if it would loop forever. */
  private passedFrom(s: BlockNo, valueAt: (branch: Ins) => boolean | null): Passed[] {
    const { d } = this;
    const out: Passed[] = [];
    const visited = new Set<BlockNo>();
    for (let at = s; out.length < MOST_PASSED; ) {
      const n = this.loneBranch(at);
      const value = n < 0 ? null : valueAt(n);
      if (value === null) return out;
      if (visited.has(at)) return [];
      visited.add(at);
      const { src, guardNot } = d.at(n);
      const to = value !== guardNot ? d.blockById(src[0].lo) : d.fall(at);
      out.push({ branch: at, to });
      at = to;
    }
    return out;
  }

  /** The guarded branch that is the only content of a block with several predecessors; -1 for other blocks. */
  private loneBranch(b: BlockNo): Ins {
    const { d } = this;
    const n = d.terminator(b);
    if (n < 0 || d.first(b) !== n || b === d.entryBlock || this.pinned.has(b)) return -1;
    const x = d.at(n);
    if (x.op.primitive !== 'branch' || x.guard === NO_REG || this.excepted.has(d.id(b))) return -1;
    return d.predecessors(b).length > 1 ? n : -1;
  }

  /**
   * The successor of `s` that control reaches over an edge that decides its branch, if the block may be copied for this edge; else -1.
   */
  private copiedWay(s: BlockNo, known: Known): BlockNo {
    const { d } = this;
    if (this.mostCopied === 0 || s === d.entryBlock || this.pinned.has(s) || this.excepted.has(d.id(s)))
      return -1;
    const end = d.terminator(s);
    if (end < 0 || d.first(s) === end || d.predecessors(s).length < 2) return -1;
    const { op, guard, guardNot, src } = d.at(end);
    if (op.primitive !== 'branch' || guard === NO_REG) return -1;
    const value = known.onEdge(s, guard);
    if (value === null) return -1;
    let count = 0;
    for (let n = d.first(s); n !== end; n = d.next(n)) {
      const x = d.at(n);
      if (++count > this.mostCopied || (x.op.flags & NOT_COPIED) !== 0) return -1;
      if (x.dst.includes(guard) && !known.stays(guard)) return -1;
      if (x.dst.some((r) => r !== NO_REG && d.defCount(r) === 1 && !this.isOwn(r, s))) return -1;
    }
    return value !== guardNot ? d.blockById(src[0].lo) : d.fall(s);
  }

  /** Is a register read in its block only? */
  private isOwn(r: Reg, b: BlockNo): boolean {
    const { d } = this;
    if (d.isReturned(r)) return false;
    for (let use = d.firstUse(r); use >= 0; use = d.nextUse(use)) {
      const u = d.userAt(use);
      if (d.block(u) !== b || (d.at(u).op.flags & OpFlag.Phi) !== 0) return false;
    }
    return true;
  }

  // ------------------------------------------------------------------ rewrites

  /** Redirects the edge from `from` past as many branches as allowed. @returns whether anything changed */
  private thread(from: BlockNo, passed: readonly Passed[]): boolean {
    const { d, ctx } = this;
    const [{ branch: first }] = passed;
    if (this.spent) return false;
    // If a branch's two edges now have one target, the branch is gone; the rest of its block is left to the next application.
    if (passed.some((p) => d.terminator(p.branch) < 0)) return false;
    let last = -1;
    while (last + 1 < passed.length && this.mayPass(passed[last + 1])) last++;
    // Phis must get one value for all edges from the block.
    while (last >= 0 && !this.phisAgree(from, passed[last])) last--;
    if (last < 0 || !this.take('condition-threaded', from)) return false;
    const { branch, to } = passed[last];
    const values = d.phis(to).map((phi) => d.incoming(phi, branch));
    const ins = d.at(d.terminator(first));
    d.redirect(from, first, to);
    for (const [k, phi] of d.phis(to).entries()) d.setIncoming(phi, from, values[k]);
    foldBranch(d, from);
    const message = `BB${d.id(from)} decides ${ins.op.name} of BB${d.id(first)} and goes on to BB${d.id(to)}`;
    ctx.remark('passed', 'condition-threaded', message, { block: d.id(from), ins });
    return true;
  }

  /** Gives the edge from `from` its own copy of a block whose branch it decides. @returns whether anything changed */
  private copy(from: BlockNo, { branch: b, to }: Passed): boolean {
    const { d, fn, ctx } = this;
    if (this.spent || d.terminator(b) < 0 || !d.isAlive(b) || !d.predecessors(b).includes(from)) return false;
    const forest = loopsOf(fn);
    const loop = forest.innermost[b];
    if (loop >= 0 && forest.loops[loop].header === b) return false;
    if (divergenceOf(fn).join[b] >= Lanes.Varying || d.predecessors(b).length < 2) return false;
    if (!this.take('condition-copied', from)) return false;
    const ins = d.at(d.terminator(b));
    const place = d.fall(from) === b || d.successors(from).length === 1 ? from : d.lastBlock;
    const own = cloneBlocks(d, [b], place, (r) => d.defCount(r) === 1).blocks.get(b)!;
    d.setTerminator(own, null, to);
    d.redirect(from, b, own);
    foldJump(d, from);
    d.mergeWithSuccessor(from);
    const message = `BB${d.id(from)} decides ${ins.op.name} of BB${d.id(b)}, and goes through a copy of it to BB${d.id(to)}`;
    ctx.remark('passed', 'condition-copied', message, { block: d.id(from), ins });
    return true;
  }

  private mayPass({ branch, to }: Passed): boolean {
    const { fn } = this;
    const forest = loopsOf(fn);
    const loop = forest.innermost[branch];
    if (loop >= 0 && forest.loops[loop].header === branch && inLoop(forest, loop, to)) return false;
    const before = cfgOf(fn).predStart[branch + 1] - cfgOf(fn).predStart[branch];
    const ways = this.outcomes.get(branch) ?? [];
    if (divergenceOf(fn).join[branch] < Lanes.Varying) return true;
    if (ways.length !== before || before !== 2 || ways[0] === ways[1]) {
      this.missed(
        'divergent',
        branch,
        'lanes of a warp meet there, and would run the code after it separately',
      );
      return false;
    }
    const { pred, predStart } = cfgOf(fn);
    for (let e = predStart[branch]; e < predStart[branch + 1]; e++) {
      const l = forest.innermost[pred[e]];
      if (l < 0 || inLoop(forest, l, branch)) continue;
      this.missed('loop-exit', branch, 'lanes that leave a loop in different iterations meet there');
      return false;
    }
    if (mayWaitInLoops(fn)) {
      this.missed('waiting', branch, 'lanes that meet there may depend on each other in a loop that waits');
      return false;
    }
    if (meetingsOf(fn).clearBehind(branch)) return true;
    this.missed('meeting', branch, 'an operation between lanes may need those that meet there');
    return false;
  }

  private phisAgree(from: BlockNo, { branch, to }: Passed): boolean {
    const { d } = this;
    return d.phis(to).every((phi) => {
      const [a, b] = [d.incoming(phi, from), d.incoming(phi, branch)];
      return b !== null && (a === null || sameOperand(a, b));
    });
  }

  private decide(b: BlockNo, runs: boolean): boolean {
    const { d, ctx } = this;
    const n = d.terminator(b);
    if (this.spent || n < 0 || d.at(n).guard === NO_REG || !maySettle(d, n, runs)) return false;
    if (!this.take('condition-decided', b)) return false;
    const ins = d.at(n);
    settleGuard(d, n, runs);
    const why = `the path there decides that it ${runs ? 'runs' : 'does not run'}`;
    ctx.remark('passed', 'condition-decided', `${ins.op.name} of BB${d.id(b)}: ${why}`, {
      block: d.id(b),
      ins,
    });
    return true;
  }

  private take(name: string, b: BlockNo): boolean {
    const { d, ctx } = this;
    const n = d.terminator(b);
    if (!ctx.mayRewrite(name, d.id(b), n < 0 ? undefined : d.at(n))) {
      this.spent = true;
      return false;
    }
    if (ctx.budget(BUDGET)) return true;
    this.spent = true;
    this.ctx.remark('missed', 'budget-spent', `${BUDGET} is spent: further branches are kept`);
    return false;
  }

  private missed(name: string, b: BlockNo, why: string): void {
    const { d, reported } = this;
    const key = `${name} ${d.id(b)}`;
    if (reported.has(key)) return;
    reported.add(key);
    this.ctx.remark('missed', name, `edges to BB${d.id(b)} decide its branch, but ${why}`, {
      block: d.id(b),
    });
  }

  private erased(b: BlockNo): void {
    const { d } = this;
    this.ctx.remark('passed', 'unreachable-removed', `BB${d.id(b)} cannot be reached`, { block: d.id(b) });
  }
}
