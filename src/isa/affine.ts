import type { Opcode } from '../ir/opcode.ts';
import { elaborate } from './lang/elaborate.ts';
import type { Graph } from './lang/graph.ts';
import { MeaningError } from './lang/parse.ts';
import { meaningOf } from './meaning.ts';

/** How a value of one width becomes one of another: 32 bits extended to 64, or the low half of 64. */
export const Extend = { None: 0, Zero: 1, Sign: 2, Low: 3 } as const;

/** One summand: `coef * extend(source)`, times `2 ** shift` or `extend(times)` where these are sources (-1: none). */
export interface AffineTerm {
  readonly coef: number;
  readonly src: number;
  readonly extend: number;
  readonly times: number;
  readonly shift: number;
}

/** A result as a sum of sources, modulo `2 ** width`; coefficients and constant are signed. */
export interface Affine {
  readonly width: number;
  readonly constant: number;
  readonly terms: readonly AffineTerm[];
}

/** Sources that a key has room for, three bits of modifiers each. */
const MOST_SOURCES = 7;
const known = new WeakMap<Opcode, Map<number, readonly (Affine | null)[]>>();
const NO_RESULTS: readonly (Affine | null)[] = [];

/**
 * What an opcode computes, seen as sums of its sources: the view of address arithmetic. It is read off the meaning of the
 * opcode, so that an opcode which is added to `pipelines/isa` is understood as well.
 *
 * @param srcMods `Mod` bits of the sources, three bits each, the first source lowest
 * @returns by destination; null where the result is no such sum. Empty for primitives.
 */
export function affineOf(op: Opcode, mods: number, srcMods: number): readonly (Affine | null)[] {
  if (op.means === null || op.srcs.length > MOST_SOURCES) return NO_RESULTS;
  let forms = known.get(op);
  if (forms === undefined) known.set(op, (forms = new Map()));
  const key = mods * 2 ** (3 * MOST_SOURCES) + srcMods;
  let r = forms.get(key);
  if (r === undefined) forms.set(key, (r = derive(op, mods, srcMods)));
  return r;
}

function derive(op: Opcode, mods: number, srcMods: number): readonly (Affine | null)[] {
  let g: Graph;
  try {
    const each = op.srcs.map((_, i) => (srcMods >>> (3 * i)) & 7);
    g = elaborate(meaningOf(op), { op, mods, srcMods: each, consts: [] });
  } catch (e) {
    // A meaning that wants the value of a constant operand (a truth table) is no arithmetic.
    if (e instanceof MeaningError) return NO_RESULTS;
    throw e;
  }
  const sums = sumsOf(g);
  return g.dsts.map((id) => {
    const s = sums[id];
    return s === null || s.terms.length === 0 ? null : finish(s, g.nodes[id].width);
  });
}

interface Term {
  readonly coef: bigint;
  readonly src: number;
  readonly extend: number;
  readonly times: number;
  readonly shift: number;
}
interface Sum {
  readonly constant: bigint;
  readonly terms: readonly Term[];
}

const scale = (s: Sum, k: bigint): Sum => ({
  constant: s.constant * k,
  terms: s.terms.map((t) => ({ ...t, coef: t.coef * k })),
});

/** The source that a sum consists of, or null. */
function single(s: Sum): Term | null {
  const [t] = s.terms;
  return s.terms.length === 1 && s.constant === 0n && t.coef === 1n && t.times < 0 && t.shift < 0 ? t : null;
}

/** The extension of a value by `kind`; only sources of 32 bits stay sums. */
function extended(s: Sum, from: number, kind: number): Sum | null {
  if (s.terms.length === 0)
    return {
      constant: kind === Extend.Zero ? BigInt.asUintN(from, s.constant) : BigInt.asIntN(from, s.constant),
      terms: [],
    };
  const t = single(s);
  return t === null || t.extend !== Extend.None || from !== 32
    ? null
    : { constant: 0n, terms: [{ ...t, extend: kind }] };
}

/** The low half of a source of 64 bits. */
function lowHalf(s: Sum, from: number): Sum | null {
  const t = single(s);
  return t === null || t.extend !== Extend.None || from !== 64
    ? null
    : { constant: 0n, terms: [{ ...t, extend: Extend.Low }] };
}

/** Each node as a sum of sources, or null. */
function sumsOf(g: Graph): (Sum | null)[] {
  const out: (Sum | null)[] = [];
  for (const n of g.nodes) {
    const [a, b] = n.args.map((i) => out[i]);
    let s: Sum | null = null;
    switch (n.op) {
      case 'const':
        s = { constant: BigInt.asIntN(n.width, n.value), terms: [] };
        break;
      case 'src':
        s = { constant: 0n, terms: [{ coef: 1n, src: n.n, extend: Extend.None, times: -1, shift: -1 }] };
        break;
      case 'add':
      case 'sub':
        if (a !== null && b !== null) {
          const c = n.op === 'sub' ? scale(b, -1n) : b;
          s = { constant: a.constant + c.constant, terms: [...a.terms, ...c.terms] };
        }
        break;
      case 'mul':
        if (a !== null && b !== null) s = product(a, b);
        break;
      case 'shl':
        if (a !== null && b !== null) s = shifted(a, b);
        break;
      case 'zext':
      case 'sext':
        if (a !== null)
          s = extended(a, g.nodes[n.args[0]].width, n.op === 'zext' ? Extend.Zero : Extend.Sign);
        break;
      case 'extract':
        if (a !== null && n.n === 0 && n.width === 32) s = lowHalf(a, g.nodes[n.args[0]].width);
        break;
      case 'concat': {
        const high = a === null ? null : extended(a, g.nodes[n.args[0]].width, Extend.Zero);
        const low = b === null ? null : extended(b, n.n, Extend.Zero);
        if (high !== null && low !== null) {
          const h = scale(high, 1n << BigInt(n.n));
          s = { constant: h.constant + low.constant, terms: [...h.terms, ...low.terms] };
        }
        break;
      }
    }
    out.push(s);
  }
  return out;
}

function product(a: Sum, b: Sum): Sum | null {
  if (a.terms.length === 0) return scale(b, a.constant);
  if (b.terms.length === 0) return scale(a, b.constant);
  const x = single(a);
  const y = single(b);
  if (x === null || y === null || x.extend !== y.extend) return null;
  return { constant: 0n, terms: [{ ...x, times: y.src }] };
}

function shifted(a: Sum, by: Sum): Sum | null {
  // Amounts are unsigned; whatever is at least the width shifts everything out, and 64 is at least every width.
  if (by.terms.length === 0)
    return by.constant < 0n || by.constant > 63n ? null : scale(a, 1n << by.constant);
  const n = single(by);
  if (n === null || n.extend !== Extend.None || a.constant !== 0n) return null;
  if (a.terms.some((t) => t.times >= 0 || t.shift >= 0)) return null;
  return { constant: 0n, terms: a.terms.map((t) => ({ ...t, shift: n.src })) };
}

/** Coefficients as numbers; null where one has more than 32 bits. */
function finish(s: Sum, width: number): Affine | null {
  const signed = (v: bigint): number => Number(BigInt.asIntN(width, v));
  const constant = signed(s.constant);
  const terms = s.terms.map((t) => ({ ...t, coef: signed(t.coef) }));
  if (Math.abs(constant) > 2 ** 32 || terms.some((t) => Math.abs(t.coef) > 2 ** 32)) return null;
  return { width, constant, terms };
}
