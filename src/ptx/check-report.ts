/** What the checks share: how they tell of a fault, and what names are at module level. */
import type { PtxFunction, Span, VarDecl } from './ast.ts';

/** Tells of a fault; `notes` is asked only if the fault is not one too many. */
export type CheckReport = (
  span: Span,
  code: string,
  message: string,
  notes?: () => readonly string[],
) => void;

/** What a name at module level is. */
export interface Global {
  readonly kind: 'variable' | 'function';
  readonly declaration: VarDecl | PtxFunction;
}
