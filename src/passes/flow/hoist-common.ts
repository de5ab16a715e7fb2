import { isPlainLoad, isValue } from '../../analysis/calls/effects.ts';
import { cfgOf } from '../../analysis/flow/cfg.ts';
import { dominates, dominatorsOf } from '../../analysis/flow/dominators.ts';
import { memorySsaOf } from '../../analysis/memory/memory-ssa.ts';
import { Pool } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { computeTheSame, hashExpression } from '../../analysis/values/expressions.ts';
import { type BlockNo, type Draft, edit, type Ins, readingInstead } from '../../ir/draft/index.ts';
import { isControl, isPhi } from '../../ir/flow.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { isPredReg, Kind, NO_REG, type Reg, regWidth } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';
import { replaceBy } from '../values/value-numbering.ts';

/** 0: nothing is hoisted; n: at most n instructions in front of one branch; unset: no limit. */
const KNOB = 'SpeculativeHoistCommonInsts';

/**
 * Phase 56, SpeculativeHoistComInsts: an expression that both arms of a branch compute is computed once, before the
 * branch.
 *
 *     before                              after
 *     BB0:                                BB0:
 *       @P1 BRA BB2                             LDG R2, [RD3]
 *     BB1:                                      IMAD R4, R2, R5, RZ
 *           LDG R2, [RD3]                   @P1 BRA BB2
 *           IMAD R4, R2, R5, RZ           BB1:
 *           STG [RD3], R4                       STG [RD3], R4
 *           EXIT                                EXIT
 *     BB2:                                BB2:
 *           LDG R6, [RD3]                       STG [RD3+4], R4
 *           IMAD R7, R6, R5, RZ                 EXIT
 *           STG [RD3+4], R7
 *           EXIT
 *
 * The arms are the two successors of a branch, if they have no other predecessor. An expression computed in both is
 * very busy at the branch, so it runs as often as before, and a warp whose lanes diverge runs it once instead of twice.
 * Branches are processed from the last to the first, so that a value can rise through several. Copies are seen
 * through.
 *
 * 1. Values are hoisted as soon as their operands are available above.
 * 2. So are plain loads, unless a store above them in their arm may write their memory (by memory SSA), or a barrier, a trap
 *    or another instruction that no load may pass comes before them.
 * 3. Stores, atomics and other effects are hoisted if they come first in both arms, before every memory access that stays;
 *    operations between lanes, barriers and clocks never are.
 *
 * Registers: each pair of merged results makes one value live at the branch and, in both arms, down to where it was computed before.
 * Hoisting to a branch stops when the larger pressure of the arms plus the hoisted results would exceed `max-pressure` of the binding
 * (32-bit units) or `max-predicates` (absent: no limit).
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. Unless a limit stops it, a second application
 * changes nothing.
 * Bound: arms are rescanned only after something was hoisted, so at most once for each instruction saved.
 */
export const hoistCommon: Pass = (fn, ctx) => {
  const knob = ctx.knob(KNOB);
  const most = typeof knob === 'number' ? knob : Number.POSITIVE_INFINITY;
  if (most <= 0) return fn;
  return edit(fn, (d) => new Hoister(d, fn, ctx, most).run(), ctx.isa);
};

/** Instructions that a load may not pass, because control may not continue after them; they are not hoisted either. */
const FIXED = OpFlag.Control | OpFlag.Convergent | OpFlag.Barrier | OpFlag.Volatile | OpFlag.Phi;

class Hoister {
  readonly d: Draft;
  private readonly fn: Fn;
  private readonly ctx: PassContext;
  private readonly most: number;
  private readonly moves: Moves;
  private readonly limits: readonly [number, number];
  /** For each removed instruction, the one that replaces it. */
  private readonly twins = new Map<Ins, Ins>();
  /** By block: units of general registers and of predicates hoisted to its end. */
  private readonly added = new Map<BlockNo, [number, number]>();

  constructor(d: Draft, fn: Fn, ctx: PassContext, most: number) {
    this.d = d;
    this.fn = fn;
    this.ctx = ctx;
    this.most = most;
    this.moves = movesOf(ctx.isa);
    const limit = (name: string): number => Number(ctx.params[name] ?? Number.POSITIVE_INFINITY);
    this.limits = [limit('max-pressure'), limit('max-predicates')];
  }

  run(): void {
    const { d } = this;
    const { rpo } = cfgOf(this.fn);
    for (let i = rpo.length - 1; i >= 0; i--) {
      const head = rpo[i];
      const n = d.terminator(head);
      if (n < 0 || d.at(n).op.primitive !== 'branch' || d.at(n).guard === NO_REG) continue;
      const [a, b] = d.successors(head);
      if (b === undefined || !this.isArm(a) || !this.isArm(b)) continue;
      let left = this.most;
      for (let before = -1; left > 0 && before !== left; ) {
        before = left;
        left -= this.hoist(head, new Arm(this, a), new Arm(this, b), left);
      }
    }
  }

  private isArm(b: BlockNo): boolean {
    return b !== this.d.entryBlock && this.d.predecessors(b).length === 1 && this.d.first(b) >= 0;
  }

  /** Scans the arms once. @returns how many instructions were hoisted */
  private hoist(head: BlockNo, a: Arm, b: Arm, most: number): number {
    const { d } = this;
    let hoisted = 0;
    for (let n = d.first(a.block), next: Ins; n >= 0 && hoisted < most; n = next) {
      next = d.next(n);
      if (!a.mayRise(n, head)) continue;
      const x = this.seenThrough(n);
      const m = b.find(x);
      if (m < 0 || !b.mayRise(m, head) || !this.fits(head, a.block, b.block, n)) continue;
      if (!this.ctx.mayRewrite('hoisted-common', d.id(head), x)) return hoisted;
      const users = this.usersOf(m);
      const message = `${printInstr(x)} is in both arms, BB${d.id(a.block)} and BB${d.id(b.block)}`;
      this.ctx.remark('passed', 'hoisted-common', message, { block: d.id(head), ins: x });
      d.replace(n, x);
      d.moveToEnd(n, head);
      replaceBy(d, m, n);
      this.twins.set(m, n);
      for (const u of users) b.add(u);
      hoisted++;
    }
    return hoisted;
  }

  /** Instructions that read a result, or a copy of it. */
  private usersOf(n: Ins): Ins[] {
    const { d } = this;
    const out: Ins[] = [];
    const stack = [n];
    for (let at = stack.pop(); at !== undefined; at = stack.pop())
      for (const r of d.at(at).dst)
        if (r !== NO_REG)
          for (const u of d.users(r)) {
            out.push(u);
            if (this.isCopy(u)) stack.push(u);
          }
    return out;
  }

  /** The instruction with copies replaced by their sources. */
  seenThrough(n: Ins): Instr {
    const { d } = this;
    let x = d.at(n);
    for (const { kind, reg: r } of x.src) {
      if (r === NO_REG || kind === Kind.Label) continue;
      const from = this.sourceOf(r);
      if (from !== r) x = readingInstead(x, r, from);
    }
    return x;
  }

  private sourceOf(r: Reg): Reg {
    const { d, moves } = this;
    let from = r;
    for (let n = d.def(from); n >= 0; n = d.def(from)) {
      const x = d.at(n);
      const copied = x.guard === NO_REG ? copyOf(moves, x) : null;
      if (copied === null || copied.kind !== Kind.Reg || copied.mods !== 0 || !allInSsa(x)) break;
      from = copied.reg;
    }
    return from;
  }

  /** Is it a copy of a register? Copies are seen through, and stay. */
  isCopy(n: Ins): boolean {
    return isValue(this.d.at(n)) && copyOf(this.moves, this.d.at(n))?.kind === Kind.Reg;
  }

  /** Does the version of memory that a load sees begin above the branch, or was its store hoisted there? */
  seesMemoryAbove(n: Ins, head: BlockNo): boolean {
    const memory = memorySsaOf(this.fn, this.ctx.program);
    const version = memory.versionSeenBy(n);
    if (version < 0) return false;
    let writer = memory.writerOf(version);
    while (this.twins.has(writer)) writer = this.twins.get(writer)!;
    const definedIn = writer < 0 ? memory.blockOf(version) : this.d.block(writer);
    return dominates(dominatorsOf(this.fn), definedIn, head);
  }

  private fits(head: BlockNo, a: BlockNo, b: BlockNo, n: Ins): boolean {
    const { d, fn, limits } = this;
    const more: [number, number] = [0, 0];
    for (const r of d.at(n).dst)
      if (r !== NO_REG) more[isPredReg(r) ? 1 : 0] += isPredReg(r) ? 1 : regWidth(r) / 32;
    const now = this.added.get(head) ?? [0, 0];
    const next: [number, number] = [now[0] + more[0], now[1] + more[1]];
    if (limits[0] !== Number.POSITIVE_INFINITY || limits[1] !== Number.POSITIVE_INFINITY)
      for (const [k, pool] of [Pool.R, Pool.P].entries()) {
        const live = (arm: BlockNo): number =>
          pressureOf(fn).inBlock(arm, pool) + (this.added.get(arm)?.[k] ?? 0);
        const most = Math.max(live(a), live(b)) + next[k];
        if (more[k] === 0 || most <= limits[k]) continue;
        const what = k === 0 ? 'registers' : 'predicates';
        const message = `${printInstr(d.at(n))} stays in both arms: ${most} ${what} would be live`;
        this.ctx.remark('missed', 'pressure', message, { block: d.id(head), ins: d.at(n) });
        return false;
      }
    this.added.set(head, next);
    return true;
  }
}

/** One arm of a branch while instructions are hoisted out of it. */
class Arm {
  readonly block: BlockNo;
  private readonly h: Hoister;
  private readonly d: Draft;
  private readonly byHash = new Map<number, Ins[]>();
  /** Original index in the block; hoisting does not change the order. */
  private readonly place = new Map<Ins, number>();
  /** In order: instructions that no load may pass; possible writes; all memory accesses and effects. */
  private readonly fixed: Ins[] = [];
  private readonly writers: Ins[] = [];
  private readonly memory: Ins[] = [];

  constructor(h: Hoister, block: BlockNo) {
    this.h = h;
    this.d = h.d;
    this.block = block;
    const { d } = this;
    for (let n = d.first(block); n >= 0; n = d.next(n)) {
      const x = d.at(n);
      this.place.set(n, this.place.size);
      if (isControl(x)) break;
      this.add(n);
      if (isPhi(x) || isValue(x)) continue;
      if ((x.op.flags & FIXED) !== 0) this.fixed.push(n);
      if (!isPlainLoad(x)) this.writers.push(n);
      this.memory.push(n);
    }
  }

  /** Records an instruction of the block under its current expression. */
  add(n: Ins): void {
    if (this.d.block(n) !== this.block || isControl(this.d.at(n))) return;
    const h = hashExpression(this.h.seenThrough(n));
    const list = this.byHash.get(h);
    if (list === undefined) this.byHash.set(h, [n]);
    else list.push(n);
  }

  /** The first instruction of the block that computes the same, or -1. */
  find(x: Instr): Ins {
    const { d } = this;
    let first = -1;
    for (const n of this.byHash.get(hashExpression(x)) ?? [])
      if (d.block(n) === this.block && computeTheSame(this.h.seenThrough(n), x))
        if (first < 0 || this.place.get(n)! < this.place.get(first)!) first = n;
    return first;
  }

  /** May the instruction move above the branch, as far as this arm is concerned? */
  mayRise(n: Ins, head: BlockNo): boolean {
    const { d } = this;
    const x = d.at(n);
    if ((x.op.flags & FIXED) !== 0 || !allInSsa(x) || this.h.isCopy(n)) return false;
    if (!this.isAvailableAbove(n)) return false;
    if (isValue(x)) return true;
    const at = this.place.get(n)!;
    if (!isPlainLoad(x)) return this.firstOf(this.memory) === at;
    if (at > this.firstOf(this.fixed)) return false;
    return at < this.firstOf(this.writers) || this.h.seesMemoryAbove(n, head);
  }

  private isAvailableAbove(n: Ins): boolean {
    const { d } = this;
    const x = this.h.seenThrough(n);
    const above = (r: Reg): boolean => r === NO_REG || d.def(r) < 0 || d.block(d.def(r)) !== this.block;
    return x.src.every((o) => above(o.reg)) && above(x.guard) && x.otherwise.every(above);
  }

  /** Index of the first of these that was not hoisted. */
  private firstOf(list: Ins[]): number {
    while (list.length > 0 && this.d.block(list[0]) !== this.block) list.shift();
    return list.length > 0 ? this.place.get(list[0])! : Number.POSITIVE_INFINITY;
  }
}
