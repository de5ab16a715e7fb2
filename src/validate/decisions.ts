import { LimitReached } from '../ir/limit.ts';
import { Normal } from '../rules/prove/normal.ts';
import { unlimited, type WorkBudget } from './work-budget.ts';

/** Maximum number of value nodes in one region: nine times those of the largest region of the test kernels (6,502). */
const MOST_NODES = 60_000;
/** Maximum number of steps of building decisions, selects and sums in one region: six times those of the test kernels (at most 61,114). */
const MOST_STEPS = 400_000;

/**
 * Truth values as reduced ordered binary decision diagrams (Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", 1986) over
 * comparisons and other one-bit values, so that equal functions of the same bits are one node; and selects between other values by such
 * conditions.
 */
export class Decisions extends Normal {
  readonly no = this.constant(0n, 1);
  readonly yes = this.constant(1n, 1);
  private readonly budget: WorkBudget;
  private readonly chosen = new Map<string, number>();
  private readonly constrained = new Map<string, number>();
  private steps = 0;

  /** @param budget the work budget shared by all regions of a function */
  constructor(budget: WorkBudget = unlimited()) {
    super(MOST_NODES);
    this.budget = budget;
  }

  /** Charges `n` steps to the function's budget. @throws LimitReached if it is exhausted */
  spend(n: number): void {
    this.budget.take(n);
  }

  /** Charges `n` steps to the function's and the region's budget. @throws LimitReached if one is exhausted */
  protected step(n = 1): void {
    this.spend(n);
    this.steps += n;
    if (this.steps > MOST_STEPS) throw new LimitReached();
  }

  /** Converts a node of one bit to a decision diagram. */
  protected bit(x: number): number {
    const { op } = this.at(x);
    return op === 'const' || op === 'ite' ? x : this.table.node('ite', 1, [x, this.yes, this.no]);
  }

  /** Not a. */
  negation(a: number): number {
    return this.choose(a, this.no, this.yes);
  }

  /** a and b. */
  both(a: number, b: number): number {
    return this.choose(a, b, this.no);
  }

  /** a or b. */
  either(a: number, b: number): number {
    return this.choose(a, this.yes, b);
  }

  /** True if `a` implies `b`. */
  implies(a: number, b: number): boolean {
    return b === this.yes || this.choose(a, b, this.yes) === this.yes;
  }

  /** True if `a` and `b` never hold together. */
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
   * Simplifies `f` under the assumption `c`: the result agrees with `f` wherever `c` holds (the generalized cofactor of Coudert, Berthet
   * and Madre, "Verification of Synchronous Sequential Machines Based on Symbolic Execution", 1989).
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

  /** `c ? x : y` of any width, normalized so that the condition is false when all its atoms are. */
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

  /** Simplifies a value under the assumption that `c` holds. */
  given(x: number, c: number): number {
    const n = this.at(x);
    if (c === this.yes) return x;
    if (n.width === 1) return this.under(x, c);
    if (n.op !== 'ite') return x;
    if (this.implies(c, n.args[0])) return this.given(n.args[1], c);
    return this.exclude(c, n.args[0]) ? this.given(n.args[2], c) : x;
  }
}
