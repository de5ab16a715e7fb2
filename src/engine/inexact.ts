import type { Program } from '../ir/program.ts';
import type { Plan } from '../spec/plan.ts';
import type { RulesSpec } from '../spec/types.generated.ts';
import { FunctionPlans } from './function-plans.ts';

const KNOB = /\bknob\(\s*(\w+)\s*\)/g;

/** A rule group that has inexact rules: the knobs in its condition, and how its rules change results. */
interface InexactGroup {
  readonly knobs: readonly string[];
  readonly changes: ReadonlySet<string>;
}

const groupsOf = (plan: Plan): InexactGroup[] =>
  [...plan.rules.values()].flatMap(({ data }) => {
    const { when = '', rules } = data as unknown as RulesSpec.Rules;
    const changes = new Set(rules.flatMap((r) => r.inexact ?? []));
    return changes.size === 0 ? [] : [{ knobs: [...when.matchAll(KNOB)].map((m) => m[1]), changes }];
  });

/** Knobs that enable rules which declare that they change results (`inexact`), set or not. */
export const inexactKnobs = (plan: Plan): ReadonlySet<string> =>
  new Set(groupsOf(plan).flatMap((g) => g.knobs));

/**
 * What lets rules change results in a program: a sentence for each rule group with inexact rules whose knobs are set, for all functions or
 * for some. Empty: results may not change.
 */
export function inexactness(plan: Plan, input: Program): readonly string[] {
  const groups = groupsOf(plan);
  if (groups.length === 0) return [];
  const plans = new FunctionPlans(plan, input);
  const all = plans.vary ? [plan, ...input.functions.map((f) => plans.of(f.name))] : [plan];
  return groups.flatMap(({ knobs, changes }) => {
    const on = knobs.filter((k) => all.some((p) => Boolean(p.knobs.get(k)?.value)));
    return on.length === 0
      ? []
      : [`knob ${on.join(', ')} lets rules change results: ${[...changes].join('; ')}`];
  });
}
