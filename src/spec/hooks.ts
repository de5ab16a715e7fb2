import { match, P } from 'ts-pattern';
import type { SpecFile } from './document.ts';
import { below, type Issues, type Spot } from './issues.ts';
import { type Entry, type Row, unknownPass, unknownRules } from './order.ts';

/** One thing that a recipe puts into a hook; the schema lets no other form through. */
export type HookItem =
  | { readonly pass: string; readonly params?: Readonly<Record<string, unknown>> }
  | { readonly rules: string };

/** What a recipe puts into one hook. */
export interface HookFilling {
  readonly items: readonly HookItem[];
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
  const given = (recipe?.data.hooks ?? {}) as Readonly<Record<string, readonly HookItem[]>>;
  for (const [name, items] of Object.entries(given)) {
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
    else out.set(entry.id, { items, at });
    items.forEach((item, i) => {
      match(item)
        .with({ pass: P.string }, ({ pass }) => {
          if (!passes.has(pass)) unknownPass(below(at, i, 'pass'), pass, passes, issues);
        })
        .with({ rules: P.string }, ({ rules }) => {
          if (!ruleGroups.has(rules)) unknownRules(below(at, i, 'rules'), rules, ruleGroups, issues);
        })
        .exhaustive();
    });
  }
  return out;
}
