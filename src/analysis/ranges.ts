import { isPhi } from '../ir/flow.ts';
import { OpFlag, slotWidth } from '../ir/opcode.ts';
import {
  FILE_WIDTH,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  regFile,
  regIndex,
} from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { Bounds, reduce } from '../isa/bounds.ts';
import { boundsProgram, constrain, evaluate, operandOf, SPARE, sourceWidth } from '../isa/bounds-program.ts';
import { blockShapeOf } from './block-shape.ts';
import { type DefUse, defUseOf } from './defuse.ts';
import { type DominatorTree, dominates, dominators } from './dominators.ts';
import { type FlowNodes, flowNodesOf } from './flow-nodes.ts';
import { livenessOf } from './liveness.ts';
import { memo } from './memo.ts';
import { type Fact, type ValueNames, valueNames } from './range-facts.ts';
import { singleValuesOf } from './single-values.ts';
import { WorkList } from './worklist.ts';

/** What is known of an integer or predicate register. */
export interface Known {
  /** Bits of the register. */
  readonly width: number;
  /** Bits that are certainly 0 and certainly 1, as words; bits above the width are known to be 0. */
  readonly zeroLow: number;
  readonly zeroHigh: number;
  readonly oneLow: number;
  readonly oneHigh: number;
  /** Least and greatest value, unsigned and signed. Beyond 2^53 they are rounded outwards. */
  readonly least: number;
  readonly most: number;
  readonly signedLeast: number;
  readonly signedMost: number;
}

/** Ranges of a snapshot; ask `rangeOf` and `rangeAt`. */
export interface Ranges {
  readonly fn: Fn;
  /** By name (see `ValueNames`). */
  readonly bounds: Bounds;
  readonly names: ValueNames;
  readonly nodes: FlowNodes;
  readonly dom: DominatorTree;
}

/**
 * Known bits and ranges of the integers of a snapshot: an abstract interpretation (Cousot and Cousot, POPL 1977) over
 * definitions and uses, from "no value" upwards with widening at phis, then a few steps down again. A register with several
 * definitions holds what any of them gives; one that may be read before it was written, anything.
 */
export const rangesOf: (fn: Fn) => Ranges = memo((fn) => new RangeSolver(fn).solve());

/** What a register may hold wherever it is defined. */
export const rangeOf = (r: Ranges, reg: Reg): Known => known(r, reg, regIndex(reg));

/** What a register may hold in the block at position `b`: branches that lead there tell more. */
export function rangeAt(r: Ranges, reg: Reg, b: number): Known {
  const list = r.names.factsOf.get(regIndex(reg));
  if (list === undefined) return rangeOf(r, reg);
  const { dom } = r;
  const node = r.nodes.segments.first[b];
  const at = dom.first[node];
  let low = 0;
  let high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (dom.first[r.names.facts[list[mid]].root] <= at) low = mid + 1;
    else high = mid;
  }
  const { regCount } = r.fn;
  for (let f = low > 0 ? list[low - 1] : -1; f >= 0; ) {
    const fact = r.names.facts[f];
    if (dominates(dom, fact.root, node)) return known(r, reg, regCount + f);
    f = fact.before - regCount;
  }
  return rangeOf(r, reg);
}

/** The one value that a register can have, as words; null if there are several. */
export function constantOf(k: Known): { readonly low: number; readonly high: number } | null {
  return (k.zeroLow | k.oneLow) === -1 && (k.zeroHigh | k.oneHigh) === -1
    ? { low: k.oneLow, high: k.oneHigh }
    : null;
}

function known(r: Ranges, reg: Reg, name: number): Known {
  const width = FILE_WIDTH[regFile(reg)];
  let p = r.bounds;
  let i = name;
  // What no definition reaches, and what is no integer, may be anything.
  if (p.isEmpty(name) || width > 64) {
    p = new Bounds(1);
    i = 0;
    p.setTop(0, Math.min(64, width));
  }
  return {
    width,
    zeroLow: p.zeroLow[i],
    zeroHigh: p.zeroHigh[i],
    oneLow: p.oneLow[i],
    oneHigh: p.oneHigh[i],
    least: p.least[i],
    most: p.most[i],
    signedLeast: p.signedLeast[i],
    signedMost: p.signedMost[i],
  };
}

/** Times a phi or variable may grow before it is widened: enough for short chains of constants. */
const GROWS = 3;
/** Times a value is computed again on the way down. Two recover the bound of a loop and what hangs on it. */
const SHRINKS = 3;

class RangeSolver {
  private readonly fn: Fn;
  private readonly du: DefUse;
  private readonly nodes: FlowNodes;
  private readonly names: ValueNames;
  private readonly bounds: Bounds;
  private readonly old = new Bounds(1);
  /** Register index -> 1 if it may hold anything, whatever its definitions give. */
  private readonly fixed: Uint8Array;
  /** Register index -> 1 if a cycle may lead back to it. */
  private readonly head: Uint8Array;
  private readonly grown: Uint8Array;
  private readonly widened: number[] = [];
  private scratch = new Bounds(64);
  /** Readers of a name: instructions, and facts as their number plus the number of instructions. */
  private readonly readerStart: Int32Array;
  private readonly readers: Int32Array;

  constructor(fn: Fn) {
    this.fn = fn;
    this.du = defUseOf(fn);
    this.nodes = flowNodesOf(fn);
    this.names = valueNames(fn);
    const { regCount } = fn;
    this.bounds = new Bounds(regCount + this.names.facts.length);
    this.fixed = new Uint8Array(regCount);
    this.head = new Uint8Array(regCount);
    this.grown = new Uint8Array(regCount);
    [this.readerStart, this.readers] = this.findReaders();
    this.classify();
  }

  private findReaders(): [Int32Array, Int32Array] {
    const { names, du } = this;
    const count = this.fn.regCount + names.facts.length;
    const start = new Int32Array(count + 1);
    const each = (visit: (name: number, reader: number) => void): void => {
      for (let n = 0; n < du.ins.length; n++)
        for (let k = names.start[n]; k < names.start[n + 1]; k++)
          if (names.name[k] >= 0) visit(names.name[k], n);
      for (let f = 0; f < names.facts.length; f++) {
        const fact = names.facts[f];
        if (fact.by === null) visit(fact.before, du.ins.length + f);
        else for (const name of fact.names) if (name >= 0) visit(name, du.ins.length + f);
      }
    };
    each((name) => start[name + 1]++);
    for (let i = 0; i < count; i++) start[i + 1] += start[i];
    const next = start.slice(0, count);
    const readers = new Int32Array(start[count]);
    each((name, reader) => {
      readers[next[name]++] = reader;
    });
    return [start, readers];
  }

  private classify(): void {
    const { du, fn, fixed, head } = this;
    const single = singleValuesOf(fn);
    let variables = false;
    for (let r = 0; r < fn.regCount; r++) {
      const defs = du.defStart[r + 1] - du.defStart[r];
      if (defs === 0 || du.entry[r] === 1) fixed[r] = 1;
      else if (single[r] === 0) {
        variables = true;
        head[r] = 1;
      } else if (isPhi(du.ins[du.defs[du.defStart[r]]])) head[r] = 1;
    }
    for (const b of fn.blocks)
      for (const x of b.ins) for (const d of x.dst) if (d !== NO_REG) this.checkFile(d);
    if (!variables || fn.blocks.length === 0) return;
    const { globals, liveIn } = livenessOf(fn);
    liveIn.forEach(0, (slot) => {
      fixed[regIndex(globals.names[slot])] = 1;
    });
  }

  private checkFile(d: Reg): void {
    if (regFile(d) === RegFile.RQ || regFile(d) === RegFile.B) this.fixed[regIndex(d)] = 1;
  }

  solve(): Ranges {
    const { du, fn, nodes, names, bounds, fixed } = this;
    const { cfg, segments } = nodes;
    const files = new Map<number, number>();
    const see = (r: Reg): void => {
      if (r !== NO_REG && fixed[regIndex(r)] === 1) files.set(regIndex(r), r);
    };
    for (const x of du.ins) {
      for (const o of x.src) see(o.reg);
      for (const r of x.dst) see(r);
      for (const r of x.otherwise) see(r);
      see(x.guard);
    }
    for (const [i, r] of files) bounds.setTop(i, Math.min(64, FILE_WIDTH[regFile(r)]));
    const work = new WorkList(du.ins.length + names.facts.length + 1);
    for (const v of cfg.rpo) {
      const first = du.blockStart[segments.block[v]];
      for (let n = first + segments.from[v]; n < first + segments.to[v]; n++) work.push(n);
    }
    for (let f = 0; f < names.facts.length; f++) work.push(du.ins.length + f);
    for (let n = work.pop(); n >= 0; n = work.pop())
      if (n >= du.ins.length) this.growFact(n - du.ins.length, work);
      else this.growResults(n, work);
    if (this.widened.length > 0) this.shrink();
    return { fn, bounds, names, nodes, dom: dominators(cfg) };
  }

  private pushReaders(name: number, work: WorkList): void {
    const { rpoNumber } = this.nodes.cfg;
    for (let u = this.readerStart[name]; u < this.readerStart[name + 1]; u++) {
      const n = this.readers[u];
      if (n >= this.du.ins.length || rpoNumber[this.nodes.nodeAt[n]] >= 0) work.push(n);
    }
  }

  private growFact(f: number, work: WorkList): void {
    const name = this.fn.regCount + f;
    const at = this.fact(this.names.facts[f]);
    if (at < 0) return;
    const width = FILE_WIDTH[regFile(this.names.facts[f].reg)];
    this.old.copy(0, this.bounds, name);
    this.bounds.join(name, width, this.scratch, at);
    if (!this.bounds.same(name, this.old, 0)) this.pushReaders(name, work);
  }

  private growResults(n: number, work: WorkList): void {
    const { dst } = this.du.ins[n];
    let ready: boolean | null = null;
    for (let k = 0; k < dst.length; k++) {
      if (dst[k] === NO_REG || this.fixed[regIndex(dst[k])] === 1) continue;
      ready ??= this.prepare(n);
      if (!ready) return;
      const i = regIndex(dst[k]);
      const width = FILE_WIDTH[regFile(dst[k])];
      const at = this.result(n, k, width);
      this.old.copy(0, this.bounds, i);
      this.bounds.join(i, width, this.scratch, at);
      if (this.bounds.same(i, this.old, 0)) continue;
      if (this.head[i] === 1) {
        if (this.grown[i] === GROWS) this.widened.push(i);
        if (this.grown[i] < 255) this.grown[i]++;
        if (this.grown[i] > GROWS) this.bounds.widen(i, width, this.old, 0);
      }
      this.pushReaders(i, work);
    }
  }

  /**
   * All is sound now: what an instruction gives for what its operands may hold is sound as well, and so is what both say.
   * Values that were widened, and what hangs on them, are computed again a few times.
   */
  private shrink(): void {
    const { du, fn, names, bounds } = this;
    const count = fn.regCount + names.facts.length;
    const work = new WorkList(count);
    const times = new Uint8Array(count);
    for (const i of this.widened) work.push(i);
    const temporary = new Bounds(1);
    for (let name = work.pop(); name >= 0; name = work.pop()) {
      if (times[name] >= SHRINKS || bounds.isEmpty(name)) continue;
      times[name]++;
      const reg = name < fn.regCount ? this.registerOf(name) : names.facts[name - fn.regCount].reg;
      const width = FILE_WIDTH[regFile(reg)];
      temporary.setEmpty(0);
      if (name >= fn.regCount) {
        const at = this.fact(names.facts[name - fn.regCount]);
        if (at >= 0) temporary.copy(0, this.scratch, at);
      } else
        for (let d = du.defStart[name]; d < du.defStart[name + 1]; d++) {
          const n = du.defs[d];
          if (this.nodes.cfg.rpoNumber[this.nodes.nodeAt[n]] < 0 || !this.prepare(n)) continue;
          const { dst } = du.ins[n];
          for (let k = 0; k < dst.length; k++)
            if (dst[k] === reg) temporary.join(0, width, this.scratch, this.result(n, k, width));
        }
      this.old.copy(0, bounds, name);
      if (temporary.isEmpty(0) || !bounds.meet(name, width, temporary, 0)) continue;
      if (bounds.same(name, this.old, 0)) continue;
      for (let u = this.readerStart[name]; u < this.readerStart[name + 1]; u++) {
        const n = this.readers[u];
        if (n >= du.ins.length) work.push(fn.regCount + n - du.ins.length);
        else
          for (const r of du.ins[n].dst)
            if (r !== NO_REG && this.fixed[regIndex(r)] === 0) work.push(regIndex(r));
      }
    }
  }

  private registerOf(i: number): Reg {
    for (const r of this.du.ins[this.du.defs[this.du.defStart[i]]].dst)
      if (r !== NO_REG && regIndex(r) === i) return r;
    throw new Error(`register ${i} has no definition`);
  }

  // ---------------------------------------------------------------------- one instruction

  private room(slots: number): void {
    if (this.scratch.least.length < slots) this.scratch = new Bounds(2 * slots);
  }

  /** Slot `to` gets what an operand may hold. @returns false if it is not known yet */
  private load(to: number, o: Operand, width: number, name: number): boolean {
    if (name >= 0 && o.kind === Kind.Reg) {
      if (this.bounds.isEmpty(name)) return false;
      this.scratch.copy(to, this.bounds, name);
    } else if (o.kind === Kind.Imm) this.scratch.setConstant(to, width, o.lo, o.hi);
    else this.scratch.setTop(to, width);
    return true;
  }

  /** Computes what `result` gives. @returns false if an operand has no value yet */
  private prepare(n: number): boolean {
    const x = this.du.ins[n];
    const { start, name } = this.names;
    const g = boundsProgram(x);
    if (g === null) return true;
    this.room(g.count + SPARE);
    for (let k = 0; k < g.sources.length; k++)
      if (
        g.sources[k] >= 0 &&
        !this.load(
          g.sources[k],
          operandOf(x, k),
          sourceWidth(x, k),
          k < x.src.length ? name[start[n] + k] : -1,
        )
      )
        return false;
    evaluate(g, this.scratch);
    return true;
  }

  /** Slot with what destination `k` gets, after `prepare`. */
  private result(n: number, k: number, width: number): number {
    const x = this.du.ins[n];
    const { start, name } = this.names;
    const g = boundsProgram(x);
    let at = g === null ? this.primitive(x, n, k, width) : g.graph.dsts[k];
    const other =
      k < x.otherwise.length && x.otherwise[k] !== NO_REG ? name[start[n] + x.src.length + k] : -1;
    if (other >= 0 && !this.bounds.isEmpty(other)) {
      const to = g === null ? 1 : g.count;
      this.scratch.copy(to, this.scratch, at);
      this.scratch.join(to, width, this.bounds, other);
      at = to;
    }
    return at;
  }

  private primitive(x: Instr, n: number, k: number, width: number): number {
    const p = this.scratch;
    const { op } = x;
    if (isPhi(x)) {
      const { start, name } = this.names;
      p.setEmpty(0);
      for (let s = 1; s < x.src.length; s += 2)
        if (this.load(1, x.src[s], width, name[start[n] + s])) p.join(0, width, p, 1);
      return 0;
    }
    p.setTop(0, width);
    if (op.special.length > 0) this.special(x);
    else if ((op.flags & (OpFlag.ReadsMemory | OpFlag.WritesMemory)) === OpFlag.ReadsMemory) {
      // A narrow type is extended as it says.
      const slot = op.dsts[Math.min(k, op.dsts.length - 1)];
      const group = slot.widthFrom === null ? undefined : op.groupByName.get(slot.widthFrom);
      const type = group?.values[(x.mods >>> group.shift) & group.mask].type ?? '';
      const m = /^([us])(8|16)$/.exec(type);
      if (m !== null && slotWidth(op, x.mods, slot) === 32) {
        const size = 2 ** Number(m[2]);
        if (m[1] === 'u') p.most[0] = size - 1;
        else {
          p.signedLeast[0] = -size / 2;
          p.signedMost[0] = size / 2 - 1;
        }
      }
    }
    reduce(p, 0, width);
    return 0;
  }

  private special(x: Instr): void {
    const g = x.op.groups[0];
    const s = x.op.special[(x.mods >>> g.shift) & g.mask];
    if (s === null) return;
    const { extent, mostThreads } = blockShapeOf(this.fn);
    const p = this.scratch;
    p.least[0] = s.least;
    p.most[0] = Math.min(s.most, p.most[0]);
    if (s.extent >= 0) {
      p.most[0] = Math.min(p.most[0], extent === null ? mostThreads : extent[s.extent]);
      if (extent !== null) p.least[0] = extent[s.extent];
    }
    if (s.thread >= 0)
      p.most[0] = Math.min(p.most[0], (extent === null ? mostThreads : extent[s.thread]) - 1);
  }

  /** Slot with what a fact says, -1 if that is nothing yet. */
  private fact(f: Fact): number {
    const p = this.scratch;
    const width = FILE_WIDTH[regFile(f.reg)];
    if (f.by === null) {
      if (this.bounds.isEmpty(f.before)) return -1;
      p.copy(0, this.bounds, f.before);
      p.setTop(1, width);
      p.least[1] = f.least;
      p.most[1] = f.most;
      reduce(p, 1, width);
      p.meet(0, width, p, 1);
      return 0;
    }
    const { ins, program: g, compare, holds } = f.by;
    this.room(g.count + SPARE);
    const q = this.scratch;
    for (let k = 0; k < g.sources.length; k++)
      if (
        g.sources[k] >= 0 &&
        !this.load(g.sources[k], operandOf(ins, k), sourceWidth(ins, k), k < f.names.length ? f.names[k] : -1)
      )
        return -1;
    evaluate(g, q);
    const a = g.args[3 * compare];
    const b = g.args[3 * compare + 1];
    const spare = g.count;
    q.copy(spare, q, a);
    q.copy(spare + 1, q, b);
    // A way that is never taken: what holds before the branch is as good as anything.
    if (!constrain(g, q, compare, holds, spare, spare + 1)) return g.sources[f.source];
    return g.sources[f.source] === a ? spare : spare + 1;
  }
}
