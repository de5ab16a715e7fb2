import { type Cfg, cfgOf } from '../../analysis/flow/cfg.ts';
import { WorkList } from '../../analysis/structures/worklist.ts';
import { type DefUse, defUseOf } from '../../analysis/values/defuse.ts';
import { toOperands, withSrc } from '../../ir/edit.ts';
import { isControl, isPhi } from '../../ir/flow.ts';
import { entryOf } from '../../ir/jump-table.ts';
import { copyOf, type Moves } from '../../ir/moves.ts';
import {
  immOf,
  isPredReg,
  Kind,
  Mod,
  NO_REG,
  type Operand,
  type Reg,
  regIndex,
  regWidth,
  sameOperand,
  withOperandMods,
} from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { isFoldable, valuesOf } from '../../rules/fold.ts';
import { inSsa } from '../../ssa/registers.ts';

/** The value of a register along the paths that control can take: nothing yet, one constant, or several values. */
const State = { None: 0, One: 1, Many: 2 } as const;

/** Maximum depth to which a value is followed to see whether it may be constant. */
const MOST_DEPTH = 3;

/**
 * May some phi be a single constant? That requires that one of its operands is a constant, and that no other is known to be different: a
 * value from memory, a special register or a parameter, or another constant if the phi has its first value. Without such a phi,
 * constant folding finds as much.
 */
export function mayHaveConstantPhis(fn: Fn, moves: Moves): boolean {
  let search: ConstantSearch | null = null;
  for (const { ins } of fn.blocks)
    for (const x of ins) {
      if (!isPhi(x)) break;
      search ??= new ConstantSearch(fn, moves);
      if (search.mayBeConstant(x)) return true;
    }
  return false;
}

class ConstantSearch {
  private readonly defs: readonly (Instr | undefined)[];
  private readonly moves: Moves;

  constructor(fn: Fn, moves: Moves) {
    this.defs = definitions(fn);
    this.moves = moves;
  }

  mayBeConstant({ dst, src }: Instr): boolean {
    let value: Operand | null = null;
    for (let k = 1; k < src.length && value === null; k += 2) value = this.constant(src[k], NO_REG, src[k]);
    if (value === null) return false;
    for (let k = 1; k < src.length; k += 2) if (!this.may(src[k], dst[0], value, 0)) return false;
    return true;
  }

  /** The operand as a constant, on the assumption that the phi is `value`. */
  private constant(o: Operand, phi: Reg, value: Operand): Operand | null {
    if (o.kind === Kind.Imm) return o;
    if (o.kind !== Kind.Reg) return null;
    if (o.reg === phi) return withOperandMods(value, o.mods);
    const def = this.defs[regIndex(o.reg)];
    const c = def === undefined || def.guard !== NO_REG ? null : copyOf(this.moves, def);
    return c?.kind === Kind.Imm && c.mods === 0 ? withOperandMods(c, o.mods) : null;
  }

  private may(o: Operand, phi: Reg, value: Operand, depth: number): boolean {
    const c = this.constant(o, phi, value);
    if (c !== null) return depth > 0 || sameOperand(c, value);
    const def = o.kind === Kind.Reg ? this.defs[regIndex(o.reg)] : undefined;
    if (def === undefined || !inSsa(o.reg)) return false;
    if (isPhi(def)) return true;
    if (!isFoldable(def, true) && copyOf(this.moves, def) === null) return false;
    if (depth === MOST_DEPTH) return true;
    for (const s of def.src) if (!this.may(s, phi, value, depth + 1)) return false;
    if (depth > 0 || def.guard !== NO_REG) return true;
    const src = toOperands(def.src, (s) => this.constant(s, phi, value));
    if (src.includes(null)) return true;
    const k = def.dst.indexOf(o.reg);
    const v = valuesOf(withSrc(def, src as Operand[]))[k];
    return v === null || sameOperand(immOf(v, regWidth(o.reg)), value);
  }
}

/** By register index: its definition, in SSA. */
function definitions(fn: Fn): (Instr | undefined)[] {
  const defs: (Instr | undefined)[] = new Array(fn.regCount);
  for (const { ins } of fn.blocks)
    for (const x of ins) for (const r of x.dst) if (r !== NO_REG) defs[regIndex(r)] = x;
  return defs;
}

/**
 * Constants of a function in SSA together with executable edges: sparse conditional constant propagation (Wegman and
 * Zadeck, "Constant Propagation with Conditional Branches", 1991). It starts with no values and no edges, so a value
 * is constant if it is so along all executable paths, including through loop phis.
 *
 * Each register rises at most twice and each edge is entered once, so it is linear in uses and edges.
 */
export class ConstantsByFlow {
  private readonly fn: Fn;
  private readonly moves: Moves;
  private readonly folds: (x: Instr) => boolean;
  private readonly du: DefUse;
  private readonly g: Cfg;
  private readonly state: Uint8Array;
  private readonly constants: (Operand | undefined)[];
  /** Executable edges, by index in the list of successors. */
  private readonly taken: Uint8Array;
  private readonly reached: Uint8Array;
  private readonly edges: number[] = [];
  private readonly work: WorkList;

  /** @param folds may an instruction with constant operands be evaluated? */
  constructor(fn: Fn, moves: Moves, folds: (x: Instr) => boolean) {
    this.fn = fn;
    this.moves = moves;
    this.folds = folds;
    this.du = defUseOf(fn);
    this.g = cfgOf(fn);
    this.state = new Uint8Array(fn.regCount);
    this.constants = new Array(fn.regCount);
    this.taken = new Uint8Array(this.g.succ.length);
    this.reached = new Uint8Array(this.g.count);
    this.work = new WorkList(this.du.ins.length);
    for (let i = 0; i < fn.regCount; i++)
      if (this.du.entry[i] === 1 || this.du.defStart[i] === this.du.defStart[i + 1])
        this.state[i] = State.Many;
    this.solve();
  }

  /** The single constant that a register holds, or null. */
  constantOf(r: Reg): Operand | null {
    const i = regIndex(r);
    return r !== NO_REG && this.state[i] === State.One ? this.constants[i]! : null;
  }

  /** Can control reach the block at this position? */
  isReached(b: number): boolean {
    return this.reached[b] === 1;
  }

  // ------------------------------------------------------------------ inside

  private solve(): void {
    const { du, g, work } = this;
    if (g.count > 0) this.enter(0);
    for (;;) {
      const e = this.edges.pop();
      if (e !== undefined) {
        const b = g.succ[e];
        if (this.reached[b] === 0) this.enter(b);
        else for (let n = du.blockStart[b]; n < du.blockStart[b + 1] && isPhi(du.ins[n]); n++) work.push(n);
        continue;
      }
      const n = work.pop();
      if (n < 0) return;
      if (this.reached[du.blockAt[n]] === 1) this.visit(n);
    }
  }

  private enter(b: number): void {
    const { du } = this;
    this.reached[b] = 1;
    for (let n = du.blockStart[b]; n < du.blockStart[b + 1]; n++) this.visit(n);
    const last = du.blockStart[b + 1] - 1;
    if (last < du.blockStart[b] || !isControl(du.ins[last])) this.leave(b, null);
  }

  private visit(n: number): void {
    const x = this.du.ins[n];
    if (isControl(x)) this.leave(this.du.blockAt[n], x);
    for (let k = 0; k < x.dst.length; k++)
      if (x.dst[k] !== NO_REG && this.state[regIndex(x.dst[k])] !== State.Many) {
        this.evaluate(n, x);
        return;
      }
  }

  /** Marks the edges that control can take at the end of a block. */
  private leave(b: number, x: Instr | null): void {
    const { g, fn } = this;
    let only = -1;
    if (x !== null && x.guard !== NO_REG) {
      const guard = this.guardOf(x);
      if (guard === null) return;
      if (typeof guard === 'boolean' && x.op.primitive === 'branch') {
        const to = g.positionOf[x.src[0].lo];
        // Without a jump control goes to the block below, which may also be the target.
        only = guard ? to : b + 1;
      } else if (guard === false) only = b + 1;
    } else if (x?.op.primitive === 'branch-table') {
      const [s, c] = this.valueOf(x.src[0]);
      if (s === State.None) return;
      const entries = fn.tables[x.src[1].lo];
      const at = c !== null && c.hi === 0 ? entryOf(x, c.lo) : -1;
      if (at >= 0 && at < entries.length) only = g.positionOf[entries[at]];
    }
    for (let e = g.succStart[b]; e < g.succStart[b + 1]; e++) {
      if (this.taken[e] === 1 || (only >= 0 && g.succ[e] !== only)) continue;
      this.taken[e] = 1;
      this.edges.push(e);
    }
  }

  /** Does an instruction run under its guard? Null: not known yet; 'unknown': it may or may not. */
  private guardOf(x: Instr): boolean | 'unknown' | null {
    const i = regIndex(x.guard);
    if (this.state[i] === State.None) return null;
    if (this.state[i] === State.Many) return 'unknown';
    return ((this.constants[i]!.lo & 1) === 1) !== x.guardNot;
  }

  /** The lattice value of an operand. Readers of a constant predicate ignore modifiers, so a negation is applied here. */
  private valueOf(
    o: Operand,
    isPredicate = o.kind === Kind.Reg && isPredReg(o.reg),
  ): [number, Operand | null] {
    if (o.kind !== Kind.Imm && (o.kind !== Kind.Reg || !inSsa(o.reg))) return [State.Many, null];
    const i = regIndex(o.reg);
    const s = o.kind === Kind.Imm ? State.One : this.state[i];
    if (s !== State.One) return [s, null];
    const c = o.kind === Kind.Imm ? o : withOperandMods(this.constants[i]!, o.mods);
    const isNegated = isPredicate && (o.mods & Mod.Not) !== 0;
    return [s, isNegated ? immOf(BigInt(1 - (c.lo & 1)), 1) : c];
  }

  private evaluate(n: number, x: Instr): void {
    const guard = x.guard === NO_REG ? true : this.guardOf(x);
    if (guard === null) return;
    if (guard === true && !isPhi(x) && this.isVarying(x)) {
      for (const r of x.dst) if (r !== NO_REG) this.raise(r, State.Many, null);
      return;
    }
    const values = guard === false ? null : isPhi(x) ? this.joined(n, x) : this.computed(x);
    for (let k = 0; k < x.dst.length; k++) {
      const r = x.dst[k];
      if (r === NO_REG) continue;
      let [s, c]: [number, Operand | null] = values === null ? [State.None, null] : values[k];
      if (guard !== true) {
        const other = x.otherwise[k] ?? NO_REG;
        const i = regIndex(other);
        if (other === NO_REG || this.state[i] === State.Many) [s, c] = [State.Many, null];
        else if (this.state[i] === State.One) [s, c] = meet(s, c, State.One, this.constants[i]!);
      }
      this.raise(r, s, c);
    }
  }

  /** Does an operand have several values, so that there is nothing to evaluate? */
  private isVarying(x: Instr): boolean {
    for (let k = 0; k < x.src.length; k++) {
      const o = x.src[k];
      if (o.kind === Kind.Imm) continue;
      if (o.kind !== Kind.Reg || this.state[regIndex(o.reg)] === State.Many) return true;
    }
    return false;
  }

  private joined(n: number, x: Instr): [number, Operand | null][] {
    const { g } = this;
    const b = this.du.blockAt[n];
    let s: number = State.None;
    let c: Operand | null = null;
    for (let k = 1; k < x.src.length && s !== State.Many; k += 2) {
      const from = g.positionOf[x.src[k - 1].lo];
      if (!this.isTaken(from, b)) continue;
      [s, c] = meet(s, c, ...this.valueOf(x.src[k], isPredReg(x.dst[0])));
    }
    return [[s, c]];
  }

  private isTaken(from: number, to: number): boolean {
    const { g } = this;
    for (let e = g.succStart[from]; e < g.succStart[from + 1]; e++)
      if (g.succ[e] === to) return this.taken[e] === 1;
    return false;
  }

  private computed(x: Instr): [number, Operand | null][] {
    const many = (): [number, Operand | null][] => x.dst.map(() => [State.Many, null]);
    const copied = copyOf(this.moves, x);
    if (copied !== null && copied.mods === 0 && (copied.kind === Kind.Imm || copied.kind === Kind.Reg))
      return [this.valueOf(copied)];
    if (!this.folds(x)) return many();
    const src: Operand[] = [];
    let open = false;
    for (const o of x.src) {
      const [s, c] = this.valueOf(o);
      if (s === State.Many) return many();
      if (c === null) open = true;
      else src.push(c);
    }
    if (open) return x.dst.map(() => [State.None, null]);
    return valuesOf(withSrc(x, src)).map((v, k) =>
      v === null || x.dst[k] === NO_REG ? [State.Many, null] : [State.One, immOf(v, regWidth(x.dst[k]))],
    );
  }

  private raise(r: Reg, s: number, c: Operand | null): void {
    const i = regIndex(r);
    const [to, value] = inSsa(r) ? meet(this.state[i], this.constants[i] ?? null, s, c) : [State.Many, null];
    if (to === this.state[i]) return;
    this.state[i] = to;
    this.constants[i] = value ?? undefined;
    for (let u = this.du.useStart[i]; u < this.du.useStart[i + 1]; u++) this.work.push(this.du.uses[u]);
  }
}

function meet(s: number, c: Operand | null, t: number, d: Operand | null): [number, Operand | null] {
  if (s === State.None) return [t, d];
  if (t === State.None) return [s, c];
  return s === State.One && t === State.One && sameOperand(c!, d!) ? [s, c] : [State.Many, null];
}
