import { FunctionPlans } from '../engine/function-plans.ts';
import { type Diagnostic, fileFault, nearest } from '../ir/diagnostic.ts';
import { covers } from '../ir/glob.ts';
import { firstNames } from '../ir/listed.ts';
import type { Program } from '../ir/program.ts';
import { isWhen } from '../spec/conditions.ts';
import type { ConditionTest, Plan } from '../spec/plan.ts';
import type { Arm } from './arms.ts';
import { loweredKey, lowerModule, type Module } from './kernels.ts';
import type { Plans } from './plans.ts';

/** A program before any phase, and a plan for it. */
export interface PlannedProgram {
  readonly plan: Plan;
  readonly program: Program;
}

/** The plans of one arm for all programs. */
export interface PlannedArm {
  /** Name of the arm in warnings; '' if there is only one. */
  readonly name: string;
  readonly inputs: readonly PlannedProgram[];
}

/**
 * Warns about `when` conditions of plans that match no function of any program, so that their settings have no effect.
 *
 * @param file the file that the warning is about; '' for several
 * @returns a warning for each distinct set of idle conditions, which several arms may share
 */
export function idleConditions(file: string, arms: readonly PlannedArm[]): Diagnostic[] {
  const found = new Map<string, { readonly idle: Idle; readonly arms: string[] }>();
  for (const { name, inputs } of arms) {
    const idle = idleOf(inputs);
    if (idle === null) continue;
    const text = idle.tests.map((t) => t.text).join(' or ');
    const known = found.get(text);
    if (known === undefined) found.set(text, { idle, arms: [name] });
    else known.arms.push(name);
  }
  return [...found].map(([text, { idle, arms: named }]) => {
    const { tests, names } = idle;
    const near = tests.flatMap((t) => (t.kernel === null ? [] : suggestionsFor(t.kernel, names)));
    const quoted = named.map((n) => `'${n}'`);
    const whose = named[0] === '' ? '' : `arm ${firstNames(quoted, 1)}: `;
    const notes = [
      ...(near.length > 0 ? [`did you mean ${near.map((n) => `'${n}'`).join(' or ')}?`] : []),
      `${file === '' ? 'the' : 'its'} ${names.length === 1 ? 'function is' : 'functions are'} ${firstNames(names, MOST_NAMED)}`,
      ...(tests.some((t) => t.hashes !== null)
        ? ['`orrery recipes FILE` prints their hashes, which depend on the target']
        : []),
    ];
    const message = `${whose}no function matches ${text}, so what is set for it has no effect`;
    return { ...fileFault(file, message, notes), severity: 'warning' };
  });
}

/** Suggestions for a pattern that matches no name: the same anywhere in a name, since names are mangled, or else a similar name. */
function suggestionsFor(pattern: string, names: readonly string[]): string[] {
  const anywhere = `*${pattern.replace(/^\*+|\*+$/g, '')}*`;
  return pattern.includes('*') && anywhere.length > 2 && names.some((n) => covers(anywhere, n))
    ? [anywhere]
    : nearest(pattern, names).slice(0, 1);
}

/** Tests that hold for no function, and the names of all functions. */
interface Idle {
  readonly tests: readonly ConditionTest[];
  readonly names: readonly string[];
}

function idleOf(inputs: readonly PlannedProgram[]): Idle | null {
  const asked = new Map<string, ConditionTest>();
  const held = new Set<string>();
  const names = new Set<string>();
  for (const { plan, program } of inputs) {
    for (const f of program.functions) names.add(f.name);
    if (!plan.tests.some(isWhen)) continue;
    const plans = new FunctionPlans(plan, program);
    for (const t of plan.tests) if (isWhen(t)) asked.set(t.text, t);
    for (const f of program.functions) for (const i of plans.testsOf(f.name)) held.add(plan.tests[i].text);
  }
  const tests = [...asked.values()].filter((t) => !held.has(t.text));
  return tests.length === 0 || names.size === 0 ? null : { tests, names: [...names] };
}

/**
 * Like `idleConditions`, for arms that have not run yet. Modules are lowered only for plans with `when` conditions.
 * @throws DiagnosticError if a module cannot be read
 */
export async function idleArms(
  arms: readonly Arm[],
  modules: readonly Module[],
  plans: Plans,
): Promise<Diagnostic[]> {
  const lowered = new Map<string, Program>();
  const planned: PlannedArm[] = [];
  for (const arm of arms) {
    const inputs: PlannedProgram[] = [];
    for (const m of modules) {
      const { plan } = await plans.tryPlan(arm, m.target);
      if (plan === null || !plan.tests.some(isWhen)) continue;
      const key = loweredKey(m, plan);
      const program = lowered.get(key) ?? lowerModule(m, plan).program;
      lowered.set(key, program);
      inputs.push({ plan, program });
    }
    planned.push({ name: arms.length === 1 ? '' : arm.name, inputs });
  }
  return idleConditions('', planned);
}

/** Maximum number of functions that a note names. */
const MOST_NAMED = 12;
