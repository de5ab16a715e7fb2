import type { FormatName } from '../formats.ts';

/**
 * A meaning elaborated for one choice of modifiers is a directed acyclic graph of operations on bit vectors of static width (1 to 32, or
 * 64; truth values have width 1). Nodes are in topological order: arguments have smaller numbers. Equal nodes are shared. This type lists
 * the operations.
 */
export type CoreOp =
  | 'const'
  | 'src'
  | 'add'
  | 'sub'
  | 'mul'
  | 'umulh'
  | 'smulh'
  | 'udiv'
  | 'sdiv'
  | 'urem'
  | 'srem'
  | 'and'
  | 'or'
  | 'xor'
  | 'not'
  | 'shl'
  | 'lshr'
  | 'ashr'
  | 'eq'
  | 'ult'
  | 'slt'
  | 'ite'
  | 'zext'
  | 'sext'
  | 'extract'
  | 'concat'
  | 'popc'
  | 'clz'
  | 'brev'
  | 'lop3'
  | 'prmt'
  | 'fneg'
  | 'fabs'
  | 'ftz'
  | 'fadd'
  | 'fmul'
  | 'ffma'
  | 'fdiv'
  | 'fsqrt'
  | 'frint'
  | 'fmin'
  | 'fmax'
  | 'fcmp'
  | 'approx'
  | 'f2f'
  | 'f2i'
  | 'i2f';

/** A node of an expression graph. */
export interface Node {
  readonly op: CoreOp;
  readonly width: number;
  readonly args: readonly number[];
  /** Format of the float operands (for `i2f`, of the result), '' for integer operations. */
  readonly fmt: FormatName | '';
  /** Rounding, relation, function, byte-permutation mode; `f2f`: `to:rounding`; `f2i`, `i2f`: `s` or `u`, then rounding. */
  readonly aux: string;
  /**
   * `src`: operand number; `extract`: lowest bit; `lop3`: truth table; `fmin`, `fmax`: 1 if NaN wins; `slt`, `sext`,
   * `clz`, `i2f`: width of the operands; `concat`: width of the low part.
   */
  readonly n: number;
  /** `const`: the value, unsigned. */
  readonly value: bigint;
}

/** A meaning for one choice of modifiers. */
export interface Graph {
  readonly nodes: readonly Node[];
  /** Node of each destination, in slot order. */
  readonly dsts: readonly number[];
  /** Width of each source operand. */
  readonly srcWidths: readonly number[];
}

/** Hash-consed nodes of a graph under construction: equal nodes have the same number. */
export class NodeList {
  readonly nodes: Node[] = [];
  private readonly numbers = new Map<string, number>();

  /** The number of a node; equal nodes get the same one. */
  intern(n: Node): number {
    const key = `${n.op} ${n.width} ${n.args} ${n.fmt} ${n.aux} ${n.n} ${n.value}`;
    const old = this.numbers.get(key);
    if (old !== undefined) return old;
    this.nodes.push(n);
    this.numbers.set(key, this.nodes.length - 1);
    return this.nodes.length - 1;
  }
}

/** Builds a graph with hash-consing, constant folding by `fold`, and simple algebraic simplifications. */
export class GraphBuilder extends NodeList {
  private readonly fold: (n: Node, args: readonly bigint[]) => bigint;

  constructor(fold: (n: Node, args: readonly bigint[]) => bigint) {
    super();
    this.fold = fold;
  }

  width(id: number): number {
    return this.nodes[id].width;
  }

  constant(value: bigint, width: number): number {
    const v = BigInt.asUintN(width, value);
    return this.intern({ op: 'const', width, args: [], fmt: '', aux: '', n: 0, value: v });
  }

  source(index: number, width: number): number {
    return this.intern({ op: 'src', width, args: [], fmt: '', aux: '', n: index, value: 0n });
  }

  /** Value of a constant node, or null. */
  constantOf(id: number): bigint | null {
    const n = this.nodes[id];
    return n.op === 'const' ? n.value : null;
  }

  /** The number of a node with this operation, or of a simpler node with the same value. The parameters are the fields of `Node`. */
  make(
    op: CoreOp,
    width: number,
    args: readonly number[],
    fmt: FormatName | '' = '',
    aux = '',
    n = 0,
  ): number {
    const same = this.simplify(op, width, args, n);
    if (same >= 0) return same;
    const inner = this.nodes[args[0]];
    if (op === 'extract' && inner.op === 'concat') {
      if (n + width <= inner.n) return this.make('extract', width, [inner.args[1]], '', '', n);
      if (n >= inner.n) return this.make('extract', width, [inner.args[0]], '', '', n - inner.n);
    }
    const node: Node = { op, width, args, fmt, aux, n, value: 0n };
    if (args.length > 0 && args.every((a) => this.nodes[a].op === 'const'))
      return this.constant(
        this.fold(
          node,
          args.map((a) => this.nodes[a].value),
        ),
        width,
      );
    return this.intern(node);
  }

  /** An argument that the node always equals; -1 if there is none. */
  private simplify(op: CoreOp, width: number, args: readonly number[], n: number): number {
    switch (op) {
      case 'zext':
      case 'sext':
        return width === this.width(args[0]) ? args[0] : -1;
      case 'extract':
        return n === 0 && width === this.width(args[0]) ? args[0] : -1;
      case 'ite': {
        const c = this.constantOf(args[0]);
        return c !== null ? args[c === 1n ? 1 : 2] : args[1] === args[2] ? args[1] : -1;
      }
      case 'and':
      case 'or':
      case 'xor':
      case 'add': {
        const ones = (1n << BigInt(width)) - 1n;
        for (let i = 0; i < 2; i++) {
          const c = this.constantOf(args[i]);
          if (c === 0n) return op === 'and' ? args[i] : args[1 - i];
          if (c === ones && op === 'and') return args[1 - i];
          if (c === ones && op === 'or') return args[i];
        }
        return -1;
      }
      case 'shl':
      case 'lshr':
      case 'ashr':
        return this.constantOf(args[1]) === 0n ? args[0] : -1;
      default:
        return -1;
    }
  }
}
