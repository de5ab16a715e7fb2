import type { Node } from '../isa/lang/graph.ts';
import { powerOf, Sums } from './sums.ts';

/** Maximum number of products in this form; a larger operation stays as it is. Any function of four operands has at most 16. */
const MOST_PRODUCTS = 24;

/**
 * An exclusive or of products of operands, each under a mask (Reed-Muller form). The key lists the nodes of the factors, the value is the
 * mask; without factors the product is the mask itself.
 */
type Products = ReadonlyMap<string, bigint>;

/** Bitwise logic in Reed-Muller form, in canonical order; written as a sum where no two terms share a bit. */
export class Logic extends Sums {
  private readonly products = new Map<number, Products>();
  private readonly bits = new Map<number, bigint>();

  /** Mask of the bits of a value that may be set. */
  private mayBe(x: number): bigint {
    const known = this.bits.get(x);
    if (known !== undefined) return known;
    const n = this.at(x);
    const all = (1n << BigInt(n.width)) - 1n;
    const [a, b, c] = n.args;
    let out = all;
    switch (n.op) {
      case 'const':
        out = n.value;
        break;
      case 'zext':
        out = this.mayBe(a);
        break;
      case 'and':
        out = this.mayBe(a) & this.mayBe(b);
        break;
      case 'xor':
        out = this.mayBe(a) | this.mayBe(b);
        break;
      case 'ite':
        if (n.width > 1) out = this.mayBe(b) | this.mayBe(c);
        break;
      case 'extract':
        out = (this.mayBe(a) >> BigInt(n.n)) & all;
        break;
      case 'add':
        if ((this.mayBe(a) & this.mayBe(b)) === 0n) out = this.mayBe(a) | this.mayBe(b);
        break;
      case 'mul': {
        const by = powerOf(this.valueOf(b));
        if (by >= 0) out = (this.mayBe(a) << BigInt(by)) & all;
        break;
      }
      default:
    }
    this.bits.set(x, out);
    return out;
  }

  /** True if a sum has operands without a common bit, so that it equals their exclusive or. */
  protected isDisjoint(x: number): boolean {
    const [a, b] = this.at(x).args;
    return (this.mayBe(a) & this.mayBe(b)) === 0n;
  }

  /** Normalizes a bitwise operation to Reed-Muller form; null if it has too many products. */
  protected logic(n: Node, args: readonly number[]): number | null {
    const w = n.width;
    const ones = (1n << BigInt(w)) - 1n;
    const all: Products = new Map([['', ones]]);
    const of = args.map((x) => this.productsOf(x));
    let result: Products | null;
    const [a, b, c] = of;
    const inverse = (x: Products | null): Products | null => x && this.apart(x, all);
    switch (n.op) {
      case 'and':
        result = this.times(a, b);
        break;
      case 'xor':
        result = this.apart(a, b);
        break;
      case 'or':
        result = inverse(this.times(inverse(a), inverse(b)));
        break;
      case 'not':
        result = inverse(a);
        break;
      default: {
        // Row k of the table is the product of the operands, each inverted if its bit of k is 0.
        result = new Map();
        for (let row = 0; row < 8 && result !== null; row++) {
          if (((n.n >> row) & 1) === 0) continue;
          const term = [a, b, c].reduce(
            (t: Products | null, x, k) => this.times(t, ((row >> (2 - k)) & 1) === 1 ? x : inverse(x)),
            all,
          );
          result = this.apart(result, term);
        }
      }
    }
    return result === null ? null : this.ofProducts(result, w);
  }

  private productsOf(x: number): Products {
    const known = this.products.get(x);
    if (known !== undefined) return known;
    const made = this.readProducts(x);
    this.products.set(x, made);
    return made;
  }

  private readProducts(x: number): Products {
    const n = this.at(x);
    const ones = (1n << BigInt(n.width)) - 1n;
    const itself: Products = new Map([[String(x), ones]]);
    if (n.op === 'const') return n.value === 0n ? new Map() : new Map([['', n.value]]);
    if (n.op === 'zext') {
      // A zero-extended low part of a value of the same width is that value under a mask.
      const part = this.at(n.args[0]);
      if (part.op === 'extract' && part.n === 0 && this.at(part.args[0]).width === n.width)
        return new Map([[String(part.args[0]), (1n << BigInt(part.width)) - 1n]]);
      return itself;
    }
    if (n.op === 'add' && this.isDisjoint(x))
      return this.apart(this.productsOf(n.args[0]), this.productsOf(n.args[1])) ?? itself;
    if (n.op === 'and') return this.times(this.productsOf(n.args[0]), this.productsOf(n.args[1])) ?? itself;
    if (n.op === 'xor') return this.apart(this.productsOf(n.args[0]), this.productsOf(n.args[1])) ?? itself;
    return itself;
  }

  private apart(a: Products | null, b: Products | null): Products | null {
    if (a === null || b === null) return null;
    const out = new Map(a);
    for (const [key, mask] of b) {
      const sum = (out.get(key) ?? 0n) ^ mask;
      if (sum === 0n) out.delete(key);
      else out.set(key, sum);
    }
    return out.size > MOST_PRODUCTS ? null : out;
  }

  private times(a: Products | null, b: Products | null): Products | null {
    if (a === null || b === null || a.size * b.size > MOST_PRODUCTS * MOST_PRODUCTS) return null;
    const out = new Map<string, bigint>();
    for (const [p, m] of a)
      for (const [q, k] of b) {
        if ((m & k) === 0n) continue;
        const factors = new Set([...p.split('.'), ...q.split('.')]);
        factors.delete('');
        const key = [...factors].sort((x, y) => Number(x) - Number(y)).join('.');
        const sum = (out.get(key) ?? 0n) ^ (m & k);
        if (sum === 0n) out.delete(key);
        else out.set(key, sum);
      }
    return out.size > MOST_PRODUCTS ? null : out;
  }

  private ofProducts(products: Products, w: number): number {
    this.step(1 + products.size);
    const ones = (1n << BigInt(w)) - 1n;
    const constant = products.get('') ?? 0n;
    const list = [...products]
      .filter(([key]) => key !== '')
      .map(([key, mask]) => ({ key: key.split('.').map(Number), mask }));
    list.sort((p, q) => p.key.length - q.key.length || compareLists(p.key, q.key));
    const terms = list.map(({ key, mask }) => {
      let term = key[0];
      for (const f of key.slice(1)) term = this.table.node('and', w, [term, f]);
      return (this.mayBe(term) & ~mask & ones) === 0n ? term : this.masked(term, mask, w);
    });
    if (constant !== 0n || terms.length === 0) terms.push(this.constant(constant, w));
    let seen = 0n;
    const disjoint = terms.every((t) => {
      const common = seen & this.mayBe(t);
      seen |= this.mayBe(t);
      return common === 0n;
    });
    if (disjoint) {
      let sum = this.sumOf(terms[0]);
      for (const t of terms.slice(1)) sum = this.plus(sum, this.sumOf(t), 1n, w);
      return this.built(sum, w);
    }
    return terms.reduce((x, y) => this.table.node('xor', w, [x, y]));
  }

  /** A value under a mask; a mask of low bits becomes an extract and an extension. */
  private masked(x: number, mask: bigint, w: number): number {
    const k = powerOf(mask + 1n);
    return k > 0
      ? this.widened(this.bitsOf(x, 0, k), w, false)
      : this.table.node('and', w, [x, this.constant(mask, w)]);
  }

  /** A value extended to width `w`. */
  protected widened(x: number, w: number, signed: boolean): number {
    const from = this.at(x).width;
    return from === w ? x : this.node(signed ? 'sext' : 'zext', w, [x], { n: signed ? from : 0 });
  }
}

const compareLists = (a: readonly number[], b: readonly number[]): number => {
  const k = a.findIndex((x, i) => x !== b[i]);
  return k < 0 ? 0 : a[k] - b[k];
};
