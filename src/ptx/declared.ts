/** Resolved names, as the checks of operands need them. */
import type { VarDecl } from './ast.ts';
import { bitsOf, kindOf } from './forms.ts';

/** A declared register or variable. */
export interface Declared {
  readonly v: VarDecl;
  readonly bits: number;
  /** `kindOf` its type. */
  readonly kind: string;
  /** Is it an input parameter of the function, which cannot be written? */
  readonly input: boolean;
}

/** The `Declared` of a declaration. */
export const declaredAs = (v: VarDecl, input = false): Declared => ({
  v,
  bits: bitsOf(v.type),
  kind: kindOf(v.type),
  input,
});

/** The type of a variable as an opaque handle: variables in `.tex` are `.texref` (PTX ISA 9.0, 5.1.8). */
export const opaqueType = (v: VarDecl): string => (v.space === 'tex' ? 'texref' : v.type);

/** The meaning of a name for the checks of operands; undefined if it is not declared. */
export type Named = Declared | 'special' | 'label' | 'function' | 'other' | undefined;
