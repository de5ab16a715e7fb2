/** What names are to the checks of operands. */
import type { VarDecl } from './ast.ts';
import { bitsOf, kindOf } from './forms.ts';

/** What the check of an operand needs of the declaration that its name has. */
export interface Declared {
  readonly v: VarDecl;
  readonly bits: number;
  /** As `kindOf` its type. */
  readonly kind: string;
  /** Is it a parameter that the function is given? It is not written. */
  readonly input: boolean;
}

export const declaredAs = (v: VarDecl, input = false): Declared => ({
  v,
  bits: bitsOf(v.type),
  kind: kindOf(v.type),
  input,
});

/** The opaque type of what a variable names; what is in `.tex` is a `.texref` (PTX ISA 9.0, 5.1.8). */
export const opaqueType = (v: VarDecl): string => (v.space === 'tex' ? 'texref' : v.type);

/** What a name is to the check of operands. */
export type Named = Declared | 'special' | 'label' | 'function' | 'other' | undefined;
