import { isPhi } from '../../ir/flow.ts';
import { FILE_WIDTH, NO_REG, type Reg, RegFile, regFile, regIndex } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { Bounds } from '../../isa/bounds.ts';
import { type FlowNodes, flowNodesOf } from '../flow/flow-nodes.ts';
import { livenessOf } from '../registers/liveness.ts';
import { WorkList } from '../structures/worklist.ts';
import { type DefUse, defUseOf } from './defuse.ts';
import { type ValueNames, valueNames } from './range-facts.ts';
import { RangeTransfer } from './range-transfer.ts';
import { singleValuesOf } from './single-values.ts';

/** The bounds of each name, with the names and nodes that they refer to. */
export interface Solution {
  /** By name (see `ValueNames`). */
  readonly bounds: Bounds;
  readonly names: ValueNames;
  readonly nodes: FlowNodes;
}

/** Number of times a phi or variable may grow before it is widened: enough for short chains of constants. */
const GROWS = 3;
/** Number of times a value is recomputed while narrowing. Two recover the bound of a loop and what depends on it. */
const SHRINKS = 3;

/** Computes the ranges of a function. See `rangesOf`. */
export class RangeSolver {
  private readonly fn: Fn;
  private readonly du: DefUse;
  private readonly nodes: FlowNodes;
  private readonly names: ValueNames;
  private readonly bounds: Bounds;
  private readonly old = new Bounds(1);
  /** Register index -> 1 if it may hold anything, regardless of its definitions. */
  private readonly fixed: Uint8Array;
  /** Register index -> 1 if its value may depend on itself. */
  private readonly head: Uint8Array;
  private readonly grown: Uint8Array;
  private readonly widened: number[] = [];
  private readonly transfer: RangeTransfer;
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
    this.transfer = new RangeTransfer(fn, this.du, this.names, this.bounds);
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

  /** Computes the bounds of each name. Must be called only once. */
  solve(): Solution {
    const { du, nodes, names, bounds, fixed } = this;
    const { cfg, segments } = nodes;
    const files = new Map<number, number>();
    const collect = (r: Reg): void => {
      if (r !== NO_REG && fixed[regIndex(r)] === 1) files.set(regIndex(r), r);
    };
    for (const x of du.ins) {
      for (const o of x.src) collect(o.reg);
      for (const r of x.dst) collect(r);
      for (const r of x.otherwise) collect(r);
      collect(x.guard);
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
    return { bounds, names, nodes };
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
    const at = this.transfer.fact(this.names.facts[f]);
    if (at < 0) return;
    const width = FILE_WIDTH[regFile(this.names.facts[f].reg)];
    this.old.copy(0, this.bounds, name);
    this.bounds.join(name, width, this.transfer.scratch, at);
    if (!this.bounds.same(name, this.old, 0)) this.pushReaders(name, work);
  }

  private growResults(n: number, work: WorkList): void {
    const { dst } = this.du.ins[n];
    let ready: boolean | null = null;
    for (let k = 0; k < dst.length; k++) {
      if (dst[k] === NO_REG || this.fixed[regIndex(dst[k])] === 1) continue;
      ready ??= this.transfer.prepare(n);
      if (!ready) return;
      const i = regIndex(dst[k]);
      const width = FILE_WIDTH[regFile(dst[k])];
      const at = this.transfer.result(n, k, width);
      this.old.copy(0, this.bounds, i);
      this.bounds.join(i, width, this.transfer.scratch, at);
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
   * All bounds are sound now. The result of an instruction for sound operand bounds is sound as well, and so is its
   * intersection with the old bounds. Values that were widened, and those that depend on them, are recomputed a few
   * times.
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
        const at = this.transfer.fact(names.facts[name - fn.regCount]);
        if (at >= 0) temporary.copy(0, this.transfer.scratch, at);
      } else
        for (let d = du.defStart[name]; d < du.defStart[name + 1]; d++) {
          const n = du.defs[d];
          if (this.nodes.cfg.rpoNumber[this.nodes.nodeAt[n]] < 0 || !this.transfer.prepare(n)) continue;
          const { dst } = du.ins[n];
          for (let k = 0; k < dst.length; k++)
            if (dst[k] === reg)
              temporary.join(0, width, this.transfer.scratch, this.transfer.result(n, k, width));
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
}
