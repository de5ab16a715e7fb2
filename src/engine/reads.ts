import type { RecipeForFn } from '../passes/pass.ts';
import { factOf } from '../spec/backend.ts';
import type { PlanPhase } from '../spec/plan.ts';
import type { Budgets } from './budgets.ts';
import type { FunctionPlans } from './function-plans.ts';

/**
 * Something that a pass reads besides the program. The program and the values of all reads determine the result of the pass, so the result
 * may be reused if they are equal.
 */
export type Read =
  | 'level'
  | 'sm'
  | 'profile'
  | 'recipes'
  | `knob ${string}`
  | `budget ${string}`
  | `fact ${string}`;

/** The state at the start of a phase that determines the values of reads. */
export interface Scene {
  readonly plans: FunctionPlans;
  /** Names of the functions over which the phase runs. */
  readonly functions: readonly string[];
  /** Effective level of each of them. */
  readonly levels: readonly number[];
  readonly budgets: Budgets;
}

/** The recipes of a plan and their parts, and whether each applies to a function. */
export function recipesFor(plans: FunctionPlans, fn: string): readonly RecipeForFn[] {
  const held = new Set(plans.testsOf(fn));
  // If phase 1 does not run for the function, its plan has no recipes.
  const any = plans.of(fn).recipes.length > 0;
  return plans.base.recipes.map((r) => ({
    name: r.name,
    when: r.tests.map((t) => plans.base.tests[t].text).join(', '),
    holds: any && r.tests.every((t) => held.has(t)),
  }));
}

/** Splits a read into its kind and the name of the knob or path of the fact; '' for other kinds. */
const parts = (r: Read): [kind: string, name: string] => {
  const at = r.indexOf(' ');
  return at < 0 ? [r, ''] : [r.slice(0, at), r.slice(at + 1)];
};

/** True if a phase declares a fact. Declaring a path includes all paths below it. */
export const declaresFact = (phase: PlanPhase, path: string): boolean =>
  phase.facts.some((f) => path === f || path.startsWith(`${f}.`));

/** True if a phase declares a read. The phase of another plan may have other declarations. */
export function mayRead(phase: PlanPhase, r: Read): boolean {
  const [kind, name] = parts(r);
  if (kind === 'fact') return declaresFact(phase, name);
  return name === '' || phase.knobs.includes(name);
}

/** Names of the knobs among reads. */
export const knobsOf = (reads: Iterable<Read>): string[] => namesOf(reads, ['knob', 'budget']);
/** Paths of the facts among reads. */
export const factsOf = (reads: Iterable<Read>): string[] => namesOf(reads, ['fact']);

function namesOf(reads: Iterable<Read>, kinds: readonly string[]): string[] {
  const out: string[] = [];
  for (const r of reads) {
    const [kind, name] = parts(r);
    if (kinds.includes(kind)) out.push(name);
  }
  return out;
}

/** The value of a read as a text: a single one if all functions see the same, else one for each. */
export function seenValue(r: Read, scene: Scene): string {
  const { plans, functions, levels, budgets } = scene;
  const plan = plans.base;
  const [kind, name] = parts(r);
  switch (kind) {
    case 'level':
      return forEach(levels.map(String));
    case 'sm':
      return plan.sm;
    case 'profile':
      return forEach(functions.map((f) => JSON.stringify(plan.profile?.[f] ?? null)));
    case 'recipes':
      return forEach(functions.map((f) => JSON.stringify(recipesFor(plans, f))));
    case 'fact':
      return JSON.stringify(factOf(plan.backend, name) ?? null);
    case 'knob':
      return forEach(functions.map((f) => JSON.stringify(plans.knob(name, f))));
    default: {
      // Functions that share a counter use up each other's units, so the value includes which of them share one.
      const counters = functions.map((f) => budgets.counter(name, f));
      return forEach(
        functions.map((f, i) => {
          const left = budgets.left(name, f);
          return left === Infinity ? 'unlimited' : `${left} of ${counters.indexOf(counters[i])}`;
        }),
      );
    }
  }
}

const forEach = (values: readonly string[]): string =>
  values.every((v) => v === values[0]) ? (values[0] ?? '') : values.join('|');
