/** Finds constants that take an arm without a solver: operations are inverted, from the wanted value down to constants of the pattern. */
import { evalNode } from '../../isa/lang/evaluate.ts';
import type { Node } from '../../isa/lang/graph.ts';
import type { Arms } from './arms.ts';
import type { Draw } from './draw.ts';

/** Maximum number of repairs in one attempt: satisfying one condition may violate another. */
const REPAIRS = 24;
/** Maximum number of operations inverted in one attempt. */
const MOST_STEPS = 400;

/**
 * Searches for constants that take an arm and satisfy all assumptions. Incomplete: null does not mean that there are none.
 * @param arm a one-bit node
 * @param from initial values of the inputs
 * @param draw random choices, so that another call may find other constants
 * @returns values of the inputs, checked by evaluation, or null
 */
export function inverted(
  arms: Arms,
  arm: number,
  from: readonly bigint[],
  draw: Pick<Draw, 'next' | 'value'>,
): bigint[] | null {
  return new Inverter(arms, arm, from, draw).run();
}

const low = (width: number, x: bigint): bigint => BigInt.asUintN(width, x);
const allOnes = (width: number): bigint => (1n << BigInt(width)) - 1n;

/** The inverse of an odd number modulo 2^width, by Newton's iteration (Hacker's Delight, 10-16). */
function inverse(x: bigint, width: number): bigint {
  let y = x;
  for (let bits = 3; bits < width; bits *= 2) y = low(width, y * (2n - x * y));
  return low(width, y);
}

class Inverter {
  private readonly nodes: readonly Node[];
  private readonly wanted: readonly number[];
  private readonly draw: Pick<Draw, 'next' | 'value'>;
  private readonly env: bigint[];
  /** The nodes that `wanted` depends on, in topological order. */
  private readonly cone: readonly number[];
  private readonly value: bigint[] = [];
  private steps = 0;

  constructor(arms: Arms, arm: number, from: readonly bigint[], draw: Pick<Draw, 'next' | 'value'>) {
    this.nodes = arms.nodes;
    this.wanted = [arm, ...arms.given];
    this.draw = draw;
    this.env = [...from];
    const needed = new Set<number>(this.wanted);
    for (let i = arms.nodes.length - 1; i >= 0; i--)
      if (needed.has(i)) for (const a of arms.nodes[i].args) needed.add(a);
    this.cone = [...needed].sort((a, b) => a - b);
  }

  run(): bigint[] | null {
    this.evaluate();
    for (let n = 0; n < REPAIRS; n++) {
      const unmet = this.wanted.filter((w) => this.value[w] !== 1n);
      if (unmet.length === 0) return this.env;
      if (!this.reach(unmet[n === 0 ? 0 : this.pick(unmet.length)], 1n)) return null;
    }
    return this.wanted.every((w) => this.value[w] === 1n) ? this.env : null;
  }

  private evaluate(): void {
    for (const i of this.cone) {
      const n = this.nodes[i];
      this.value[i] =
        n.op === 'src'
          ? this.env[n.n]
          : evalNode(
              n,
              n.args.map((a) => this.value[a]),
            );
    }
  }

  private pick(n: number): number {
    return this.draw.next() % n;
  }

  /** The word with the bits of `mask` from `x` and the others from `now`. */
  private mixed(now: bigint, x: bigint, mask: bigint): bigint {
    return (now & ~mask) | (x & mask);
  }

  /** Changes inputs so that node `i` gets the value `t`; false if it does not succeed. */
  private reach(i: number, t: bigint): boolean {
    if (this.value[i] === t) return true;
    if (++this.steps > MOST_STEPS) return false;
    const n = this.nodes[i];
    const w = n.width;
    const [a, b] = n.args;
    const at = (x: number): bigint => this.value[x];
    const widthOf = (x: number): number => this.nodes[x].width;
    /** Tries to change one operand or else the other, in random order. */
    const one = (f: (x: number, other: bigint) => boolean): boolean =>
      this.pick(2) === 0 ? f(a, at(b)) || f(b, at(a)) : f(b, at(a)) || f(a, at(b));
    switch (n.op) {
      case 'src':
        this.env[n.n] = t;
        this.evaluate();
        return true;
      case 'not':
        return this.reach(a, low(w, ~t));
      case 'add':
        return one((x, other) => this.reach(x, low(w, t - other)));
      case 'sub':
        return this.pick(2) === 0
          ? this.reach(a, low(w, t + at(b))) || this.reach(b, low(w, at(a) - t))
          : this.reach(b, low(w, at(a) - t)) || this.reach(a, low(w, t + at(b)));
      case 'xor':
        return one((x, other) => this.reach(x, t ^ other));
      case 'mul':
        return one((x, other) => this.factor(x, other, t, w));
      case 'and':
        if (w === 1) return t === 1n ? this.reach(a, 1n) && this.reach(b, 1n) : one((x) => this.reach(x, 0n));
        return one(
          (x, mask) =>
            (t & ~mask) === 0n && this.reach(x, this.mixed(this.draw.value(w, false) & at(x), t, mask)),
        );
      case 'or':
        if (w === 1) return t === 0n ? this.reach(a, 0n) && this.reach(b, 0n) : one((x) => this.reach(x, 1n));
        return one((x, mask) => (mask & ~t) === 0n && this.reach(x, this.mixed(at(x), t, allOnes(w) ^ mask)));
      case 'shl':
      case 'lshr':
      case 'ashr':
        return this.shifted(n, t);
      case 'eq':
        if (t === 1n) return one((x, other) => this.reach(x, other));
        return one((x, other) => this.reach(x, other ^ (1n << BigInt(this.pick(widthOf(x))))));
      case 'ult':
      case 'slt':
        return this.ordered(n, t);
      case 'ite': {
        const [c, yes, no] = n.args;
        const first = this.pick(2);
        for (const taken of [first, 1 - first])
          if (this.reach(c, BigInt(taken)) && this.reach(taken === 1 ? yes : no, t)) return true;
        return false;
      }
      case 'zext':
        return t >> BigInt(widthOf(a)) === 0n && this.reach(a, t);
      case 'sext':
        return low(w, BigInt.asIntN(n.n, t)) === t && this.reach(a, low(widthOf(a), t));
      case 'extract':
        return this.reach(a, this.mixed(at(a), t << BigInt(n.n), allOnes(w) << BigInt(n.n)));
      case 'concat':
        return this.reach(a, t >> BigInt(n.n)) && this.reach(b, low(n.n, t));
      case 'brev':
        return this.reach(a, BigInt(`0b${[...t.toString(2).padStart(w, '0')].reverse().join('')}`));
      case 'popc':
        return t <= BigInt(widthOf(a)) && this.reach(a, this.ones(Number(t), widthOf(a)));
      case 'clz': {
        const from = widthOf(a);
        if (t > BigInt(from)) return false;
        const top = from - Number(t);
        return this.reach(
          a,
          top === 0 ? 0n : (1n << BigInt(top - 1)) | low(top - 1, this.draw.value(from, false)),
        );
      }
      case 'umulh':
        // The least factor whose product has a high half of at least t; the half may already be greater.
        return one((x, other) => {
          if (other === 0n) return false;
          const found = ((t << BigInt(w)) + other - 1n) / other;
          return found <= allOnes(w) && (found * other) >> BigInt(w) === t && this.reach(x, found);
        });
      case 'udiv':
        return at(b) !== 0n && t * at(b) <= allOnes(w) && this.reach(a, t * at(b));
      case 'urem':
        return (
          at(b) !== 0n &&
          t < at(b) &&
          this.reach(a, at(a) - (at(a) % at(b)) + t <= allOnes(w) ? at(a) - (at(a) % at(b)) + t : t)
        );
      case 'fneg':
        return this.reach(a, t ^ (1n << BigInt(w - 1)));
      case 'fabs':
        return t >> BigInt(w - 1) === 0n && this.reach(a, t | (BigInt(this.pick(2)) << BigInt(w - 1)));
      case 'ftz':
        return this.reach(a, t);
      case 'fcmp':
        return one((x, other) => this.reach(x, other)) && this.value[i] === t;
      default:
        return false;
    }
  }

  /** Inverts a product with one factor given, by the inverse of its odd part. High bits that its even part shifts out are free. */
  private factor(x: number, other: bigint, t: bigint, w: number): boolean {
    if (other === 0n) return false;
    let zeros = 0;
    while (((other >> BigInt(zeros)) & 1n) === 0n) zeros++;
    if (low(zeros, t) !== 0n) return false;
    const rest = w - zeros;
    const found = low(rest, (t >> BigInt(zeros)) * inverse(low(rest, other >> BigInt(zeros)), rest));
    return this.reach(x, found | low(w, this.value[x] & (allOnes(zeros) << BigInt(rest))));
  }

  private shifted(n: Node, t: bigint): boolean {
    const w = n.width;
    const [a, b] = n.args;
    const by = this.value[b];
    if (by < BigInt(w) && this.pick(4) > 0) {
      const now = this.value[a];
      const lost = allOnes(Number(by));
      if (n.op === 'shl')
        return (t & lost) === 0n && this.reach(a, this.mixed(t >> by, now, lost << (BigInt(w) - by)));
      const back = low(w, t << by);
      const again = n.op === 'lshr' ? back >> by : low(w, BigInt.asIntN(w, back) >> by);
      return again === t && this.reach(a, back | (now & lost));
    }
    // Keep the value and search for a shift amount, from 0 to the width.
    for (let k = 0, from = this.pick(w + 1); k <= w; k++) {
      const amount = BigInt((from + k) % (w + 1));
      if (evalNode(n, [this.value[a], amount]) === t && amount <= allOnes(this.nodes[b].width))
        return this.reach(b, amount);
    }
    return false;
  }

  private ordered(n: Node, t: bigint): boolean {
    const [a, b] = n.args;
    const { width } = this.nodes[a];
    const least = n.op === 'ult' ? 0n : 1n << BigInt(width - 1);
    const most = low(width, least - 1n);
    const [x, y] = [this.value[a], this.value[b]];
    if (t === 0n)
      return this.pick(2) === 0 ? this.reach(a, y) || this.reach(b, x) : this.reach(b, x) || this.reach(a, y);
    const below = (): boolean => y !== least && this.reach(a, low(width, y - 1n));
    const above = (): boolean => x !== most && this.reach(b, low(width, x + 1n));
    return this.pick(2) === 0 ? below() || above() : above() || below();
  }

  /** A random word with `count` bits set. */
  private ones(count: number, width: number): bigint {
    const places = Array.from({ length: width }, (_, k) => k);
    let out = 0n;
    for (let k = 0; k < count; k++) out |= 1n << BigInt(places.splice(this.pick(places.length), 1)[0]);
    return out;
  }
}
