/** Types shared by the checks: the reporting function, and names at module level. */
import type { PtxFunction, Span, VarDecl } from './ast.ts';

/** Reports a fault. `notes` is called only if the maximum number of faults is not exceeded. */
export type CheckReport = (
  span: Span,
  code: string,
  message: string,
  notes?: () => readonly string[],
) => void;

/** The meaning of a name at module level. */
export interface Global {
  readonly kind: 'variable' | 'function';
  readonly declaration: VarDecl | PtxFunction;
}
