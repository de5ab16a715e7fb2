import type { PtxModule, VarDecl } from './ast.ts';

/** Is this the declaration of something that each thread has for itself? */
export const isThreadVariable = (v: VarDecl): boolean => v.space === 'reg' || v.space === 'local';

/**
 * Registers and local variables that a module declares outside of functions, as PTX before 3.0 did: each thread has them
 * once, for all its functions. ptxas takes them no longer.
 */
export const threadVariables = (module: PtxModule): VarDecl[] =>
  module.items.filter((x): x is VarDecl => x.kind === 'variable' && isThreadVariable(x));
