import { type ResolvedBackend, resolveBackend } from './backend.ts';
import type { SpecFile } from './document.ts';
import { frameOf, planHash } from './frame.ts';
import type { Host } from './host.ts';
import { COMMAND_LINE, Issues, type SpecIssue } from './issues.ts';
import { resolveKnobs, settledWhen } from './knobs.ts';
import type { Plan } from './plan.ts';
import { checkReportKnobs } from './report-knobs.ts';
import { warnRulesOff } from './rules.ts';
import { DEFAULT_LEVEL, MAX_LEVEL, type PlanRequest, type Specs } from './specs.ts';
import { warnUnread } from './warnings.ts';

export type { Host, RuleFault } from './host.ts';
export type { SpecIssue } from './issues.ts';
export type { PlanRequest, Specs } from './specs.ts';

/**
 * Resolves specs to a plan: the phase index array is built by name, every knob and fact gets its winning value, and what
 * the result breaks (constraints, IR properties, required phases, unknown names) is reported with the edit that did it.
 *
 * @param host names of registered passes, or these and what else the host can run
 * @returns the plan, null if there is any error; and every error and warning, with paths in place of lines
 */
export function resolve(
  specs: Specs,
  request: PlanRequest,
  host: ReadonlySet<string> | Host,
): { plan: Plan | null; issues: SpecIssue[] } {
  const issues = new Issues();
  const recipe = resolveRecipe(specs, request, issues);
  const level = request.level ?? (recipe?.data.level as number | undefined) ?? DEFAULT_LEVEL;
  if (!Number.isInteger(level) || level < 0 || level > MAX_LEVEL)
    issues.error(COMMAND_LINE, 'level', `optimization level ${level} is not 0 to ${MAX_LEVEL}`);
  const found = backendOf(specs, request.sm, issues);
  const table = resolveKnobs(specs, request, found, recipe, issues);
  const frame = frameOf({ specs, request, host: hostOf(host), recipe, level, found, table, issues });
  issues.add(frame.issues);
  if (frame.unordered) return { plan: null, issues: issues.list };
  warnRulesOff(specs, request, table.knobs, issues);
  if (found === null) return { plan: null, issues: issues.list };
  issues.add(frame.issuesOfTarget);
  warnUnread(frame.phases, frame.read, table, issues);
  checkReportKnobs(frame.phases, table, issues);
  const { isa, hash, phases, rules } = frame;
  if (issues.failed || isa === null || hash === null) return { plan: null, issues: issues.list };
  const plan: Plan = {
    hash: planHash(hash, table.knobs, request.profile ?? null),
    level,
    sm: request.sm,
    order: request.order,
    recipe: recipe === null ? null : request.recipe,
    knobSet: request.knobSets.join('+') || null,
    backend: found.backend,
    isa,
    phases,
    knobs: table.knobs,
    rules,
    profile: request.profile ?? null,
    warnings: [],
  };
  return { plan, issues: issues.list };
}

/** Hosts that are only the names of their passes, as such: one object for each set. */
const plainHosts = new WeakMap<ReadonlySet<string>, Host>();

function hostOf(host: ReadonlySet<string> | Host): Host {
  if ('passes' in host) return host;
  let known = plainHosts.get(host);
  if (known === undefined) plainHosts.set(host, (known = { passes: host }));
  return known;
}

/** Back ends that nothing is wrong with, by the table that they are in. */
const backends = new WeakMap<Specs['backends'], Map<string, ResolvedBackend>>();

function backendOf(specs: Specs, sm: string, issues: Issues): ResolvedBackend | null {
  let kept = backends.get(specs.backends);
  if (kept === undefined) backends.set(specs.backends, (kept = new Map()));
  const known = kept.get(sm);
  if (known !== undefined) return known;
  const found = resolveBackend(specs, sm, issues);
  if (found !== null) kept.set(sm, found);
  return found;
}

/** The recipe that is asked for; null where none is, or where it is for other kernels than the one that is planned. */
function resolveRecipe(specs: Specs, request: PlanRequest, issues: Issues): SpecFile | null {
  if (request.recipe === null) return null;
  const recipe = specs.recipes.get(request.recipe);
  if (recipe === undefined) {
    const names = [...specs.recipes.keys()];
    issues.unknown(
      COMMAND_LINE,
      'unknown-recipe',
      `there is no recipe '${request.recipe}'`,
      request.recipe,
      names,
      `recipes are ${names.join(', ')}; a file is given by its path`,
    );
    return null;
  }
  const when = settledWhen(recipe, request.kernel);
  if (when === false) return null;
  if (when !== null)
    for (const key of ['hooks', 'phases'])
      if (recipe.data[key] !== undefined)
        issues.error(
          { file: recipe, path: [key] },
          'recipe-when',
          `'${key}' of a recipe for some kernels ('${when}') cannot be settled for a whole program`,
          {
            key: true,
            notes: [
              'plan for one kernel, or move them to a recipe without `when`; `knobs` may stay conditional',
            ],
          },
        );
  return recipe;
}
