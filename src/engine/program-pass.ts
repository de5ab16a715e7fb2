import type { Isa } from '../ir/opcode.ts';
import type { Fn, Program } from '../ir/program.ts';
import type { PassContext, ProgramPass } from '../passes/pass.ts';
import type { GateAnswer } from './gate.ts';

/** The gate's answer for a function that a pass of the same phase added: only later phases process it. */
const UNSEEN: GateAnswer = { open: false, why: 'added by this phase', level: 0 };

/** The context in which a pass over the program runs. */
export interface ProgramPassSite {
  readonly isa: Isa;
  readonly phase: string;
  readonly params: PassContext['params'];
  contextOf(fn: Fn, level: number): PassContext;
  /** Creates an error that blames the phase. */
  fault(why: string): Error;
}

/**
 * Runs a pass over a whole program.
 * @param answers the gate's answers by position of the function
 * @returns the new program, and the answers for its functions
 * @throws the site's fault if the pass changed a function for which the phase is not open
 */
export function runProgramPass(
  program: Program,
  answers: readonly GateAnswer[],
  pass: ProgramPass,
  site: ProgramPassSite,
): { readonly program: Program; readonly answers: readonly GateAnswer[] } {
  const answerOf = new Map(program.functions.map((f, i) => [f, answers[i]]));
  const after = pass(program, {
    isa: site.isa,
    phase: site.phase,
    params: site.params,
    functions: program.functions.filter((f) => answerOf.get(f)!.open),
    of(fn) {
      const answer = answerOf.get(fn);
      if (answer?.open !== true)
        throw site.fault(`is not open for function '${fn.name}', for which it requested a context`);
      return site.contextOf(fn, answer.level);
    },
  });
  if (after === program) return { program, answers };
  const kept = new Set(after.functions);
  const lost = program.functions.find((f) => !answerOf.get(f)!.open && !kept.has(f));
  if (lost !== undefined) throw site.fault(`changed function '${lost.name}', for which it is not open`);
  const byName = new Map(program.functions.map((f, i) => [f.name, answers[i]]));
  return { program: after, answers: after.functions.map((f) => byName.get(f.name) ?? UNSEEN) };
}
