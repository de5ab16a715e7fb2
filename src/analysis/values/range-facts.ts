import { isPhi } from '../../ir/flow.ts';
import { valueOfEntry } from '../../ir/jump-table.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { type BoundsProgram, boundsProgram, operandOf } from '../../isa/bounds-program.ts';
import { cfgOf } from '../flow/cfg.ts';
import { dominators } from '../flow/dominators.ts';
import { type FlowNodes, flowNodesOf, lastNode } from '../flow/flow-nodes.ts';
import { type DefUse, defUseOf } from './defuse.ts';
import { singleValuesOf } from './single-values.ts';

/** Maximum number of comparisons into which the condition of one branch is split; the rest of a longer condition is ignored. */
const MOST_CONDITIONS = 8;

/**
 * A fact that a branch establishes about a register on one of its edges: a new name for the register there, as in e-SSA form (Bodik,
 * Gupta and Sarkar, "ABCD: Eliminating Array Bounds Checks on Demand", PLDI 2000).
 */
export interface Fact {
  readonly reg: Reg;
  /** The register, or the fact about it, that holds before the branch. */
  readonly before: number;
  /**
   * Node that only this edge reaches, so that the fact holds in everything that it dominates; -1: it holds on the
   * edge only.
   */
  readonly root: number;
  /** Comparison that evaluated to `holds`: node `compare` in the meaning of an instruction; else null. */
  readonly by: {
    readonly ins: Instr;
    readonly program: BoundsProgram;
    readonly compare: number;
    readonly holds: 0 | 1;
  } | null;
  /** Which source of the instruction is the register; names of all sources at the branch (-1: not a register). */
  readonly source: number;
  readonly names: readonly number[];
  /** Unsigned bounds, if there is no comparison. */
  readonly least: number;
  readonly most: number;
}

/**
 * Names of values: register index, or `regCount` + number of a fact. A use has the name of the nearest fact that
 * holds there, so that a fact affects exactly the uses below it.
 */
export interface ValueNames {
  readonly facts: readonly Fact[];
  /** Name of source k of instruction n at `start[n] + k`, followed by those of its `otherwise`; -1 if not a register. */
  readonly start: Int32Array;
  readonly name: Int32Array;
  /** By register index: its facts with a root, in dominator-tree preorder of the roots. */
  readonly factsOf: ReadonlyMap<number, readonly number[]>;
}

/** Is it a label or a table, which are the possible targets of control? */
const isPlace = (o: Operand): boolean => o.kind === Kind.Label || o.kind === Kind.Table;

/** Names every use of a snapshot in one walk over the dominator tree. */
export function valueNames(fn: Fn): ValueNames {
  return new Namer(fn).run();
}

class Namer {
  private readonly fn: Fn;
  private readonly du: DefUse;
  private readonly nodes: FlowNodes;
  private readonly single: Uint8Array;
  private readonly facts: Fact[] = [];
  private readonly current: Int32Array;
  /** Registers that were renamed, and their previous names. */
  private readonly undo: number[] = [];
  private readonly factsOf = new Map<number, number[]>();
  private readonly positionOf: Int32Array;
  private readonly tables = new Map<number, Map<number, { first: number; last: number }>>();
  /** By node: index of each predecessor in the first phi. */
  private readonly ways = new Map<number, Map<number, number>>();

  constructor(fn: Fn) {
    this.fn = fn;
    this.du = defUseOf(fn);
    this.nodes = flowNodesOf(fn);
    this.single = singleValuesOf(fn);
    this.positionOf = cfgOf(fn).positionOf;
    this.current = Int32Array.from({ length: fn.regCount }, (_, r) => r);
  }

  run(): ValueNames {
    const { du, nodes } = this;
    const { cfg, segments } = nodes;
    const start = new Int32Array(du.ins.length + 1);
    for (let n = 0; n < du.ins.length; n++)
      start[n + 1] = start[n] + du.ins[n].src.length + du.ins[n].otherwise.length;
    const name = new Int32Array(start[du.ins.length]).fill(-1);
    const dom = dominators(cfg);
    const open: number[] = [];
    const marks: number[] = [];
    for (const v of dom.preorder) {
      while (open.length > 0 && dom.first[v] > dom.last[open[open.length - 1]]) {
        open.pop();
        this.rollBack(marks.pop()!);
      }
      open.push(v);
      marks.push(this.undo.length);
      const up = dom.idom[v];
      if (up >= 0 && cfg.predStart[v + 1] - cfg.predStart[v] === 1) this.assume(up, v, v);
      const first = du.blockStart[segments.block[v]];
      for (let n = first + segments.from[v]; n < first + segments.to[v]; n++) {
        const x = du.ins[n];
        if (isPhi(x)) continue;
        for (let k = 0; k < x.src.length; k++)
          if (x.src[k].reg !== NO_REG) name[start[n] + k] = this.current[regIndex(x.src[k].reg)];
        for (let k = 0; k < x.otherwise.length; k++)
          if (x.otherwise[k] !== NO_REG)
            name[start[n] + x.src.length + k] = this.current[regIndex(x.otherwise[k])];
      }
      for (let e = cfg.succStart[v]; e < cfg.succStart[v + 1]; e++)
        this.namePhis(v, cfg.succ[e], start, name);
    }
    return { facts: this.facts, start, name, factsOf: this.factsOf };
  }

  /** Names the registers that phis of `to` read from node `from`. */
  private namePhis(from: number, to: number, start: Int32Array, name: Int32Array): void {
    const { du, fn, nodes } = this;
    const { segments } = nodes;
    const block = segments.block[to];
    const first = du.blockStart[block];
    if (segments.from[to] !== 0 || segments.to[to] === 0 || !isPhi(du.ins[first])) return;
    const here = segments.block[from];
    if (lastNode(nodes, here) !== from) return;
    const id = fn.blocks[here].id;
    let ways = this.ways.get(to);
    if (ways === undefined) {
      this.ways.set(to, (ways = new Map()));
      const { src } = du.ins[first];
      for (let k = 0; k < src.length; k += 2) ways.set(src[k].lo, k);
    }
    const mark = this.undo.length;
    this.assume(from, to, -1);
    for (let n = first; n < first + segments.to[to] && isPhi(du.ins[n]); n++) {
      const { src } = du.ins[n];
      // Phis of a block mostly list its predecessors in the same order.
      let k = ways.get(id) ?? 0;
      if (k >= src.length || src[k].lo !== id) k = src.findIndex((o, j) => j % 2 === 0 && o.lo === id);
      if (k >= 0 && src[k + 1].reg !== NO_REG)
        name[start[n] + k + 1] = this.current[regIndex(src[k + 1].reg)];
    }
    this.rollBack(mark);
  }

  private rollBack(mark: number): void {
    while (this.undo.length > mark) {
      const old = this.undo.pop()!;
      this.current[this.undo.pop()!] = old;
    }
  }

  /** Names the facts that hold on the edge from node `from` to node `to`; `root` is `to` or -1. */
  private assume(from: number, to: number, root: number): void {
    const { cfg, segments } = this.nodes;
    const { ins } = this.fn.blocks[segments.block[from]];
    const last = segments.to[from] > segments.from[from] ? ins[segments.to[from] - 1] : null;
    if (last === null) return;
    if (cfg.succStart[from + 1] - cfg.succStart[from] < 2) {
      // After a guarded exit, the guard is false.
      if ((last.op.flags & OpFlag.NoFallThrough) !== 0 && last.guard !== NO_REG && !last.src.some(isPlace))
        this.hold(last.guard, last.guardNot ? 1 : 0, root, { left: MOST_CONDITIONS });
      return;
    }
    const labels = last.src.filter((o) => o.kind === Kind.Label);
    if (labels.length === 1 && last.src.length === 1 && last.guard !== NO_REG) {
      const taken = this.nodeOf(labels[0].lo) === to;
      const conditions = { left: MOST_CONDITIONS };
      this.hold(last.guard, taken !== last.guardNot ? 1 : 0, root, conditions);
    } else if (last.guard === NO_REG) this.index(last, to, root);
  }

  private nodeOf(block: number): number {
    const p = this.positionOf[block] ?? -1;
    return p < 0 ? -1 : this.nodes.segments.first[p];
  }

  /** A jump through a table reached `to`, so the index is one of those that lead there. */
  private index(x: Instr, to: number, root: number): void {
    const at = x.src.findIndex((o) => o.kind === Kind.Table);
    const i = x.src.findIndex((o) => o.kind === Kind.Reg);
    if (at < 0 || i < 0 || this.single[regIndex(x.src[i].reg)] === 0) return;
    const hits = this.entries(x.src[at].lo).get(to);
    if (hits === undefined) return;
    this.add(x.src[i].reg, root, null, -1, [], valueOfEntry(x, hits.first), valueOfEntry(x, hits.last));
  }

  /** By node: the first and the last entry of a table that leads there. */
  private entries(table: number): Map<number, { first: number; last: number }> {
    let found = this.tables.get(table);
    if (found !== undefined) return found;
    this.tables.set(table, (found = new Map()));
    for (const [k, id] of (this.fn.tables[table] ?? []).entries()) {
      const node = this.nodeOf(id);
      const hit = found.get(node);
      if (hit === undefined) found.set(node, { first: k, last: k });
      else hit.last = k;
    }
    return found;
  }

  /** Records that predicate `p` has the value `holds`. */
  private hold(p: Reg, holds: 0 | 1, root: number, conditions: { left: number }): void {
    const i = regIndex(p);
    if (this.single[i] === 0 || conditions.left-- <= 0) return;
    this.add(p, root, null, -1, [], holds, holds);
    const ins = this.du.ins[this.du.defs[this.du.defStart[i]]];
    if (ins.guard !== NO_REG) return;
    const program = boundsProgram(ins);
    if (program !== null)
      this.condition(ins, program, program.graph.dsts[ins.dst.indexOf(p)], holds, root, conditions);
  }

  /** Records that node `at` of an instruction's meaning has the value `holds`. */
  private condition(
    ins: Instr,
    g: BoundsProgram,
    at: number,
    holds: 0 | 1,
    root: number,
    conditions: { left: number },
  ): void {
    const a = g.args[3 * at];
    const b = g.args[3 * at + 1];
    switch (g.ops[at]) {
      case 'not':
        return this.condition(ins, g, a, holds === 1 ? 0 : 1, root, conditions);
      case 'and':
      case 'or': {
        const all = g.ops[at] === 'and' ? 1 : 0;
        if (holds === all || truthOf(ins, g, b) === all) this.condition(ins, g, a, holds, root, conditions);
        if (holds === all || truthOf(ins, g, a) === all) this.condition(ins, g, b, holds, root, conditions);
        return;
      }
      case 'src': {
        const { reg, kind } = ins.src[g.graph.nodes[at].n] ?? { reg: NO_REG, kind: Kind.Imm };
        if (kind === Kind.Reg && g.widths[at] === 1) this.hold(reg, holds, root, conditions);
        return;
      }
      case 'lop3':
        // Inputs that have the same value in all rows with this result.
        for (let k = 0; k < 3; k++) {
          let seen = 0;
          for (let row = 0; row < 8; row++)
            if (((g.n[at] >> row) & 1) === holds && allows(ins, g, at, row))
              seen |= ((row >> (2 - k)) & 1) === 1 ? 2 : 1;
          if (seen === 1 || seen === 2)
            this.condition(ins, g, g.args[3 * at + k], seen === 2 ? 1 : 0, root, conditions);
        }
        return;
      case 'eq':
      case 'ult':
      case 'slt': {
        if (g.widths[a] === 1) {
          // Truth values: equal to a known one or not.
          const known = truthOf(ins, g, b);
          if (g.ops[at] === 'eq' && known >= 0)
            this.condition(ins, g, a, known === holds ? 1 : 0, root, conditions);
          return;
        }
        const by = { ins, program: g, compare: at, holds };
        for (const side of a === b ? [a] : [a, b]) {
          if (g.ops[side] !== 'src') continue;
          const source = g.graph.nodes[side].n;
          const o = ins.src[source];
          if (o === undefined || o.kind !== Kind.Reg || this.single[regIndex(o.reg)] === 0) continue;
          const names = ins.src.map((s) => (s.reg === NO_REG ? -1 : this.current[regIndex(s.reg)]));
          this.add(o.reg, root, by, source, names, 0, 0);
        }
        return;
      }
      default:
    }
  }

  private add(
    reg: Reg,
    root: number,
    by: Fact['by'],
    source: number,
    names: readonly number[],
    least: number,
    most: number,
  ): void {
    const i = regIndex(reg);
    const number = this.facts.length;
    this.facts.push({ reg, before: this.current[i], root, by, source, names, least, most });
    this.undo.push(i, this.current[i]);
    this.current[i] = this.fn.regCount + number;
    if (root < 0) return;
    const list = this.factsOf.get(i);
    if (list === undefined) this.factsOf.set(i, [number]);
    else list.push(number);
  }
}

/** Value of a one-bit node that is a constant operand of the instruction, or its negation; -1 for others. */
function truthOf(ins: Instr, g: BoundsProgram, node: number): -1 | 0 | 1 {
  if (g.ops[node] === 'not') {
    const v = truthOf(ins, g, g.args[3 * node]);
    return v < 0 ? -1 : v === 1 ? 0 : 1;
  }
  if (g.ops[node] === 'const') return g.low[node] === 1 ? 1 : 0;
  if (g.ops[node] !== 'src') return -1;
  const o = operandOf(ins, g.graph.nodes[node].n);
  return o.kind === Kind.Imm ? ((o.lo & 1) as 0 | 1) : -1;
}

/** May the inputs of a truth table have the values of the row? */
function allows(ins: Instr, g: BoundsProgram, at: number, row: number): boolean {
  for (let k = 0; k < 3; k++) {
    const v = truthOf(ins, g, g.args[3 * at + k]);
    if (v >= 0 && v !== ((row >> (2 - k)) & 1)) return false;
  }
  return true;
}
