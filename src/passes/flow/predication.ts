import { mayRunAnywhere } from '../../analysis/calls/effects.ts';
import { coldBlocksOf } from '../../analysis/flow/cold-blocks.ts';
import { frequencyOf } from '../../analysis/flow/frequency.ts';
import { reads } from '../../analysis/registers/liveness.ts';
import { partsLanes } from '../../analysis/uniformity/lane-agreement.ts';
import { type BlockNo, type Draft, edit, type Ins, pinnedBlocks } from '../../ir/draft/index.ts';
import { isControl } from '../../ir/flow.ts';
import { type Moves, movesOf } from '../../ir/moves.ts';
import { type Opcode, OpFlag } from '../../ir/opcode.ts';
import { NO_REG, type Reg } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { type Costs, costOf, instrCost } from '../../rules/cost.ts';
import { isSet, type Pass, type PassContext } from '../pass.ts';
import { applyExitArm, type ExitArm, exitArmOf } from './exit-arms.ts';
import { IfConversion, mayBeConverted, needsGuard } from './if-conversion.ts';
import { type IfShape, ifShapeOf } from './if-shapes.ts';

/** Knob 577: each converted region takes one unit; unset means no limit (reference passes-a). */
const BUDGET = 'Knob577';

/**
 * Phase 63, OriDoPredication: short branches become guarded instructions and selects (if-conversion).
 *
 *     before                              after
 *     BB0:                                BB0:
 *           ISETP.LT P1, R2, R3                 ISETP.LT P1, R2, R3
 *      @!P1 BRA BB2                             IADD3 R4, R2, R3, RZ
 *     BB1:                                  @P1 STG [RD6], R4
 *           IADD3 R4, R2, R3, RZ            @P1 IMAD R5 else R2, R4, R4, RZ
 *           STG [RD6], R4                       STG [RD7], R5
 *           IMAD R5, R4, R4, RZ                 EXIT
 *     BB2:
 *           MOVPHI R8, {BB0: R2, BB1: R5}
 *           STG [RD7], R8
 *           EXIT
 *
 * Triangles and diamonds are converted from the inside out, so that an `if` in an arm is part of the arm when the
 * outer one is examined (`ifShapeOf`, `IfConversion`). Calls, barriers, warp operations and named blocks keep their
 * branch.
 *
 * Profit is computed in cycles of the units of a sub-partition, which the back end gives for each opcode (`costs`).
 * The loss is what a warp whose lanes agree now executes and would have skipped, weighted by branch probabilities,
 * minus the branches. If lanes may diverge, a warp went through both arms anyway and there is no such loss. So
 * `max-loss` may be high, while `max-uniform-loss`, for branches at which nearly all warps agree (`laneAgreementOf`),
 * is low. `max-guarded` bounds how many instructions get a guard because they access memory: they keep their order, and a scheduler that
 * has many of them in one block holds many addresses in registers. `max-guarded-block` bounds them in the block that a chain of conversions
 * makes, because a scheduler starts all guarded loads of a block at once. `max-guarded-chain` bounds them across intervening `if`s that
 * keep their branch here and that an assembler may convert. `max-from-loads` bounds what an arm computes from its guarded loads: ptxas
 * branches around such a load again, and computes and selects behind it. With `only: values`, only values are converted. All are
 * parameters of the step; absent: no limit.
 *
 * With `exits`, a branch to a block that ends the function becomes a guarded EXIT or RET, and the few instructions in
 * front of that get the guard (`exitArmOf`). A block that only ends the function never costs more that way.
 *
 * Knobs: Knob228 (mode word: 0 none, 1 the limits, 2 and more no limits), Knob577 (budget), Knob579 (set: arms may
 * contain guarded instructions with effects, whose guard becomes a conjunction), Knob260 (set: two arms that both hold
 * a value as slow as a special function keep their branch), Knob582 (set: arms that hardly ever run, by a profile or
 * because they end in a trap, are converted too). The meaning of knobs known only by
 * number is from reference passes-a.
 *
 * Requires: control-last, ssa. Guarantees: ssa. A second application changes nothing, except for branches that a
 * limit kept: branch probabilities differ in the new flow graph.
 * Bound: every conversion removes a block; a header is examined once more after each.
 */
export const predication: Pass = (fn, ctx) => {
  const mode = ctx.knob('Knob228');
  return mode === 0 ? fn : edit(fn, (d) => new Predication(fn, d, ctx).run(), ctx.isa);
};

/** Cycles of an instruction whose guard is false: those of its issue. */
const ISSUE = 2;
/** Cycles of a special function, if the back end states no cost. */
const SLOW = 8;

/** Maximum number of `if`s examined after one, so that chains of them take linear time. */
const MOST_BEHIND = 64;

const ENDS: ReadonlySet<string | null> = new Set(['exit', 'return']);

/** Why an expected loss of more than `most` cycles does not pay; null if it pays. */
const over = (loss: number, most: number, when: string): string | null =>
  loss > most ? `${when}it may cost ${loss.toFixed(1)} cycles, more than ${most}` : null;

class Predication {
  private readonly fn: Fn;
  private readonly d: Draft;
  private readonly ctx: PassContext;
  private readonly moves: Moves;
  private readonly branchOp: Opcode;
  private pinned: ReadonlySet<BlockNo> = new Set();
  private readonly unlimited: boolean;
  /** By block, computed on demand: number of guarded instructions that touch memory. */
  private readonly guardedIn = new Map<BlockNo, number>();

  constructor(fn: Fn, d: Draft, ctx: PassContext) {
    this.fn = fn;
    this.d = d;
    this.ctx = ctx;
    this.moves = movesOf(ctx.isa);
    this.branchOp = ctx.isa.opcodes.find((o) => o.primitive === 'branch')!;
    const mode = ctx.knob('Knob228');
    this.unlimited = typeof mode === 'number' && mode >= 2;
    this.pinned = pinnedBlocks(d);
  }

  run(): void {
    const { d, ctx } = this;
    // The blocks of an arm nearly always come after its header.
    for (const b of d.layout().reverse())
      while (d.isAlive(b)) {
        const shape = ifShapeOf(d, b, (x) => this.pinned.has(x));
        if (shape === null) {
          const ended = this.exits(b);
          if (ended === 'spent') return;
          break;
        }
        const ins = d.at(d.terminator(b));
        const at = { block: d.id(b), ins };
        const conversion = this.conversionOf(shape);
        const why = typeof conversion === 'string' ? conversion : this.refusal(conversion);
        if (why !== null || typeof conversion === 'string') {
          const ended = this.exits(b);
          if (ended === 'spent') return;
          if (ended === 'done') break;
          ctx.remark('missed', 'not-predicated', `${printInstr(ins)}: ${why}`, at);
          break;
        }
        if (!this.take('predicated', b)) return;
        const names = shape.arms.map((a) => `BB${d.id(a.first)}`).join(' and ');
        ctx.remark('passed', 'predicated', `${printInstr(ins)}: ${names} run without it`, at);
        const guarded = conversion.guarded + this.guardedAround(b, shape.meeting);
        conversion.apply();
        d.mergeWithSuccessor(b);
        this.guardedIn.set(b, guarded);
      }
  }

  /** Charges one conversion at the end of a block to the rewrite limit and the knob's budget; false if either is spent. */
  private take(name: string, b: BlockNo): boolean {
    const { d, ctx } = this;
    const ins = d.at(d.terminator(b));
    const at = { block: d.id(b), ins };
    if (!ctx.mayRewrite(name, at.block, ins)) return false;
    if (ctx.budget(BUDGET)) return true;
    ctx.remark('missed', 'budget-spent', `${BUDGET} is spent: branches from BB${d.id(b)} on are kept`, at);
    return false;
  }

  /** Ends the function at the end of `b`, if its branch leads to an exit and that pays. */
  private exits(b: BlockNo): 'done' | 'spent' | 'none' {
    const { d, ctx } = this;
    if (ctx.params['exits'] !== true || this.fn.kind !== 'entry') return 'none';
    const arm = exitArmOf(d, b, (x) => this.pinned.has(x));
    if (arm === null) return 'none';
    const ins = d.at(d.terminator(b));
    const at = { block: d.id(b), ins };
    const why = this.exitRefusal(arm);
    if (why !== null) {
      ctx.remark('missed', 'exit-not-predicated', `${printInstr(ins)}: ${why}`, at);
      return 'none';
    }
    if (!this.take('exit-predicated', b)) return 'spent';
    const message = `${printInstr(ins)}: BB${d.id(arm.last)} runs without it, and the function ends there`;
    ctx.remark('passed', 'exit-predicated', message, at);
    applyExitArm(d, this.moves, arm);
    return 'done';
  }

  private exitRefusal({ header, last, condition, body }: ExitArm): string | null {
    const { d, ctx } = this;
    const costs = ctx.fact('costs') as Costs;
    let skipped = ISSUE;
    let count = 0;
    for (const n of body) {
      const x = d.at(n);
      if (!mayBeConverted(x)) return `${printInstr(x)} needs the branch`;
      if (needsGuard(x)) count++;
      if (needsGuard(x) && x.guard !== NO_REG && !isSet(ctx.knob('Knob579')))
        return 'it contains guarded instructions';
      skipped += needsGuard(x) ? ISSUE : instrCost(x, costs);
    }
    if (body.length > 0 && this.isCold(last)) return 'it hardly ever runs';
    if (this.unlimited) return null;
    const most = Number(ctx.params['max-guarded']);
    if (count > most) return `${count} instructions that touch memory are more than ${most}`;
    const loss = (1 - this.shareOf(header, last)) * skipped - costOf(this.branchOp, 0, costs);
    return partsLanes(this.fn, condition.reg)
      ? over(loss, Number(ctx.params['max-loss']), '')
      : over(loss, Number(ctx.params['max-uniform-loss']), 'all lanes of a warp agree, and ');
  }

  /** The conversion of an `if`, or why it cannot be converted. */
  private conversionOf(shape: IfShape): IfConversion | string {
    const { d, ctx } = this;
    const valuesOnly = ctx.params['only'] === 'values';
    for (const a of shape.arms)
      for (const n of a.body) {
        const x = d.at(n);
        if (!mayBeConverted(x)) return `${printInstr(x)} needs the branch`;
        if (valuesOnly && !mayRunAnywhere(x)) return `${printInstr(x)} is more than a value`;
      }
    if (shape.arms.length === 1 && this.ends(shape.meeting)) return 'it only ends the function';
    const c = new IfConversion(d, this.moves, shape);
    if (c.guardedTwice > 0 && !isSet(ctx.knob('Knob579'))) return 'it contains guarded instructions';
    return c;
  }

  /** Why a conversion would not pay; null if it does. */
  private refusal(c: IfConversion): string | null {
    const { ctx, unlimited } = this;
    const { shape } = c;
    const costs = ctx.fact('costs') as Costs;
    if (
      isSet(ctx.knob('Knob260')) &&
      shape.arms.length === 2 &&
      shape.arms.every((a) => this.isSlow(a.body, costs))
    )
      return 'both sides contain slow instructions (knob 260)';
    if (shape.arms.some((a) => this.isCold(a.first))) return 'a side hardly ever runs';
    const shares = shape.arms.map((a) => this.shareOf(shape.header, a.first));
    if (unlimited) return null;
    const branch = costOf(this.branchOp, 0, costs);
    const extra = c.extraCost(costs);
    const arms = c.armCosts(costs);
    const guarded = arms.reduce((sum, a) => sum + a.count, 0);
    const most = Number(ctx.params['max-guarded']);
    if (guarded > most) return `${guarded} instructions that touch memory are more than ${most}`;
    const mostLoaded = Number(ctx.params['max-from-loads']);
    const loaded = shape.arms.reduce((sum, a) => sum + this.fromLoads(a.body), 0);
    if (loaded > mostLoaded)
      return `${loaded} instructions that use what a guarded load brings are more than ${mostLoaded}`;
    const mostOfBlock = Number(ctx.params['max-guarded-block']);
    const around = guarded === 0 ? 0 : this.guardedAround(shape.header, shape.meeting);
    if (around + guarded > mostOfBlock)
      return `with it, ${around + guarded} instructions of a block that touch memory would have a guard, more than ${mostOfBlock}`;
    const mostOfChain = Number(ctx.params['max-guarded-chain']);
    if (guarded > 0 && this.guardedBehind(shape.meeting, mostOfChain) + around + guarded > mostOfChain)
      return `with it, more than ${mostOfChain} instructions that touch memory would have a guard in blocks that may become one`;
    // An instruction that its guard keeps from running is issued all the same.
    const skipped = (a: (typeof arms)[number]): number => a.values + a.count * ISSUE;
    let loss = extra - branch;
    arms.forEach((a, k) => {
      loss += (1 - shares[k]) * skipped(a) - shares[k] * shape.arms[k].jumps * branch;
    });
    return partsLanes(this.fn, shape.ways.guard)
      ? over(loss, Number(ctx.params['max-loss']), '')
      : over(loss, Number(ctx.params['max-uniform-loss']), 'all lanes of a warp agree, and ');
  }

  /** Number of instructions of an arm that depend on its loads that need a guard. */
  private fromLoads(body: readonly Ins[]): number {
    const loaded = new Set<Reg>();
    let count = 0;
    for (const n of body) {
      const x = this.d.at(n);
      let depends = false;
      reads(x, (r) => {
        if (loaded.has(r)) depends = true;
      });
      if (depends) count++;
      if (depends || (needsGuard(x) && (x.op.flags & OpFlag.ReadsMemory) !== 0))
        for (const r of x.dst) if (r !== NO_REG) loaded.add(r);
    }
    return count;
  }

  /** Number of guarded instructions that touch memory in the header and in the block that will follow it. */
  private guardedAround(header: BlockNo, meeting: BlockNo): number {
    return this.guarded(header) + this.guarded(meeting);
  }

  /**
   * Number of guarded instructions that touch memory after a block, beyond `if`s that an assembler may still convert: it would then
   * make one block of all of them. Whatever follows a header has been converted before it.
   *
   * @param most counting stops once this many are found
   */
  private guardedBehind(meeting: BlockNo, most: number): number {
    const { d } = this;
    let n = 0;
    let b = meeting;
    for (let k = 0; k < MOST_BEHIND && n < most; k++) {
      const shape = ifShapeOf(d, b, (x) => this.pinned.has(x));
      if (shape === null || !shape.arms.every((a) => a.body.every((x) => mayBeConverted(d.at(x))))) break;
      b = shape.meeting;
      n += this.guarded(b);
    }
    return n;
  }

  private guarded(b: BlockNo): number {
    let n = this.guardedIn.get(b);
    if (n === undefined) {
      n = 0;
      for (let k = this.d.first(b); k >= 0; k = this.d.next(k)) {
        const x = this.d.at(k);
        if (x.guard !== NO_REG && needsGuard(x) && !isControl(x)) n++;
      }
      this.guardedIn.set(b, n);
    }
    return n;
  }

  /** Does an arm compute a value that is as slow as a special function? */
  private isSlow(body: readonly Ins[], costs: Costs): boolean {
    const { d } = this;
    return body.some((n) => !needsGuard(d.at(n)) && instrCost(d.at(n), costs) >= (costs['xu'] ?? SLOW));
  }

  /** Is a block cold, and do cold blocks keep their branch? */
  private isCold(b: BlockNo): boolean {
    return !isSet(this.ctx.knob('Knob582')) && coldBlocksOf(this.fn)[b] === 1;
  }

  /** How often an arm runs, per run of the branch before it. */
  private shareOf(header: BlockNo, arm: BlockNo): number {
    const { block } = frequencyOf(this.fn);
    // Blocks created since the pass began count half of the runs of the block that they follow.
    const whole = block[header];
    const part = block[arm];
    return whole > 0 && part !== undefined ? Math.min(1, part / whole) : 0.5;
  }

  /** Does the block only end the function? A guarded EXIT then serves as well as the branch. */
  private ends(b: BlockNo): boolean {
    const { d } = this;
    const n = d.terminator(b);
    return n >= 0 && n === d.first(b) && ENDS.has(d.at(n).op.primitive) && d.at(n).guard === NO_REG;
  }
}
