import type { Opcode } from '../ir/opcode.ts';
import { elaborate } from './lang/elaborate.ts';
import type { Graph } from './lang/graph.ts';
import { MeaningError } from './lang/parse.ts';
import { meaningOf } from './meaning.ts';
import { type Factor, type Polynomial, polynomialsOf } from './polynomial.ts';

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
  const polynomials = polynomialsOf(g);
  return g.dsts.map((id) => {
    const p = polynomials[id];
    return p === null ? null : finish(p, g, g.nodes[id].width);
  });
}

/** The sum with its coefficients as numbers; null where one has more than 32 bits or an extension is none of `Extend`. */
function finish(p: Polynomial, g: Graph, width: number): Affine | null {
  const signed = (v: bigint): number => Number(BigInt.asIntN(width, v));
  const terms: AffineTerm[] = [];
  let constant = 0n;
  for (const { coefficient, factors, shift } of p) {
    if (factors.length === 0 && shift < 0) {
      constant += coefficient;
      continue;
    }
    const [a, b] = factors;
    if (a === undefined || (b !== undefined && shift >= 0)) return null;
    const extend = extensionOf(a, g.srcWidths[a.src], width);
    if (extend < 0 || (b !== undefined && extensionOf(b, g.srcWidths[b.src], width) !== extend)) return null;
    terms.push({ coef: signed(coefficient), src: a.src, extend, times: b?.src ?? -1, shift });
  }
  const value = signed(constant);
  if (terms.length === 0 || Math.abs(value) > 2 ** 32 || terms.some((t) => Math.abs(t.coef) > 2 ** 32))
    return null;
  return { width, constant: value, terms };
}

/** `Extend` of a factor, or -1 for widths that addresses are not made of. */
function extensionOf(f: Factor, from: number, to: number): number {
  if (f.bits === from && from === to) return Extend.None;
  if (f.bits !== 32) return -1;
  if (from === 32 && to === 64) return f.signed ? Extend.Sign : Extend.Zero;
  return from === 64 && to === 32 ? Extend.Low : -1;
}
