import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { endsFlow } from '../../ir/flow.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, regFile, sameOperand } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import {
  isLiveIn,
  isReturn,
  kills,
  LiveClass,
  type Liveness,
  liveClassOf,
  returnedRegs,
} from '../registers/liveness.ts';
import { mix } from '../structures/hash.ts';
import { cfgOf } from './cfg.ts';

/** How control leaves a block. An unconditional jump is not an instruction here: it is equivalent to falling through. */
export interface End {
  readonly ins: Instr | null;
  /** Possible successors, jumps first and the fall-through last, as class numbers of equal blocks. */
  readonly to: readonly BlockNo[];
}

/**
 * What a tail may not contain: operations whose effect may depend on which lanes execute together, and those tied to
 * what precedes them.
 */
const STOPS = OpFlag.Control | OpFlag.Convergent | OpFlag.Barrier | OpFlag.Phi;

/**
 * Finds blocks whose last instructions are equal: the same operations on the same registers, or on differently named
 * registers that hold a value only there. Works on a draft whose blocks are cut and erased meanwhile; liveness is
 * that of the snapshot.
 */
export class EqualTails {
  private readonly d: Draft;
  private readonly liveness: () => Liveness;
  private readonly returned: ReadonlySet<Reg>;
  /** Blocks found equal: the class number of each block, and for each class its blocks and the one that stays. */
  private readonly classes = new Map<BlockNo, BlockNo>();
  private readonly members = new Map<BlockNo, BlockNo[]>();
  private readonly stays = new Map<BlockNo, BlockNo>();
  /** By new block: the block of the snapshot whose end it now has. */
  private readonly origin = new Map<BlockNo, BlockNo>();

  /**
   * @param liveness of the snapshot from which the draft was opened; computed only if it matters which registers are
   * read later
   */
  constructor(d: Draft, liveness: () => Liveness) {
    this.d = d;
    this.liveness = liveness;
    this.returned = new Set(returnedRegs(d.fn));
  }

  /** Records that `b` is the lower part of `from`. */
  cutFrom(b: BlockNo, from: BlockNo): void {
    this.origin.set(b, this.originOf(from));
  }

  originOf(b: BlockNo): BlockNo {
    return this.origin.get(b) ?? b;
  }

  /** The block that stays in place of all blocks equal to `b`. */
  keptFor(b: BlockNo): BlockNo {
    return this.stays.get(this.classOf(b)) ?? b;
  }

  /**
   * From now on an edge to `gone` counts as one to `kept`.
   * @returns blocks with an edge whose target class changed; over all calls, a block is returned once for each doubling of its class
   */
  join(kept: BlockNo, gone: BlockNo): readonly BlockNo[] {
    const [a, b] = [this.classOf(kept), this.classOf(gone)];
    const [more, less] = [this.members.get(a) ?? [kept], this.members.get(b) ?? [gone]];
    const [into, from, to] = more.length >= less.length ? [more, less, a] : [less, more, b];
    for (const x of from) {
      this.classes.set(x, to);
      into.push(x);
    }
    this.members.set(to, into);
    this.stays.set(to, kept);
    return from;
  }

  private classOf(b: BlockNo): BlockNo {
    return this.classes.get(b) ?? b;
  }

  /** How control leaves the block; a branch whose targets are equal blocks does not count as one. */
  endOf(b: BlockNo): End {
    const end = this.exitsOf(b);
    const to = end.to.map((t) => this.classOf(t));
    const folds = end.ins?.op.primitive === 'branch' && to.every((t) => t === to[0]);
    return folds ? { ins: null, to: [to[0]] } : { ins: end.ins, to };
  }

  private exitsOf(b: BlockNo): End {
    const { d } = this;
    const n = d.terminator(b);
    if (n < 0) return { ins: null, to: [d.fall(b)] };
    const x = d.at(n);
    const [target] = x.src;
    if (x.op.primitive === 'branch' && endsFlow(x) && target.kind === Kind.Label)
      return { ins: null, to: [d.blockById(target.lo)] };
    const to: BlockNo[] = [];
    for (const o of x.src)
      if (o.kind === Kind.Label) to.push(d.blockById(o.lo));
      else if (o.kind === Kind.Table) for (const id of d.tables()[o.lo]) to.push(d.blockById(id));
    if (d.fall(b) >= 0) to.push(d.fall(b));
    return { ins: x, to };
  }

  /** Instructions above the end of the block that may be part of a tail, last one first. */
  body(b: BlockNo): Ins[] {
    const { d } = this;
    const out: Ins[] = [];
    const end = d.terminator(b);
    for (let n = end < 0 ? d.last(b) : d.previous(end); n >= 0; n = d.previous(n)) {
      if ((d.at(n).op.flags & STOPS) !== 0) break;
      out.push(n);
    }
    return out;
  }

  /** Does `body` contain every instruction above the end? */
  isWhole(b: BlockNo, body: readonly Ins[]): boolean {
    const top = body.length > 0 ? body[body.length - 1] : this.d.terminator(b);
    return top < 0 ? this.d.first(b) < 0 : this.d.first(b) === top;
  }

  /** Equal for ends that lead to the same places in the same way, whichever registers decide. */
  hashEnd({ ins, to }: End): number {
    let h = ins === null ? 1 : this.hashShape(ins);
    for (const b of to) h = mix(h, b);
    return h;
  }

  /** Equal for blocks whose instructions differ only in their registers. */
  hashShapes(body: readonly Ins[], end: End): number {
    let h = this.hashEnd(end);
    for (const n of body) h = mix(h, this.hashShape(this.d.at(n)));
    return h;
  }

  /** Equal for instructions that differ only in their registers. */
  hashShape(x: Instr): number {
    let h = mix(mix(x.op.id, x.mods), (x.guard === NO_REG ? 0 : 1) + (x.guardNot ? 2 : 0));
    for (const r of x.dst) h = mix(h, r === NO_REG ? -1 : regFile(r));
    for (const o of x.src) {
      h = mix(h, o.kind * 8 + o.mods + (o.reg === NO_REG ? 64 : 0));
      if (o.kind !== Kind.Label && o.kind !== Kind.Table) h = mix(mix(h, o.lo), o.hi ^ hashText(o.sym));
    }
    return h;
  }

  /**
   * Equal for blocks whose instructions are equal from top to bottom: a register counts by name if it holds a value
   * from above or one that is live below, otherwise by the order of first writes.
   */
  hashWhole(b: BlockNo, body: readonly Ins[], end: End): number {
    const { d } = this;
    const last = new Map<Reg, Ins>();
    for (let i = body.length - 1; i >= 0; i--)
      for (const r of d.at(body[i]).dst) if (kills(d.at(body[i]))) last.set(r, body[i]);
    const names = new Map<Reg, number>();
    let local = 0;
    let h = this.hashEnd(end);
    const nameOf = (r: Reg): number => names.get(r) ?? r;
    const add = (x: Instr): void => {
      if (x.guard !== NO_REG) h = mix(h, nameOf(x.guard));
      for (const o of x.src) if (o.reg !== NO_REG) h = mix(h, nameOf(o.reg));
      for (const r of x.otherwise) if (r !== NO_REG) h = mix(h, nameOf(r));
    };
    for (let i = body.length - 1; i >= 0; i--) {
      const x = d.at(body[i]);
      h = mix(h, this.hashShape(x));
      add(x);
      for (const r of x.dst) {
        if (r === NO_REG) continue;
        if (kills(x)) names.set(r, last.get(r) === body[i] && this.isLiveOut(r, b) ? r : -2 - local++);
        h = mix(h, nameOf(r));
      }
    }
    if (end.ins !== null) add(end.ins);
    return h;
  }

  /**
   * How many instructions above equal ends can be merged, at most `most`. Registers that differ must have been
   * written by these instructions and be dead after the block. -1 if the ends differ.
   */
  common(a: BlockNo, b: BlockNo, most: number): number {
    const { d } = this;
    const x = this.endOf(a);
    const y = this.endOf(b);
    if (x.to.length !== y.to.length || !x.to.every((t, i) => t === y.to[i])) return -1;
    // A block with phis equals no other, so its class has its number.
    for (const t of x.to)
      for (const phi of d.phis(t)) {
        const [p, q] = [d.incoming(phi, a), d.incoming(phi, b)];
        if (p === null || q === null || !sameOperand(p, q)) return -1;
      }
    const pairs = new Pairs(
      (r) => this.isLiveOut(r, a),
      (r) => this.isLiveOut(r, b),
    );
    if (x.ins !== y.ins && (x.ins === null || y.ins === null || !sameShape(x.ins, y.ins))) return -1;
    if (x.ins !== null && !pairs.step(x.ins, y.ins!)) return -1;
    let best = pairs.open === 0 ? 0 : -1;
    let n = above(d, a);
    let m = above(d, b);
    for (let k = 1; k <= most && n >= 0 && m >= 0; k++) {
      const p = d.at(n);
      const q = d.at(m);
      if ((p.op.flags & STOPS) !== 0 || !sameShape(p, q) || !pairs.step(p, q)) break;
      if (pairs.open === 0) best = k;
      n = d.previous(n);
      m = d.previous(m);
    }
    return best;
  }

  /** Is the register read after the block, or by a return that ends it? */
  private isLiveOut(r: Reg, b: BlockNo): boolean {
    const { d } = this;
    const live = this.liveness();
    if (liveClassOf(r) === LiveClass.None) return true;
    const from = this.originOf(b);
    const { succStart, succ } = cfgOf(d.fn);
    for (let e = succStart[from]; e < succStart[from + 1]; e++) if (isLiveIn(live, r, succ[e])) return true;
    if (live.phiUses?.get(from)?.includes(r) === true) return true;
    const end = d.terminator(b);
    return this.returned.has(r) && end >= 0 && isReturn(d.at(end)) && d.at(end).src.length === 0;
  }
}

/** The instruction above the end of the block, or -1. */
function above(d: Draft, b: BlockNo): Ins {
  const end = d.terminator(b);
  return end < 0 ? d.last(b) : d.previous(end);
}

/** Which register of one block corresponds to which of the other, walking up both. */
class Pairs {
  /** Number of pairs of different names whose definition has not been reached yet. */
  open = 0;
  private readonly toB = new Map<Reg, Reg>();
  private readonly toA = new Map<Reg, Reg>();
  /** Written further down, so reads after the block do not matter above. */
  private readonly writtenA = new Set<Reg>();
  private readonly writtenB = new Set<Reg>();
  private readonly liveA: (r: Reg) => boolean;
  private readonly liveB: (r: Reg) => boolean;

  constructor(liveA: (r: Reg) => boolean, liveB: (r: Reg) => boolean) {
    this.liveA = liveA;
    this.liveB = liveB;
  }

  /** Walks up over a pair of instructions of equal shape. @returns false if their registers do not correspond */
  step(x: Instr, y: Instr): boolean {
    const ends = kills(x);
    for (let k = 0; k < x.dst.length; k++)
      if (x.dst[k] !== NO_REG && !this.write(x.dst[k], y.dst[k], ends)) return false;
    if (x.guard !== NO_REG && !this.read(x.guard, y.guard)) return false;
    for (let k = 0; k < x.src.length; k++)
      if (x.src[k].reg !== NO_REG && !this.read(x.src[k].reg, y.src[k].reg)) return false;
    for (let k = 0; k < x.otherwise.length; k++)
      if (x.otherwise[k] !== NO_REG && !this.read(x.otherwise[k], y.otherwise[k])) return false;
    return true;
  }

  /** The register that `a` must be paired with, NO_REG if nothing below reads it. */
  private ofA(a: Reg): Reg {
    return this.toB.get(a) ?? (!this.writtenA.has(a) && this.liveA(a) ? a : NO_REG);
  }

  private ofB(b: Reg): Reg {
    return this.toA.get(b) ?? (!this.writtenB.has(b) && this.liveB(b) ? b : NO_REG);
  }

  private read(a: Reg, b: Reg): boolean {
    const p = this.ofA(a);
    const q = this.ofB(b);
    if (p !== NO_REG || q !== NO_REG) return p === b && q === a;
    this.toB.set(a, b);
    this.toA.set(b, a);
    if (a !== b) this.open++;
    return true;
  }

  /** @param ends the old value of the register is not visible below */
  private write(a: Reg, b: Reg, ends: boolean): boolean {
    const p = this.ofA(a);
    const q = this.ofB(b);
    if ((p !== NO_REG || q !== NO_REG) && (p !== b || q !== a)) return false;
    if (!ends) return true;
    if (a !== b && this.toB.has(a)) this.open--;
    this.toB.delete(a);
    this.toA.delete(b);
    this.writtenA.add(a);
    this.writtenB.add(b);
    return true;
  }
}

/** Do two instructions differ only in their registers, which have the same files, and in the blocks they lead to? */
function sameShape(x: Instr, y: Instr): boolean {
  if (x.op !== y.op || x.mods !== y.mods || x.guardNot !== y.guardNot) return false;
  if (!sameFile(x.guard, y.guard) || x.dst.length !== y.dst.length || x.src.length !== y.src.length)
    return false;
  if (x.otherwise.length !== y.otherwise.length) return false;
  for (let k = 0; k < x.dst.length; k++) if (!sameFile(x.dst[k], y.dst[k])) return false;
  for (let k = 0; k < x.otherwise.length; k++) if (!sameFile(x.otherwise[k], y.otherwise[k])) return false;
  for (let k = 0; k < x.src.length; k++) if (!sameKind(x.src[k], y.src[k])) return false;
  return true;
}

const sameFile = (a: Reg, b: Reg): boolean =>
  a === NO_REG || b === NO_REG ? a === b : regFile(a) === regFile(b);

function sameKind(a: Operand, b: Operand): boolean {
  if (a.kind !== b.kind || a.mods !== b.mods || !sameFile(a.reg, b.reg)) return false;
  if (a.kind === Kind.Label || a.kind === Kind.Table) return true;
  return a.lo === b.lo && a.hi === b.hi && a.sym === b.sym;
}

function hashText(text: string): number {
  let h = text.length;
  for (let i = 0; i < text.length; i++) h = mix(h, text.charCodeAt(i));
  return h;
}
