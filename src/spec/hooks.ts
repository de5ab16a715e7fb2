import type { SpecFile } from './document.ts';
import { below, type Issues, type Spot } from './issues.ts';
import { type Entry, type Row, unknownPass, unknownRules } from './order.ts';
import type { StepSpec } from './steps.ts';

/** What a recipe puts into one hook. */
export interface HookFilling {
  readonly steps: readonly StepSpec[];
  readonly at: Spot;
}

/**
 * The hooks that a recipe fills, by phase id. A key without a number is the first occurrence of that phase.
 * Faults go to `issues`: a name that is no phase or no hook, an unknown pass or rule group.
 */
export function resolveHooks(
  recipe: SpecFile | null,
  entries: readonly Entry[],
  rows: readonly Row[],
  passes: ReadonlySet<string>,
  ruleGroups: ReadonlySet<string>,
  issues: Issues,
): Map<string, HookFilling> {
  const out = new Map<string, HookFilling>();
  const hooks = rows.filter((r) => r.hook !== undefined).map((r) => r.name);
  const given = (recipe?.data.hooks ?? {}) as Readonly<Record<string, readonly StepSpec[]>>;
  for (const [name, steps] of Object.entries(given)) {
    const at = { file: recipe, path: ['hooks', name] };
    const entry = entries.find((x) => x.id.toLowerCase() === name.toLowerCase());
    if (entry === undefined)
      issues.unknown(
        at,
        'unknown-phase',
        `there is no phase '${name}' in the order`,
        name,
        hooks,
        `hooks are ${hooks.join(', ')}`,
        { key: true },
      );
    else if (rows[entry.row]?.hook === undefined)
      issues.error(at, 'not-a-hook', `phase '${name}' is no hook`, {
        key: true,
        notes: [`hooks are ${hooks.join(', ')}`],
      });
    else out.set(entry.id, { steps, at });
    checkNames(steps, at, passes, ruleGroups, issues);
  }
  return out;
}

/** Passes and rule groups that are not there. Step lists are checked where they are opened. */
function checkNames(
  steps: readonly StepSpec[],
  at: Spot,
  passes: ReadonlySet<string>,
  ruleGroups: ReadonlySet<string>,
  issues: Issues,
): void {
  steps.forEach((s, i) => {
    if (s.pass !== undefined && !passes.has(s.pass))
      unknownPass(below(at, i, 'pass'), s.pass, passes, issues);
    s.rules?.forEach((g, k) => {
      if (!ruleGroups.has(g)) unknownRules(below(at, i, 'rules', k), g, ruleGroups, issues);
    });
    if (s.repeat !== undefined) checkNames(s.repeat, below(at, i, 'repeat'), passes, ruleGroups, issues);
  });
}
