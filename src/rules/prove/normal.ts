import { LimitReached } from '../../ir/limit.ts';
import { FORMATS, type FormatName } from '../../isa/formats.ts';
import { evalNode } from '../../isa/lang/evaluate.ts';
import type { CoreOp, Node } from '../../isa/lang/graph.ts';
import { NodeTable } from './nodes.ts';

/** Commutative operations. */
const COMMUTES: ReadonlySet<CoreOp> = new Set<CoreOp>([
  'add',
  'mul',
  'and',
  'or',
  'xor',
  'eq',
  'fadd',
  'fmul',
]);

/** Bitwise operations: each result bit depends on the operand bits at the same position only. */
export const BITWISE: ReadonlySet<CoreOp> = new Set<CoreOp>(['and', 'or', 'xor', 'not', 'lop3']);

/**
 * Hash-consed nodes in a normal form in which many equal values become one node: extracts are pushed to their source, LOP3 tables become
 * plain logic, and remainders and signed quotients are expressed by unsigned quotients. Every step preserves the value for all operands.
 */
export class Normal {
  readonly table = new NodeTable();
  private readonly most: number;

  /** @param most maximum number of nodes */
  constructor(most: number) {
    this.most = most;
  }

  /** @throws LimitReached if there are too many nodes */
  protected checkSize(): void {
    if (this.table.nodes.length > this.most) throw new LimitReached();
  }

  // ------------------------------------------------------------------ nodes

  /** The node with a number. */
  at(x: number): Node {
    return this.table.nodes[x];
  }

  /** The node of a constant, taken modulo 2^width. */
  constant(value: bigint, width: number): number {
    return this.table.constant(value, width);
  }

  /** The value of a constant, unsigned; null for another node. */
  valueOf(x: number): bigint | null {
    const n = this.at(x);
    return n.op === 'const' ? n.value : null;
  }

  protected isOnes(x: number): boolean {
    return this.valueOf(x) === (1n << BigInt(this.at(x).width)) - 1n;
  }

  /**
   * The node of an operation, or a simpler one with the same value.
   * @throws LimitReached if there are too many nodes
   */
  node(op: CoreOp, width: number, args: readonly number[], more: Partial<Node> = {}): number {
    return this.make({ op, width, args, fmt: '', aux: '', n: 0, value: 0n, ...more }, args);
  }

  protected not(x: number): number {
    return this.node('not', this.at(x).width, [x]);
  }

  protected negated(x: number): number {
    const { width } = this.at(x);
    return this.node('sub', width, [this.constant(0n, width), x]);
  }

  /** The operand of `0 - x`, or null. */
  private negatedOf(x: number): number | null {
    const n = this.at(x);
    return n.op === 'sub' && this.valueOf(n.args[0]) === 0n ? n.args[1] : null;
  }

  /**
   * The node, or a simpler one with the same value.
   * @throws LimitReached if there are too many nodes
   */
  make(n: Node, given: readonly number[]): number {
    this.checkSize();
    const args = COMMUTES.has(n.op) ? [...given].sort((a, b) => a - b) : given;
    if (args.length > 0 && n.op !== 'approx' && args.every((a) => this.valueOf(a) !== null)) {
      const values = args.map((a) => this.valueOf(a)!);
      return this.constant(evalNode(n, values), n.width);
    }
    return this.first(n, args) ?? this.simpler(n, args) ?? this.table.intern({ ...n, args });
  }

  /** Hook for subclasses, tried before the simplifications here: a node with the same value, or null. */
  protected first(_n: Node, _args: readonly number[]): number | null {
    return null;
  }

  private simpler(n: Node, args: readonly number[]): number | null {
    const [a, b, c] = args;
    const zero = (x: number): boolean => this.valueOf(x) === 0n;
    switch (n.op) {
      case 'extract':
        return this.extract(n, a);
      case 'concat':
        return this.concat(a, b, n.width);
      case 'prmt':
        return n.aux === 'IDX' ? this.bytes(a, b, this.valueOf(c)) : null;
      case 'lop3':
        return this.table3(n, args);
      case 'and':
        if (a === b || this.isOnes(b)) return a;
        if (this.isOnes(a)) return b;
        return zero(a) ? a : zero(b) ? b : this.regrouped(n, a, b);
      case 'or':
        if (a === b || zero(b)) return a;
        if (zero(a)) return b;
        return this.isOnes(a) ? a : this.isOnes(b) ? b : null;
      case 'xor':
        if (a === b) return this.constant(0n, n.width);
        if (zero(a)) return b;
        if (zero(b)) return a;
        if (this.isOnes(a)) return this.not(b);
        return this.isOnes(b) ? this.not(a) : this.regrouped(n, a, b);
      case 'not':
        return this.at(a).op === 'not' ? this.at(a).args[0] : null;
      case 'add':
        return zero(a) ? b : zero(b) ? a : null;
      case 'sub':
        if (a === b) return this.constant(0n, n.width);
        return zero(b) ? a : zero(a) ? this.negatedOf(b) : null;
      case 'mul':
        return this.product(n, a, b);
      case 'urem':
        return this.remainder('udiv', n.width, a, b);
      case 'srem':
        return this.remainder('sdiv', n.width, a, b);
      case 'sdiv':
        return this.signedQuotient(n.width, a, b);
      case 'eq':
        return a === b ? this.constant(1n, 1) : null;
      case 'ite':
        if (b === c) return b;
        return this.valueOf(a) === null ? null : zero(a) ? c : b;
      case 'fneg':
        return this.node('xor', n.width, [a, this.constant(1n << BigInt(n.width - 1), n.width)]);
      case 'fabs':
        return this.node('and', n.width, [a, this.constant((1n << BigInt(n.width - 1)) - 1n, n.width)]);
      case 'f2f':
        return this.ofInteger(n, a);
      case 'zext':
        return this.at(a).width === n.width ? a : null;
      case 'sext':
        return this.signExtension(n, a);
      default:
        return null;
    }
  }

  // ------------------------------------------------------------------ bits

  protected bitsOf(x: number, low: number, width: number): number {
    return this.node('extract', width, [x], { n: low });
  }

  private extract(n: Node, a: number): number | null {
    const x = this.at(a);
    const [low, w] = [n.n, n.width];
    if (w === x.width) return a;
    const [p, q] = x.args;
    const shift = (x.op === 'lshr' || x.op === 'shl') && q !== undefined ? this.valueOf(q) : null;
    switch (x.op) {
      case 'extract':
        return this.bitsOf(p, low + x.n, w);
      case 'concat':
        if (low + w <= x.n) return this.bitsOf(q, low, w);
        return low >= x.n ? this.bitsOf(p, low - x.n, w) : null;
      case 'zext':
      case 'sext': {
        const from = this.at(p).width;
        if (low + w <= from) return this.bitsOf(p, low, w);
        return x.op === 'zext' && low >= from ? this.constant(0n, w) : null;
      }
      case 'lshr':
        if (shift === null || shift + BigInt(low + w) > BigInt(x.width)) return null;
        return this.bitsOf(p, low + Number(shift), w);
      case 'shl':
        if (shift === null) return null;
        if (BigInt(low) >= shift) return this.bitsOf(p, low - Number(shift), w);
        return BigInt(low + w) <= shift ? this.constant(0n, w) : null;
      case 'ite':
        return this.node('ite', w, [p, this.bitsOf(q, low, w), this.bitsOf(x.args[2], low, w)]);
      default:
        if (!BITWISE.has(x.op)) return null;
        return this.make(
          { ...x, width: w },
          x.args.map((y) => this.bitsOf(y, low, w)),
        );
    }
  }

  /** Concatenation of high and low part: adjacent extracts of one value become one extract. */
  private concat(high: number, low: number, width: number): number | null {
    const [h, l] = [this.at(high), this.at(low)];
    if (h.op !== 'extract' || l.op !== 'extract' || h.args[0] !== l.args[0]) return null;
    return h.n === l.n + l.width ? this.bitsOf(l.args[0], l.n, width) : null;
  }

  /** A byte permutation with a constant selector that replicates no sign, as concatenated extracts. */
  private bytes(a: number, b: number, selector: bigint | null): number | null {
    if (selector === null) return null;
    const chosen = [0, 1, 2, 3].map((k) => Number((selector >> BigInt(4 * k)) & 15n));
    if (chosen.some((k) => k > 7)) return null;
    const byte = (k: number): number => this.bitsOf(k < 4 ? a : b, 8 * (k & 3), 8);
    const half = (k: number): number =>
      this.node('concat', 16, [byte(chosen[k + 1]), byte(chosen[k])], { n: 8 });
    return this.node('concat', 32, [half(2), half(0)], { n: 16 });
  }

  /** A truth table of three operands that depends on at most two of them, as a logic operation. */
  private table3(n: Node, args: readonly number[]): number | null {
    const rows = Array.from({ length: 8 }, (_, row) => row);
    const bit = (row: number): boolean => ((n.n >> row) & 1) === 1;
    // Operand k is bit 2 - k of the row. An operand that is all zeros or all ones leaves half of the rows.
    const constant = args.map((x) => (this.valueOf(x) === 0n ? false : this.isOnes(x) ? true : null));
    const possible = rows.filter((row) =>
      constant.every((c, k) => c === null || c === (((row >> (2 - k)) & 1) === 1)),
    );
    const matters = (k: number): boolean =>
      constant[k] === null && possible.some((row) => bit(row) !== bit(row ^ (4 >> k)));
    const relevant = [0, 1, 2].filter(matters);
    const value = (on: readonly number[]): boolean =>
      bit(
        possible.find((row) => relevant.every((k) => ((row >> (2 - k)) & 1) === (on.includes(k) ? 1 : 0)))!,
      );
    const w = n.width;
    if (relevant.length === 0) return this.constant(value([]) ? -1n : 0n, w);
    if (relevant.length > 2) return null;
    const [p, q] = relevant.map((k) => args[k]);
    if (relevant.length === 1) return value([]) ? this.not(p) : p;
    const [i, j] = relevant;
    const code = [[], [j], [i], [i, j]].map((on) => (value(on) ? '1' : '0')).join('');
    switch (code) {
      case '0001':
        return this.node('and', w, [p, q]);
      case '0111':
        return this.node('or', w, [p, q]);
      case '0110':
        return this.node('xor', w, [p, q]);
      case '1001':
        return this.not(this.node('xor', w, [p, q]));
      case '1110':
        return this.not(this.node('and', w, [p, q]));
      case '1000':
        return this.not(this.node('or', w, [p, q]));
      case '0010':
        return this.node('and', w, [p, this.not(q)]);
      case '0100':
        return this.node('and', w, [this.not(p), q]);
      default:
        return this.node('or', w, code === '1101' ? [this.not(p), q] : [p, this.not(q)]);
    }
  }

  /** Rewrites `(x op c) op d` to `x op (c op d)`, and `(x ^ c) & d` to `x & d` if `c & d` is 0; c and d are constants. */
  private regrouped(n: Node, a: number, b: number): number | null {
    for (const [x, d] of [
      [a, b],
      [b, a],
    ]) {
      const inner = this.at(x);
      const outer = this.valueOf(d);
      if (outer === null || (inner.op !== n.op && !(inner.op === 'xor' && n.op === 'and'))) continue;
      const k = inner.args.findIndex((y) => this.valueOf(y) !== null);
      if (k < 0) continue;
      const c = this.valueOf(inner.args[k])!;
      const rest = inner.args[1 - k];
      if (inner.op === n.op)
        return this.node(n.op, n.width, [
          rest,
          this.constant(n.op === 'and' ? c & outer : c ^ outer, n.width),
        ]);
      if ((c & outer) === 0n) return this.node('and', n.width, [rest, d]);
    }
    return null;
  }

  // ------------------------------------------------------------------ arithmetic

  /** Converts an integer directly to the second float format if the first one represents it exactly. */
  private ofInteger(n: Node, a: number): number | null {
    const x = this.at(a);
    const [to, rounding] = n.aux.split(':');
    if (x.op !== 'i2f' || x.fmt === '' || x.fmt !== n.fmt || to === 'tf32') return null;
    // The lowest signed integer is a power of two and needs no more bits than the others.
    const bits = x.aux.startsWith('s') ? x.n - 1 : x.n;
    if (bits > FORMATS[x.fmt].mant + 1 || bits > FORMATS[x.fmt].bias) return null;
    return this.node('i2f', n.width, x.args, {
      fmt: to as FormatName,
      aux: `${x.aux[0]}${rounding}`,
      n: x.n,
    });
  }

  /** Products with 0 or 1; negations of factors are moved out of the product. */
  private product(n: Node, a: number, b: number): number | null {
    for (const [x, y] of [
      [a, b],
      [b, a],
    ]) {
      if (this.valueOf(x) === 0n) return x;
      if (this.valueOf(x) === 1n) return y;
      const under = this.negatedOf(x);
      if (under !== null) return this.negated(this.node('mul', n.width, [under, y]));
    }
    return null;
  }

  /** `x - (x / y) * y`. This holds for a divisor of zero too: the quotient is all ones, the product 0, and the remainder x. */
  private remainder(op: 'udiv' | 'sdiv', w: number, x: number, y: number): number {
    const q = this.node(op, w, [x, y]);
    return this.node('sub', w, [x, this.node('mul', w, [q, y])]);
  }

  /** The quotient of the magnitudes, negated if the signs differ; all ones if the divisor is zero. */
  private signedQuotient(w: number, x: number, y: number): number {
    const negative = (v: number): number => this.bitsOf(v, w - 1, 1);
    const size = (v: number): number => this.node('ite', w, [negative(v), this.negated(v), v]);
    const q = this.node('udiv', w, [size(x), size(y)]);
    const opposite = this.node('xor', 1, [negative(x), negative(y)]);
    const quotient = this.node('ite', w, [opposite, this.negated(q), q]);
    const byZero = this.node('eq', 1, [y, this.constant(0n, w)]);
    return this.node('ite', w, [byZero, this.constant(-1n, w), quotient]);
  }

  /** Moves a negation out of a sign extension. The lowest value is its own negative and is treated separately. */
  private signExtension(n: Node, a: number): number | null {
    const from = this.at(a).width;
    if (from === n.width) return a;
    const under = this.negatedOf(a);
    if (under === null || from !== n.n) return null;
    const lowest = this.constant(1n << BigInt(from - 1), from);
    const extended = (x: number): number => this.node('sext', n.width, [x], { n: from });
    return this.node('ite', n.width, [
      this.node('eq', 1, [under, lowest]),
      extended(lowest),
      this.negated(extended(under)),
    ]);
  }
}
