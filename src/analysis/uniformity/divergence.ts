import { isPhi } from '../../ir/flow.ts';
import { memo } from '../../ir/memo.ts';
import { Lanes } from '../../ir/opcode.ts';
import { NO_REG, type Reg, regIndex, sameOperand } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { blockShapeOf } from '../flow/block-shape.ts';
import { isControl } from '../flow/cfg.ts';
import { type FlowNodes, flowNodesOf } from '../flow/flow-nodes.ts';
import { inLoop } from '../loops/loops.ts';
import { type Liveness, livenessOf } from '../registers/liveness.ts';
import { WorkList } from '../structures/worklist.ts';
import { type DefUse, defUseOf } from '../values/defuse.ts';
import { singleValuesOf } from '../values/single-values.ts';
import { isDetermined, laneRule, loadsMutable, specialLanes, writtenBy } from './lane-sources.ts';
import { SyncDependence, type SyncSink } from './sync-dependence.ts';

/**
 * How far lanes agree, in the levels of `Lanes`. It concerns lanes that execute an instruction together after the same iterations of
 * the loops around it; lanes that have exited do not count.
 *
 * A register read before it is written holds anything: if only some paths lead past its definition, it counts as what the other paths
 * give.
 */
export interface Divergence {
  readonly fn: Fn;
  /** By register index: level inside the loops of its definition. Use `lanesAt` for any other place. */
  readonly value: Uint8Array;
  /** By block position: level of the block's successor choice. `Varying`: lanes of a warp may diverge. */
  readonly branch: Uint8Array;
  /**
   * By block position: `Block` if all threads of the block execute it or none, `Warp` the same for each warp,
   * `Varying` if some lanes may execute it without the others.
   */
  readonly control: Uint8Array;
  /** By block position: `Varying` if lanes of a warp that took different paths may meet at its start. */
  readonly join: Uint8Array;
  /** The solver, for `lanesAt`. */
  readonly solver: DivergenceSolver;
}

/**
 * Divergence of a snapshot, in SSA or not: which values differ between lanes, by data (Coutinho, Sampaio, Pereira and Meira,
 * "Divergence Analysis and Optimizations", PACT 2011) and by control (`SyncDependence`). It is a fixpoint that starts from "all agree";
 * every register rises at most twice.
 *
 * Outside SSA a register with several definitions is one variable with one level everywhere. It rises if lanes that diverged may bring
 * different definitions to a join at which it is live.
 */
export const divergenceOf: (fn: Fn) => Divergence = memo((fn) => new DivergenceSolver(fn).solve());

/**
 * Level of a register as the block at position `b` sees it: after a loop that lanes leave in different iterations,
 * its values differ.
 */
export function lanesAt(d: Divergence, r: Reg, b: number): number {
  const { first } = d.solver.nodes.segments;
  let level: number = Lanes.Block;
  for (let n = first[b]; n < first[b + 1]; n++) level = Math.max(level, d.solver.levelAt(r, n));
  return level;
}

class DivergenceSolver implements SyncSink {
  readonly nodes: FlowNodes;
  private readonly fn: Fn;
  private readonly du: DefUse;
  private readonly single: Uint8Array;
  private readonly level: Uint8Array;
  private readonly sync: SyncDependence;
  private readonly work: WorkList;
  private live: Liveness | null = null;
  /** Branches whose level rose to `Warp` or `Varying` and whose paths have not been followed yet, by level. */
  private readonly parted: number[][] = [[], [], []];

  constructor(fn: Fn) {
    this.fn = fn;
    this.du = defUseOf(fn);
    this.nodes = flowNodesOf(fn);
    this.single = singleValuesOf(fn);
    this.level = new Uint8Array(fn.regCount);
    this.sync = new SyncDependence(this.nodes.cfg, this);
    this.work = new WorkList(Math.max(1, this.du.ins.length));
  }

  solve(): Divergence {
    const { du, fn, level, nodes, sync, work } = this;
    // Undefined registers hold anything; parameters of device functions depend on the caller's lanes.
    const outside = fn.kind === 'entry' ? Lanes.Block : Lanes.Varying;
    for (let r = 0; r < fn.regCount; r++)
      if (du.entry[r] === 1) level[r] = outside;
      else if (du.defStart[r] === du.defStart[r + 1]) level[r] = Lanes.Varying;
    for (let n = 0; n < du.ins.length; n++) if (nodes.cfg.rpoNumber[nodes.nodeAt[n]] >= 0) this.evaluate(n);
    for (;;) {
      for (let n = work.pop(); n >= 0; n = work.pop()) this.evaluate(n);
      const at = this.parted[Lanes.Varying].length > 0 ? Lanes.Varying : Lanes.Warp;
      const batch = this.parted[at].filter((b) => sync.branch[b] < at);
      this.parted[at].length = 0;
      if (batch.length > 0) sync.part(batch, at);
      else if (this.parted[Lanes.Warp].length === 0) break;
    }
    return {
      fn,
      value: level,
      branch: this.byBlock(sync.branch),
      control: this.byBlock(sync.control),
      join: this.byBlock(sync.joins),
      solver: this,
    };
  }

  private byBlock(levels: Uint8Array): Uint8Array {
    const { first, block, count } = this.nodes.segments;
    if (first.length - 1 === count) return levels;
    const out = new Uint8Array(first.length - 1);
    for (let s = 0; s < count; s++) out[block[s]] = Math.max(out[block[s]], levels[s]);
    return out;
  }

  /** Level of a register read in a node. */
  levelAt(r: Reg, node: number): number {
    const i = regIndex(r);
    let level = this.level[i];
    if (level === Lanes.Varying || this.single[i] === 0) return level;
    const { forest, loop } = this.sync;
    const home = this.nodes.nodeAt[this.du.defs[this.du.defStart[i]]];
    for (let l = forest.innermost[home]; l >= 0 && !inLoop(forest, l, node); l = forest.loops[l].parent)
      if (loop[l] > level) level = loop[l];
    return level;
  }

  private evaluate(n: number): void {
    const x = this.du.ins[n];
    const node = this.nodes.nodeAt[n];
    if (isPhi(x)) {
      this.raise(x.dst[0], this.phi(x, node));
      return;
    }
    const { dst } = x;
    for (let k = 0; k < dst.length; k++) {
      if (dst[k] === NO_REG || this.level[regIndex(dst[k])] === Lanes.Varying) continue;
      let level = this.result(x, k, node);
      if (x.guard !== NO_REG) level = Math.max(level, this.levelAt(x.guard, node));
      if (k < x.otherwise.length && x.otherwise[k] !== NO_REG)
        level = Math.max(level, this.levelAt(x.otherwise[k], node));
      this.raise(dst[k], level);
    }
    if (isControl(x)) this.leave(x, n, node);
  }

  private phi(x: Instr, node: number): number {
    const { src } = x;
    let level: number = Lanes.Block;
    let same = true;
    for (let k = 1; k < src.length; k += 2) {
      if (src[k].reg !== NO_REG) level = Math.max(level, this.levelAt(src[k].reg, node));
      same &&= sameOperand(src[k], src[1]);
    }
    return same ? level : Math.max(level, this.sync.joins[node]);
  }

  /** Level of everything that the instruction reads except its guard. */
  private operands(x: Instr, node: number): number {
    let level: number = Lanes.Block;
    for (let k = 0; k < x.src.length; k++)
      if (x.src[k].reg !== NO_REG) level = Math.max(level, this.levelAt(x.src[k].reg, node));
    return level;
  }

  private result(x: Instr, k: number, node: number): number {
    const { op } = x;
    if (op.special.length > 0) {
      const g = op.groups[0];
      return specialLanes(op.special[(x.mods >>> g.shift) & g.mask], blockShapeOf(this.fn));
    }
    const rule = laneRule(x, k);
    if (rule === null) return isDetermined(x) ? this.operands(x, node) : Lanes.Varying;
    if (rule.from === 'operands') return this.operands(x, node);
    /*
     * Memory: a load from one address gives one value if nothing writes there while the kernel runs. If something
     * may, lanes that diverged before the load may execute it at different times, with a write by one of them or by
     * another warp in between, even in a program without races. The order of accesses is not considered.
     */
    if (rule.from === 'memory')
      return loadsMutable(op, writtenBy(this.fn)) ? Lanes.Varying : this.operands(x, node);
    let level = rule.level;
    for (const s of rule.from)
      if (s < x.src.length && x.src[s].reg !== NO_REG)
        level = Math.max(level, this.levelAt(x.src[s].reg, node));
    return level;
  }

  /** Level of the successor choice of a node with several successors. */
  private leave(x: Instr, n: number, node: number): void {
    const { succStart } = this.nodes.cfg;
    if (succStart[node + 1] - succStart[node] < 2) return;
    if (n + 1 < this.nodes.nodeAt.length && this.nodes.nodeAt[n + 1] === node) return;
    let level = this.operands(x, node);
    if (x.guard !== NO_REG) level = Math.max(level, this.levelAt(x.guard, node));
    const stated = laneRule(x, -1);
    if (stated !== null) level = Math.min(level, stated.level);
    if (level > this.sync.branch[node]) this.parted[level].push(node);
  }

  private raise(r: Reg, level: number): void {
    const i = regIndex(r);
    if (r === NO_REG || this.level[i] >= level) return;
    this.level[i] = level;
    this.pushUses(i);
  }

  private pushUses(i: number): void {
    const { useStart, uses } = this.du;
    const { cfg, nodeAt } = this.nodes;
    for (let u = useStart[i]; u < useStart[i + 1]; u++)
      if (cfg.rpoNumber[nodeAt[uses[u]]] >= 0) this.work.push(uses[u]);
  }

  // ---------------------------------------------------------------------- what sweeps find

  join(node: number, level: number, onTheWay: (node: number) => boolean): void {
    const { blockStart, ins } = this.du;
    const { block, from, to } = this.nodes.segments;
    for (let i = from[node]; i < to[node]; i++) {
      const n = blockStart[block[node]] + i;
      if (!isPhi(ins[n])) break;
      this.work.push(n);
    }
    this.raiseVariables(node, level, onTheWay);
  }

  loop(id: number, level: number, nodes: readonly number[], exits: readonly number[]): void {
    const { forest } = this.sync;
    const { block, from, to } = this.nodes.segments;
    for (const b of nodes) {
      const { ins } = this.fn.blocks[block[b]];
      for (let i = from[b]; i < to[b]; i++)
        for (const r of ins[i].dst)
          if (r !== NO_REG && this.single[regIndex(r)] === 1) this.pushUses(regIndex(r));
    }
    for (const out of exits) this.raiseVariables(out, level, (b) => inLoop(forest, id, b));
  }

  region(nodes: readonly number[], level: number): void {
    const { block, from, to } = this.nodes.segments;
    for (const b of nodes) {
      const { ins } = this.fn.blocks[block[b]];
      const first = this.du.blockStart[block[b]];
      for (let i = from[b]; i < to[b]; i++)
        if (isPhi(ins[i])) this.work.push(first + i);
        else
          for (const r of ins[i].dst)
            if (r !== NO_REG && this.single[regIndex(r)] === 0) this.raise(r, level);
    }
  }

  /** Raises variables that are live at the node and have a definition on one of the paths to it. */
  private raiseVariables(node: number, level: number, onTheWay: (node: number) => boolean): void {
    const { fn, du, single } = this;
    if (!this.hasVariables()) return;
    this.live ??= livenessOf(fn);
    const { globals, liveIn } = this.live;
    const { names } = globals;
    liveIn.forEach(node, (slot) => {
      const i = regIndex(names[slot]);
      if (single[i] === 1 || this.level[i] >= level) return;
      for (let d = du.defStart[i]; d < du.defStart[i + 1]; d++)
        if (onTheWay(this.nodes.nodeAt[du.defs[d]])) {
          this.raise(names[slot], level);
          return;
        }
    });
  }

  private variables: boolean | null = null;
  private hasVariables(): boolean {
    if (this.variables !== null) return this.variables;
    const { defStart } = this.du;
    this.variables = false;
    for (let r = 0; r < this.fn.regCount && !this.variables; r++)
      this.variables = this.single[r] === 0 && defStart[r + 1] > defStart[r];
    return this.variables;
  }
}

export type { DivergenceSolver };
