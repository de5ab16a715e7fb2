import { isValue } from '../../analysis/calls/effects.ts';
import { mayBeDecided } from '../../analysis/values/decidable-conditions.ts';
import {
  boundsAt,
  constantOf,
  type Ranges,
  rangeAt,
  rangeOf,
  rangesOf,
} from '../../analysis/values/ranges.ts';
import { type BlockNo, type Draft, edit, type Ins, removeUnreachable } from '../../ir/draft/index.ts';
import { withGuard, withSource } from '../../ir/edit.ts';
import { isControl, isPhi } from '../../ir/flow.ts';
import { countsBytes, entryOf } from '../../ir/jump-table.ts';
import { copyLike, copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { OpFlag, slotWidth, srcSlot } from '../../ir/opcode.ts';
import {
  immPair,
  isPredReg,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  regIndex,
  regWidth,
} from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { Bounds } from '../../isa/bounds.ts';
import { boundsProgram, evaluate, operandOf, SPARE, sourceWidth } from '../../isa/bounds-program.ts';
import { EqualSource, mayEqualSource } from '../../isa/equal-source.ts';
import { mayStand } from '../../rules/fit.ts';
import { isFoldable } from '../../rules/fold.ts';
import { inSsa } from '../../ssa/registers.ts';
import { maySettle, settleGuard } from '../flow/known-guards.ts';
import { isSet, type Pass, type PassContext } from '../pass.ts';
import { ConstantsByFlow, mayHaveConstantPhis } from './constants-by-flow.ts';
import { copiesOf } from './kept-operands.ts';
import { dropRedundantPhis } from './redundant-phis.ts';

/**
 * Constants along executable paths: values that are a single constant there, and branches that this decides.
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
 *           LDG.U8 R7, [RD6]                    LDG.U8 R7, [RD6]
 *           LOP3 R8, R7, 255, RZ, 0xc0          MOV R8, R7
 *
 * There are two steps. The first finds constants and executable edges together (`ConstantsByFlow`), if some phi may
 * be constant; without such a phi, constant folding finds as much. The second uses known bits and ranges refined by
 * branches (`rangesOf`), if anything indicates that they help (`mayBeDecided`): predicates with a known value;
 * in blocks reached by only one outcome, operands that this outcome makes constant; and operations that leave one of
 * their operands as it is (`EqualSource`), such as masks of bits that are clear. Unreachable code is removed.
 *
 * Knobs: FoldApproximate, FPFoldDisable and LimitFoldFp say what may be evaluated, as for constant folding.
 *
 * Parameter `except-selections`: instructions that select an operand stay, because marks decide about them (`markOperands`).
 *
 * Requires: control-last, ssa. Guarantees: ssa; every block is reachable or named by a convergence label. A second
 * application may find what the first one exposed, because each step runs once.
 * Bound: the first step is linear in uses and edges; the second costs what `rangesOf` does.
 */
export const conditionalConstants: Pass = (fn, ctx) => byRanges(byFlow(fn, ctx), ctx);

function byFlow(fn: Fn, ctx: PassContext): Fn {
  const moves = movesOf(ctx.isa);
  if (!mayHaveConstantPhis(fn, moves)) return fn;
  const approximate = isSet(ctx.knob('FoldApproximate'));
  const floats = !isSet(ctx.knob('FPFoldDisable')) && !isSet(ctx.knob('LimitFoldFp'));
  const found = new ConstantsByFlow(fn, moves, (x) => isFoldable(x, approximate, floats));
  return edit(fn, (d) => new FlowRewriter(d, found, moves, ctx).run(), ctx.isa);
}

/** Rewrites by the constants along executable edges. */
class FlowRewriter {
  private readonly d: Draft;
  private readonly found: ConstantsByFlow;
  private readonly moves: Moves;
  private readonly ctx: PassContext;

  constructor(d: Draft, found: ConstantsByFlow, moves: Moves, ctx: PassContext) {
    this.d = d;
    this.found = found;
    this.moves = moves;
    this.ctx = ctx;
  }

  run(): void {
    const { d, found, ctx } = this;
    for (const b of d.layout()) {
      if (!found.isReached(b)) continue;
      for (let n = d.first(b), next: Ins; n >= 0; n = next) {
        next = d.next(n);
        const { guard } = d.at(n);
        if (guard !== NO_REG) applyKnownGuard(d, n, found.constantOf(guard), ctx);
        if (!d.isRemoved(n)) toConstant(d, this.moves, n, this, ctx);
      }
      resolveTable(d, b, found, ctx);
    }
    cleanUp(d);
  }

  constantOf(r: Reg): Operand | null {
    return this.found.constantOf(r);
  }
}

function byRanges(fn: Fn, ctx: PassContext): Fn {
  if (!mayBeDecided(fn)) return fn;
  const ranges = rangesOf(fn);
  return edit(fn, (d) => new RangeRewriter(d, ranges, ctx).run(), ctx.isa);
}

/** Rewrites by known bits and ranges. */
class RangeRewriter {
  private readonly d: Draft;
  private readonly ranges: Ranges;
  private readonly moves: Moves;
  private readonly ctx: PassContext;

  constructor(d: Draft, ranges: Ranges, ctx: PassContext) {
    this.d = d;
    this.ranges = ranges;
    this.moves = movesOf(ctx.isa);
    this.ctx = ctx;
  }

  run(): void {
    const { d } = this;
    for (const b of d.layout())
      for (let n = d.first(b), next: Ins; n >= 0; n = next) {
        next = d.next(n);
        this.rewrite(n, b);
      }
    cleanUp(d);
  }

  private rewrite(n: Ins, b: BlockNo): void {
    const { d, moves, ranges, ctx } = this;
    const { guard } = d.at(n);
    if (guard !== NO_REG) applyKnownGuard(d, n, this.constantAt(guard, b), ctx);
    if (!d.isRemoved(n)) toConstant(d, moves, n, this, ctx);
    if (!d.isRemoved(n)) toOperand(d, moves, n, ranges, b, ctx);
    if (!d.isRemoved(n)) this.impliedByBranches(n, b);
  }

  /** The only value that a register has wherever it is defined; null if there are several. */
  constantOf(r: Reg): Operand | null {
    const c = inSsa(r) ? constantOf(rangeOf(this.ranges, r)) : null;
    return c === null ? null : immPair(c.low, c.high);
  }

  private constantAt(r: Reg, b: BlockNo): Operand | null {
    const c = inSsa(r) ? constantOf(rangeAt(this.ranges, r, b)) : null;
    return c === null ? null : immPair(c.low, c.high);
  }

  /** Replaces operands that are constant because of the branch outcomes on the path to the block. */
  private impliedByBranches(n: Ins, b: BlockNo): void {
    const { d, ctx } = this;
    if (isPhi(d.at(n)) || isControl(d.at(n))) return;
    const { factsOf } = this.ranges.names;
    for (let k = 0; k < d.at(n).src.length; k++) {
      const { op, mods, src } = d.at(n);
      const o = src[k];
      if (o.kind !== Kind.Reg || o.mods !== 0 || !factsOf.has(regIndex(o.reg))) continue;
      const c = this.constantAt(o.reg, b);
      const slot = srcSlot(op, k)!;
      if (c === null || !mayStand(c, slot, slotWidth(op, mods, slot))) continue;
      if (ctx.mayRewrite('operand-known', d.id(d.block(n)), d.at(n))) d.replace(n, withSource(d.at(n), k, c));
    }
  }
}

/** Removes the guard of an instruction, or the instruction, if the value of the guard is known; likewise for a branch. */
function applyKnownGuard(d: Draft, n: Ins, value: Operand | null, ctx: PassContext): void {
  if (value === null) return;
  const x = d.at(n);
  const b = d.block(n);
  const runs = ((value.lo & 1) === 1) !== x.guardNot;
  const always = `${printInstr(x)}: the guard is always ${runs ? 'true' : 'false'}`;
  if (!maySettle(d, n, runs) || !ctx.mayRewrite('guard-known', d.id(b), x)) return;
  settleGuard(d, n, runs);
  ctx.remark('passed', 'guard-known', always, { block: d.id(b), ins: x });
}

const isExcepted = ({ op }: Instr, { params }: PassContext): boolean =>
  params['except-selections'] === true && (op.flags & OpFlag.Selects) !== 0;

/** Replaces a value whose results are all constant by copies of the constants. */
function toConstant(
  d: Draft,
  moves: Moves,
  n: Ins,
  known: { readonly constantOf: (r: Reg) => Operand | null },
  ctx: PassContext,
): void {
  const x = d.at(n);
  if (!(isValue(x) || isPhi(x)) || copyOf(moves, x)?.kind === Kind.Imm || isExcepted(x, ctx)) return;
  const values: [Reg, Operand][] = [];
  for (const r of x.dst) {
    if (r === NO_REG) continue;
    const c = known.constantOf(r);
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

const slots = { p: new Bounds(64), equal: new EqualSource() };

/** Replaces an operation whose result equals one of its operands, by what is known about these, by a copy. */
function toOperand(d: Draft, moves: Moves, n: Ins, ranges: Ranges, b: BlockNo, ctx: PassContext): void {
  const x = d.at(n);
  const g = isValue(x) && copyOf(moves, x) === null && !isExcepted(x, ctx) ? boundsProgram(x) : null;
  if (g === null || !mayEqualSource(g)) return;
  if (slots.p.least.length < g.count + SPARE) slots.p = new Bounds(2 * (g.count + SPARE));
  const { p, equal } = slots;
  for (let k = 0; k < g.sources.length; k++) {
    const to = g.sources[k];
    if (to < 0) continue;
    const o = operandOf(x, k);
    const width = sourceWidth(x, k);
    if (o.kind === Kind.Imm) p.setConstant(to, width, o.lo, o.hi);
    else if (o.kind === Kind.Reg && inSsa(o.reg) && regWidth(o.reg) === width)
      boundsAt(ranges, o.reg, b, p, to);
    else p.setTop(to, width);
  }
  evaluate(g, p);
  const found = equal.of(g, p);
  const copies = copiesOf(moves, x, found);
  if (copies.length === 0 || !ctx.mayRewrite('operand-kept', d.id(b), x)) return;
  const message = `${printInstr(x)}: ${copies.map(printInstr).join('; ')}`;
  ctx.remark('passed', 'operand-kept', message, { block: d.id(b), ins: x });
  d.replaceBy(n, copies);
}

/** Replaces a jump through a table with a known index by a branch. */
function resolveTable(d: Draft, b: BlockNo, found: ConstantsByFlow, ctx: PassContext): void {
  const n = d.terminator(b);
  if (n < 0) return;
  const x = d.at(n);
  if (x.op.primitive !== 'branch-table' || x.src[0].kind !== Kind.Reg || isPredReg(x.src[0].reg)) return;
  const c = found.constantOf(x.src[0].reg);
  const entries = d.tables()[x.src[1].lo];
  if (c === null || c.hi !== 0) return;
  const at = entryOf(x, c.lo);
  if (at < 0 || at >= entries.length) return;
  if (!ctx.mayRewrite('table-known', d.id(b), x)) return;
  ctx.remark(
    'passed',
    'table-known',
    `${printInstr(x)}: the ${countsBytes(x) ? 'offset' : 'index'} is always ${c.lo}`,
    {
      block: d.id(b),
      ins: x,
    },
  );
  const branch = withGuard(d.branchTo(d.blockById(entries[at]), x.loc), x.guard, x.guardNot);
  d.setTerminator(b, branch, d.fall(b));
}

/** Removes unreachable blocks, and phis that are left with one value. */
function cleanUp(d: Draft): void {
  if (d.shapeVersion === 0) return;
  removeUnreachable(d);
  dropRedundantPhis(
    d,
    d.layout().flatMap((b) => d.phis(b)),
  );
}
