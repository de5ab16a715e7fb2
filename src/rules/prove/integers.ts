import { Unsupported } from '../../ir/unsupported.ts';
import type { Node } from '../../isa/lang/graph.ts';
import type { Goal } from './goal.ts';
import type { Question } from './question.ts';

/** A node as a term over the integers, with its range (both ends included). */
interface Whole {
  readonly term: string;
  readonly lo: bigint;
  readonly hi: bigint;
}

const power = (w: number): bigint => 1n << BigInt(w);
const floorDiv = (a: bigint, b: bigint): bigint => (a >= 0n ? a / b : -((-a + b - 1n) / b));
const number = (x: bigint): string => (x < 0n ? `(- ${-x})` : String(x));

/**
 * A goal as a query in linear arithmetic over bounded integers. Every value is an integer from 0 to 2^width - 1; wrapping subtracts an
 * unknown multiple of 2^width; a quotient is an unknown whose remainder is below the divisor. Multiplication and division by constants,
 * which are hard for solvers as bit vectors, become easy.
 *
 * @returns null if the goal is not linear: products of unknowns, logic on bits, floats
 */
export function integerQuestion(goal: Goal): Question | null {
  try {
    return new IntegerWriter(goal).question();
  } catch (e) {
    if (e instanceof Unsupported) return null;
    throw e;
  }
}

class IntegerWriter {
  private readonly goal: Goal;
  private readonly lines: string[] = ['(set-logic QF_LIA)'];
  private readonly at: Whole[] = [];
  private fresh = 0;

  constructor(goal: Goal) {
    this.goal = goal;
  }

  question(): Question {
    const { goal, lines } = this;
    const names = goal.inputs.map((_, i) => `v${i}`);
    goal.inputs.forEach((x, i) => this.declare(names[i], 0n, power(x.width) - 1n));
    goal.nodes.forEach((n, i) => {
      const w = this.node(n);
      if (!w.term.startsWith('(')) {
        this.at.push(w);
        return;
      }
      lines.push(`(define-fun n${i} () Int ${w.term})`);
      this.at.push({ ...w, term: `n${i}` });
    });
    for (const g of goal.given) lines.push(`(assert (= ${this.at[g].term} 1))`);
    const differ = goal.results.map((r) => `(distinct ${this.at[r.left].term} ${this.at[r.right].term})`);
    lines.push(`(assert (or ${differ.join(' ')} false))`);
    return { text: lines.join('\n'), names };
  }

  private declare(name: string, lo: bigint, hi: bigint): Whole {
    this.lines.push(`(declare-fun ${name} () Int)`, `(assert (<= ${number(lo)} ${name} ${number(hi)}))`);
    return { term: name, lo, hi };
  }

  private unknown(lo: bigint, hi: bigint): Whole {
    return this.declare(`q${this.fresh++}`, lo, hi);
  }

  // ------------------------------------------------------------------ arithmetic

  /** Quotient rounded down, and remainder, of a division by a positive constant. */
  private divide(x: Whole, by: bigint): { quotient: Whole; rest: Whole } {
    const quotient = this.unknown(floorDiv(x.lo, by), floorDiv(x.hi, by));
    const rest = this.unknown(0n, by - 1n);
    this.lines.push(`(assert (= ${x.term} (+ (* ${by} ${quotient.term}) ${rest.term})))`);
    return { quotient, rest };
  }

  /** The value modulo 2^width. */
  private wrap(x: Whole, width: number): Whole {
    return x.lo >= 0n && x.hi < power(width) ? x : this.divide(x, power(width)).rest;
  }

  private times(x: Whole, by: bigint): Whole {
    const ends = [x.lo * by, x.hi * by];
    return { term: `(* ${number(by)} ${x.term})`, lo: min(ends), hi: max(ends) };
  }

  private signed(x: Whole, width: number): Whole {
    const half = power(width - 1);
    if (x.hi < half) return x;
    return {
      term: `(ite (>= ${x.term} ${half}) (- ${x.term} ${power(width)}) ${x.term})`,
      lo: -half,
      hi: half - 1n,
    };
  }

  /** Signed quotient and remainder, truncated towards zero. */
  private truncated(x: Whole, by: bigint): { quotient: Whole; rest: Whole } {
    const size = by < 0n ? -by : by;
    const most = max([-x.lo, x.hi]);
    const negative = `(< ${x.term} 0)`;
    const magnitude = { term: `(ite ${negative} (- ${x.term}) ${x.term})`, lo: 0n, hi: most };
    const { quotient: q, rest: r } = this.divide(magnitude, size);
    const opposite = by < 0n ? `(not ${negative})` : negative;
    return {
      quotient: { term: `(ite ${opposite} (- ${q.term}) ${q.term})`, lo: -q.hi, hi: q.hi },
      rest: { term: `(ite ${negative} (- ${r.term}) ${r.term})`, lo: -r.hi, hi: r.hi },
    };
  }

  private truth(term: string): Whole {
    return { term: `(ite ${term} 1 0)`, lo: 0n, hi: 1n };
  }

  // ------------------------------------------------------------------ nodes

  private constant(id: number): bigint | null {
    const n = this.goal.nodes[id];
    return n.op === 'const' ? n.value : null;
  }

  /** The constant factor of a product, and the other factor. @throws Unsupported if neither is constant */
  private factors(n: Node): { c: bigint; x: Whole } {
    for (const i of [0, 1]) {
      const c = this.constant(n.args[i]);
      if (c !== null) return { c, x: this.at[n.args[1 - i]] };
    }
    throw new Unsupported();
  }

  /** The value of an operand. @throws Unsupported if it is not constant */
  private known(n: Node, arg: number): bigint {
    const c = this.constant(n.args[arg]);
    if (c === null) throw new Unsupported();
    return c;
  }

  private node(n: Node): Whole {
    const w = n.width;
    const [a, b, c] = n.args.map((i) => this.at[i]);
    if (n.fmt !== '') throw new Unsupported();
    switch (n.op) {
      case 'const':
        return { term: String(n.value), lo: n.value, hi: n.value };
      case 'src':
        return { term: `v${n.n}`, lo: 0n, hi: power(w) - 1n };
      case 'add':
        return this.wrap({ term: `(+ ${a.term} ${b.term})`, lo: a.lo + b.lo, hi: a.hi + b.hi }, w);
      case 'sub':
        return this.wrap({ term: `(- ${a.term} ${b.term})`, lo: a.lo - b.hi, hi: a.hi - b.lo }, w);
      case 'mul': {
        const f = this.factors(n);
        // The constant's representative closest to zero keeps the multiple of 2^width that wrapping subtracts small.
        return this.wrap(this.times(f.x, BigInt.asIntN(w, f.c)), w);
      }
      case 'umulh': {
        const f = this.factors(n);
        return this.divide(this.times(f.x, f.c), power(w)).quotient;
      }
      case 'smulh': {
        const f = this.factors(n);
        const product = this.times(this.signed(f.x, w), BigInt.asIntN(w, f.c));
        return this.wrap(this.divide(product, power(w)).quotient, w);
      }
      case 'udiv':
      case 'urem': {
        const by = this.known(n, 1);
        if (by === 0n) throw new Unsupported();
        const d = this.divide(a, by);
        return n.op === 'udiv' ? d.quotient : d.rest;
      }
      case 'sdiv':
      case 'srem': {
        const by = BigInt.asIntN(w, this.known(n, 1));
        if (by === 0n) throw new Unsupported();
        const d = this.truncated(this.signed(a, w), by);
        return this.wrap(n.op === 'sdiv' ? d.quotient : d.rest, w);
      }
      case 'shl': {
        const k = this.known(n, 1);
        if (k >= BigInt(w)) return { term: '0', lo: 0n, hi: 0n };
        return this.wrap(this.times(a, 1n << k), w);
      }
      case 'lshr': {
        const k = this.known(n, 1);
        if (k >= BigInt(w)) return { term: '0', lo: 0n, hi: 0n };
        return k === 0n ? a : this.divide(a, 1n << k).quotient;
      }
      case 'ashr': {
        const k = this.known(n, 1);
        const by = 1n << (k >= BigInt(w) ? BigInt(w) : k);
        return this.wrap(this.divide(this.signed(a, w), by).quotient, w);
      }
      case 'eq':
        return this.truth(`(= ${a.term} ${b.term})`);
      case 'ult':
        return this.truth(`(< ${a.term} ${b.term})`);
      case 'slt':
        return this.truth(`(< ${this.signed(a, n.n).term} ${this.signed(b, n.n).term})`);
      case 'ite':
        return {
          term: `(ite (= ${a.term} 1) ${b.term} ${c.term})`,
          lo: min([b.lo, c.lo]),
          hi: max([b.hi, c.hi]),
        };
      case 'not':
        return { term: `(- ${power(w) - 1n} ${a.term})`, lo: power(w) - 1n - a.hi, hi: power(w) - 1n - a.lo };
      case 'and':
        return w === 1 ? this.truth(`(= 2 (+ ${a.term} ${b.term}))`) : this.masked(n.args[0], n.args[1], w);
      case 'or':
        if (w !== 1) throw new Unsupported();
        return this.truth(`(> (+ ${a.term} ${b.term}) 0)`);
      case 'xor':
        if (w !== 1) throw new Unsupported();
        return this.truth(`(= 1 (+ ${a.term} ${b.term}))`);
      case 'lop3':
        if (n.n !== 0xc0) throw new Unsupported();
        return this.masked(n.args[0], n.args[1], w);
      case 'zext':
        return a;
      case 'sext':
        return this.wrap(this.signed(a, n.n), w);
      case 'extract': {
        const shifted = n.n === 0 ? a : this.divide(a, power(n.n)).quotient;
        return this.wrap(shifted, w);
      }
      case 'concat': {
        const high = this.times(a, power(n.n));
        return { term: `(+ ${high.term} ${b.term})`, lo: high.lo + b.lo, hi: high.hi + b.hi };
      }
      default:
        throw new Unsupported();
    }
  }

  /** `x & mask`, if the mask is a run of ones at the bottom or the top. */
  private masked(p: number, q: number, w: number): Whole {
    const [x, mask] =
      this.constant(q) !== null ? [this.at[p], this.constant(q)!] : [this.at[q], this.constant(p)];
    if (mask === null) throw new Unsupported();
    if ((mask & (mask + 1n)) === 0n)
      return mask === 0n ? { term: '0', lo: 0n, hi: 0n } : this.divide(x, mask + 1n).rest;
    const below = power(w) - 1n - mask;
    if ((below & (below + 1n)) !== 0n) throw new Unsupported();
    return this.times(this.divide(x, below + 1n).quotient, below + 1n);
  }
}

const min = (xs: readonly bigint[]): bigint => xs.reduce((a, b) => (a < b ? a : b));
const max = (xs: readonly bigint[]): bigint => xs.reduce((a, b) => (a > b ? a : b));
