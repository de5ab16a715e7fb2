import { withFunctions } from '../ir/edit.ts';
import type { Isa } from '../ir/opcode.ts';
import type { Program } from '../ir/program.ts';
import { leaveSsa } from './leave.ts';

/**
 * The program with every function translated out of SSA, for output languages without phis; the same object if none was in
 * SSA.
 */
export function withoutSsa(program: Program, isa: Isa): Program {
  const functions = program.functions.map((fn) => leaveSsa(fn, isa));
  return functions.every((fn, i) => fn === program.functions[i])
    ? program
    : withFunctions(program, functions);
}
