import { withFunctions } from '../ir/edit.ts';
import type { Isa } from '../ir/opcode.ts';
import type { Program } from '../ir/program.ts';
import { leaveSsa } from './leave.ts';

/** The program with every function out of SSA, as whatever writes it in a language without phis needs it; itself if none is in it. */
export function withoutSsa(program: Program, isa: Isa): Program {
  const functions = program.functions.map((fn) => leaveSsa(fn, isa));
  return functions.every((fn, i) => fn === program.functions[i])
    ? program
    : withFunctions(program, functions);
}
