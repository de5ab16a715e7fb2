import { FORMATS, type FormatName } from '../../isa/formats.ts';
import { evalNode } from '../../isa/lang/evaluate.ts';
import type { Node } from '../../isa/lang/graph.ts';
import { type Goal, type Input, prune } from './goal.ts';
import { NodeTable } from './nodes.ts';

/**
 * Abstracts a goal: sums, products, quotients and roots of floats become uninterpreted functions that obey the laws of IEEE 754 below, so
 * that a solver need not multiply significands to see that both sides agree. Sound but incomplete: a proof of the abstracted goal proves
 * the goal; a failure to prove it means nothing.
 *
 * - Operands of sums and products commute. A NaN result is the canonical NaN, for any NaN operand.
 * - The sign of a product or quotient is the exclusive or of its operands' signs, independent of their magnitudes. When rounding to nearest
 *   or towards zero, the magnitude of the result does not depend on the sign.
 * - x * 1 is x, and x * 2 is x + x. Unless rounding down, x + -0 is x, and x + +0 is x except for x = -0; when rounding down, the two zeros
 *   change places.
 * - Fused multiply-add: x * y + c is a sum if x * y is a constant that needs no rounding; x * 1 + c is x + c, x * -1 + c is -x + c, and
 *   x * y + -0 is x * y unless rounding down; x * y + +0 is x * y if the product is never negative.
 * - Approximate functions, conversions and comparisons do not depend on the payload of a NaN; comparisons and conversions to integers do
 *   not depend on the sign of zero.
 * - Rounding a float to an integer is idempotent; converting the rounded float to an integer equals converting with the first rounding.
 *
 * @returns null if the goal contains no operation that the laws mention
 */
export function lawful(goal: Goal): Goal | null {
  if (!goal.nodes.some((n) => ARITHMETIC.has(n.op) || n.op === 'frint')) return null;
  return new Laws(goal).run();
}

const ARITHMETIC: ReadonlySet<string> = new Set(['fadd', 'fmul', 'ffma', 'fdiv', 'fsqrt']);

/** Operations whose results are never subnormal, so that flushing them does nothing. */
const FLUSHED: ReadonlySet<string> = new Set(['ftz', 'frint']);

/** A decomposed float: its magnitude, and its sign as the exclusive or of one-bit nodes, inverted if `odd`. */
interface Parts {
  readonly size: number;
  readonly signs: readonly number[];
  readonly odd: boolean;
}

class Laws {
  private readonly goal: Goal;
  private readonly table = new NodeTable();
  private readonly inputs: Input[];
  private readonly given: number[] = [];
  /** The unknown that stands for each operation with its operands. */
  private readonly results = new Map<string, number>();
  /** For each canonicalised node: the original node, its format, and whether the sign of a zero may differ too. */
  private readonly canonical = new Map<
    number,
    { readonly of: number; readonly f: FormatName; readonly zero: boolean }
  >();

  constructor(goal: Goal) {
    this.goal = goal;
    this.inputs = [...goal.inputs];
  }

  run(): Goal {
    const { goal, table } = this;
    const at: number[] = [];
    for (const n of goal.nodes) {
      const args = n.args.map((a) => at[a]);
      const values = args.map((a) => table.nodes[a]);
      if (args.length > 0 && n.op !== 'approx' && values.every((x) => x.op === 'const')) {
        const value = evalNode(
          n,
          values.map((x) => x.value),
        );
        at.push(table.constant(value, n.width));
        continue;
      }
      at.push(this.node(n, args));
    }
    return prune(
      table.nodes,
      this.inputs,
      [...goal.given.map((g) => at[g]), ...this.given],
      goal.results.map((r) => ({ v: r.v, left: at[r.left], right: at[r.right] })),
    );
  }

  private node(n: Node, args: readonly number[]): number {
    const { table } = this;
    if (n.fmt === '') return table.intern({ ...n, args });
    if (ARITHMETIC.has(n.op)) return this.arithmetic(n, args, n.fmt);
    const [a] = args;
    switch (n.op) {
      case 'ftz': {
        if (FLUSHED.has(table.nodes[a].op) && table.nodes[a].fmt === n.fmt) return a;
        // Flushing leaves the canonical NaN unchanged.
        const under = this.canonical.get(a);
        if (under === undefined || under.f !== n.fmt || under.zero) return table.intern({ ...n, args });
        return this.canonicalOf(this.node(n, [under.of]), n.fmt);
      }
      case 'approx':
      case 'f2f': {
        const under = this.canonical.get(a);
        return table.intern({ ...n, args: [under?.f === n.fmt && !under.zero ? under.of : a] });
      }
      case 'frint':
        return table.nodes[a].op === 'frint' && table.nodes[a].fmt === n.fmt
          ? a
          : table.intern({ ...n, args });
      case 'f2i': {
        const x = this.bare(a, n.fmt);
        const inner = table.nodes[x];
        if (inner.op !== 'frint' || inner.fmt !== n.fmt) return table.intern({ ...n, args: [x] });
        const whole = { ...n, aux: `${n.aux[0]}${inner.aux}` };
        return table.intern({ ...whole, args: [this.bare(inner.args[0], n.fmt)] });
      }
      case 'fcmp':
        return table.intern({ ...n, args: args.map((x) => this.bare(x, n.fmt as FormatName)) });
      default:
        return table.intern({ ...n, args });
    }
  }

  /** The node below canonicalisations: it may differ from `x` in the payload of a NaN and the sign of a zero. */
  private bare(x: number, f: FormatName): number {
    const under = this.canonical.get(x);
    if (under?.f === f) return this.bare(under.of, f);
    const n = this.table.nodes[x];
    if (n.op !== 'ftz' || n.fmt !== f) return x;
    const inner = this.bare(n.args[0], f);
    return this.table.nodes[inner].op === 'ftz' ? inner : this.table.intern({ ...n, args: [inner] });
  }

  private arithmetic(n: Node, args: readonly number[], f: FormatName): number {
    const [a, b, c] = args;
    const down = n.aux === 'RM';
    switch (n.op) {
      case 'fadd':
        for (const [x, k] of [
          [a, b],
          [b, a],
        ]) {
          if (this.isNumber(k, f, down ? 0 : -0)) return this.canonicalOf(x, f);
          if (this.isNumber(k, f, down ? -0 : 0)) return this.withZero(x, k, f);
        }
        return this.result(n, [this.key(a, f), this.key(b, f)].sort().join(' '), f);
      case 'fmul':
        for (const [x, k] of [
          [a, b],
          [b, a],
        ]) {
          if (this.isNumber(k, f, 1)) return this.canonicalOf(x, f);
          if (this.isNumber(k, f, 2)) return this.arithmetic({ ...n, op: 'fadd' }, [x, x], f);
        }
        return this.product(n, [this.parts(a, f), this.parts(b, f)], f);
      case 'fdiv':
        return this.product(n, [this.parts(a, f), this.parts(b, f)], f);
      case 'ffma': {
        for (const [x, k] of [
          [a, b],
          [b, a],
        ]) {
          if (this.isNumber(k, f, 1)) return this.arithmetic({ ...n, op: 'fadd' }, [x, c], f);
          if (this.isNumber(k, f, -1))
            return this.arithmetic({ ...n, op: 'fadd' }, [this.negated(x, f), c], f);
        }
        if (!down && this.isNumber(c, f, -0)) return this.arithmetic({ ...n, op: 'fmul' }, [a, b], f);
        const exact = this.exactProduct(n, a, b);
        if (exact !== null) return this.arithmetic({ ...n, op: 'fadd' }, [exact, c], f);
        const [x, y] = [this.parts(a, f), this.parts(b, f)];
        const sign = signOf([x, y]);
        if (this.isNumber(c, f, 0) && sign.signs.length === 0 && !sign.odd)
          return this.arithmetic({ ...n, op: 'fmul' }, [a, b], f);
        return this.result(n, `${sizes(n, [x, y])} ${signText([x, y])} ${this.key(c, f)}`, f);
      }
      default:
        return this.result(n, this.key(a, f), f);
    }
  }

  /** The product of two constants that needs no rounding, or null. */
  private exactProduct(n: Node, a: number, b: number): number | null {
    const [x, y] = [a, b].map((v) => this.table.nodes[v]);
    if (x.op !== 'const' || y.op !== 'const') return null;
    // An inexact product differs when rounded down and up.
    const [down, up] = ['RM', 'RP'].map((aux) => evalNode({ ...n, op: 'fmul', aux }, [x.value, y.value]));
    return down === up ? this.table.constant(down, n.width) : null;
  }

  /** The result of a product or quotient: its magnitude is an unknown, its sign follows from the operands. */
  private product(n: Node, parts: readonly Parts[], f: FormatName): number {
    if (n.aux !== 'RN' && n.aux !== 'RZ') return this.result(n, `${sizes(n, parts)} ${signText(parts)}`, f);
    const size = this.result(n, sizes(n, parts), f, true);
    const w = FORMATS[f].bits;
    const { signs, odd } = signOf(parts);
    const { table } = this;
    const sign = signs.reduce((x, y) => table.node('xor', 1, [x, y]), table.constant(odd ? 1n : 0n, 1));
    const signed = table.node('ite', w, [sign, this.negated(size, f), size]);
    return table.node('ite', w, [this.isNan(size, f), size, signed]);
  }

  /** The unknown for the result of an operation; equal operands give the same unknown. */
  private result(n: Node, operands: string, f: FormatName, positive = false): number {
    const key = `${n.op} ${f} ${n.aux} ${operands}`;
    const known = this.results.get(key);
    if (known !== undefined) return known;
    const { table } = this;
    const { bits, nan } = FORMATS[f];
    this.inputs.push({ name: n.op, width: bits, v: -1, wildcard: -1, constant: false });
    const r = table.node('src', bits, [], { n: this.inputs.length - 1 });
    const canonical = table.node('eq', 1, [r, table.constant(nan, bits)]);
    const plus = table.node('not', 1, [table.node('extract', 1, [r], { n: bits - 1 })]);
    const number = positive ? plus : table.constant(1n, 1);
    this.given.push(table.node('ite', 1, [this.isNan(r, f), canonical, number]));
    this.results.set(key, r);
    return r;
  }

  private isNan(x: number, f: FormatName): number {
    return this.table.node('fcmp', 1, [x, x], { fmt: f, aux: 'NAN' });
  }

  private negated(x: number, f: FormatName): number {
    return this.table.node('fneg', FORMATS[f].bits, [x], { fmt: f });
  }

  /** The value itself, or the canonical NaN. */
  private canonicalOf(x: number, f: FormatName): number {
    const { bits, nan } = FORMATS[f];
    const r = this.table.node('ite', bits, [this.isNan(x, f), this.table.constant(nan, bits), x]);
    this.canonical.set(r, { of: x, f, zero: false });
    return r;
  }

  /** The sum with a zero that determines the sign of a zero result: `zero` if `x` is a zero, otherwise `x` or the canonical NaN. */
  private withZero(x: number, zero: number, f: FormatName): number {
    const { table } = this;
    const { bits } = FORMATS[f];
    const other = table.constant(table.nodes[zero].value ^ (1n << BigInt(bits - 1)), bits);
    const r = table.node('ite', bits, [table.node('eq', 1, [x, other]), zero, this.canonicalOf(x, f)]);
    this.canonical.set(r, { of: x, f, zero: true });
    return r;
  }

  private isNumber(x: number, f: FormatName, value: 0 | -0 | 1 | -1 | 2): boolean {
    const n = this.table.nodes[x];
    const { bits, mant, bias } = FORMATS[f];
    const sign = value < 0 || Object.is(value, -0) ? 1n << BigInt(bits - 1) : 0n;
    const size = value === 0 ? 0n : BigInt(bias + (value === 2 ? 1 : 0)) << BigInt(mant);
    return n.op === 'const' && n.value === (sign | size);
  }

  // ------------------------------------------------------------------ operands

  private key(x: number, f: FormatName): string {
    const p = this.parts(x, f);
    return `${p.size}/${signText([p])}`;
  }

  /** Magnitude and sign of an operand. The payload of a NaN is ignored, since no operation depends on it. */
  private parts(x: number, f: FormatName): Parts {
    const { table } = this;
    const n = table.nodes[x];
    const { bits } = FORMATS[f];
    const under = this.canonical.get(x);
    // Only in the same format: a NaN of one format may be an ordinary number of another format of the same width.
    if (under?.f === f && !under.zero) return this.parts(under.of, f);
    switch (n.op) {
      case 'const': {
        const sign = n.value >> BigInt(bits - 1);
        const size = table.constant(BigInt.asUintN(bits - 1, n.value), bits);
        return { size, signs: [], odd: sign === 1n };
      }
      case 'fneg': {
        const p = this.parts(n.args[0], f);
        return { ...p, odd: !p.odd };
      }
      case 'xor': {
        const flip = n.args.findIndex((a) => table.nodes[a].op === 'const');
        if (flip < 0 || table.nodes[n.args[flip]].value !== 1n << BigInt(bits - 1)) return this.whole(x, f);
        const p = this.parts(n.args[1 - flip], f);
        return { ...p, odd: !p.odd };
      }
      case 'and': {
        const mask = n.args.findIndex((a) => table.nodes[a].op === 'const');
        if (mask < 0 || table.nodes[n.args[mask]].value !== (1n << BigInt(bits - 1)) - 1n)
          return this.whole(x, f);
        return { size: this.parts(n.args[1 - mask], f).size, signs: [], odd: false };
      }
      case 'fabs':
        return { size: this.parts(n.args[0], f).size, signs: [], odd: false };
      case 'ftz': {
        if (n.fmt !== f) return this.whole(x, f);
        const p = this.parts(n.args[0], f);
        if (table.nodes[p.size].op === 'ftz') return p;
        return { ...p, size: table.node('ftz', bits, [p.size], { fmt: f }) };
      }
      default:
        return this.whole(x, f);
    }
  }

  private whole(x: number, f: FormatName): Parts {
    const { bits } = FORMATS[f];
    const { table } = this;
    return {
      size: table.node('fabs', bits, [x], { fmt: f }),
      signs: [table.node('extract', 1, [x], { n: bits - 1 })],
      odd: false,
    };
  }
}

const sizes = (n: Node, parts: readonly Parts[]): string => {
  const all = parts.map((p) => p.size);
  return (n.op === 'fdiv' ? all : all.sort((x, y) => x - y)).join();
};

/** Sign of a product: signs that occur twice cancel. */
function signOf(parts: readonly Parts[]): { signs: number[]; odd: boolean } {
  const signs = new Set<number>();
  for (const p of parts) for (const s of p.signs) if (!signs.delete(s)) signs.add(s);
  return { signs: [...signs].sort((x, y) => x - y), odd: parts.filter((p) => p.odd).length % 2 === 1 };
}

function signText(parts: readonly Parts[]): string {
  const { signs, odd } = signOf(parts);
  return `${odd ? '-' : '+'}${signs.join()}`;
}
