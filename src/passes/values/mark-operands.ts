import { type BlockNo, type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { withSource } from '../../ir/edit.ts';
import { copyLike, type Moves, movesOf } from '../../ir/moves.ts';
import { Mod, OpFlag, slotWidth, srcSlot } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, PF, PT, regFile, sameOperand } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { mayStand } from '../../rules/fit.ts';
import { inSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';
import { type MarkRules, marksText, type OperandMarks, operandMarks } from './operand-marks.ts';

/** Knob of the original's command line: floats are handled conservatively (seed 001). */
const LIMIT = 'LimitFoldFp';

/**
 * Phase 29, GeneralOptimize: marks what may be propagated, and then does it.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           ISETP.LT P1, R2, R3                 ISETP.LT P1, R2, R3
 *           SEL R4, R2, R2, P1              @P1 MOV R5, R2
 *       @P1 SEL R5, R2, R3, P1              @P1 STG [RD6], R5
 *       @P1 STG [RD6], R5                       STG [RD6+4], R2
 *           STG [RD6+4], R4                     EXIT
 *           EXIT
 *
 * One forward walk marks destinations (`operandMarks`); the phase's report shows the marks (`--print-after GeneralOptimize`). Then the
 * marks are consumed. A predicate that is marked as known under a guard is a constant in what it guards. A marked selection whose sides
 * are equal, or whose predicate is known, equals the side that it chooses: its users read that side if the mark is `propagated`; if it
 * is `deferred`, the selection becomes a copy, which cleaning removes.
 *
 * Parameters, all numbers of seed 001: `propagated`, `deferred`, `under-guard`: the bits of marks; `tier`, and `limited-tier` in its
 * place if knob LimitFoldFp is set; `tier-mask` and `scan-mask`: the bits of the tier that make the walk conservative, and that make it
 * scan; `short-codes`: the greatest code of a target for which the bits of `constraints` do not matter; `wide-bit`, `sign-bit`,
 * `bank-bit`: the constraint bits of a constant. Each rewrite takes a unit of the budget of the phase, if it has one.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application finds nothing new.
 * Bound: `operandMarks`; then, only if something can be done, each instruction once.
 */
export const markOperands: Pass = (fn, ctx) => {
  const rules = rulesOf(ctx);
  const marks = operandMarks(fn, rules);
  if (marks.size === 0) return fn;
  ctx.report(() => marksText(fn, marks, printInstr));
  if (!mayBeConsumed(fn, marks, rules)) return fn;
  return edit(fn, (d) => new Consumer(d, marks, rules, ctx).run(), ctx.isa);
};

function rulesOf(ctx: PassContext): MarkRules {
  const number = (name: string): number => Number(ctx.params[name] ?? 0);
  const limited = ctx.knob(LIMIT);
  return {
    propagated: number('propagated'),
    deferred: number('deferred'),
    underGuard: number('under-guard'),
    tier: limited === null || limited === false ? number('tier') : number('limited-tier'),
    tierMask: number('tier-mask'),
    scanMask: number('scan-mask'),
    code: Number(ctx.fact('code')),
    shortCodes: number('short-codes'),
    wide: number('wide-bit'),
    sign: number('sign-bit'),
    bank: number('bank-bit'),
    constraints: number('constraints'),
    marksPredicates: ctx.fact('slots.1312') === 'mark-predicates',
    asksKinds: ctx.fact('slots.1320') === 'none',
    careful: ctx.fact('capabilities.careful-constants') === true,
  };
}

/** Does the instruction, under its guard, read the predicate that guards it? */
const readsGuard = (x: Instr): boolean => x.guard !== NO_REG && x.src.some((o) => isRead(o, x));
const isRead = (o: Operand, x: Instr): boolean => o.kind === Kind.Reg && o.reg === x.guard;

/** The side that a selection chooses; null if it is not known. */
function sideOf({ src: [a, b, p] }: Instr): Operand | null {
  if (sameOperand(a, b)) return a;
  if (p.kind !== Kind.Imm) return null;
  return ((p.lo & 1) === 1) !== ((p.mods & Mod.Not) !== 0) ? a : b;
}

const isSelection = (x: Instr): boolean => (x.op.flags & OpFlag.Selects) !== 0;

function mayBeConsumed(fn: Fn, marks: OperandMarks, { underGuard }: MarkRules): boolean {
  for (const { ins, bits } of marks.values())
    if (bits !== 0 && bits !== underGuard && sideOf(ins) !== null) return true;
  return fn.blocks.some((b) => b.ins.some((x) => readsGuard(x) && marks.get(x.guard)?.bits === underGuard));
}

class Consumer {
  private readonly d: Draft;
  private readonly marks: OperandMarks;
  private readonly rules: MarkRules;
  private readonly ctx: PassContext;
  private readonly moves: Moves;

  constructor(d: Draft, marks: OperandMarks, rules: MarkRules, ctx: PassContext) {
    this.d = d;
    this.marks = marks;
    this.rules = rules;
    this.ctx = ctx;
    this.moves = movesOf(ctx.isa);
  }

  run(): void {
    const { d } = this;
    for (const b of d.layout())
      for (let n = d.first(b), next: Ins; n >= 0; n = next) {
        next = d.next(n);
        if (readsGuard(d.at(n)) && this.bitsOf(d.at(n).guard) === this.rules.underGuard)
          this.underGuard(b, n);
        if (isSelection(d.at(n))) this.selection(b, n);
      }
  }

  private bitsOf(r: number): number {
    return this.marks.get(r)?.bits ?? 0;
  }

  /** The predicate of a guard is known in the instruction that it guards. */
  private underGuard(b: BlockNo, n: Ins): void {
    const { d } = this;
    for (let k = 0; k < d.at(n).src.length; k++) {
      const x = d.at(n);
      const o = x.src[k];
      const slot = srcSlot(x.op, k);
      if (!isRead(o, x) || slot === undefined) continue;
      const known = x.guardNot === ((o.mods & Mod.Not) !== 0) ? PT : PF;
      if (!mayStand(known, slot, slotWidth(x.op, x.mods, slot))) continue;
      if (!this.may('known-under-guard', b, x)) return;
      this.tell(
        'known-under-guard',
        b,
        x,
        `its guard makes operand ${k + 1} ${known === PT ? 'true' : 'false'}`,
      );
      d.replace(n, withSource(x, k, known));
    }
  }

  private selection(b: BlockNo, n: Ins): void {
    const { d, ctx, rules } = this;
    const x = d.at(n);
    const side = sideOf(x);
    if (side === null) return;
    const mark = this.marks.get(x.dst[0]);
    if (mark === undefined) return;
    if (mark.bits === 0) {
      ctx.remark('missed', 'not-marked', `${printInstr(x)}: ${mark.why}`, { block: d.id(b), ins: x });
      return;
    }
    const inPlace = mark.bits === rules.propagated && this.mayBeReplaced(x, side);
    const name = mark.bits === rules.propagated ? 'propagated' : 'converted';
    if (!this.may(name, b, x)) return;
    this.tell(name, b, x, 'its result is known');
    if (inPlace) {
      d.replaceUses(x.dst[0], side.reg);
      d.remove(n);
    } else d.replace(n, copyLike(this.moves, x.dst[0], side, x));
  }

  private may(name: string, b: BlockNo, x: Instr): boolean {
    const { d, ctx } = this;
    const { ruleBudget } = ctx;
    return ctx.mayRewrite(name, d.id(b), x) && (ruleBudget === null || ctx.budget(ruleBudget));
  }

  /** May users read the side in place of the selection? */
  private mayBeReplaced(x: Instr, side: Operand): boolean {
    return (
      x.guard === NO_REG &&
      side.kind === Kind.Reg &&
      side.mods === 0 &&
      inSsa(side.reg) &&
      regFile(side.reg) === regFile(x.dst[0]) &&
      !this.d.isReturned(x.dst[0])
    );
  }

  private tell(name: string, b: BlockNo, ins: Instr, why: string): void {
    this.ctx.remark('passed', name, `${printInstr(ins)}: ${why}`, { block: this.d.id(b), ins });
  }
}
