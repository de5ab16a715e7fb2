import { assembled, noTarget } from '../../assemble.ts';
import { type Compiled, cubinFrom, RECIPE } from '../../codegen/module.ts';
import { readCubin } from '../../cubin/read.ts';
import type { Program } from '../../ir/program.ts';
import { baseTarget } from '../../ir/target.ts';
import type { Machine } from '../../machine/forms.ts';
import { type FunctionWords, functionWords } from '../../machine/listing.ts';
import { plainRows } from '../../machine/plain-rows.ts';
import type { MachineCode, MachineKernel } from '../machine-code.ts';
import type { Source } from '../recording.ts';
import type { Session } from './session.ts';

const BY = 'orrery asm';

/**
 * Machine code of a source: its plan with the recipe `machine-code`, then code generation.
 *
 * @throws DiagnosticError with the faults of the source
 */
export function machineOf(session: Session, source: Source): MachineCode {
  const { request } = source;
  const recipes = [RECIPE, ...request.recipes];
  const { journal, plan } = session.ran({ ...source, request: { ...request, recipes } });
  const sm = baseTarget(plan.sm);
  const none = (why: string): MachineCode => ({ by: BY, sm, why, kernels: [] });
  const lacks = noTarget(sm);
  if (lacks !== null) return none(`${[lacks.message, ...lacks.notes].join(': ')}.`);
  if (session.machine === null) return none('The forms of machine code are not loaded.');
  const made = assembled(journal.input, plan, session.machine, { snapshots: 'ends' });
  if (made.compiled.length === 0) return none('The text has no kernel.');
  const machine = session.machine.machine(sm);
  return { by: BY, sm, why: null, kernels: kernelsOf(made.journal.last, sm, machine, made.compiled) };
}

function kernelsOf(
  program: Program,
  sm: string,
  machine: Machine,
  compiled: readonly Compiled[],
): MachineKernel[] {
  const done = compiled.flatMap((c) => ('why' in c ? [] : [c]));
  const listed = new Map<string, FunctionWords>();
  if (done.length > 0)
    for (const f of functionWords(readCubin(cubinFrom(program, sm, done)), machine)) listed.set(f.fn.name, f);
  return compiled.map((c): MachineKernel => {
    const { name } = c.fn;
    if ('why' in c) {
      const line = program.locs[c.loc]?.line ?? 0;
      return { name, why: line > 0 ? `PTX line ${line}: ${c.why}` : c.why, registers: 0, code: [] };
    }
    const { locs, registers } = c.code;
    const code = plainRows(listed.get(name)!.code, machine, (_, k) => program.locs[locs[k] ?? 0]?.line ?? 0);
    // What fills the code up says nothing.
    return { name, why: null, registers, code: code.slice(0, locs.length) };
  });
}
