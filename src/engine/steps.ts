import type { DiagnosticError } from '../ir/diagnostic.ts';
import { withFunctions } from '../ir/edit.ts';
import type { Fn, Program } from '../ir/program.ts';
import type { PassContext } from '../passes/pass.ts';
import type { PassEntry } from '../passes/registry.ts';
import type { PassStep, PlanPhase, RulesStep, Step } from '../spec/plan.ts';
import type { EditRunner, EditStep, Stretch } from './edits.ts';
import type { GateResult } from './gate.ts';

/** What can be run. */
export interface Runnable {
  readonly passes: ReadonlyMap<string, PassEntry>;
  /** Makes a step of rule groups, which are one set; absent where no rules are loaded. */
  readonly rules?: (groups: readonly string[], ctx: PassContext) => EditStep;
}

/** Where steps run. */
export interface Scene {
  /** For which functions, and at which level. */
  readonly gate: GateResult;
  /** What a step may know, of one function of a version of the program. */
  readonly contextOf: (program: Program, fn: Fn, params: PassContext['params'], level: number) => PassContext;
  /** The error for a step that cannot run. */
  readonly fault: (why: string) => DiagnosticError;
}

/** Makes the context for the parameters of one step. */
type ContextFor = (params: PassContext['params']) => PassContext;

/**
 * Runs the steps of a phase over a program, function by function. Neighbouring steps that edit share one draft.
 */
export function runSteps(
  program: Program,
  phase: PlanPhase,
  opts: Runnable,
  edits: EditRunner,
  scene: Scene,
): Program {
  const { fault } = scene;
  const entryOf = (s: PassStep) => {
    const entry = opts.passes.get(s.pass);
    if (entry === undefined)
      throw fault(`phase ${phase.id} is bound to '${s.pass}', which is no registered pass`);
    return entry;
  };
  const isEdit = (s: Step): boolean =>
    s.kind === 'rules' || (s.kind === 'pass' ? 'edit' in entryOf(s) : s.steps.every(isEdit));
  const editStep = (s: PassStep | RulesStep, contextFor: ContextFor): EditStep => {
    if (s.kind === 'rules') {
      if (opts.rules === undefined)
        throw fault(`phase ${phase.id} runs rule group '${s.groups[0]}', but no rules are loaded`);
      return opts.rules(s.groups, contextFor({}));
    }
    const entry = entryOf(s);
    if (!('edit' in entry)) throw new Error(`${s.pass} edits no draft`);
    const { edit, version, knobs = [] } = entry;
    const ctx = contextFor(s.params);
    const values = knobs.map((k) => ctx.knob(k));
    return {
      key: `${s.pass}@${version} ${JSON.stringify([s.params, values])}`,
      open: (d) => (work) => edit(d, work, ctx),
    };
  };
  const stretch = (s: Step, contextFor: ContextFor): Stretch => {
    const repeated = s.kind === 'repeat';
    return {
      steps: (repeated ? s.steps : [s]).map((x) => editStep(x, contextFor)),
      rounds: repeated ? s.rounds : 1,
      unfinished: () =>
        contextFor({}).remark(
          'missed',
          'rounds',
          `something is left to do after ${repeated ? s.rounds : 1} rounds`,
        ),
    };
  };
  const run = (input: Program, steps: readonly Step[]): Program => {
    let current = input;
    for (let i = 0; i < steps.length; ) {
      const s = steps[i++];
      if (isEdit(s)) {
        const together = [s];
        while (i < steps.length && isEdit(steps[i])) together.push(steps[i++]);
        const now = current;
        current = overFunctions(now, scene.gate, (fn, level) => {
          const contextFor: ContextFor = (params) => scene.contextOf(now, fn, params, level);
          const stretches = together.map((x) => stretch(x, contextFor));
          return edits.run(fn, stretches);
        });
      } else if (s.kind === 'repeat') {
        for (let round = 0; round < s.rounds; round++) {
          const before = current;
          current = run(before, s.steps);
          if (current === before) break;
        }
      } else if (s.kind === 'pass') {
        const entry = entryOf(s);
        const now = current;
        if ('pass' in entry)
          current = overFunctions(now, scene.gate, (fn, level) =>
            entry.pass(fn, scene.contextOf(now, fn, s.params, level)),
          );
      }
    }
    return current;
  };
  return run(program, phase.steps);
}

/** Applies `f` to every function that the gate is open for, sharing what stays. */
function overFunctions(program: Program, gate: GateResult, f: (fn: Fn, level: number) => Fn): Program {
  let out: Fn[] | null = null;
  for (let i = 0; i < program.functions.length; i++) {
    const { open, level } = gate.answers[i];
    if (!open) continue;
    const fn = program.functions[i];
    const r = f(fn, level);
    if (r === fn) continue;
    out ??= [...program.functions];
    out[i] = r;
  }
  return out === null ? program : withFunctions(program, out);
}
