import { Kind } from '../../ir/operand.ts';
import { extend } from '../../isa/polynomial.ts';
import { addTerm, type LinearForm, type LinearTerm } from './linear.ts';

/** The form of a constant. */
export const constantForm = (value: bigint, width: number): LinearForm => ({
  width,
  terms: [],
  constant: BigInt.asUintN(width, value),
});

/** `a + by * b`; both of the same width. */
export function addScaled(a: LinearForm, b: LinearForm, by: bigint): LinearForm {
  const { width } = a;
  const terms = [...a.terms];
  for (let i = 0; i < b.terms.length; i++) {
    const t = b.terms[i];
    const c = BigInt.asUintN(width, t.coefficient * by);
    if (c !== 0n) addTerm(terms, width, t.operand, c, t.bits, t.signed);
  }
  return { width, terms, constant: BigInt.asUintN(width, a.constant + by * b.constant) };
}

/** The low `width` bits of a form. */
export function truncateForm(a: LinearForm, width: number): LinearForm {
  if (a.width <= width) return a;
  const terms: LinearTerm[] = [];
  for (const t of a.terms) {
    const c = BigInt.asUintN(width, t.coefficient);
    if (c !== 0n) addTerm(terms, width, t.operand, c, Math.min(t.bits, width), t.signed);
  }
  return { width, terms, constant: BigInt.asUintN(width, a.constant) };
}

/** A narrower form extended to `width`, if it is known not to wrap; else null. */
export function extendForm(a: LinearForm, width: number, signed: boolean): LinearForm | null {
  if (a.width >= width) return truncateForm(a, width);
  if (a.terms.length === 0) return constantForm(extend(a.constant, a.width, signed), width);
  const [t] = a.terms;
  if (a.terms.length > 1 || a.constant !== 0n || t.coefficient !== 1n) return null;
  // A sign extension followed by a zero extension is neither.
  if (t.bits < a.width && t.signed && !signed) return null;
  const terms = [
    { operand: t.operand, coefficient: 1n, bits: t.bits, signed: t.bits < a.width ? t.signed : signed },
  ];
  return { width, terms, constant: 0n };
}

/** Are two forms the same sum? */
export function sameForm(a: LinearForm, b: LinearForm): boolean {
  if (a.width !== b.width || a.constant !== b.constant || a.terms.length !== b.terms.length) return false;
  const difference = addScaled(a, b, -1n);
  return difference.terms.length === 0;
}

/** Value of a form without terms, unsigned; null for others. */
export const constantOf = (a: LinearForm): bigint | null => (a.terms.length === 0 ? a.constant : null);

/** Is the form just one register? */
export const isLeaf = (a: LinearForm): boolean =>
  a.terms.length === 1 &&
  a.constant === 0n &&
  a.terms[0].coefficient === 1n &&
  a.terms[0].bits === a.width &&
  a.terms[0].operand.kind === Kind.Reg;
