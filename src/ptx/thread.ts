import type { PtxModule, VarDecl } from './ast.ts';

/** Does each thread have its own copy of a variable? */
export const isThreadVariable = (v: VarDecl): boolean => v.space === 'reg' || v.space === 'local';

/**
 * Registers and local variables that are declared at module level, as in PTX before 3.0: each thread has one copy, which all functions
 * share. ptxas no longer accepts them.
 */
export const threadVariables = (module: PtxModule): VarDecl[] =>
  module.items.filter((x): x is VarDecl => x.kind === 'variable' && isThreadVariable(x));
