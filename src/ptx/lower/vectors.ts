import type { PtxInstr, PtxOperand, VarDecl } from '../ast.ts';

/** Names of the elements of a vector register, in order. They have colour names too. */
export const PARTS = ['x', 'y', 'z', 'w'] as const;
const COLOURS = 'rgba';

/** Name of the register for one element of a vector register. Identifiers contain no dot, so the name cannot clash. */
export const partName = (vector: string, part: number): string => `${vector}.${PARTS[part]}`;

/** Declarations with every vector register split into scalars, as functions take and return them in Ori. */
export const scalars = (decls: readonly VarDecl[]): VarDecl[] =>
  decls.flatMap((d) =>
    d.space === 'reg' && d.vector > 1
      ? Array.from({ length: d.vector }, (_, k) => ({ ...d, name: partName(d.name, k), vector: 1 }))
      : [d],
  );

/**
 * An instruction with vector registers replaced by their elements: a whole register by `{v.x, v.y}`, and `v.r` by `v.x`.
 *
 * @param vectorLength number of elements of the vector register with a name; 0 for other names
 */
export function withParts(i: PtxInstr, vectorLength: (name: string) => number): PtxInstr {
  const vectorOf = (o: PtxOperand): number =>
    o.kind === 'reg' || (o.kind === 'sym' && o.offset === 0n) ? vectorLength(o.name) : 0;
  const register = (name: string, part: number): PtxOperand => ({
    kind: 'reg',
    name: partName(name, part),
    neg: false,
    not: false,
    part: '',
  });
  const one = (o: PtxOperand): PtxOperand => {
    if (o.kind === 'vector') return { ...o, items: o.items.map(one) };
    if (o.kind === 'list') {
      const items = o.items.map(one);
      return { ...o, items: items.flatMap((x) => (x.kind === 'vector' ? x.items : [x])) };
    }
    const n = vectorOf(o);
    if (n === 0 || (o.kind !== 'reg' && o.kind !== 'sym')) return o;
    const part = o.kind === 'reg' ? o.part : '';
    if (part === '')
      return { kind: 'vector', items: Array.from({ length: n }, (_, k) => register(o.name, k)) };
    const at = Math.max(PARTS.indexOf(part as 'x'), COLOURS.indexOf(part));
    if (at < 0 || at >= n) return o;
    return o.kind === 'reg' ? { ...o, name: partName(o.name, at), part: '' } : o;
  };
  return { ...i, operands: i.operands.map(one) };
}
