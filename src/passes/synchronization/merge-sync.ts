import { EFFECTS } from '../../analysis/calls/effects.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { toRegs } from '../../ir/edit.ts';
import { Lanes, modOf, withMods } from '../../ir/opcode.ts';
import { Kind, NO_REG, PT } from '../../ir/operand.ts';
import { type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 71, OptimizeSyncInstructions: removes the one of two adjacent synchronizations that the other covers.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           STS [R1], R2                        STS [R1], R2
 *           WARPSYNC -1                         BAR.SYNC 0
 *           BAR.SYNC 0                          MEMBAR.SC.SYS
 *           MEMBAR.ACQ_REL.CTA                  LDS R4, [R3]
 *           IADD3 R3, R1, 4
 *           MEMBAR.SC.SYS
 *           LDS R4, [R3]
 *
 * - A fence is covered by one of the same or a wider scope and the same or a stricter order: together they order what the second orders
 *   alone (PTX ISA 9.0, 9.7.13.4: the scopes contain each other, `sc` is the stricter order). This does not hold if threads meet
 *   between the two: writes of other threads before the meeting are ordered only by the second, reads of other threads after it only by
 *   the first (PTX ISA 9.0, 8.8 and 8.9.5: release and acquire patterns, causality order).
 * - A meeting of the lanes of a warp is covered by an aligned barrier for all threads of the block (9.7.13.1: the whole warp executes
 *   it, and accesses before it are performed for all participants) in a block that a warp runs as a whole, since no lane can then meet
 *   others elsewhere.
 * - A barrier that reduces a predicate, whose result is never read, becomes a plain barrier if all threads of the block reach it or
 *   none: other threads could reach another reduction instead, and need the predicates of these (9.7.13.1: the two kinds do not mix).
 *
 * Two of them are adjacent if nothing between them in the block accesses memory, acts between lanes, or has another effect; a meeting
 * and a barrier also need to have no fence between them. Phase 26 removes equal ones, across blocks too.
 *
 * Requires: control-last. Guarantees: blocks and edges stay; equivalence under every schedule. A second application changes
 * nothing.
 * Bound: each instruction once.
 */
export const mergeSync: Pass = (fn, ctx) => {
  if (!fn.blocks.some((b) => b.ins.some((x) => isFence(x) || isMeeting(x) || isReduction(x)))) return fn;
  return edit(fn, (d) => {
    for (const [at, block] of fn.blocks.entries()) {
      const b = d.blockById(block.id);
      const whole = (): boolean => divergenceOf(fn).control[at] < Lanes.Varying;
      const everyone = (): boolean => fn.kind === 'entry' && divergenceOf(fn).control[at] === Lanes.Block;
      /** Synchronizations with nothing in between, in order. */
      let run: Ins[] = [];
      for (let n = d.first(b), next: number; n >= 0; n = next) {
        next = d.next(n);
        if (isReduction(d.at(n)) && isUnread(d, n) && everyone()) {
          if (!ctx.mayRewrite('barrier-waits', block.id, d.at(n))) return;
          ctx.remark('passed', 'barrier-waits', `${printInstr(d.at(n))}: the result is never read`, {
            block: block.id,
            ins: d.at(n),
          });
          d.replace(n, waiting(d.at(n)));
        }
        const x = d.at(n);
        if (!isFence(x) && !isMeeting(x) && !isBarrier(x)) {
          if ((x.op.flags & EFFECTS) !== 0) run = [];
          continue;
        }
        // The other kind is dropped: this one orders it.
        run = run.filter((m) => isFence(d.at(m)) === isFence(x));
        const covered = (a: Instr, c: Instr): boolean => isCovered(a, c) && (isFence(a) || whole());
        const other = run.find((m) => covered(x, d.at(m)));
        const gone = other !== undefined ? [n] : run.filter((m) => covered(d.at(m), x));
        for (const m of gone) {
          if (!ctx.mayRewrite('sync-merged', block.id, d.at(m))) return;
          const by = printInstr(other === undefined ? x : d.at(other));
          ctx.remark('passed', 'sync-merged', `${printInstr(d.at(m))}: ${by} covers it`, {
            block: block.id,
            ins: d.at(m),
          });
          d.remove(m);
        }
        run = run.filter((m) => !gone.includes(m));
        if (other === undefined) run.push(n);
      }
    }
  });
};

const SCOPES = ['CTA', 'CLUSTER', 'GPU', 'SYS'];
const ORDERS = ['ACQ_REL', 'SC'];

const isFence = (x: Instr): boolean =>
  x.op.primitive === 'fence' && x.guard === NO_REG && x.op.groupByName.has('scope') && fenceRank(x) !== null;

/** Order and scope of a fence, as numbers; null for one that orders something else. */
function fenceRank(x: Instr): readonly [number, number] | null {
  const order = ORDERS.indexOf(modOf(x.op, x.mods, 'sem'));
  const scope = SCOPES.indexOf(modOf(x.op, x.mods, 'scope'));
  return order < 0 || scope < 0 ? null : [order, scope];
}

const isMeeting = (x: Instr): boolean =>
  x.op.primitive === 'warpsync' && x.guard === NO_REG && x.src[0].kind === Kind.Imm;

/** An aligned barrier that all threads of the block wait at. */
const isBarrier = (x: Instr): boolean =>
  x.op.primitive === 'barrier' &&
  x.guard === NO_REG &&
  modOf(x.op, x.mods, 'mode') === 'SYNC' &&
  modOf(x.op, x.mods, 'aligned') === 'ALIGNED' &&
  x.src[0].kind === Kind.Imm &&
  x.src[1].kind === Kind.Imm &&
  x.src[1].lo === 0;

const isReduction = (x: Instr): boolean =>
  x.op.primitive === 'barrier' && modOf(x.op, x.mods, 'mode') === 'RED';

const isUnread = (d: Draft, n: Ins): boolean =>
  d.at(n).dst.every((r) => r === NO_REG || (d.users(r).length === 0 && !d.isReturned(r)));

/** The same barrier, without a reduction. */
function waiting(x: Instr): Instr {
  const mods = withMods(x.op, withMods(x.op, x.mods, 'SYNC'), 'NONE');
  const { op, dst, src, loc, guard, guardNot } = x;
  return instr(
    op,
    mods,
    toRegs(dst, () => NO_REG),
    [src[0], src[1], PT],
    loc,
    guard,
    guardNot,
  );
}

function isCovered(a: Instr, by: Instr): boolean {
  if (isMeeting(a)) return isBarrier(by);
  if (!isFence(a) || !isFence(by)) return false;
  const [p, q] = [fenceRank(a)!, fenceRank(by)!];
  return p[0] <= q[0] && p[1] <= q[1];
}
