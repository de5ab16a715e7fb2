import { mustStay } from '../analysis/effects.ts';
import { type LoopForest, loopDepth, loopsOf } from '../analysis/loops.ts';
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
import { bind, build, type Match, type Miss, type Surroundings } from './bind.ts';
import type { Setting } from './conditions.ts';
import { mayStand } from './fit.ts';
import { Flow, type Place } from './flow.ts';
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
  readonly onHit?: (rule: Rule, at: Place, before: Instr, after: readonly Instr[]) => void;
  /** Called for each rule whose shape fitted and that was not applied. */
  readonly onMiss?: (rule: Rule, at: Place, why: Miss) => void;
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
  return new Driver(fn, trie, isa, opts).run();
}

class Driver {
  private readonly flow: Flow;
  private readonly trie: Trie;
  private readonly opts: DriverOptions;
  private readonly where: Surroundings;
  private readonly moves: Moves;
  private work: Place[];
  private readonly bound: number;
  private steps = 0;
  private readonly fired = new Map<string, number>();

  constructor(fn: Fn, trie: Trie, isa: Isa, opts: DriverOptions) {
    this.moves = movesOf(isa);
    const { mov, plop } = this.moves;
    this.flow = new Flow(fn, (i) => i.op === mov || (i.op === plop && i.src[3].lo === FIRST));
    this.trie = trie;
    this.opts = opts;
    let loops: LoopForest | null = null;
    this.where = {
      level: opts.level,
      sm: opts.sm,
      knob: (name) => opts.knob(name),
      depthOf: (b) => loopDepth((loops ??= loopsOf(fn)), b),
    };
    this.work = this.flow.places();
    this.bound = opts.bound ?? this.work.length * REWRITES_EACH + 100;
  }

  run(): Fn {
    // Front to back first, so that operands are simple before their users are looked at.
    while (this.work.length > 0) {
      const round = this.work;
      this.work = [];
      for (const p of round) {
        p.queued = false;
        if (!p.dead) this.visit(p);
      }
    }
    return this.flow.finish();
  }

  private queue(p: Place): void {
    if (p.queued || p.dead) return;
    p.queued = true;
    this.work.push(p);
  }

  /** Looks again at what reads a result of `p`. */
  private queueUsers(r: Reg, p: Place): void {
    if (r !== NO_REG) this.flow.eachUser(r, p, (u) => this.queue(u));
  }

  private count(what: string): void {
    this.fired.set(what, (this.fired.get(what) ?? 0) + 1);
    if (++this.steps > this.bound) throw new RulesDiverge(this.bound, this.fired);
  }

  private visit(p: Place): void {
    if (this.opts.clean) {
      if (this.dropIfDead(p)) return;
      this.propagate(p);
      if (this.guard(p)) return;
      const plain = constantsLast(plainConstants(p.ins));
      if (plain !== p.ins) this.flow.set(p, plain);
      if (isConstant(p.ins, this.opts.approximate, this.opts.floats) && this.fold(p)) return;
    }
    if (!this.trie.covers(p.ins.op)) return;
    const candidates = this.trie.candidates(this.flow, p);
    if (candidates.length === 0) return;
    if (this.opts.mode === 'bands') {
      const chosen = priorityBands(candidates, (v) => bind(v, this.flow, p, this.where));
      if (chosen !== null) this.rewrite(chosen, p);
      return;
    }
    // The array belongs to the trie and is reused when a rewrite asks again.
    for (let i = 0; i < candidates.length; i++) {
      const v = candidates[i];
      const m = bind(v, this.flow, p, this.where);
      if (typeof m === 'string') this.missed(v, p, m);
      else if (this.opts.allow?.(v.rule) !== false && this.rewrite(m, p)) return;
    }
  }

  private missed(v: Variant, p: Place, why: Miss): void {
    this.opts.onMiss?.(v.rule, p, why);
  }

  /** Puts the replacement into the root's place; false if an operand does not fit. */
  private rewrite(m: Match, p: Place): boolean {
    const r = build(m, (file) => this.flow.freshReg(file));
    if (typeof r === 'string') {
      this.missed(m.variant, p, r);
      return false;
    }
    const { rule } = m.variant;
    this.opts.onHit?.(rule, p, p.ins, r.ins);
    this.count(rule.id);
    this.replace(p, r.ins);
    return true;
  }

  /** The last instruction takes the place of `p`, the others come before it. */
  private replace(p: Place, ins: readonly Instr[]): void {
    const { flow } = this;
    const before = p.ins;
    if (ins.length === 0) {
      flow.remove(p);
    } else {
      for (const x of ins.slice(0, -1)) this.queue(flow.insertBefore(p, x));
      flow.set(p, ins[ins.length - 1]);
      this.queue(p);
    }
    for (const r of before.dst) this.queueUsers(r, p);
    this.sourcesMayDie(before);
  }

  /** Looks again at what defined the sources of an instruction that is gone, and at what else reads them. */
  private sourcesMayDie(before: Instr): void {
    for (const o of before.src) {
      if (o.reg === NO_REG) continue;
      const uses = this.flow.useCount(o.reg);
      if (uses <= 1) this.flow.eachDef(o.reg, (d) => this.queue(d));
      // A condition on the number of uses may hold now.
      if (uses === 1) this.flow.eachDef(o.reg, (d) => this.queueUsers(o.reg, d));
    }
    if (before.guard !== NO_REG && this.flow.useCount(before.guard) === 0)
      this.flow.eachDef(before.guard, (d) => this.queue(d));
  }

  private dropIfDead(p: Place): boolean {
    const { ins } = p;
    if (ins.dst.length === 0 || mustStay(ins)) return false;
    for (const r of ins.dst) if (r !== NO_REG && this.flow.useCount(r) > 0) return false;
    this.flow.remove(p);
    this.sourcesMayDie(ins);
    return true;
  }

  // ------------------------------------------------------------------ copies

  /** What a register is a copy of, at a place that reads it; null if it is none, or what it copies has changed. */
  private copied(r: Reg, at: Place): Operand | null {
    if (!this.flow.isCopied(r)) return null;
    const d = this.flow.reaching(r, at);
    if (d === null) return null;
    const { op, src } = d.ins;
    let o: Operand;
    if (op === this.moves.mov) o = src[0];
    else if (op === this.moves.plop && src[3].lo === FIRST) o = src[0];
    else return null;
    // SASS takes one constant-bank operand an instruction, and a symbol only in a move: these stay in their register.
    if (o.kind !== Kind.Reg && o.kind !== Kind.Imm) return null;
    return o.reg === NO_REG || this.flow.unchanged(o.reg, d, at) ? o : null;
  }

  private propagate(p: Place): void {
    const { op, mods } = p.ins;
    for (let i = 0; i < p.ins.src.length; i++) {
      const o = p.ins.src[i];
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
      const before = p.ins;
      const src = [...before.src];
      src[i] = next;
      this.flow.set(p, { ...before, src });
      this.count('copy propagation');
      this.sourcesMayDie(before);
    }
  }

  /** Resolves a guard that is a copy or a constant; true if the instruction is gone. */
  private guard(p: Place): boolean {
    const { guard, guardNot } = p.ins;
    if (guard === NO_REG) return false;
    const c = this.copied(guard, p);
    if (c === null) return false;
    const before = p.ins;
    if (c.kind === Kind.Reg) {
      const not = guardNot !== ((c.mods & Mod.Not) !== 0);
      this.flow.set(p, { ...before, guard: c.reg, guardNot: not });
      this.sourcesMayDie(before);
      return false;
    }
    const truth = ((c.lo & 1) === 1) !== ((c.mods & Mod.Not) !== 0);
    // A branch that is always or never taken changes the flow graph: that is the business of branch simplification.
    if ((before.op.flags & OpFlag.Control) !== 0) return false;
    this.count('constant guard');
    if (truth !== guardNot) {
      this.flow.set(p, { ...before, guard: NO_REG, guardNot: false });
      for (const r of before.dst) this.queueUsers(r, p);
      this.sourcesMayDie(before);
      return false;
    }
    this.flow.remove(p);
    for (const r of before.dst) this.queueUsers(r, p);
    this.sourcesMayDie(before);
    return true;
  }

  // ------------------------------------------------------------------ constants

  /** Replaces an instruction of constants by moves of its results. */
  private fold(p: Place): boolean {
    const { mov, wide, plop } = this.moves;
    const { ins } = p;
    if (ins.op === mov || (ins.op === plop && ins.src[3].lo === FIRST)) return false;
    const out: Instr[] = [];
    const values = valuesOf(ins);
    for (let i = 0; i < values.length; i++) {
      const v = values[i];
      if (v === null) continue;
      const r = ins.dst[i];
      const width = regWidth(r);
      out.push(
        width === 1
          ? instr(
              plop,
              0,
              [r],
              [immOf(v, 1), PT, PT, immOf(BigInt(FIRST), 32)],
              ins.loc,
              ins.guard,
              ins.guardNot,
            )
          : instr(mov, width === 64 ? wide : 0, [r], [immOf(v, width)], ins.loc, ins.guard, ins.guardNot),
      );
    }
    // All the moves ask the guard, so one that overwrites it is the last.
    if (ins.guard !== NO_REG)
      out.sort((a, b) => Number(a.dst[0] === ins.guard) - Number(b.dst[0] === ins.guard));
    this.count('constant folding');
    this.replace(p, out);
    return true;
  }
}
