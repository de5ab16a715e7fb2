import { slotWidth } from '../../ir/opcode.ts';
import type { Graph, Node } from '../../isa/lang/graph.ts';
import { graphOf, isConstantSlot } from '../../isa/meaning.ts';
import type { Instance, Line, Rule, Source } from '../rule.ts';
import { NodeTable } from './nodes.ts';

/**
 * The proof obligation of one instance of a rule, as one graph with both sides over the same inputs. The graph is not simplified, so that a
 * proof does not depend on simplifications that the engine and the simulator share.
 */
export interface Goal {
  readonly nodes: readonly Node[];
  /** Source node k stands for input k. */
  readonly inputs: readonly Input[];
  /** One-bit nodes that the proof may assume to be 1: the condition, and requirements of the engine on every match. */
  readonly given: readonly number[];
  readonly results: readonly Result[];
}

/** An input of the goal: a value or constant that the pattern does not define. */
export interface Input {
  /** `$a`, `#k`, or `_`. */
  readonly name: string;
  readonly width: number;
  /** Number of the variable, or -1 for an operand `_`. */
  readonly v: number;
  /** Index among the operands `_`, or -1. */
  readonly wildcard: number;
  readonly constant: boolean;
}

/** A pair of nodes that the proof must show to be equal: a result of the pattern and that of the replacement. */
export interface Result {
  /** Variable of the root's destination; -1: the address. */
  readonly v: number;
  readonly left: number;
  readonly right: number;
}

/** Builds the goal of an instance. */
export function goalOf(rule: Rule, instance: Instance): Goal {
  return new Composer(rule, instance).run();
}

class Composer {
  private readonly rule: Rule;
  private readonly instance: Instance;
  private readonly table = new NodeTable();
  private readonly inputs: Input[] = [];
  private wildcard = 0;

  constructor(rule: Rule, instance: Instance) {
    this.rule = rule;
    this.instance = instance;
  }

  run(): Goal {
    const { rule, instance } = this;
    const root = rule.match[rule.match.length - 1];
    // A result of the root is an input too: a replacement that reads it before writing it sees the register's old value.
    const outside = rule.vars.map((x, v) =>
      this.input(`${x.kind === 'const' ? '#' : '$'}${x.name}`, instance.widths[v] || 32, v),
    );
    const [condition, ...outputs] = this.place(instance.constants, outside);
    const left = this.lines(rule.match, instance.match, [...outside], outputs);
    const before = left.map((n, v) => (root.dst.includes(v) ? outside[v] : n));
    const right = this.lines(rule.rewrite, instance.rewrite, before, outputs);
    if (rule.root === null) return this.address(condition, left, right, outputs);
    const results = root.dst.filter((v) => v >= 0).map((v) => ({ v, left: left[v], right: right[v] }));
    return this.finish([condition], results);
  }

  // ------------------------------------------------------------------ nodes

  private input(name: string, width: number, v: number): number {
    this.inputs.push({
      name,
      width,
      v,
      wildcard: v < 0 ? this.wildcard++ : -1,
      constant: v >= 0 && this.rule.vars[v].kind === 'const',
    });
    return this.table.node('src', width, [], { n: this.inputs.length - 1 });
  }

  /** Copies a graph, with the given nodes as its sources. */
  private place(g: Graph, sources: readonly number[]): number[] {
    const at: number[] = [];
    for (const n of g.nodes)
      at.push(n.op === 'src' ? sources[n.n] : this.table.intern({ ...n, args: n.args.map((a) => at[a]) }));
    return g.dsts.map((d) => at[d]);
  }

  // ------------------------------------------------------------------ lines

  /** Executes lines symbolically: the node of each variable after them. */
  private lines(
    lines: readonly Line[],
    mods: readonly number[],
    values: number[],
    outputs: readonly number[],
  ): number[] {
    lines.forEach((l, i) => {
      if (l.op === null) return;
      const { op } = l;
      const widths = op.srcs.map((s) => slotWidth(op, mods[i], s) || 32);
      const graph = graphOf({
        op,
        mods: mods[i],
        srcMods: l.src.map((s) => (s.k === 'var' ? s.mods : 0)),
        consts: l.src.map((s, k) =>
          s.k === 'literal' && isConstantSlot(op.srcs[k]) ? Number(BigInt.asIntN(32, s.value)) : null,
        ),
      });
      const out = this.place(
        graph,
        l.src.map((s, k) => this.operand(s, values, outputs, widths[k])),
      );
      l.dst.forEach((d, k) => {
        if (d >= 0) values[d] = out[k];
      });
    });
    return values;
  }

  private operand(s: Source, values: readonly number[], outputs: readonly number[], width: number): number {
    switch (s.k) {
      case 'var':
      case 'const':
        return values[s.v];
      case 'literal':
        return this.table.constant(s.value, width);
      case 'computed':
        return outputs[s.x];
      case 'any':
        return this.input('_', width, -1);
      case 'address':
        throw new Error('an address has no value of its own');
    }
  }

  // ------------------------------------------------------------------ addresses

  /**
   * The goal that both addresses are equal. Each is as wide as its base register, so that a 32-bit base wraps at 2^32. Offsets are signed
   * 32-bit numbers: instructions have no room for more, and the engine rewrites only if the new offset fits.
   */
  private address(
    condition: number,
    left: readonly number[],
    right: readonly number[],
    outputs: readonly number[],
  ): Goal {
    const given = [condition];
    const sum = (lines: readonly Line[], values: readonly number[]): number => {
      const a = lines[lines.length - 1].src[0];
      if (a.k !== 'address') throw new Error('the root has no address');
      const base = this.operand(a.base, values, outputs, 64);
      const offset = this.operand(a.offset, values, outputs, 64);
      given.push(this.table.node('eq', 1, [offset, this.signed(offset, 32)]));
      const width = this.table.nodes[base].width;
      return this.table.node('add', width, [base, this.cut(offset, width)]);
    };
    const l = sum(this.rule.match, left);
    const r = sum(this.rule.rewrite, right);
    // The address of a 32-bit base is below 2^32 even when it is compared with a wider one.
    const width = Math.max(this.table.nodes[l].width, this.table.nodes[r].width);
    return this.finish(given, [{ v: -1, left: this.extended(l, width), right: this.extended(r, width) }]);
  }

  private extended(x: number, width: number): number {
    const n = this.table.nodes[x].width;
    return n === width ? x : this.table.node('zext', width, [x]);
  }

  private cut(x: number, width: number): number {
    return this.table.nodes[x].width === width ? x : this.table.node('extract', width, [x]);
  }

  private signed(x: number, from: number): number {
    const { width } = this.table.nodes[x];
    return this.table.node('sext', width, [this.table.node('extract', from, [x])], { n: from });
  }

  // ------------------------------------------------------------------ the goal

  /** Prunes and renumbers, so that equal obligations get equal goals. */
  private finish(given: readonly number[], results: readonly Result[]): Goal {
    return prune(this.table.nodes, this.inputs, given, results);
  }
}

/** A goal of the given nodes without those nodes and inputs that neither results nor assumptions depend on. */
export function prune(
  nodes: readonly Node[],
  inputs: readonly Input[],
  given: readonly number[],
  results: readonly Result[],
): Goal {
  const needed = nodes.map(() => false);
  for (const g of given) needed[g] = true;
  for (const r of results) needed[r.left] = needed[r.right] = true;
  for (let i = nodes.length - 1; i >= 0; i--) if (needed[i]) for (const a of nodes[i].args) needed[a] = true;
  const at: number[] = [];
  const keptNodes: Node[] = [];
  const keptInputs: Input[] = [];
  nodes.forEach((n, i) => {
    if (!needed[i]) {
      at.push(-1);
      return;
    }
    if (n.op === 'src') {
      keptNodes.push({ ...n, n: keptInputs.length });
      keptInputs.push(inputs[n.n]);
    } else keptNodes.push({ ...n, args: n.args.map((a) => at[a]) });
    at.push(keptNodes.length - 1);
  });
  return {
    nodes: keptNodes,
    inputs: keptInputs,
    given: given.map((g) => at[g]),
    results: results.map((r) => ({ v: r.v, left: at[r.left], right: at[r.right] })),
  };
}
