import { cfgOf } from '../analysis/flow/cfg.ts';
import { dominators } from '../analysis/flow/dominators.ts';
import { loopDepth, loops } from '../analysis/loops/loops.ts';
import { isReturn } from '../analysis/registers/liveness.ts';
import { type Draft, edit, splitEdge } from '../ir/draft/index.ts';
import { toOperands, toRegs, withDst, withGuard, withOtherwise, withSrc } from '../ir/edit.ts';
import { hasSsaForms, isPhi } from '../ir/flow.ts';
import { flightOf, isApart } from '../ir/foreign-text.ts';
import { copyOf, type Moves, movesOf } from '../ir/moves.ts';
import type { Isa } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, reg, regFile, regIndex, withReg } from '../ir/operand.ts';
import { type Fn, type Instr, NONE } from '../ir/program.ts';
import { Congruence } from './congruence.ts';
import { delaySteps } from './delay.ts';
import { type Copy, sequence } from './parallel-copies.ts';
import { inSsa } from './registers.ts';
import { tiedResults } from './tied-results.ts';
import { AT_ENTRY, atEnd, behindPhis, justBefore, phiCount, SsaRanges, terminatorAt } from './values.ts';

/**
 * Translates out of SSA: phis, values under false guards and returned values become copies, and copies disappear if both
 * sides can share a register.
 *
 * The method is that of Sreedhar, Ju, Gillies and Santhanam ("Translating Out of Static Single Assignment Form",
 * 1999), method I, with the corrections of Boissinot and others (CGO 2009). Every phi gets new values, copied in parallel
 * at the ends of the predecessors and after the phis; these never interfere with one another. Then copies are coalesced,
 * those in deep loops first, wherever the two classes do not interfere. So the swap problem and the lost-copy problem need
 * no special case. The remaining parallel copies are sequentialized, with one additional register per cycle.
 *
 * @param isa for the moves, and for branches around a block that is inserted on an edge after a call
 */
export function leaveSsa(original: Fn, isa: Isa): Fn {
  // Without SSA forms there is nothing to do, and registers may have several definitions already.
  if (!hasSsaForms(original) && !(original.blocks.some((b) => b.ins.some(isApart)) && definedOnce(original)))
    return original;
  const split = edit(original, (d) => splitBehindResults(d), isa);
  const fn = edit(split, delaySteps, isa);
  return edit(fn, (d) => new Leaving(fn, d, movesOf(isa)).run(), isa);
}

/** Does every register have at most one definition? */
function definedOnce(fn: Fn): boolean {
  const seen = new Uint8Array(fn.regCount);
  const define = (r: Reg): boolean => r === NO_REG || ++seen[regIndex(r)] === 1;
  return (
    fn.params.every((p) => define(p.reg)) && fn.blocks.every((b) => b.ins.every((x) => x.dst.every(define)))
  );
}

/** Splits edges after terminators with results, such as calls: copies that read the results need a block after the terminator. */
function splitBehindResults(d: Draft): void {
  for (const b of d.layout()) {
    if (d.phis(b).length === 0) continue;
    for (const p of [...d.predecessors(b)]) {
      const t = d.terminator(p);
      if (t < 0 || d.at(t).dst.length === 0) continue;
      for (let e = d.edges(p).indexOf(b); e >= 0; e = d.edges(p).indexOf(b)) splitEdge(d, p, e);
    }
  }
}

/** A copy that coalescing may remove: its source value, its target value, and its estimated frequency. */
interface Affinity {
  readonly a: number;
  readonly b: number;
  readonly weight: number;
}

/** Weight factor for a copy before an instruction that must read and write the same register. */
const HEAVY = 100;

/**
 * Weight factor if that register may be in flight, so that the copy is forbidden: it exceeds the weight of any loop. Before a fence
 * copies are allowed, and unavoidable if many accumulators begin with the same zero.
 */
const FORBIDDEN = 1e12;

/**
 * The live range of a value that exists only between a copy and the phi, return, or guarded or tied instruction that needs
 * the copy.
 */
interface ShortRange {
  readonly block: number;
  /** The place from which on it is dead; infinite: it is live to the end of the block. */
  readonly until: number;
}

class Leaving {
  private readonly fn: Fn;
  private readonly d: Draft;
  private readonly moves: Moves;
  private readonly ranges: SsaRanges;
  private readonly classes: Congruence;
  /** Register index -> value, -1 for registers that are not involved. */
  private readonly valueOfReg: Int32Array;
  /** Value -> its register, NO_REG for a value created here. */
  private readonly regOfValue: Reg[] = [];
  /** Register index -> the register that a move copies into it, or NO_REG. */
  private readonly movedFrom: Int32Array;
  /** Value -> its live range if it was created here, else null. */
  private readonly short: (ShortRange | null)[] = [];
  private readonly affinities: Affinity[] = [];
  private readonly nameOfClass = new Map<number, Reg>();
  private readonly returns: readonly Reg[];
  /** By block position: the parallel copies at its end, and those after its phis. */
  private readonly endCopies: { to: number; from: Operand }[][];
  private readonly topCopies: { to: Reg; from: number }[][];

  constructor(fn: Fn, d: Draft, moves: Moves) {
    this.fn = fn;
    this.d = d;
    this.moves = moves;
    this.returns = fn.returns.map((p) => p.reg).filter((r) => r !== NO_REG);
    this.movedFrom = new Int32Array(fn.regCount).fill(NO_REG);
    const queried = this.participants();
    this.ranges = new SsaRanges(fn, queried);
    this.valueOfReg = new Int32Array(fn.regCount).fill(-1);
    this.endCopies = fn.blocks.map(() => []);
    this.topCopies = fn.blocks.map(() => []);
    this.classes = new Congruence(dominators(cfgOf(fn)), (v, block, place) =>
      this.liveAfter(v, block, place),
    );
  }

  run(): void {
    this.collect();
    // Heaviest first; equal weights in program order.
    const order = this.affinities.map((_, i) => i);
    order.sort((i, j) => this.affinities[j].weight - this.affinities[i].weight || i - j);
    for (const i of order) this.classes.tryJoin(this.affinities[i].a, this.affinities[i].b);
    this.nameClasses();
    this.rewrite();
  }

  private liveAfter(v: number, block: number, place: number): boolean {
    const s = this.short[v];
    if (s !== null) return s.block === block && place < s.until;
    return this.ranges.liveAfter(this.regOfValue[v], block, place);
  }

  /** By register index: 1 for sources and targets of copies. */
  private participants(): Uint8Array {
    const queried = new Uint8Array(this.fn.regCount);
    const mark = (r: Reg): void => {
      if (r !== NO_REG) queried[regIndex(r)] = 1;
    };
    // Return values are copied to these registers, so the live ranges of other values in them matter.
    for (const r of this.returns) if (inSsa(r)) mark(r);
    for (const b of this.fn.blocks)
      for (const x of b.ins) {
        if (isPhi(x) || isReturn(x) || this.isMove(x)) {
          for (const r of x.dst) mark(r);
          for (const o of x.src) if (o.kind === Kind.Reg) mark(o.reg);
        }
        if (this.isMove(x)) this.movedFrom[regIndex(x.dst[0])] = copyOf(this.moves, x)!.reg;
        for (const t of tiedResults(x)) {
          mark(x.dst[t.dst]);
          mark(x.src[t.src].reg);
        }
        if (x.otherwise.length === 0) continue;
        for (const r of x.dst) mark(r);
        for (const r of x.otherwise) mark(r);
      }
    return queried;
  }

  private isMove(x: Instr): boolean {
    const o = x.guard === NO_REG ? copyOf(this.moves, x) : null;
    return (
      o !== null &&
      o.kind === Kind.Reg &&
      o.mods === 0 &&
      inSsa(o.reg) &&
      regFile(o.reg) === regFile(x.dst[0])
    );
  }

  /** The value of a register, -1 if it has no definition: it is then undefined and needs no copy. */
  private value(r: Reg): number {
    const i = regIndex(r);
    if (this.valueOfReg[i] >= 0) return this.valueOfReg[i];
    const block = this.ranges.defBlock(r);
    if (block < 0) return -1;
    const param = this.fn.params.some((p) => p.reg === r);
    const from = this.origin(r);
    const copied = from === r ? -1 : this.value(from);
    const v = this.classes.add(block, this.ranges.defPlace(r), param ? r : -1, copied);
    this.regOfValue[v] = r;
    this.short[v] = null;
    this.valueOfReg[i] = v;
    return v;
  }

  /** The register at the start of the chain of moves to `r`. Results are cached, so that a long chain is followed once. */
  private origin(r: Reg): Reg {
    const { movedFrom } = this;
    const chain: Reg[] = [];
    // In unreachable blocks moves may form a cycle.
    while (chain.length < this.fn.regCount) {
      const from = movedFrom[regIndex(r)];
      if (from === NO_REG || this.ranges.defBlock(from) < 0) break;
      chain.push(r);
      r = from;
    }
    for (const x of chain) if (x !== r) movedFrom[regIndex(x)] = r;
    return r;
  }

  /** Adds a value that is live from `place` up to `until` in a block. */
  private shortValue(block: number, place: number, until: number, copied: number, pin = -1): number {
    const v = this.classes.add(block, place, pin, copied);
    this.regOfValue[v] = NO_REG;
    this.short[v] = { block, until };
    return v;
  }

  /** Creates the values of phis, guarded and tied instructions and returns, with their copies and affinities. */
  private collect(): void {
    const { fn } = this;
    const cfg = cfgOf(fn);
    const forest = loops(cfg);
    const weights = fn.blocks.map((_, b) => 10 ** Math.min(loopDepth(forest, b), 9));
    const addAffinity = (a: number, b: number, weight: number): void => {
      if (a >= 0 && b >= 0) this.affinities.push({ a, b, weight });
    };
    for (const r of this.returns) if (inSsa(r)) this.value(r);
    const returnValues: number[][] = this.returns.map(() => []);
    for (let b = 0; b < fn.blocks.length; b++) {
      const { ins } = fn.blocks[b];
      const phis = phiCount(fn, b);
      for (let i = 0; i < ins.length; i++) {
        const x = ins[i];
        if (i < phis) {
          const result = this.value(x.dst[0]);
          const top = this.shortValue(b, AT_ENTRY, behindPhis(phis), result);
          const values = [top];
          for (let k = 0; k + 1 < x.src.length; k += 2) {
            const from = cfg.positionOf[x.src[k].lo];
            const o = x.src[k + 1];
            const read = o.kind === Kind.Reg ? this.value(o.reg) : -1;
            if (o.kind === Kind.Reg && read < 0) continue;
            // A negated predicate is a different value.
            const a = o.mods === 0 ? read : -1;
            const end = this.shortValue(from, atEnd(terminatorAt(fn, from)), Number.POSITIVE_INFINITY, a);
            values.push(end);
            this.endCopies[from].push({ to: end, from: o });
            addAffinity(a, end, weights[from]);
          }
          this.classes.join(values);
          this.topCopies[b].push({ to: x.dst[0], from: top });
          addAffinity(result, top, weights[b]);
          continue;
        }
        for (let k = 0; k < x.otherwise.length; k++) {
          if (x.otherwise[k] === NO_REG || x.dst[k] === NO_REG) continue;
          const old = this.value(x.otherwise[k]);
          if (old < 0) continue;
          const kept = this.shortValue(b, justBefore(i), 8 * i, old);
          this.classes.join([this.value(x.dst[k]), kept]);
          addAffinity(old, kept, weights[b]);
        }
        const heavy = ['BEGINS', 'ENDS'].includes(flightOf(x)) ? FORBIDDEN : HEAVY;
        if (x.otherwise.length === 0)
          for (const t of tiedResults(x)) {
            const old = this.value(x.src[t.src].reg);
            if (old < 0) continue;
            const kept = this.shortValue(b, justBefore(i), 8 * i, old);
            this.classes.join([this.value(x.dst[t.dst]), kept]);
            addAffinity(old, kept, heavy * weights[b]);
          }
        if (isReturn(x))
          x.src.forEach((o, k) => {
            if (!inSsa(o.reg)) return;
            const out = this.shortValue(b, justBefore(i), 8 * i, this.value(o.reg), this.returns[k]);
            returnValues[k].push(out);
            addAffinity(this.value(o.reg), out, weights[b]);
          });
        if (this.isMove(x))
          addAffinity(this.value(copyOf(this.moves, x)!.reg), this.value(x.dst[0]), weights[b] / 2);
      }
    }
    for (const values of returnValues) this.classes.join(values);
  }

  /** Chooses a register for each class: the one that it is pinned to, else that of its first member that is not a return register. */
  private nameClasses(): void {
    for (let v = 0; v < this.regOfValue.length; v++) {
      const c = this.classes.find(v);
      const pin = this.classes.pin(c);
      if (pin >= 0) this.nameOfClass.set(c, pin);
      else if (
        this.regOfValue[v] !== NO_REG &&
        !this.nameOfClass.has(c) &&
        !this.returns.includes(this.regOfValue[v])
      )
        this.nameOfClass.set(c, this.regOfValue[v]);
    }
  }

  private name(r: Reg): Reg {
    const v = r === NO_REG ? -1 : (this.valueOfReg[regIndex(r)] ?? -1);
    return v < 0 ? r : this.registerOf(v, r);
  }

  /** Register of a value; a class without a register gets a new one. */
  private registerOf(v: number, like: Reg): Reg {
    const c = this.classes.find(v);
    let r = this.nameOfClass.get(c);
    if (r === undefined) this.nameOfClass.set(c, (r = this.d.freshReg(regFile(like))));
    return r;
  }

  private rewrite(): void {
    const { d, fn } = this;
    const likeOf = new Map<number, Reg>();
    for (let b = 0; b < fn.blocks.length; b++)
      for (const t of this.topCopies[b]) likeOf.set(this.classes.find(t.from), t.to);
    for (let b = 0; b < fn.blocks.length; b++) {
      const atEndOfBlock = this.endCopies[b].map((c) => ({
        to: this.registerOf(c.to, likeOf.get(this.classes.find(c.to))!),
        from: this.renamedOperand(c.from),
      }));
      const atTop = this.topCopies[b].map((c) => ({
        to: this.name(c.to),
        from: reg(this.registerOf(c.from, c.to)),
      }));
      for (const phi of d.phis(b)) d.remove(phi);
      for (let n = d.first(b); n >= 0; ) {
        const next = d.next(n);
        this.rewriteInstruction(n);
        n = next;
      }
      const head = d.first(b);
      for (const x of this.inOrder(atTop)) head >= 0 ? d.insertBefore(head, x) : d.append(b, x);
      for (const x of this.inOrder(atEndOfBlock)) d.insertAtEnd(b, x);
    }
  }

  private inOrder(copies: readonly Copy[]): Instr[] {
    return sequence(copies, (like) => this.d.freshReg(regFile(like))).map((c) =>
      this.moves.move(c.to, c.from),
    );
  }

  private renamedOperand(o: Operand): Operand {
    return o.reg === NO_REG ? o : withReg(o, this.name(o.reg));
  }

  private rewriteInstruction(n: number): void {
    const { d } = this;
    const x = d.at(n);
    let y = x;
    if (x.otherwise.length > 0) {
      const copies: Copy[] = [];
      x.otherwise.forEach((r, k) => {
        if (r !== NO_REG && x.dst[k] !== NO_REG && this.ranges.defBlock(r) >= 0)
          copies.push({ to: this.name(x.dst[k]), from: reg(this.name(r)) });
      });
      for (const c of this.inOrder(copies)) d.insertBefore(n, c);
      y = withOtherwise(y, NONE);
    }
    const ties = tiedResults(x);
    if (ties.length > 0) {
      const copies: Copy[] = [];
      const src = toOperands(x.src, (o) => this.renamedOperand(o));
      for (const t of ties) {
        const to = this.name(x.dst[t.dst]);
        if (x.otherwise.length === 0 && this.ranges.defBlock(x.src[t.src].reg) >= 0)
          copies.push({ to, from: src[t.src] });
        src[t.src] = reg(to);
      }
      for (const c of this.inOrder(copies)) d.insertBefore(n, c);
      y = withSrc(y, src);
    } else if (isReturn(x) && x.src.length > 0) {
      const copies = x.src.flatMap((o, k) =>
        !inSsa(o.reg) || this.ranges.defBlock(o.reg) < 0
          ? []
          : [{ to: this.returns[k], from: reg(this.name(o.reg)) }],
      );
      // In lanes that do not return here, the return registers keep their contents.
      const guard = this.name(x.guard);
      for (const c of this.inOrder(copies))
        d.insertBefore(n, x.guard === NO_REG ? c : withGuard(c, guard, x.guardNot));
      y = withSrc(y, []);
    } else if (y.src.some((o) => o.reg !== NO_REG && this.name(o.reg) !== o.reg))
      y = withSrc(
        y,
        toOperands(y.src, (o) => this.renamedOperand(o)),
      );
    if (y.guard !== NO_REG && this.name(y.guard) !== y.guard)
      y = withGuard(y, this.name(y.guard), y.guardNot);
    if (y.dst.some((r) => this.name(r) !== r))
      y = withDst(
        y,
        toRegs(y.dst, (r) => this.name(r)),
      );
    const copied = this.isMove(x) ? copyOf(this.moves, y) : null;
    if (copied !== null && copied.reg === y.dst[0]) d.remove(n);
    else d.replace(n, y);
  }
}
