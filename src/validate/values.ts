import type { Node } from '../isa/lang/graph.ts';
import { Logic } from './logic.ts';
import { NOTHING, powerOf, type Sum } from './sums.ts';

/** An unknown value that a region reads from registers or memory. */
export interface Leaf {
  readonly key: string;
  readonly width: number;
  readonly node: number;
  /** True if the key means the same in every region, and the value never changes. */
  readonly fixed: boolean;
  /** True if all lanes of a warp have the same value. */
  uniform: boolean;
}

/**
 * The values of a region in normal form: equal node numbers are equal values. In addition to `Normal`, `Decisions`, `Sums` and `Logic`,
 * shifts by constants, masks of low bits and divisions by powers of two become extracts.
 *
 * Whatever a region reads from registers and memory is a leaf: a source node, numbered in order of creation.
 */
export class Values extends Logic {
  readonly leaves: Leaf[] = [];
  private readonly leavesByName = new Map<string, number>();
  private readonly made = new Map<string, number>();

  /**
   * The unknown value identified by `key` and `width`.
   *
   * @param fixed the key means the same in every region, and the value never changes: a parameter, the index of the thread
   */
  leaf(key: string, width: number, fixed = false): number {
    // The same location may be read in several widths.
    const name = `${width} ${key}`;
    const known = this.leavesByName.get(name);
    if (known !== undefined) return known;
    const raw = this.table.node('src', width, [], { n: this.leaves.length });
    const node = width === 1 ? this.bit(raw) : raw;
    this.leaves.push({ key, width, node: raw, fixed, uniform: false });
    this.leavesByName.set(name, node);
    return node;
  }

  /** A leaf that is fixed. */
  atom(key: string, width: number): number {
    return this.leaf(key, width, true);
  }

  /** Marks a leaf as equal in all lanes of a warp. @returns the leaf */
  markUniform(leaf: number): number {
    const n = this.at(leaf);
    const raw = n.op === 'ite' ? this.at(n.args[0]) : n;
    this.leaves[raw.n].uniform = true;
    return leaf;
  }

  /** True if the value is warp-uniform because everything that it is computed from is. */
  isUniform(x: number): boolean {
    const seen = new Set([x]);
    for (const y of seen) {
      const n = this.at(y);
      if (n.op === 'src' && !this.leaves[n.n].uniform) return false;
      for (const a of n.args) seen.add(a);
    }
    return true;
  }

  override make(n: Node, given: readonly number[]): number {
    this.spend(1);
    const key = `${n.op} ${n.width} ${given} ${n.fmt} ${n.aux} ${n.n} ${n.value}`;
    const known = this.made.get(key);
    if (known !== undefined) return known;
    const simple = super.make(n, given);
    const made = n.width === 1 ? this.bit(simple) : simple;
    this.made.set(key, made);
    return made;
  }

  protected override first(n: Node, args: readonly number[]): number | null {
    if (n.op === 'ffma' && args[0] > args[1]) return this.make(n, [args[1], args[0], args[2]]);
    if (n.fmt !== '') return null;
    return n.width === 1 ? this.truth(n, args) : (this.word(n, args) ?? null);
  }

  // ------------------------------------------------------------------ truth values

  private truth(n: Node, args: readonly number[]): number | null {
    const [a, b, c] = args;
    switch (n.op) {
      case 'not':
        return this.negation(a);
      case 'and':
        return this.choose(a, b, this.no);
      case 'or':
        return this.choose(a, this.yes, b);
      case 'xor':
      case 'add':
      case 'sub':
        return this.choose(a, this.negation(b), b);
      case 'mul':
        return this.choose(a, b, this.no);
      case 'ite':
        return this.choose(a, b, c);
      case 'eq':
        return this.at(a).width === 1 ? this.choose(a, b, this.negation(b)) : this.equal(a, b);
      case 'ult':
      case 'slt':
        if (this.at(a).width > 1) return this.less(n, a, b);
        return n.op === 'ult' ? this.choose(a, this.no, b) : null;
      default:
        return null;
    }
  }

  // ------------------------------------------------------------------ words

  private word(n: Node, args: readonly number[]): number | null {
    const [a, b, c] = args;
    const w = n.width;
    const power = (x: number): number => powerOf(this.valueOf(x));
    switch (n.op) {
      case 'ite':
        return this.select(a, b, c);
      case 'add':
        return this.total(this.sumOf(a), this.sumOf(b), 1n, w);
      case 'sub':
        return this.total(this.sumOf(a), this.sumOf(b), -1n, w);
      case 'mul': {
        const [x, y] = [this.valueOf(a), this.valueOf(b)];
        if (x !== null || y !== null) return this.total(NOTHING, this.sumOf(x === null ? a : b), x ?? y!, w);
        return this.factored(a, b, w);
      }
      case 'shl': {
        const by = this.valueOf(b);
        if (by === null) return null;
        if (by >= BigInt(w)) return this.constant(0n, w);
        return this.total(NOTHING, this.sumOf(a), 1n << by, w);
      }
      case 'lshr':
      case 'ashr': {
        const by = this.valueOf(b);
        if (by === null) return null;
        const signed = n.op === 'ashr';
        const k = by >= BigInt(w) ? (signed ? w - 1 : w) : Number(by);
        if (k === w) return this.constant(0n, w);
        return this.widened(this.bitsOf(a, k, w - k), w, signed);
      }
      case 'and':
      case 'or':
      case 'xor':
      case 'not':
      case 'lop3':
        return this.logic(n, args);
      case 'udiv': {
        const k = power(b);
        if (k === 0) return a;
        return k > 0 ? this.widened(this.bitsOf(a, k, w - k), w, false) : null;
      }
      case 'urem': {
        const k = power(b);
        if (k === 0) return this.constant(0n, w);
        return k > 0 ? this.widened(this.bitsOf(a, 0, k), w, false) : null;
      }
      case 'concat': {
        if (this.valueOf(a) === null && this.valueOf(b) === null) return null;
        const high = this.node('shl', w, [this.widened(a, w, false), this.constant(BigInt(n.n), w)]);
        return this.node('add', w, [high, this.widened(b, w, false)]);
      }
      case 'umulh':
      case 'smulh':
        return a > b ? this.node(n.op, w, [b, a], { n: n.n }) : null;
      case 'zext':
      case 'sext':
        return this.extended(n.op === 'sext', a, w);
      case 'extract':
        return n.n === 0 ? this.lowBits(a, w) : (this.ofShifted(a, n.n, w) ?? this.ofDisjoint(a, n.n, w));
      default:
        return null;
    }
  }

  /** Combines nested extensions. */
  private extended(signed: boolean, a: number, w: number): number | null {
    const x = this.at(a);
    if (x.width === w) return a;
    if (x.op === 'zext') return this.widened(x.args[0], w, false);
    return x.op === 'sext' && signed ? this.widened(x.args[0], w, true) : null;
  }

  /** The low bits of a sum are the sum of the low bits. */
  private lowBits(a: number, w: number): number | null {
    const x = this.at(a);
    if (w === x.width) return a;
    if (x.op === 'mul' && this.valueOf(x.args[1]) === null)
      return this.node('mul', w, [this.bitsOf(x.args[0], 0, w), this.bitsOf(x.args[1], 0, w)]);
    if (x.op !== 'add' && x.op !== 'mul') return null;
    const { terms, constant } = this.sumOf(a);
    let sum: Sum = { terms: new Map(), constant };
    for (const [t, k] of terms) sum = this.plus(sum, this.sumOf(this.bitsOf(t, 0, w)), k, w);
    return this.built(sum, w);
  }

  /** Bits of a product by a power of two are bits of the factor, or zeros. */
  private ofShifted(a: number, low: number, w: number): number | null {
    const { terms, constant } = this.sumOf(a);
    if (terms.size !== 1 || constant !== 0n) return null;
    const [[t, k]] = terms;
    const by = powerOf(k);
    if (by <= 0) return null;
    if (low + w <= by) return this.constant(0n, w);
    return low >= by ? this.bitsOf(t, low - by, w) : null;
  }

  /** Bits of a sum of values without common bits are the sum of their bits. */
  private ofDisjoint(a: number, low: number, w: number): number | null {
    const x = this.at(a);
    if (x.op !== 'add' || !this.isDisjoint(a)) return null;
    return this.node(
      'add',
      w,
      x.args.map((y) => this.bitsOf(y, low, w)),
    );
  }

  // ------------------------------------------------------------------ text

  /** The innermost pair of differing subterms that accounts for the whole difference. */
  parting(x: number, y: number): [number, number] {
    let pair: [number, number] = [x, y];
    for (;;) {
      const [a, b] = pair.map((z) => this.at(z));
      if (a.op !== b.op || a.args.length !== b.args.length || a.n !== b.n || a.aux !== b.aux) return pair;
      const differing = a.args.flatMap((p, i): [number, number][] =>
        p === b.args[i] ? [] : [[p, b.args[i]]],
      );
      // Constants say little without the operation on them.
      if (differing.length !== 1 || differing[0].some((z) => this.valueOf(z) !== null)) return pair;
      pair = differing[0];
    }
  }

  /** Prints a value for messages, down to a given depth. */
  textOf(x: number, depth = 2): string {
    const n = this.at(x);
    if (n.op === 'const') return n.value < 10n ? String(n.value) : `0x${n.value.toString(16)}`;
    if (n.op === 'src') return this.leaves[n.n].key.split(' ').slice(0, 2).join(' ');
    if (n.op === 'ite' && n.width === 1 && n.args[1] === this.yes && n.args[2] === this.no)
      return this.textOf(n.args[0], depth);
    if (depth === 0) return '...';
    const more =
      n.op === 'extract' ? `.${n.n}` : n.op === 'lop3' ? `.${n.n}` : n.aux === '' ? '' : `.${n.aux}`;
    return `${n.op}${more}${n.width === 32 ? '' : `.${n.width}`}(${n.args.map((a) => this.textOf(a, depth - 1)).join(', ')})`;
  }
}
