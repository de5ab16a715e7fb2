import { mayBeDecided } from '../analysis/decidable.ts';
import { isValue } from '../analysis/effects.ts';
import { constantOf, type Ranges, rangeAt, rangeOf, rangesOf } from '../analysis/ranges.ts';
import { type BlockNo, type Draft, edit, type Ins, removeUnreachable } from '../ir/draft/index.ts';
import { withGuard, withSource } from '../ir/edit.ts';
import { isControl, isPhi } from '../ir/flow.ts';
import { copyLike, copyOf, type Moves, movesOf } from '../ir/moves.ts';
import { slotWidth, srcSlot } from '../ir/opcode.ts';
import { immPair, isPredReg, Kind, NO_REG, type Operand, type Reg, regIndex } from '../ir/operand.ts';
import type { Fn } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import { mayStand } from '../rules/fit.ts';
import { isFoldable } from '../rules/fold.ts';
import { inSsa } from '../ssa/registers.ts';
import { ConstantsByFlow, mayHaveConstantPhis } from './constants-by-flow.ts';
import { maySettle, settleGuard } from './known-guards.ts';
import type { Pass, PassContext } from './pass.ts';
import { dropRedundantPhis } from './redundant-phis.ts';

/**
 * Constants on the ways that control can take: values that are one constant there, and branches that this decides.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           MOV R1, 7                           LOP3 R4, R3, 15, RZ, 0xc0
 *           LOP3 R4, R3, 15, RZ, 0xc0           MOV R2, 7
 *           ISETP.GT.U32 P5, R4, 20             STG [RD6], R2
 *       @P5 BRA BB2                             EXIT
 *     BB1:
 *           MOVPHI R2, {BB0: R1, BB2: 8}
 *           STG [RD6], R2
 *           EXIT
 *     BB2:
 *           BRA BB1
 *
 * In two steps. First constants and executable ways together (`ConstantsByFlow`), where some phi may be constant: without that,
 * constant folding finds as much. Then known bits and ranges with what branches tell (`rangesOf`), where a comparison looks as if it
 * might be decided (`mayBeDecided`): a predicate that is known, and in the blocks that only one outcome leads to, operands that it
 * makes constant. What control no longer reaches goes.
 *
 * Knobs: FoldApproximate and FPFoldDisable say what may be computed, as for constant folding.
 *
 * Requires: control-last, ssa. Guarantees: ssa; every block is reachable or named by a convergence label. A second application finds
 * what the first one brought to light, because each step is taken once.
 * Bound: the first step is linear in uses and edges; the second costs what `rangesOf` does.
 */
export const conditionalConstants: Pass = (fn, ctx) => byRanges(byFlow(fn, ctx), ctx);

const isSet = (v: unknown): boolean => v !== null && v !== false;

function byFlow(fn: Fn, ctx: PassContext): Fn {
  const moves = movesOf(ctx.isa);
  if (!mayHaveConstantPhis(fn, moves)) return fn;
  const approximate = isSet(ctx.knob('FoldApproximate'));
  const floats = !isSet(ctx.knob('FPFoldDisable'));
  const found = new ConstantsByFlow(fn, moves, (x) => isFoldable(x, approximate, floats));
  return edit(
    fn,
    (d) => {
      for (const b of d.layout()) {
        if (!found.isReached(b)) continue;
        eachOf(d, b, (n) => {
          const { guard } = d.at(n);
          if (guard !== NO_REG) settleKnown(d, n, found.constantOf(guard), ctx);
          if (!d.isRemoved(n)) toConstant(d, moves, n, (r) => found.constantOf(r), ctx);
        });
        settleTable(d, b, found, ctx);
      }
      cleanUp(d);
    },
    ctx.isa,
  );
}

function byRanges(fn: Fn, ctx: PassContext): Fn {
  if (!mayBeDecided(fn)) return fn;
  const moves = movesOf(ctx.isa);
  const ranges = rangesOf(fn);
  const at = (r: Reg, b: BlockNo): Operand | null => {
    const c = inSsa(r) ? constantOf(rangeAt(ranges, r, b)) : null;
    return c === null ? null : immPair(c.low, c.high);
  };
  const everywhere = (r: Reg): Operand | null => {
    const c = inSsa(r) ? constantOf(rangeOf(ranges, r)) : null;
    return c === null ? null : immPair(c.low, c.high);
  };
  return edit(
    fn,
    (d) => {
      for (const b of d.layout())
        eachOf(d, b, (n) => {
          const { guard } = d.at(n);
          if (guard !== NO_REG) settleKnown(d, n, at(guard, b), ctx);
          if (d.isRemoved(n)) return;
          toConstant(d, moves, n, everywhere, ctx);
          if (!d.isRemoved(n)) toldByBranches(d, n, ranges, (r) => at(r, b), ctx);
        });
      cleanUp(d);
    },
    ctx.isa,
  );
}

/** Visits the instructions that a block has now, of which each may be replaced or removed. */
function eachOf(d: Draft, b: BlockNo, visit: (n: Ins) => void): void {
  for (let n = d.first(b), next: Ins; n >= 0; n = next) {
    next = d.next(n);
    visit(n);
  }
}

/** An instruction whose guard is known loses it, or goes; so does a branch. */
function settleKnown(d: Draft, n: Ins, value: Operand | null, ctx: PassContext): void {
  if (value === null) return;
  const x = d.at(n);
  const b = d.block(n);
  const runs = ((value.lo & 1) === 1) !== x.guardNot;
  const always = `${printInstr(x)}: the guard is always ${runs ? 'true' : 'false'}`;
  if (!maySettle(d, n, runs) || !ctx.mayRewrite('guard-known', d.id(b), x)) return;
  settleGuard(d, n, runs);
  ctx.remark('passed', 'guard-known', always, { block: d.id(b), ins: x });
}

/** A value of which every result is one constant becomes copies of them. */
function toConstant(
  d: Draft,
  moves: Moves,
  n: Ins,
  constant: (r: Reg) => Operand | null,
  ctx: PassContext,
): void {
  const x = d.at(n);
  if (!(isValue(x) || isPhi(x)) || copyOf(moves, x)?.kind === Kind.Imm) return;
  const values: [Reg, Operand][] = [];
  for (const r of x.dst) {
    if (r === NO_REG) continue;
    const c = constant(r);
    if (c === null) return;
    values.push([r, c]);
  }
  const b = d.block(n);
  if (!ctx.mayRewrite('constant', d.id(b), x)) return;
  ctx.remark('passed', 'constant', `${printInstr(x)}: ${values.map(([, c]) => c.lo).join(', ')}`, {
    block: d.id(b),
    ins: x,
  });
  if (isPhi(x)) {
    d.remove(n);
    for (const [r, c] of values) d.insertAtStart(b, moves.move(r, c, x.loc));
  } else
    d.replaceBy(
      n,
      values.map(([r, c]) => copyLike(moves, r, c, withGuard(x, NO_REG))),
    );
}

/** Operands that are constant because of the way that led here. */
function toldByBranches(
  d: Draft,
  n: Ins,
  ranges: Ranges,
  constant: (r: Reg) => Operand | null,
  ctx: PassContext,
): void {
  if (isPhi(d.at(n)) || isControl(d.at(n))) return;
  const { factsOf } = ranges.names;
  for (let k = 0; k < d.at(n).src.length; k++) {
    const { op, mods, src } = d.at(n);
    const o = src[k];
    if (o.kind !== Kind.Reg || o.mods !== 0 || !factsOf.has(regIndex(o.reg))) continue;
    const c = constant(o.reg);
    const slot = srcSlot(op, k)!;
    if (c === null || !mayStand(c, slot, slotWidth(op, mods, slot))) continue;
    if (ctx.mayRewrite('operand-known', d.id(d.block(n)), d.at(n))) d.replace(n, withSource(d.at(n), k, c));
  }
}

/** A jump through a table at a known place becomes a branch. */
function settleTable(d: Draft, b: BlockNo, found: ConstantsByFlow, ctx: PassContext): void {
  const n = d.terminator(b);
  if (n < 0) return;
  const x = d.at(n);
  if (x.op.primitive !== 'branch-table' || x.src[0].kind !== Kind.Reg || isPredReg(x.src[0].reg)) return;
  const c = found.constantOf(x.src[0].reg);
  const entries = d.tables()[x.src[1].lo];
  if (c === null || c.hi !== 0 || c.lo < 0 || c.lo >= entries.length) return;
  if (!ctx.mayRewrite('table-known', d.id(b), x)) return;
  ctx.remark('passed', 'table-known', `${printInstr(x)}: the index is always ${c.lo}`, {
    block: d.id(b),
    ins: x,
  });
  const branch = withGuard(d.branchTo(d.blockById(entries[c.lo]), x.loc), x.guard, x.guardNot);
  d.setTerminator(b, branch, d.fall(b));
}

/** What control no longer reaches goes, and phis that are left with one value. */
function cleanUp(d: Draft): void {
  if (d.shapeVersion === 0) return;
  removeUnreachable(d);
  dropRedundantPhis(
    d,
    d.layout().flatMap((b) => d.phis(b)),
  );
}
