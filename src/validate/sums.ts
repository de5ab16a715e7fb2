import type { CoreOp, Node } from '../isa/lang/graph.ts';
import { Decisions } from './decisions.ts';

/** Maximum number of terms of a sum, so that long chains of additions do not cost quadratic time. */
const MOST_TERMS = 48;

/** A sum modulo 2^width: a coefficient for each node, and a constant. */
export interface Sum {
  readonly terms: ReadonlyMap<number, bigint>;
  readonly constant: bigint;
}

/** The empty sum. */
export const NOTHING: Sum = { terms: new Map(), constant: 0n };

/** Exponent of a power of two; -1 for other values. */
export function powerOf(value: bigint | null): number {
  if (value === null || value <= 0n || (value & (value - 1n)) !== 0n) return -1;
  return value.toString(2).length - 1;
}

/** Normalizes sums, differences and products by constants to one sum of terms in canonical order, and comparisons of them. */
export class Sums extends Decisions {
  private readonly sums = new Map<number, Sum>();

  /** The operation of a node. */
  opOf(x: number): CoreOp {
    return this.at(x).op;
  }

  /** The terms of a sum; for any other value, the value itself as the only term. */
  sumOf(x: number): Sum {
    const known = this.sums.get(x);
    if (known !== undefined) return known;
    const sum = this.read(x);
    this.sums.set(x, sum);
    return sum;
  }

  private read(x: number): Sum {
    const n = this.at(x);
    const [a, b] = n.args;
    if (n.op === 'const') return { terms: new Map(), constant: n.value };
    if (n.op === 'add' && n.width > 1) return this.plus(this.sumOf(a), this.sumOf(b), 1n, n.width);
    if (n.op === 'mul' && this.valueOf(b) !== null)
      return this.plus(NOTHING, this.sumOf(a), this.valueOf(b)!, n.width);
    // ~x = -1 - x.
    if (n.op === 'xor' && n.width > 1 && this.isOnes(b))
      return this.plus({ terms: new Map(), constant: -1n }, this.sumOf(a), -1n, n.width);
    return { terms: new Map([[x, 1n]]), constant: 0n };
  }

  protected plus(a: Sum, b: Sum, times: bigint, w: number): Sum {
    const terms = new Map(a.terms);
    this.spend(1 + a.terms.size + b.terms.size);
    for (const [given, k] of b.terms) {
      const t = times === 1n ? given : this.counting(given, k * times, w);
      const sum = BigInt.asUintN(w, (terms.get(t) ?? 0n) + k * times);
      if (sum === 0n) terms.delete(t);
      else terms.set(t, sum);
    }
    return { terms, constant: BigInt.asUintN(w, a.constant + b.constant * times) };
  }

  /** Strips an extension from a term if the coefficient shifts the extended bits out. */
  private counting(t: number, k: bigint, w: number): number {
    const x = this.at(t);
    if (x.op !== 'zext' && x.op !== 'sext') return t;
    const part = this.at(x.args[0]);
    if (part.op !== 'extract' || part.n !== 0 || this.at(part.args[0]).width !== w) return t;
    const kept = BigInt.asUintN(w, k);
    return kept !== 0n && kept % (1n << BigInt(w - part.width)) === 0n ? part.args[0] : t;
  }

  protected total(a: Sum, b: Sum, times: bigint, w: number): number | null {
    return a.terms.size + b.terms.size > MOST_TERMS ? null : this.built(this.plus(a, b, times, w), w);
  }

  protected built({ terms, constant }: Sum, w: number): number {
    this.step(1 + terms.size);
    let sum = -1;
    for (const [t, k] of [...terms].sort((p, q) => p[0] - q[0])) {
      const term = k === 1n ? t : this.table.node('mul', w, [t, this.constant(k, w)]);
      sum = sum < 0 ? term : this.table.node('add', w, [sum, term]);
    }
    if (sum < 0) return this.constant(constant, w);
    return constant === 0n ? sum : this.table.node('add', w, [sum, this.constant(constant, w)]);
  }

  /** Moves constant factors out of a product; null if there is none. */
  protected factored(a: number, b: number, w: number): number | null {
    for (const [x, y] of [
      [a, b],
      [b, a],
    ]) {
      const { terms, constant } = this.sumOf(x);
      if (terms.size !== 1 || constant !== 0n) continue;
      const [[t, k]] = terms;
      if (k === 1n) continue;
      return this.total(NOTHING, this.sumOf(this.node('mul', w, [t, y])), k, w);
    }
    return null;
  }

  /** Divides a sum by 2^shift, term by term; null if a coefficient is not a multiple of it. */
  shared(x: number, shift: number): number | null {
    const by = 1n << BigInt(shift);
    const { terms, constant } = this.sumOf(x);
    if (constant % by !== 0n || [...terms.values()].some((k) => k % by !== 0n)) return null;
    const parts = new Map([...terms].map(([t, k]) => [t, k / by]));
    return this.built({ terms: parts, constant: constant / by }, this.at(x).width);
  }

  /** The constant b - a as a signed number; null if the difference is not constant. */
  distance(a: number, b: number): bigint | null {
    const w = this.at(a).width;
    if (w !== this.at(b).width) return null;
    const { terms, constant } = this.plus(this.sumOf(b), this.sumOf(a), -1n, w);
    return terms.size === 0 ? BigInt.asIntN(w, constant) : null;
  }

  /**
   * True if an address is known to be a multiple of `to`, a power of two.
   *
   * @param known for leaves that are addresses of variables, the variables
   */
  isAligned(x: number, to: bigint, known: ReadonlyMap<number, { readonly align: number }>): boolean {
    const { terms, constant } = this.sumOf(x);
    if (constant % to !== 0n) return false;
    return [...terms].every(([t, k]) => {
      const n = this.at(t);
      const multiple = BigInt(known.get(t)?.align ?? 1);
      if ((k * multiple) % to === 0n) return true;
      // The low bits of an extended value are its own.
      if (n.op === 'zext' || n.op === 'sext') return k % 2n === 1n && this.isAligned(n.args[0], to, known);
      return false;
    });
  }

  // ------------------------------------------------------------------ comparisons

  /** Normalizes a comparison: constants are moved to the right side, and extensions are removed; null if it stays as it is. */
  protected less(n: Node, a: number, b: number): number | null {
    const { width } = this.at(a);
    const signed = n.op === 'slt';
    const most = (1n << BigInt(signed ? width - 1 : width)) - 1n;
    const least = signed ? -(1n << BigInt(width - 1)) : 0n;
    const read = (x: bigint | null): bigint | null => (x === null || !signed ? x : BigInt.asIntN(width, x));
    const [left, right] = [read(this.valueOf(a)), read(this.valueOf(b))];
    if (a === b) return this.no;
    if (left !== null && right === null) {
      if (left === most) return this.no;
      return this.negation(this.node(n.op, 1, [b, this.constant(left + 1n, width)], { n: n.n }));
    }
    if (right === null) return null;
    if (right === least) return this.no;
    if (right === least + 1n) return this.node('eq', 1, [a, this.constant(least, width)]);
    if (right === most) return this.negation(this.node('eq', 1, [a, b]));
    const x = this.at(a);
    const [from] = x.args;
    if (x.op !== 'zext' && !(x.op === 'sext' && signed)) return null;
    const inner = this.at(from).width;
    const wide = x.op === 'zext';
    if (wide && right <= 0n) return this.no;
    const [low, high] = wide
      ? [0n, (1n << BigInt(inner)) - 1n]
      : [-(1n << BigInt(inner - 1)), (1n << BigInt(inner - 1)) - 1n];
    if (right > high) return this.yes;
    if (right <= low) return this.no;
    return this.node(wide ? 'ult' : 'slt', 1, [from, this.constant(right, inner)], { n: wide ? 0 : inner });
  }

  protected equal(a: number, b: number): number | null {
    const w = this.at(a).width;
    const difference = this.plus(this.sumOf(a), this.sumOf(b), -1n, w);
    const { terms, constant } = difference;
    if (terms.size === 0) return this.constant(constant === 0n ? 1n : 0n, 1);
    const sides = [1n, -1n].map((sign) => {
      const s = this.plus(NOTHING, difference, sign, w);
      return {
        left: this.built({ terms: s.terms, constant: 0n }, w),
        right: this.constant(-s.constant, w),
      };
    });
    const { left, right } = sides[0].left < sides[1].left ? sides[0] : sides[1];
    const x = this.at(left);
    if (x.op === 'ite') {
      // Equality of a select between constants with a constant is decided by its condition.
      const [on, off] = [x.args[1], x.args[2]].map((y) => this.node('eq', 1, [y, right]));
      if (this.opOf(on) === 'const' && this.opOf(off) === 'const') return this.choose(x.args[0], on, off);
    }
    if (x.op === 'zext' || x.op === 'sext') {
      const inner = this.at(x.args[0]).width;
      const value = this.valueOf(right)!;
      const low = BigInt.asUintN(inner, value);
      const back = x.op === 'zext' ? low : BigInt.asUintN(w, BigInt.asIntN(inner, low));
      if (back !== value) return this.no;
      return this.node('eq', 1, [x.args[0], this.constant(low, inner)]);
    }
    return this.table.node('eq', 1, [left, right]);
  }
}
