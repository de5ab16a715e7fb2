import { memo } from '../ir/memo.ts';
import type { Graph, Node } from './lang/graph.ts';

/*
 * The results of opcodes as polynomials of their sources, exact modulo 2^width. They are derived from the meanings, so that new opcodes in
 * `pipelines/isa` need no further work.
 */

/** A factor of a product: the low bits of a source, extended. */
export interface Factor {
  readonly src: number;
  readonly bits: number;
  readonly signed: boolean;
}

/** `coefficient * product of factors << value of source number shift`; -1: no shift. */
export interface Product {
  readonly coefficient: bigint;
  readonly factors: readonly Factor[];
  readonly shift: number;
}

/** A sum of products, modulo 2^width of its node. */
export type Polynomial = readonly Product[];

/** Maximum number of products in a sum; addresses and counters do not need more. */
const MOST_PRODUCTS = 8;

/** The low `bits` bits of a value as an integer. */
export const extend = (value: bigint, bits: number, signed: boolean): bigint =>
  signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);

/** The polynomial of each node of a graph, by node; null for nodes that have none. Cached. */
export const polynomialsOf = memo((g: Graph): readonly (Polynomial | null)[] => {
  const all: (Polynomial | null)[] = [];
  for (const n of g.nodes) all.push(polynomialOf(n, g, all));
  return all;
});

/** The polynomial of a node from those of its arguments; null if it has none. */
function polynomialOf(n: Node, g: Graph, known: readonly (Polynomial | null)[]): Polynomial | null {
  const { width } = n;
  if (n.fmt !== '') return null;
  const arg = (i: number): Polynomial | null => known[n.args[i]];
  switch (n.op) {
    case 'const':
      return [{ coefficient: n.value, factors: [], shift: -1 }];
    case 'src':
      return [{ coefficient: 1n, factors: [{ src: n.n, bits: width, signed: false }], shift: -1 }];
    case 'add':
      return sum(arg(0), arg(1));
    case 'sub':
      return sum(arg(0), scaled(arg(1), -1n));
    case 'not':
      // ~x = -x - 1 in two's complement.
      return sum(scaled(arg(0), -1n), [{ coefficient: -1n, factors: [], shift: -1 }]);
    case 'mul':
      return product(arg(0), arg(1));
    case 'shl': {
      const by = g.nodes[n.args[1]];
      if (by.op === 'const') return by.value >= BigInt(width) ? [] : scaled(arg(0), 1n << by.value);
      if (by.op !== 'src') return null;
      return arg(0)?.every((p) => p.shift < 0) === true ? arg(0)!.map((p) => ({ ...p, shift: by.n })) : null;
    }
    case 'zext':
    case 'sext':
      return extended(arg(0), g.nodes[n.args[0]].width, n.op === 'sext');
    case 'extract':
      return n.n === 0 ? truncated(arg(0), width) : null;
    case 'concat': {
      // The high part times a power of two: bits that overflow its own width are shifted out at the top.
      const high = truncated(arg(0), g.nodes[n.args[0]].width);
      return sum(scaled(high, 1n << BigInt(n.n)), extended(arg(1), n.n, false));
    }
    case 'ite':
      // c ? a : b = b + c * (a - b): one variable if both sides are constants.
      return sum(arg(2), product(extended(arg(0), 1, false), sum(arg(1), scaled(arg(2), -1n))));
    default:
      return null;
  }
}

function sum(a: Polynomial | null, b: Polynomial | null): Polynomial | null {
  return a === null || b === null || a.length + b.length > MOST_PRODUCTS ? null : [...a, ...b];
}

const scaled = (a: Polynomial | null, by: bigint): Polynomial | null =>
  a === null ? null : a.map((p) => ({ ...p, coefficient: p.coefficient * by }));

function product(a: Polynomial | null, b: Polynomial | null): Polynomial | null {
  if (a === null || b === null || a.length * b.length > MOST_PRODUCTS) return null;
  const out: Product[] = [];
  for (const x of a)
    for (const y of b) {
      if (x.shift >= 0 && y.shift >= 0) return null;
      out.push({
        coefficient: x.coefficient * y.coefficient,
        factors: [...x.factors, ...y.factors],
        shift: Math.max(x.shift, y.shift),
      });
    }
  return out;
}

/** The low bits of a sum are the sum of the low bits. */
const truncated = (a: Polynomial | null, width: number): Polynomial | null =>
  a === null
    ? null
    : a.map((p) => ({ ...p, factors: p.factors.map((f) => (f.bits > width ? { ...f, bits: width } : f)) }));

/** Extensions apply only to a constant or a single source, because a sum might wrap before it is extended. */
function extended(a: Polynomial | null, from: number, signed: boolean): Polynomial | null {
  if (a === null || a.length !== 1 || a[0].shift >= 0) return null;
  const [{ coefficient, factors }] = a;
  if (factors.length === 0) return [{ coefficient: extend(coefficient, from, signed), factors, shift: -1 }];
  if (factors.length > 1 || BigInt.asUintN(from, coefficient) !== 1n) return null;
  const [f] = factors;
  if (f.bits >= from) return [{ coefficient: 1n, factors: [{ src: f.src, bits: from, signed }], shift: -1 }];
  // Extending an extended value again changes nothing, unless a sign extension is followed by a zero extension.
  return f.signed && !signed ? null : [{ coefficient: 1n, factors, shift: -1 }];
}
