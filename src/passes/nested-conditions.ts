import { divergenceOf } from '../analysis/divergence.ts';
import { isValue } from '../analysis/effects.ts';
import { laneAgreementOf } from '../analysis/lane-agreement.ts';
import { type TwoWays, twoWaysOf } from '../analysis/two-ways.ts';
import { type BlockNo, type Draft, eachPin, edit, type Ins } from '../ir/draft/index.ts';
import { withGuard } from '../ir/edit.ts';
import { isPhi } from '../ir/flow.ts';
import { movesOf } from '../ir/moves.ts';
import { Lanes } from '../ir/opcode.ts';
import { imm, type Operand, PT, RegFile, reg, regIndex, sameOperand } from '../ir/operand.ts';
import { type Fn, instr } from '../ir/program.ts';
import { allInSsa } from '../ssa/registers.ts';
import type { Pass, PassContext } from './pass.ts';

/**
 * Phase 38, OptimizeNestedCondBranches: a branch that only leads to another branch on the way to the same places becomes one with it.
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
 * The inner block may hang on either way of the outer one, or on both, and its branch may be taken or not on the way to the common
 * place: the table of the PLOP3 says which, so AND, OR, XOR, their negations and "a ? b : c" are one rewrite. Longer conditions fall
 * one step at a time, from the inside out.
 *
 * What keeps two branches (seeds 000 and 003, safety constraints):
 * 1. the inner block does more than compute values: loads, stores, warp operations and barriers must not run where they did not;
 * 2. somebody else leads into the inner block, or names it;
 * 3. the ways do not end in the same two blocks, or bring different values to their phis.
 * Values that the inner block computes may be used behind it, and may be made from the outer predicate: in SSA they keep their names,
 * and are right wherever they were read before.
 *
 * It pays where lanes part at the outer branch, so that a warp mostly went through the inner block as well: a branch at which
 * all lanes of a warp agree stays, and so does one with more than `max-values` instructions in the inner blocks.
 *
 * Requires: control-last, ssa. Guarantees: ssa. A second application changes nothing.
 * Bound: each rewrite takes out a block, and moves at most `max-values` instructions for each branch that it looks at.
 */
export const nestedConditions: Pass = (fn, ctx) =>
  edit(
    fn,
    (d) => {
      const nest = new NestedConditions(fn, d, ctx);
      // Inner blocks stand behind their outer ones nearly always; where they do not, the outer one looks again.
      for (const b of d.layout().reverse()) while (d.isAlive(b) && nest.combine(b));
    },
    ctx.isa,
  );

/** Truth tables of the three inputs of a PLOP3. */
const FIRST = 0xf0;
const SECOND = 0xcc;
const THIRD = 0xaa;
const ALWAYS = 0xff;

class NestedConditions {
  private readonly fn: Fn;
  private readonly d: Draft;
  private readonly ctx: PassContext;
  private readonly most: number;
  private readonly pinned = new Set<BlockNo>();

  constructor(fn: Fn, d: Draft, ctx: PassContext) {
    this.fn = fn;
    this.d = d;
    this.ctx = ctx;
    this.most = Number(ctx.params['max-values']);
    for (const b of d.layout()) eachPin(d, b, (p) => this.pinned.add(p));
  }

  /** Makes the branch of `outer` one with those behind it; false where nothing was done. */
  combine(outer: BlockNo): boolean {
    const { d } = this;
    const w = twoWaysOf(d, outer);
    if (w === null) return false;
    const taken = this.inner(w.taken, outer);
    const fall = this.inner(w.fall, outer);
    if (taken !== null && fall !== null && leadsTo(taken, fall.taken) && leadsTo(taken, fall.fall))
      return this.rewrite(outer, w, taken, fall);
    if (fall !== null && leadsTo(fall, w.taken)) return this.rewrite(outer, w, null, fall);
    return taken !== null && leadsTo(taken, w.fall) && this.rewrite(outer, w, taken, null);
  }

  /** How a block ends that only `outer` leads to, and that only computes values; null for others. */
  private inner(b: BlockNo, outer: BlockNo): TwoWays | null {
    const { d } = this;
    if (d.predecessors(b).length !== 1 || b === outer || b === d.entryBlock || this.pinned.has(b))
      return null;
    const w = twoWaysOf(d, b);
    if (w === null || leadsTo(w, b)) return null;
    const end = d.terminator(b);
    let left = this.most;
    for (let n = d.first(b); n !== end; n = d.next(n)) {
      const x = d.at(n);
      if (left-- === 0 || isPhi(x) || !isValue(x) || !allInSsa(x)) return null;
    }
    return w;
  }

  /** @param taken how the block ends that the branch of `outer` leads to, if it goes; `fall` likewise */
  private rewrite(outer: BlockNo, w: TwoWays, taken: TwoWays | null, fall: TwoWays | null): boolean {
    const { d, ctx } = this;
    const gone = [...(taken === null ? [] : [w.taken]), ...(fall === null ? [] : [w.fall])];
    // Control falls where it fell before, so that no jump is added.
    const below = fall === null ? w.fall : fall.fall;
    const ways = fall ?? taken!;
    const to = ways.taken === below ? ways.fall : ways.taken;
    const branch = d.terminator(outer);
    const at = { block: d.id(outer), ins: d.at(branch) };
    const refuse = (name: string, why: string): false => {
      ctx.remark('missed', name, `BB${d.id(outer)} and ${this.names(gone)}: ${why}`, at);
      return false;
    };
    if (!this.parts(w)) return refuse('uniform', 'all lanes of a warp agree at the first branch');
    const values = new Map<Ins, Operand>();
    for (const target of [to, below]) {
      const from = w.taken === target || w.fall === target ? [outer, ...gone] : gone;
      for (const phi of d.phis(target)) {
        const brought = from.map((b) => d.way(phi, b)).filter((o) => o !== null);
        if (brought.some((o) => !sameOperand(o, brought[0])))
          return refuse('values-differ', `they bring different values to BB${d.id(target)}`);
        values.set(phi, brought[0]);
      }
    }

    for (const b of gone)
      for (let n = d.first(b), next: Ins; n !== d.terminator(b); n = next) {
        next = d.next(n);
        d.moveToEnd(n, outer);
      }
    const inputs: Operand[] = [reg(w.guard)];
    /** Truth table of "control goes on to `to`" for one way out of `outer`. */
    const table = (inner: TwoWays | null, target: BlockNo): number => {
      if (inner === null) return target === to ? ALWAYS : 0;
      const input = inputs.push(reg(inner.guard)) === 2 ? SECOND : THIRD;
      return inner.guardNot === (inner.taken === to) ? ~input & ALWAYS : input;
    };
    const whenTaken = w.guardNot ? ~FIRST & ALWAYS : FIRST;
    const both = (whenTaken & table(taken, w.taken)) | (~whenTaken & table(fall, w.fall) & ALWAYS);
    while (inputs.length < 3) inputs.push(PT);
    const p = d.freshReg(RegFile.P);
    const { loc } = d.at(branch);
    d.insertAtEnd(outer, instr(movesOf(ctx.isa).logic, 0, [p], [...inputs, imm(both)], loc));
    d.setTerminator(outer, withGuard(d.branchTo(to, loc), p), below);
    for (const [phi, value] of values) d.setWay(phi, outer, value);
    for (const b of gone) {
      ctx.remark('passed', 'branches-combined', `BB${d.id(outer)} decides for BB${d.id(b)} as well`, at);
      d.eraseBlock(b);
    }
    return true;
  }

  /** Do lanes of many warps part at the branch? A predicate that is new is made of such ones. */
  private parts(w: TwoWays): boolean {
    const { fn } = this;
    const r = regIndex(w.guard);
    if (r >= fn.regCount) return true;
    return divergenceOf(fn).value[r] === Lanes.Varying && !laneAgreementOf(fn).mostlyAgree(w.guard);
  }

  private names(blocks: readonly BlockNo[]): string {
    return blocks.map((b) => `BB${this.d.id(b)}`).join(', ');
  }
}

const leadsTo = (w: TwoWays, b: BlockNo): boolean => w.taken === b || w.fall === b;
