import { mustStay } from '../analysis/effects.ts';
import { type LoopForest, loopDepth, loopsOf } from '../analysis/loops.ts';
import { Reaching } from '../analysis/reaching.ts';
import { type Draft, edit, type Ins } from '../ir/draft/index.ts';
import { withGuard, withSource } from '../ir/edit.ts';
import { type Isa, Mod, type Opcode, OpFlag, slotWidth, withMods } from '../ir/opcode.ts';
import {
  cbank,
  immOf,
  immValue,
  isPredReg,
  Kind,
  NO_REG,
  type Operand,
  PT,
  type Reg,
  regWidth,
  withOperandMods,
  withReg,
} from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { type Fn, instr } from '../ir/program.ts';
import { floatTypeOf } from '../isa/meaning.ts';
import { priorityBands } from './bands.ts';
import { bind, build, type Match, type Miss, otherwiseOf, type Surroundings } from './bind.ts';
import type { Setting } from './conditions.ts';
import { mayStand } from './fit.ts';
import { constantsLast, isConstant, notPredicate, plainConstant, plainConstants, valuesOf } from './fold.ts';
import type { Rule } from './rule.ts';
import type { Variant } from './shape.ts';
import type { Trie } from './trie.ts';

/** What the driver does beside the rules. */
export interface DriverOptions extends Setting {
  /** Fold constants, propagate copies, drop what became dead. Off: rules only. */
  readonly clean: boolean;
  /** Approximate functions fold too. */
  readonly approximate: boolean;
  /** Instructions that read floats fold. Default: true. */
  readonly floats?: boolean;
  /** How a rule is chosen among those that match: the best by precedence, or by the bands of the described matcher. */
  readonly mode: 'precedence' | 'bands';
  /** Called for each rule that fired. */
  readonly onHit?: (rule: Rule, block: number, before: Instr, after: readonly Instr[]) => void;
  /** Called for each rule whose shape fitted and that was not applied. */
  readonly onMiss?: (rule: Rule, ins: Instr, why: Miss) => void;
  /** Asked before a rule that matches is applied. */
  readonly allow?: (rule: Rule) => boolean;
  /** Rewrites allowed; at most this many steps are made before the driver gives up. */
  readonly bound?: number;
}

/** Bytes of a constant bank. */
const BANK = 1n << 16n;

/** A constant bank at a known index; null where that is outside of it. */
function fixedBank(o: Operand, index: bigint): Operand | null {
  const at = index + BigInt(o.lo);
  return at >= 0n && at < BANK ? cbank(o.hi, Number(at)) : null;
}

/** A set of rules did not come to an end. */
export class RulesDiverge extends Error {
  readonly fired: readonly { readonly rule: string; readonly count: number }[];
  constructor(bound: number, fired: ReadonlyMap<string, number>) {
    super(`the rules did not come to an end after ${bound} rewrites`);
    this.name = 'RulesDiverge';
    this.fired = [...fired].map(([rule, count]) => ({ rule, count })).sort((a, b) => b.count - a.count);
  }
}

/**
 * Rewrites for each instruction, on average, that a set of rules may need. A chain of rules shrinks or canonicalises what
 * it meets; the test kernels need below one. Reaching this is a sign of rules that undo one another.
 */
const REWRITES_EACH = 20;

/** Opcodes that the driver itself writes. */
interface Moves {
  readonly mov: Opcode;
  readonly wide: number;
  readonly plop: Opcode;
}
const moves = new WeakMap<Isa, Moves>();
function movesOf(isa: Isa): Moves {
  let m = moves.get(isa);
  if (m === undefined) {
    const mov = isa.byName.get('MOV')!;
    moves.set(isa, (m = { mov, wide: withMods(mov, 0, '64'), plop: isa.byName.get('PLOP3')! }));
  }
  return m;
}

/** Truth table of the first input alone: how a predicate is copied. */
const FIRST = 0xf0;

/**
 * Applies rules to a function until none fires, from a work list: what a rewrite may have made possible is looked at again,
 * nothing else. Constants are folded, copies propagated and dead results dropped on the way.
 *
 * @throws RulesDiverge when the bound is reached
 */
export function applyRules(fn: Fn, trie: Trie, isa: Isa, opts: DriverOptions): Fn {
  return edit(fn, (d) => new Driver(d, trie, isa, opts).run());
}

class Driver {
  private readonly d: Draft;
  private readonly reaching: Reaching;
  private readonly trie: Trie;
  private readonly opts: DriverOptions;
  private readonly where: Surroundings;
  private readonly moves: Moves;
  private work: Ins[] = [];
  /** By instruction: 1 while it waits in the work list. */
  private queued: Uint8Array;
  private readonly bound: number;
  private steps = 0;
  private readonly fired = new Map<string, number>();

  constructor(d: Draft, trie: Trie, isa: Isa, opts: DriverOptions) {
    this.d = d;
    this.reaching = new Reaching(d);
    this.moves = movesOf(isa);
    this.trie = trie;
    this.opts = opts;
    let loops: LoopForest | null = null;
    this.where = {
      level: opts.level,
      sm: opts.sm,
      knob: (name) => opts.knob(name),
      depthOf: (b) => loopDepth((loops ??= loopsOf(d.fn)), b),
    };
    this.queued = new Uint8Array(d.instructionNumbers * 2 + 64);
    for (let n = 0; n < d.instructionNumbers; n++) this.queue(n);
    this.bound = opts.bound ?? this.work.length * REWRITES_EACH + 100;
  }

  run(): void {
    // Front to back first, so that operands are simple before their users are looked at.
    while (this.work.length > 0) {
      const round = this.work;
      this.work = [];
      for (const n of round) {
        this.queued[n] = 0;
        if (!this.d.isRemoved(n)) this.visit(n);
      }
    }
  }

  private queue(n: Ins): void {
    if (n >= this.queued.length) {
      const more = new Uint8Array(n * 2);
      more.set(this.queued);
      this.queued = more;
    }
    if (this.queued[n] === 1 || this.d.isRemoved(n)) return;
    this.queued[n] = 1;
    this.work.push(n);
  }

  /** Looks again at what reads a result of `n`. */
  private queueUsers(r: Reg, n: Ins): void {
    if (r !== NO_REG) this.reaching.eachUser(r, n, (u) => this.queue(u));
  }

  private count(what: string): void {
    this.fired.set(what, (this.fired.get(what) ?? 0) + 1);
    if (++this.steps > this.bound) throw new RulesDiverge(this.bound, this.fired);
  }

  private visit(p: Ins): void {
    if (this.opts.clean) {
      if (this.dropIfDead(p)) return;
      this.propagate(p);
      if (this.guard(p)) return;
      const ins = this.d.at(p);
      const plain = constantsLast(plainConstants(ins));
      if (plain !== ins) this.d.replace(p, plain);
      if (isConstant(plain, this.opts.approximate, this.opts.floats) && this.fold(p)) return;
    }
    if (!this.trie.covers(this.d.at(p).op)) return;
    const candidates = this.trie.candidates(this.reaching, p);
    if (candidates.length === 0) return;
    if (this.opts.mode === 'bands') {
      const chosen = priorityBands(candidates, (v) => bind(v, this.reaching, p, this.where));
      if (chosen !== null) this.rewrite(chosen, p);
      return;
    }
    // The array belongs to the trie and is reused when a rewrite asks again.
    for (let i = 0; i < candidates.length; i++) {
      const v = candidates[i];
      const m = bind(v, this.reaching, p, this.where);
      if (typeof m === 'string') this.missed(v, p, m);
      else if (this.opts.allow?.(v.rule) !== false && this.rewrite(m, p)) return;
    }
  }

  private missed(v: Variant, p: Ins, why: Miss): void {
    this.opts.onMiss?.(v.rule, this.d.at(p), why);
  }

  /** Puts the replacement into the root's place; false if an operand does not fit. */
  private rewrite(m: Match, p: Ins): boolean {
    const r = build(m, this.d);
    if (typeof r === 'string') {
      this.missed(m.variant, p, r);
      return false;
    }
    const { rule } = m.variant;
    this.opts.onHit?.(rule, this.d.block(p), this.d.at(p), r.ins);
    this.count(rule.id);
    this.replace(p, r.ins);
    return true;
  }

  /** The last instruction takes the place of `p`, the others come before it. */
  private replace(p: Ins, ins: readonly Instr[]): void {
    const { d } = this;
    const before = d.at(p);
    if (ins.length === 0) {
      d.remove(p);
    } else {
      for (const x of ins.slice(0, -1)) this.queue(d.insertBefore(p, x));
      d.replace(p, ins[ins.length - 1]);
      this.queue(p);
    }
    for (const r of before.dst) this.queueUsers(r, p);
    this.sourcesMayDie(before);
  }

  /** Looks again at what defined the sources of an instruction that is gone, and at what else reads them. */
  private sourcesMayDie(before: Instr): void {
    for (const o of before.src) {
      if (o.reg === NO_REG) continue;
      const uses = this.d.useCount(o.reg);
      if (uses <= 1) this.d.eachDef(o.reg, (d) => this.queue(d));
      // A condition on the number of uses may hold now.
      if (uses === 1) this.d.eachDef(o.reg, (d) => this.queueUsers(o.reg, d));
    }
    if (before.guard !== NO_REG && this.d.useCount(before.guard) === 0)
      this.d.eachDef(before.guard, (d) => this.queue(d));
  }

  private dropIfDead(p: Ins): boolean {
    const ins = this.d.at(p);
    if (ins.dst.length === 0 || mustStay(ins)) return false;
    for (const r of ins.dst) if (r !== NO_REG && this.d.useCount(r) > 0) return false;
    this.d.remove(p);
    this.sourcesMayDie(ins);
    return true;
  }

  // ------------------------------------------------------------------ copies

  /** What a register is a copy of, at a place that reads it; null if it is none, or what it copies has changed. */
  private copied(r: Reg, at: Ins): Operand | null {
    const def = this.reaching.at(r, at);
    if (def < 0) return null;
    const { op, src } = this.d.at(def);
    let o: Operand;
    if (op === this.moves.mov) o = src[0];
    else if (op === this.moves.plop && src[3].lo === FIRST) o = src[0];
    else return null;
    // SASS takes one constant-bank operand an instruction, and a symbol only in a move: these stay in their register.
    if (o.kind !== Kind.Reg && o.kind !== Kind.Imm) return null;
    return o.reg === NO_REG || this.reaching.unchanged(o.reg, def, at) ? o : null;
  }

  private propagate(p: Ins): void {
    const { op, mods, src } = this.d.at(p);
    if ((op.flags & OpFlag.Phi) !== 0) return;
    for (let i = 0; i < src.length; i++) {
      const o = this.d.at(p).src[i];
      if (o.reg === NO_REG) continue;
      const c = this.copied(o.reg, p);
      if (c === null) continue;
      const slot = op.srcs[Math.min(i, op.srcs.length - 1)];
      let next: Operand | null = null;
      if (o.kind === Kind.Reg) {
        if (isPredReg(o.reg)) next = (o.mods & Mod.Not) !== 0 ? notPredicate(c) : c;
        else if (c.kind === Kind.Reg) next = c.mods === 0 ? withReg(o, c.reg) : null;
        else if (op.means !== null || (slot.kinds & (1 << Kind.Imm)) !== 0) {
          const width = slotWidth(op, mods, slot);
          const type = op.means === null || o.mods === 0 ? null : floatTypeOf(op, mods, i);
          next = plainConstant(withOperandMods(c, o.mods), width, type);
        }
        if (next !== null && !mayStand(next, slot, slotWidth(op, mods, slot))) next = null;
      } else if (c.kind === Kind.Reg && c.mods === 0 && regWidth(c.reg) === regWidth(o.reg))
        next = withReg(o, c.reg);
      else if (c.kind === Kind.Imm && o.kind === Kind.CBank)
        next = fixedBank(o, immValue(c, regWidth(o.reg)));
      if (next === null) continue;
      const before = this.d.at(p);
      this.d.replace(p, withSource(before, i, next));
      this.count('copy propagation');
      this.sourcesMayDie(before);
    }
  }

  /** Resolves a guard that is a copy or a constant; true if the instruction is gone. */
  private guard(p: Ins): boolean {
    const { guard, guardNot } = this.d.at(p);
    if (guard === NO_REG) return false;
    const c = this.copied(guard, p);
    if (c === null) return false;
    const before = this.d.at(p);
    if (c.kind === Kind.Reg) {
      const not = guardNot !== ((c.mods & Mod.Not) !== 0);
      this.d.replace(p, withGuard(before, c.reg, not));
      this.sourcesMayDie(before);
      return false;
    }
    const truth = ((c.lo & 1) === 1) !== ((c.mods & Mod.Not) !== 0);
    // A branch that is always or never taken changes the flow graph: that is the business of branch simplification.
    if ((before.op.flags & OpFlag.Control) !== 0) return false;
    this.count('constant guard');
    if (truth !== guardNot) {
      this.d.replace(p, withGuard(before, NO_REG));
      for (const r of before.dst) this.queueUsers(r, p);
      this.sourcesMayDie(before);
      return false;
    }
    // The results have the values that stand where the guard is false.
    for (let i = 0; i < before.otherwise.length; i++)
      if (before.dst[i] !== NO_REG && before.otherwise[i] !== NO_REG) {
        this.d.eachUse(before.dst[i], (u) => this.queue(u));
        this.d.replaceUses(before.dst[i], before.otherwise[i]);
      }
    this.d.remove(p);
    for (const r of before.dst) this.queueUsers(r, p);
    this.sourcesMayDie(before);
    return true;
  }

  // ------------------------------------------------------------------ constants

  /** Replaces an instruction of constants by moves of its results. */
  private fold(p: Ins): boolean {
    const { mov, wide, plop } = this.moves;
    const ins = this.d.at(p);
    if (ins.op === mov || (ins.op === plop && ins.src[3].lo === FIRST)) return false;
    const out: Instr[] = [];
    const values = valuesOf(ins);
    for (let i = 0; i < values.length; i++) {
      const v = values[i];
      if (v === null) continue;
      const r = ins.dst[i];
      const width = regWidth(r);
      const [op, mods, src] =
        width === 1
          ? [plop, 0, [immOf(v, 1), PT, PT, immOf(BigInt(FIRST), 32)]]
          : [mov, width === 64 ? wide : 0, [immOf(v, width)]];
      const { loc, guard, guardNot } = ins;
      out.push(instr(op, mods, [r], src, loc, guard, guardNot, otherwiseOf(ins, [r])));
    }
    // All the moves ask the guard, so one that overwrites it is the last.
    if (ins.guard !== NO_REG)
      out.sort((a, b) => Number(a.dst[0] === ins.guard) - Number(b.dst[0] === ins.guard));
    this.count('constant folding');
    this.replace(p, out);
    return true;
  }
}
