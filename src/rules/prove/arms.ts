/**
 * The arms of the expressions that a rule computes from its constants: the two sides of its conditions and selects, and the cases that
 * operations distinguish by themselves (overflow, sign, rounding, ends of ranges). A rule that is wrong for few constants is mostly wrong
 * on an arm that few constants take.
 */
import { FORMATS, type FormatName } from '../../isa/formats.ts';
import type { Node } from '../../isa/lang/graph.ts';
import { type Goal, type Input, prune } from './goal.ts';
import { NodeTable } from './nodes.ts';

/** One arm: a one-bit node that is 1 for the constants that take it. */
export interface Arm {
  readonly node: number;
  /** True for a side of a condition; false for a case of an operation or an end of a range. */
  readonly side: boolean;
}

/** The part of a goal that depends on constants alone, with the arms in it. */
export interface Arms {
  readonly nodes: readonly Node[];
  /** Source node k stands for input k; all are constants of the pattern. */
  readonly inputs: readonly Input[];
  /** The assumptions of the goal that read constants alone. */
  readonly given: readonly number[];
  /** Sides of conditions first, then cases of operations, then ends of ranges. */
  readonly arms: readonly Arm[];
  /** Number of sides of conditions beyond `MOST_ARMS`, which are left out. */
  readonly cut: number;
}

/** Maximum number of arms of one goal. */
const MOST_ARMS = 600;

/** Operations that round their result. */
const ROUNDED: ReadonlySet<string> = new Set(['fadd', 'fmul', 'ffma', 'fdiv', 'fsqrt', 'frint', 'i2f']);
const DIVIDES: ReadonlySet<string> = new Set(['udiv', 'sdiv', 'urem', 'srem']);
const SHIFTS: ReadonlySet<string> = new Set(['shl', 'lshr', 'ashr']);

/** The arms of a goal; null if no constant is read. */
export function armsOf(goal: Goal): Arms | null {
  if (!goal.inputs.some((x) => x.constant)) return null;
  return new ArmFinder(goal).run();
}

class ArmFinder {
  private readonly goal: Goal;
  private readonly table = new NodeTable();
  /** By node of the goal: its copy if it depends on constants alone, else -1. */
  private readonly at: number[] = [];
  /** Whether a node reads a constant of the pattern, and no other input. */
  private readonly varies: boolean[] = [];
  private readonly sides = new Set<number>();
  private readonly splits = new Set<number>();
  private readonly ends = new Set<number>();

  constructor(goal: Goal) {
    this.goal = goal;
  }

  run(): Arms | null {
    const { goal, table, at, varies } = this;
    for (const n of goal.nodes) {
      const known =
        n.op === 'src' ? goal.inputs[n.n].constant : n.op !== 'approx' && n.args.every((a) => at[a] >= 0);
      at.push(known ? table.intern({ ...n, args: n.args.map((a) => at[a]) }) : -1);
      varies.push(known && (n.op === 'src' || n.args.some((a) => varies[a])));
    }
    const asked = this.demands();
    goal.nodes.forEach((n, i) => {
      if (varies[i]) this.ofValue(n, i, asked[i]);
      this.ofOperands(n, asked[i]);
    });
    const truth = table.constant(1n, 1);
    const all = [
      ...[...this.sides].map((node) => ({ node, side: true })),
      ...[...this.splits].map((node) => ({ node, side: false })),
      ...[...this.ends].map((node) => ({ node, side: false })),
    ].filter((a, i, list) => a.node !== truth && list.findIndex((b) => b.node === a.node) === i);
    const kept = all.slice(0, MOST_ARMS);
    const given = goal.given.flatMap((g) => (at[g] >= 0 ? [at[g]] : []));
    const p = prune(table.nodes, goal.inputs, [...given, ...kept.map((a) => a.node)], []);
    return {
      nodes: p.nodes,
      inputs: p.inputs,
      given: p.given.slice(0, given.length),
      cut: all.slice(MOST_ARMS).filter((a) => a.side).length,
      arms: kept.map((a, i) => ({ ...a, node: p.given[given.length + i] })),
    };
  }

  // ------------------------------------------------------------------ demand

  /**
   * For each node of the goal, a one-bit node that is 1 where results or assumptions may depend on it: the selects on the way choose it,
   * and no other operand of a conjunction or disjunction decides alone.
   */
  private demands(): number[] {
    const { goal, at, table } = this;
    const truth = table.constant(1n, 1);
    const never = table.constant(0n, 1);
    const asked = goal.nodes.map(() => never);
    for (const g of goal.given) asked[g] = truth;
    for (const r of goal.results) asked[r.left] = asked[r.right] = truth;
    for (let i = goal.nodes.length - 1; i >= 0; i--) {
      const { op, width, args } = goal.nodes[i];
      args.forEach((a, k) => {
        let here = asked[i];
        const other = at[args[1 - k]] ?? -1;
        if (op === 'ite' && k > 0 && at[args[0]] >= 0)
          here = this.both(here, k === 1 ? at[args[0]] : this.not(at[args[0]]));
        else if (width === 1 && (op === 'and' || op === 'or') && other >= 0)
          here = this.both(here, op === 'and' ? other : this.not(other));
        asked[a] = this.either(asked[a], here);
      });
    }
    return asked;
  }

  private constantOf(x: number): bigint | null {
    const n = this.table.nodes[x];
    return n.op === 'const' ? n.value : null;
  }

  private not(x: number): number {
    const n = this.table.nodes[x];
    if (n.op === 'const') return this.table.constant(1n - n.value, 1);
    return n.op === 'not' ? n.args[0] : this.table.node('not', 1, [x]);
  }

  private both(x: number, y: number): number {
    const [a, b] = [this.constantOf(x), this.constantOf(y)];
    if (a === 0n || b === 1n || x === y) return x;
    if (b === 0n || a === 1n) return y;
    return this.table.node('and', 1, [x, y]);
  }

  private either(x: number, y: number): number {
    const [a, b] = [this.constantOf(x), this.constantOf(y)];
    if (a === 1n || b === 0n || x === y) return x;
    if (b === 1n || a === 0n) return y;
    return this.table.node('or', 1, [x, y]);
  }

  // ------------------------------------------------------------------ arms

  /** Adds a side of a condition: as a side where it is demanded, and as a split anywhere. */
  private side(x: number, asked: number): void {
    this.sides.add(this.both(asked, x));
    this.splits.add(x);
  }

  private split(x: number, asked: number): void {
    this.splits.add(this.both(asked, x));
  }

  private end(x: number): void {
    this.ends.add(x);
  }

  private equals(x: number, value: bigint): number {
    const { width } = this.table.nodes[x];
    return this.table.node('eq', 1, [x, this.table.constant(value, width)]);
  }

  private part(x: number, low: number, width: number): number {
    return low === 0 && this.table.nodes[x].width === width
      ? x
      : this.table.node('extract', width, [x], { n: low });
  }

  private signOf(x: number): number {
    return this.part(x, this.table.nodes[x].width - 1, 1);
  }

  /** Arms of a node that depends on constants: its sides, overflow and other lost bits, and the ends of its range. */
  private ofValue(n: Node, i: number, asked: number): void {
    const { table, at } = this;
    const x = at[i];
    const [a, b] = n.args.map((k) => at[k]);
    if (n.width === 1) {
      if (n.op === 'not') return;
      this.side(x, asked);
      this.side(this.not(x), asked);
      if (n.op === 'ult' || n.op === 'slt') {
        const { width } = table.nodes[a];
        this.split(table.node('eq', 1, [a, b]), asked);
        for (const [low, high] of [
          [a, b],
          [b, a],
        ])
          this.split(
            table.node('eq', 1, [table.node('add', width, [low, table.constant(1n, width)]), high]),
            asked,
          );
      }
      return;
    }
    const ones = (1n << BigInt(n.width)) - 1n;
    for (const value of [0n, ones, 1n, 1n << BigInt(n.width - 1), ones >> 1n])
      this.end(this.equals(x, value));
    if (n.fmt !== '' && n.op !== 'f2i') {
      this.ofFloat(x, n.op === 'f2f' ? (n.aux.split(':')[0] as FormatName) : n.fmt, asked);
      this.ofRounding(n, x, asked);
      return;
    }
    switch (n.op) {
      case 'add':
      case 'sub': {
        this.split(n.op === 'add' ? table.node('ult', 1, [x, a]) : table.node('ult', 1, [a, b]), asked);
        // A signed sum overflows where both operands differ from it in sign; a difference x = a - b is the sum a = x + b.
        const [p, sum] = n.op === 'add' ? [a, x] : [x, a];
        const differs = [p, b].map((o) => this.signOf(table.node('xor', n.width, [o, sum])));
        this.split(this.both(differs[0], differs[1]), asked);
        return;
      }
      case 'mul': {
        this.split(this.not(this.equals(table.node('umulh', n.width, [a, b]), 0n)), asked);
        const sign = table.node('ashr', n.width, [x, table.constant(BigInt(n.width - 1), n.width)]);
        const high = table.node('smulh', n.width, [a, b]);
        this.split(this.not(table.node('eq', 1, [high, sign])), asked);
        return;
      }
      case 'extract': {
        const from = table.nodes[a].width;
        const top = n.n + n.width;
        if (top < from) this.split(this.not(this.equals(this.part(a, top, from - top), 0n)), asked);
        if (n.n > 0) this.split(this.not(this.equals(this.part(a, 0, n.n), 0n)), asked);
        return;
      }
      case 'sext':
        this.split(this.signOf(a), asked);
        return;
      case 'popc':
      case 'clz':
        this.split(this.equals(x, BigInt(table.nodes[a].width)), asked);
        this.split(this.equals(x, 0n), asked);
        return;
      default:
        return;
    }
  }

  /** Arms by constant operands, for any values of the other operands: divisors, shift amounts, floats. */
  private ofOperands(n: Node, asked: number): void {
    const { table, at, varies } = this;
    n.args.forEach((arg, k) => {
      if (!varies[arg]) return;
      const x = at[arg];
      const { width } = table.nodes[x];
      if (DIVIDES.has(n.op) && k === 1) {
        for (const value of [0n, 1n, -1n]) this.split(this.equals(x, value), asked);
        const dividend = at[n.args[0]];
        if (dividend >= 0)
          this.split(this.both(this.equals(x, -1n), this.equals(dividend, 1n << BigInt(width - 1))), asked);
      } else if (SHIFTS.has(n.op) && k === 1) {
        const w = BigInt(n.width);
        if (w < 1n << BigInt(width))
          this.split(this.not(table.node('ult', 1, [x, table.constant(w, width)])), asked);
        for (const value of [0n, w - 1n, w])
          if (value < 1n << BigInt(width)) this.split(this.equals(x, value), asked);
      } else if (n.fmt !== '' && n.op !== 'i2f') this.ofFloat(x, n.fmt, asked);
      // An operand that is unknown until run time meets the ends of the range of computed constants.
      if (!varies[arg] || width === 1) return;
      for (const value of [0n, -1n, 1n, 1n << BigInt(width - 1)]) this.end(this.equals(x, value));
    });
  }

  /** Classes of floats, with both signs: zeros, subnormals, lowest and highest exponent, infinities, NaNs, one, powers of two. */
  private ofFloat(x: number, f: FormatName, asked: number): void {
    const { bits, mant, bias } = FORMATS[f];
    // A tf32 number occupies the high bits of a wider word.
    if (f === 'tf32' || this.table.nodes[x].width !== bits) return;
    const exponent = this.part(x, mant, bits - 1 - mant);
    const fraction = this.equals(this.part(x, 0, mant), 0n);
    const sign = this.signOf(x);
    const most = BigInt(2 * bias + 1);
    for (const e of [0n, most])
      for (const zero of [fraction, this.not(fraction)])
        for (const s of [sign, this.not(sign)])
          this.split(this.both(this.both(this.equals(exponent, e), zero), s), asked);
    for (const e of [1n, most - 1n]) this.split(this.equals(exponent, e), asked);
    this.split(this.both(fraction, this.equals(exponent, BigInt(bias))), asked);
    this.split(fraction, asked);
  }

  /** Whether a float computed from constants is exact: rounding it up and down gives the same. */
  private ofRounding(n: Node, x: number, asked: number): void {
    const { table } = this;
    const to = n.op === 'f2f' ? `${n.aux.split(':')[0]}:` : n.op === 'i2f' ? n.aux[0] : '';
    if (to === '' && !ROUNDED.has(n.op)) return;
    const args = table.nodes[x].args;
    const [down, up] = ['RM', 'RP'].map((mode) => table.intern({ ...n, args, aux: `${to}${mode}` }));
    const exact = table.node('eq', 1, [down, up]);
    this.split(exact, asked);
    this.split(this.not(exact), asked);
  }
}
