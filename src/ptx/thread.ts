import type { PtxModule, VarDecl } from './ast.ts';

/** Whether a declaration is of something that every thread has its own copy of. */
export const isThreadVariable = (v: VarDecl): boolean => v.space === 'reg' || v.space === 'local';

/**
 * Registers and local variables that a module declares outside functions, as PTX before 3.0 did: each thread has one copy,
 * shared by all functions. ptxas no longer accepts them.
 */
export const threadVariables = (module: PtxModule): VarDecl[] =>
  module.items.filter((x): x is VarDecl => x.kind === 'variable' && isThreadVariable(x));
