import { isValue } from '../../analysis/calls/effects.ts';
import { twoWayBranchOf } from '../../analysis/flow/two-way-branch.ts';
import { partsLanes } from '../../analysis/uniformity/lane-agreement.ts';
import { type BlockNo, type Draft, edit, type Ins, pinnedBlocks } from '../../ir/draft/index.ts';
import { withGuard } from '../../ir/edit.ts';
import { isPhi } from '../../ir/flow.ts';
import { movesOf } from '../../ir/moves.ts';
import { imm, NO_REG, type Operand, PT, type Reg, RegFile, reg, sameOperand } from '../../ir/operand.ts';
import { type Fn, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { A, ALWAYS, B, C } from '../../ir/truth-tables.ts';
import { type Costs, instrCost } from '../../rules/cost.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';

/**
 * Phase 38, OptimizeNestedCondBranches: merges a branch with the branch of a successor block, if both lead to the same blocks.
 *
 *     before                          after
 *     BB0:                            BB0:
 *          ISETP.LT P1, R2, R3             ISETP.LT P1, R2, R3
 *      @P1 BRA BB3                         ISETP.EQ P4, R2, 7
 *     BB1:                                 PLOP3 P5, P1, P4, PT, 0xfc
 *          ISETP.EQ P4, R2, 7          @P5 BRA BB3
 *      @P4 BRA BB3                    BB2:
 *     BB2:                                 ...
 *          ...
 *
 * The inner block may be on either side of the outer branch, or on both, and the inner branch may be taken or not
 * taken on the way to the common target. The table of the PLOP3 encodes this, so AND, OR, XOR, their negations and "a
 * ? b : c" are one rewrite. Longer conditions are merged one step at a time, from the inside out.
 *
 * Two branches stay (seeds 000 and 003, safety constraints) if
 * 1. the inner block does more than compute values: loads, stores, warp operations and barriers must not run speculatively;
 * 2. the inner block has other predecessors, or is named by an instruction;
 * 3. the paths do not end in the same two blocks, or give different values to their phis.
 * Values that the inner block computes may be used after it, and may depend on the outer predicate: in SSA they keep
 * their names, and are right wherever they were read before. The operation has three inputs, one for each branch that it
 * replaces; a condition that is itself such an operation is one input.
 *
 * If an inner block branches too and shares a target with the outer branch, or if it could run speculatively but leads elsewhere, a
 * remark says why the two branches stay.
 *
 * It pays if lanes diverge at the outer branch, because a warp then mostly ran the inner block anyway. The possible loss
 * is the cost of the inner blocks' values, in cycles by the back end's `costs`. It may be at most `max-loss`, and at
 * most `max-uniform-loss` if nearly all warps agree at the outer branch (`laneAgreementOf`). Both are parameters of
 * the step; absent: no limit.
 *
 * Requires: control-last, ssa. Guarantees: ssa. A second application changes nothing, unless a limit kept a branch.
 * Bound: each rewrite removes a block. A block is scanned once each time that the branch before it is examined, which
 * happens once more after each rewrite there.
 */
export const nestedConditions: Pass = (fn, ctx) => combineConditions(fn, ctx, null);

/** The checks that can be left out. */
export type Check = 'effects' | 'targets-differ' | 'values-differ';

/** The pass without one of its checks: only tests need it, to show what the check prevents. */
export const withoutCheck =
  (check: Check): Pass =>
  (fn, ctx) =>
    combineConditions(fn, ctx, check);

const combineConditions = (fn: Fn, ctx: PassContext, without: Check | null): Fn =>
  edit(
    fn,
    (d) => {
      const nest = new NestedConditions(fn, d, ctx, without);
      // Inner blocks nearly always come after their outer ones; if they do not, the outer one is examined again.
      for (const b of d.layout().reverse()) while (d.isAlive(b) && nest.combine(b));
    },
    ctx.isa,
  );

/** One of the two edges out of a block. */
interface Way {
  readonly to: BlockNo;
  /** The block from which the edge leads to the target: the deciding block, or `through`. */
  readonly from: BlockNo;
  /** A block in between that only jumps on, or -1. */
  readonly through: BlockNo;
}

/** The end of a block at which a predicate decides. */
interface Decision {
  readonly block: BlockNo;
  readonly guard: Reg;
  readonly guardNot: boolean;
  readonly taken: Way;
  readonly fall: Way;
}

/** Why two branches stay: the name of a remark, and a sentence. */
interface Refusal {
  readonly name: string;
  readonly why: string;
}

/** The decision of an inner block. */
interface Inner extends Decision {
  /** Why its values may not be computed in the outer block; null: they may. */
  readonly refusal: Refusal | null;
}

class NestedConditions {
  private readonly fn: Fn;
  private readonly d: Draft;
  private readonly ctx: PassContext;
  private readonly costs: Costs;
  private readonly without: Check | null;
  private pinned: ReadonlySet<BlockNo> = new Set();

  constructor(fn: Fn, d: Draft, ctx: PassContext, without: Check | null) {
    this.fn = fn;
    this.d = d;
    this.ctx = ctx;
    this.without = without;
    this.costs = ctx.fact('costs') as Costs;
    this.pinned = pinnedBlocks(d);
  }

  /** Merges the branch of `outer` with those after it; false if nothing was done. */
  combine(outer: BlockNo): boolean {
    const w = this.decisionOf(outer);
    if (w === null) return false;
    const taken = this.inner(w.taken);
    const fall = this.inner(w.fall);
    if (taken !== null && fall !== null && leadsTo(taken, fall.taken.to) && leadsTo(taken, fall.fall.to))
      return this.accepted(outer, taken) && this.accepted(outer, fall) && this.rewrite(outer, w, taken, fall);
    for (const inner of [fall, taken]) {
      if (inner === null) continue;
      if (leadsTo(inner, inner === fall ? w.taken.to : w.fall.to) || this.without === 'targets-differ') {
        if (this.accepted(outer, inner))
          return inner === fall ? this.rewrite(outer, w, null, inner) : this.rewrite(outer, w, inner, null);
      } else if (inner.refusal === null)
        this.refuse(outer, [inner], 'targets-differ', 'they lead to no common block');
    }
    return false;
  }

  /** May the inner block's values be computed in `outer`? If not, reports why. */
  private accepted(outer: BlockNo, inner: Inner): boolean {
    const { refusal } = inner;
    return refusal === null || this.refuse(outer, [inner], refusal.name, refusal.why);
  }

  private refuse(outer: BlockNo, inner: readonly Inner[], name: string, why: string): false {
    const { d } = this;
    const message = `BB${d.id(outer)} and ${this.namesOf(inner)}: ${why}`;
    this.ctx.remark('missed', name, message, { block: d.id(outer), ins: d.at(d.terminator(outer)) });
    return false;
  }

  private namesOf(inner: readonly Inner[]): string {
    return inner.map((x) => `BB${this.d.id(x.block)}`).join(' and ');
  }

  /** How a block ends, looking through blocks that only jump on; null unless a predicate decides between two blocks. */
  private decisionOf(b: BlockNo): Decision | null {
    const w = twoWayBranchOf(this.d, b);
    if (w === null) return null;
    const taken = this.wayTo(w.taken, b);
    const fall = this.wayTo(w.fall, b);
    return taken.to === fall.to ? null : { block: b, guard: w.guard, guardNot: w.guardNot, taken, fall };
  }

  private wayTo(to: BlockNo, from: BlockNo): Way {
    const { d } = this;
    const n = d.first(to);
    const jumps =
      n < 0 || (n === d.terminator(to) && d.at(n).op.primitive === 'branch' && d.at(n).guard === NO_REG);
    const next = jumps && this.mayRemove(to) ? d.successors(to)[0] : -1;
    return next < 0 || next === to || next === from
      ? { to, from, through: -1 }
      : { to: next, from: to, through: to };
  }

  /** Does the block have only one predecessor, and does nothing name it? */
  private mayRemove(b: BlockNo): boolean {
    const { d } = this;
    return d.predecessors(b).length === 1 && b !== d.entryBlock && !this.pinned.has(b);
  }

  /** The decision of the block that an edge leads to, and whether its values may be computed before it; null if none. */
  private inner(way: Way): Inner | null {
    const b = way.to;
    if (b === way.from) return null;
    const w = this.decisionOf(b);
    if (w === null || leadsTo(w, b)) return null;
    const { block, guard, guardNot, taken, fall } = w;
    return { block, guard, guardNot, taken, fall, refusal: this.refuses(b) };
  }

  private refuses(b: BlockNo): Refusal | null {
    const { d } = this;
    const name = `BB${d.id(b)}`;
    if (d.predecessors(b).length !== 1 || b === d.entryBlock)
      return { name: 'other-ways', why: `${name} has other predecessors` };
    if (this.pinned.has(b)) return { name: 'named', why: `an instruction names ${name}` };
    const end = d.terminator(b);
    for (let n = d.first(b); n !== end; n = d.next(n)) {
      const x = d.at(n);
      if (isPhi(x) || !allInSsa(x))
        return {
          name: 'not-in-ssa',
          why: `${printInstr(x)} is a phi, or its registers are not in SSA`,
        };
      if (!isValue(x) && this.without !== 'effects')
        return { name: 'effects', why: `${printInstr(x)} would run where ${name} does not` };
    }
    return null;
  }

  /** Cycles for the values that a block computes. */
  private lossOf(b: BlockNo): number {
    const { d } = this;
    let loss = 0;
    for (let n = d.first(b); n !== d.terminator(b); n = d.next(n)) loss += instrCost(d.at(n), this.costs);
    return loss;
  }

  /** @param taken decision of the block on the taken edge of `outer` if it is merged, else null; `fall` likewise */
  private rewrite(outer: BlockNo, w: Decision, taken: Inner | null, fall: Inner | null): boolean {
    const { d, ctx } = this;
    const inner = [taken, fall].filter((x) => x !== null);
    const ways = [taken ?? w.taken, fall ?? w.fall].flatMap((x) => ('block' in x ? [x.taken, x.fall] : [x]));
    const gone = new Set([...inner.map((x) => x.block), ...[w.taken, w.fall, ...ways].map((x) => x.through)]);
    gone.delete(-1);
    // Control falls through where possible.
    let next = d.below(outer);
    while (gone.has(next)) next = d.below(next);
    const { taken: one, fall: other } = inner[0];
    const below = next === one.to ? one.to : other.to;
    const to = below === one.to ? other.to : one.to;

    const branch = d.terminator(outer);
    const at = { block: d.id(outer), ins: d.at(branch) };
    const loss = inner.reduce((sum, x) => sum + this.lossOf(x.block), 0);
    const most = Number(ctx.params[partsLanes(this.fn, w.guard) ? 'max-loss' : 'max-uniform-loss']);
    if (loss > most)
      return this.refuse(outer, inner, 'loss', `${loss} cycles may be lost, more than ${most}`);
    const values = new Map<Ins, Operand>();
    for (const target of [to, below])
      for (const phi of d.phis(target)) {
        const brought = ways.filter((x) => x.to === target).map((x) => d.incoming(phi, x.from)!);
        if (brought.some((o) => !sameOperand(o, brought[0])) && this.without !== 'values-differ')
          return this.refuse(
            outer,
            inner,
            'values-differ',
            `their values for the phis of BB${d.id(target)} differ`,
          );
        values.set(phi, brought[0]);
      }

    if (!ctx.mayRewrite('branches-combined', d.id(outer), d.at(branch))) return false;
    for (const { block } of inner)
      for (let n = d.first(block), after: Ins; n !== d.terminator(block); n = after) {
        after = d.next(n);
        d.moveToEnd(n, outer);
      }
    const inputs: Operand[] = [reg(w.guard)];
    /** Truth table of "control goes to `to`" for one edge out of `outer`. */
    const table = (x: Decision | null, way: Way): number => {
      if (x === null) return way.to === to ? ALWAYS : 0;
      const input = inputs.push(reg(x.guard)) === 2 ? B : C;
      return x.guardNot === (x.taken.to === to) ? ~input & ALWAYS : input;
    };
    const whenTaken = w.guardNot ? ~A & ALWAYS : A;
    const all = (whenTaken & table(taken, w.taken)) | (~whenTaken & table(fall, w.fall) & ALWAYS);
    while (inputs.length < 3) inputs.push(PT);
    const p = d.freshReg(RegFile.P);
    const { loc } = d.at(branch);
    d.insertAtEnd(outer, instr(movesOf(ctx.isa).logic, 0, [p], [...inputs, imm(all)], loc));
    d.setTerminator(outer, withGuard(d.branchTo(to, loc), p), below);
    for (const [phi, value] of values) d.setIncoming(phi, outer, value);
    ctx.remark(
      'passed',
      'branches-combined',
      `BB${d.id(outer)} decides for ${this.namesOf(inner)} as well`,
      at,
    );
    removeAll(d, gone);
    return true;
  }
}

/** Removes blocks without predecessors among the remaining blocks, each after its predecessors. */
function removeAll(d: Draft, blocks: ReadonlySet<BlockNo>): void {
  const left = [...blocks];
  while (left.length > 0) {
    const k = left.findIndex((b) => d.predecessors(b).length === 0);
    d.eraseBlock(left[k]);
    left.splice(k, 1);
  }
}

const leadsTo = (w: Decision, b: BlockNo): boolean => w.taken.to === b || w.fall.to === b;
