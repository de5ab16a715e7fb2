import type { CoreOp, Node } from '../isa/lang/graph.ts';
import { Normal, TooLarge } from '../rules/prove/normal.ts';

/** Nodes that the values of one region may have. */
const MOST_NODES = 60_000;
/** Steps of building decisions, choices and sums in one region. */
const MOST_STEPS = 400_000;
/** Terms of a sum that is kept as one; a longer one is left as it is written. */
const MOST_TERMS = 48;

/** Products of a bitwise operation that is kept as one; one with more stays an operation on its operands. */
const MOST_PRODUCTS = 24;

/**
 * An exclusive or of products of operands, each under a mask (the Reed-Muller form): numbers of the factors -> mask; without factors, the
 * mask itself.
 */
type Products = ReadonlyMap<string, bigint>;

/** Work that may be done: steps of everything whose number grows faster than the program. */
export class Purse {
  private left: number;

  constructor(left: number) {
    this.left = left;
  }

  get isEmpty(): boolean {
    return this.left <= 0;
  }

  /** @throws TooLarge if there is no more */
  take(n: number): void {
    this.left -= n;
    if (this.left <= 0) throw new TooLarge();
  }

  /** A purse of at most so much, which is taken from this one. */
  part(most: number): Purse {
    const part = new Purse(Math.min(most, this.left));
    const take = part.take.bind(part);
    part.take = (n) => {
      this.left -= n;
      take(n);
    };
    return part;
  }
}

/** A sum modulo 2^width: node -> coefficient, and a constant. */
interface Sum {
  readonly terms: ReadonlyMap<number, bigint>;
  readonly constant: bigint;
}

/**
 * The values of a region in normal form; equal numbers are equal values. Beside what `Normal` does:
 *
 * - truth values are reduced ordered binary decision diagrams (Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", 1986)
 *   over comparisons and whatever else has one bit, so that equal functions of the same bits are one node;
 * - sums, differences and products by constants are one sum of terms in order;
 * - bitwise logic is an exclusive or of products under masks, in order;
 * - shifts by constants, masks of low bits and quotients by powers of two are extracts.
 *
 * What a region finds in registers and memory is a leaf: a source node, numbered in the order in which leaves were asked for.
 */
export class Values extends Normal {
  private readonly leaves = new Map<string, number>();
  /** Key and width of each leaf. */
  readonly leafKeys: {
    readonly key: string;
    readonly width: number;
    readonly node: number;
    readonly fixed: boolean;
    /** Whether all lanes of a warp have the same. */
    uniform: boolean;
  }[] = [];
  private readonly made = new Map<string, number>();
  private readonly sums = new Map<number, Sum>();
  private readonly chosen = new Map<string, number>();
  private readonly constrained = new Map<string, number>();
  private steps = 0;
  readonly no = this.constant(0n, 1);
  readonly yes = this.constant(1n, 1);

  private readonly purse: Purse;

  constructor(purse: Purse = new Purse(Number.POSITIVE_INFINITY)) {
    super(MOST_NODES);
    this.purse = purse;
  }

  /** @throws TooLarge if there is no more work to be done for the function */
  spend(n: number): void {
    this.purse.take(n);
  }

  /**
   * The unknown value that the key stands for.
   * @param fixed the key means the same in every region, and the value never changes: a parameter, the index of the thread
   */
  leaf(key: string, width: number, fixed = false): number {
    const known = this.leaves.get(key);
    if (known !== undefined) return known;
    const raw = this.table.node('src', width, [], { n: this.leafKeys.length });
    const node = width === 1 ? this.bit(raw) : raw;
    this.leafKeys.push({ key, width, node: raw, fixed, uniform: false });
    this.leaves.set(key, node);
    return node;
  }

  /** A leaf that is fixed. */
  atom(key: string, width: number): number {
    return this.leaf(key, width, true);
  }

  /** Says that all lanes of a warp find the same in a leaf. */
  markUniform(leaf: number): number {
    const n = this.at(leaf);
    const raw = n.op === 'ite' ? this.at(n.args[0]) : n;
    this.leafKeys[raw.n].uniform = true;
    return leaf;
  }

  /** Have all lanes of a warp that come here the same value, since all that it is computed from is the same for them? */
  isUniform(x: number): boolean {
    const seen = new Set([x]);
    for (const y of seen) {
      const n = this.at(y);
      if (n.op === 'src' && !this.leafKeys[n.n].uniform) return false;
      for (const a of n.args) seen.add(a);
    }
    return true;
  }

  /**
   * Is an address a multiple of a power of two?
   * @param known variables whose addresses leaves are
   */
  isAligned(x: number, to: bigint, known: ReadonlyMap<number, { readonly align: number }>): boolean {
    const { terms, constant } = this.sumOf(x);
    if (constant % to !== 0n) return false;
    return [...terms].every(([t, k]) => {
      const n = this.at(t);
      const multiple = BigInt(known.get(t)?.align ?? 1);
      if ((k * multiple) % to === 0n) return true;
      // Low bits of what is extended, or taken from a wider value, are its own.
      if (n.op === 'zext' || n.op === 'sext') return k % 2n === 1n && this.isAligned(n.args[0], to, known);
      return false;
    });
  }

  /** @throws TooLarge if there was too much to do */
  private step(n = 1): void {
    this.spend(n);
    this.steps += n;
    if (this.steps > MOST_STEPS) throw new TooLarge();
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

  /** A node of one bit as a decision diagram. */
  private bit(x: number): number {
    const { op } = this.at(x);
    return op === 'const' || op === 'ite' ? x : this.table.node('ite', 1, [x, this.yes, this.no]);
  }

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

  /** A constant stands on the right side of a comparison, and what an extension adds is not compared. */
  private less(n: Node, a: number, b: number): number | null {
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

  negation(a: number): number {
    return this.choose(a, this.no, this.yes);
  }

  both(a: number, b: number): number {
    return this.choose(a, b, this.no);
  }

  either(a: number, b: number): number {
    return this.choose(a, this.yes, b);
  }

  /** Does the first truth value imply the second? */
  implies(a: number, b: number): boolean {
    return b === this.yes || this.choose(a, b, this.yes) === this.yes;
  }

  exclude(a: number, b: number): boolean {
    return this.both(a, b) === this.no;
  }

  private top(x: number): number {
    const n = this.at(x);
    return n.op === 'const' ? Number.POSITIVE_INFINITY : n.args[0];
  }

  private half(x: number, atom: number, on: boolean): number {
    const n = this.at(x);
    return n.op === 'ite' && n.args[0] === atom ? n.args[on ? 1 : 2] : x;
  }

  /** `f ? g : h` of truth values. */
  choose(f: number, g: number, h: number): number {
    if (f === this.yes || g === h) return g;
    if (f === this.no) return h;
    if (g === this.yes && h === this.no) return f;
    this.step();
    const key = `${f} ${g} ${h}`;
    const known = this.chosen.get(key);
    if (known !== undefined) return known;
    const atom = Math.min(this.top(f), this.top(g), this.top(h));
    const side = (on: boolean): number =>
      this.choose(this.half(f, atom, on), this.half(g, atom, on), this.half(h, atom, on));
    const made = this.decision(atom, side(true), side(false));
    this.chosen.set(key, made);
    return made;
  }

  private decision(atom: number, on: number, off: number): number {
    this.step();
    return on === off ? on : this.table.node('ite', 1, [atom, on, off]);
  }

  /**
   * A truth value that agrees with `f` where `c` holds, and depends on nothing else (the generalized cofactor of Coudert, Berthet and
   * Madre, "Verification of Synchronous Sequential Machines Based on Symbolic Execution", 1989).
   */
  under(f: number, c: number): number {
    if (c === this.yes || this.at(f).op === 'const') return f;
    if (c === this.no) return this.no;
    if (f === c) return this.yes;
    const key = `${f} ${c}`;
    const known = this.constrained.get(key);
    if (known !== undefined) return known;
    const atom = Math.min(this.top(f), this.top(c));
    const [on, off] = [this.half(c, atom, true), this.half(c, atom, false)];
    const [fOn, fOff] = [this.half(f, atom, true), this.half(f, atom, false)];
    const made =
      off === this.no
        ? this.under(fOn, on)
        : on === this.no
          ? this.under(fOff, off)
          : this.decision(atom, this.under(fOn, on), this.under(fOff, off));
    this.constrained.set(key, made);
    return made;
  }

  /** `c ? x : y` of any width; the condition in the form in which it is false where all that it depends on is. */
  select(c: number, x: number, y: number): number {
    if (this.at(x).width === 1) return this.choose(c, x, y);
    if (c === this.yes || x === y) return x;
    if (c === this.no) return y;
    this.step();
    if (this.atNone(c)) return this.select(this.negation(c), y, x);
    const p = this.at(x);
    if (p.op === 'ite') {
      const [d, a, b] = p.args;
      if (this.implies(c, d)) return this.select(c, a, y);
      if (this.exclude(c, d)) return this.select(c, b, y);
      if (b === y) return this.select(this.both(c, d), a, y);
      if (a === y) return this.select(this.both(c, this.negation(d)), b, y);
    }
    const q = this.at(y);
    if (q.op === 'ite') {
      const [d, a, b] = q.args;
      const not = this.negation(c);
      if (this.implies(not, d)) return this.select(c, x, a);
      if (this.exclude(not, d)) return this.select(c, x, b);
      if (a === x) return this.select(this.either(c, d), x, b);
      if (b === x) return this.select(this.either(c, this.negation(d)), x, a);
    }
    return this.table.node('ite', p.width, [c, x, y]);
  }

  private atNone(c: number): boolean {
    let x = c;
    while (this.at(x).op !== 'const') x = this.at(x).args[2];
    return x === this.yes;
  }

  /** The value where a condition is known to hold. */
  given(x: number, c: number): number {
    const n = this.at(x);
    if (c === this.yes) return x;
    if (n.width === 1) return this.under(x, c);
    if (n.op !== 'ite') return x;
    if (this.implies(c, n.args[0])) return this.given(n.args[1], c);
    return this.exclude(c, n.args[0]) ? this.given(n.args[2], c) : x;
  }

  private equal(a: number, b: number): number | null {
    const w = this.at(a).width;
    const difference = this.plus(this.sumOf(a), this.sumOf(b), -1n, w);
    const { terms, constant } = difference;
    if (terms.size === 0) return this.constant(constant === 0n ? 1n : 0n, 1);
    const none: Sum = { terms: new Map(), constant: 0n };
    const sides = [1n, -1n].map((sign) => {
      const s = this.plus(none, difference, sign, w);
      return {
        left: this.built({ terms: s.terms, constant: 0n }, w),
        right: this.constant(-s.constant, w),
      };
    });
    const { left, right } = sides[0].left < sides[1].left ? sides[0] : sides[1];
    const x = this.at(left);
    if (x.op === 'ite') {
      // A choice between constants is asked about by its condition.
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
        if (x !== null || y !== null)
          return this.total({ terms: new Map(), constant: 0n }, this.sumOf(x === null ? a : b), x ?? y!, w);
        return this.factored(a, b, w);
      }
      case 'shl': {
        const by = this.valueOf(b);
        if (by === null) return null;
        if (by >= BigInt(w)) return this.constant(0n, w);
        return this.total({ terms: new Map(), constant: 0n }, this.sumOf(a), 1n << by, w);
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

  private widened(x: number, w: number, signed: boolean): number {
    const from = this.at(x).width;
    return from === w ? x : this.node(signed ? 'sext' : 'zext', w, [x], { n: signed ? from : 0 });
  }

  /** An extension of an extension is one of what that extends. */
  private extended(signed: boolean, a: number, w: number): number | null {
    const x = this.at(a);
    if (x.width === w) return a;
    if (x.op === 'zext') return this.widened(x.args[0], w, false);
    return x.op === 'sext' && signed ? this.widened(x.args[0], w, true) : null;
  }

  /** Low bits of a sum are the sum of low bits. */
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

  /** Bits of a product by a power of two are bits of its factor, or zeros. */
  private ofShifted(a: number, low: number, w: number): number | null {
    const { terms, constant } = this.sumOf(a);
    if (terms.size !== 1 || constant !== 0n) return null;
    const [[t, k]] = terms;
    const by = powerOf(k);
    if (by <= 0) return null;
    if (low + w <= by) return this.constant(0n, w);
    return low >= by ? this.bitsOf(t, low - by, w) : null;
  }

  /** Bits of a sum whose terms have no bit in common are the sum of their bits. */
  private ofDisjoint(a: number, low: number, w: number): number | null {
    const x = this.at(a);
    if (x.op !== 'add' || !this.isDisjoint(a)) return null;
    return this.node(
      'add',
      w,
      x.args.map((y) => this.bitsOf(y, low, w)),
    );
  }

  private readonly bits = new Map<number, bigint>();

  /** The bits of a value that may be set. */
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

  /** Is it a sum of two values that have no bit in common, and so the same as their exclusive or? */
  private isDisjoint(x: number): boolean {
    const [a, b] = this.at(x).args;
    return (this.mayBe(a) & this.mayBe(b)) === 0n;
  }

  // ------------------------------------------------------------------ bitwise logic

  /** A bitwise operation as an exclusive or of products of its operands, each under a mask; null: there are too many. */
  private logic(n: Node, args: readonly number[]): number | null {
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
        // Row k of the table is the product of the operands, each inverted where its bit of k is 0.
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

  private readonly products = new Map<number, Products>();

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
      // Low bits of a value of the same width are that value under a mask.
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

  /** A value under a mask; low bits as what is extended. */
  private masked(x: number, mask: bigint, w: number): number {
    const k = powerOf(mask + 1n);
    return k > 0
      ? this.widened(this.bitsOf(x, 0, k), w, false)
      : this.table.node('and', w, [x, this.constant(mask, w)]);
  }

  // ------------------------------------------------------------------ sums

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
      return this.plus({ terms: new Map(), constant: 0n }, this.sumOf(a), this.valueOf(b)!, n.width);
    // What is inverted is -1 less what it was.
    if (n.op === 'xor' && n.width > 1 && this.isOnes(b))
      return this.plus({ terms: new Map(), constant: -1n }, this.sumOf(a), -1n, n.width);
    return { terms: new Map([[x, 1n]]), constant: 0n };
  }

  private plus(a: Sum, b: Sum, times: bigint, w: number): Sum {
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

  /** What is left of a factor where its high bits do not count, since they are shifted out. */
  private counting(t: number, k: bigint, w: number): number {
    const x = this.at(t);
    if (x.op !== 'zext' && x.op !== 'sext') return t;
    const part = this.at(x.args[0]);
    if (part.op !== 'extract' || part.n !== 0 || this.at(part.args[0]).width !== w) return t;
    const kept = BigInt.asUintN(w, k);
    return kept !== 0n && kept % (1n << BigInt(w - part.width)) === 0n ? part.args[0] : t;
  }

  private total(a: Sum, b: Sum, times: bigint, w: number): number | null {
    return a.terms.size + b.terms.size > MOST_TERMS ? null : this.built(this.plus(a, b, times, w), w);
  }

  private built({ terms, constant }: Sum, w: number): number {
    this.step(1 + terms.size);
    let sum = -1;
    for (const [t, k] of [...terms].sort((p, q) => p[0] - q[0])) {
      const term = k === 1n ? t : this.table.node('mul', w, [t, this.constant(k, w)]);
      sum = sum < 0 ? term : this.table.node('add', w, [sum, term]);
    }
    if (sum < 0) return this.constant(constant, w);
    return constant === 0n ? sum : this.table.node('add', w, [sum, this.constant(constant, w)]);
  }

  /** Constant factors stand outside of a product. */
  private factored(a: number, b: number, w: number): number | null {
    for (const [x, y] of [
      [a, b],
      [b, a],
    ]) {
      const { terms, constant } = this.sumOf(x);
      if (terms.size !== 1 || constant !== 0n) continue;
      const [[t, k]] = terms;
      if (k === 1n) continue;
      return this.total({ terms: new Map(), constant: 0n }, this.sumOf(this.node('mul', w, [t, y])), k, w);
    }
    return null;
  }

  /** The sum of which this one is a multiple by a power of two, as it is written; null if some term is none. */
  shared(x: number, shift: number): number | null {
    const by = 1n << BigInt(shift);
    const { terms, constant } = this.sumOf(x);
    if (constant % by !== 0n || [...terms.values()].some((k) => k % by !== 0n)) return null;
    const parts = new Map([...terms].map(([t, k]) => [t, k / by]));
    return this.built({ terms: parts, constant: constant / by }, this.at(x).width);
  }

  /** The constant distance from the first value to the second, as a signed number; null if it is none. */
  distance(a: number, b: number): bigint | null {
    const w = this.at(a).width;
    if (w !== this.at(b).width) return null;
    const { terms, constant } = this.plus(this.sumOf(b), this.sumOf(a), -1n, w);
    return terms.size === 0 ? BigInt.asIntN(w, constant) : null;
  }

  /** Is the value of two leaves, low and high word, part of one of these addresses? */
  isPointer(low: number, high: number, addresses: readonly number[]): boolean {
    return addresses.some((x) =>
      [...this.sumOf(x).terms.keys()].some((t) => {
        const { op, args } = this.at(t);
        return op === 'concat' && args[0] === this.leafKeys[high].node && args[1] === this.leafKeys[low].node;
      }),
    );
  }

  /** Where two values part: the innermost pair of parts that is all that differs. */
  parting(x: number, y: number): [number, number] {
    let pair: [number, number] = [x, y];
    for (;;) {
      const [a, b] = pair.map((z) => this.at(z));
      if (a.op !== b.op || a.args.length !== b.args.length || a.n !== b.n || a.aux !== b.aux) return pair;
      const differing = a.args.flatMap((p, i): [number, number][] =>
        p === b.args[i] ? [] : [[p, b.args[i]]],
      );
      // Constants say little without what is done with them.
      if (differing.length !== 1 || differing[0].some((z) => this.valueOf(z) !== null)) return pair;
      pair = differing[0];
    }
  }

  /** A value for people, down to a depth. */
  textOf(x: number, depth = 2): string {
    const n = this.at(x);
    if (n.op === 'const') return n.value < 10n ? String(n.value) : `0x${n.value.toString(16)}`;
    if (n.op === 'src') return this.leafKeys[n.n].key.split(' ').slice(0, 2).join(' ');
    if (n.op === 'ite' && n.width === 1 && n.args[1] === this.yes && n.args[2] === this.no)
      return this.textOf(n.args[0], depth);
    if (depth === 0) return '...';
    const more =
      n.op === 'extract' ? `.${n.n}` : n.op === 'lop3' ? `.${n.n}` : n.aux === '' ? '' : `.${n.aux}`;
    return `${n.op}${more}${n.width === 32 ? '' : `.${n.width}`}(${n.args.map((a) => this.textOf(a, depth - 1)).join(', ')})`;
  }

  opOf(x: number): CoreOp {
    return this.at(x).op;
  }
}

const compareLists = (a: readonly number[], b: readonly number[]): number => {
  const k = a.findIndex((x, i) => x !== b[i]);
  return k < 0 ? 0 : a[k] - b[k];
};

/** The exponent of a power of two, or -1. */
function powerOf(value: bigint | null): number {
  if (value === null || value <= 0n || (value & (value - 1n)) !== 0n) return -1;
  return value.toString(2).length - 1;
}
