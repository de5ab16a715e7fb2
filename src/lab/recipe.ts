import { dirname, join, relative, resolve } from 'node:path';
import { stringify } from 'yaml';
import { host } from '../engine/pipeline.ts';
import { shellWord, visible } from '../ir/quote.ts';
import { withSpec } from '../spec/collect.ts';
import { MANAGER_KNOB } from '../spec/knobs.ts';
import { isPath, makePlan, ROOT, withFiles } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import { DEFAULT_ORDER } from '../spec/specs.ts';
import { produce } from '../spec/state.ts';
import type { RecipeSpec } from '../spec/types.generated.ts';
import type { Arm } from './arms.ts';
import { orderText, type Plans } from './plans.ts';

/** An arm written as files that can be committed. */
export interface RecipeFiles {
  readonly recipe: string;
  /** The order that results from its moves; null if it moves nothing. */
  readonly order: string | null;
  /** Options needed besides the recipe, because a recipe cannot contain them. */
  readonly options: readonly string[];
  /** True if the recipe, with the options, gives the same plan as the arm. */
  readonly same: boolean;
}

/** Additional contents for the recipe of an arm. */
export interface HowFound {
  /** The command that found it, such as `orrery tune`. */
  readonly by: string;
  /** Comment lines that give reasons. */
  readonly reasons: readonly string[];
  /** Pattern of the functions that it applies to; absent: all. */
  readonly kernels?: string;
  readonly measured?: RecipeSpec.Measured;
}

const BY_SWEEP: HowFound = { by: 'orrery sweep', reasons: [] };

/** Origins of values that must be written into a recipe; values of other origins apply anyway. */
const OWN = new Set(['recipe', 'knob-set', 'command-line']);

/**
 * Writes an arm as a recipe, which includes everything that the base adds to the shipped values.
 *
 * @param targets targets for which the arm was tried; null: that of the base
 * @param title one line of text
 * @param paths the paths at which the recipe and the order will be stored
 * @param how how it was found, and further contents
 */
export async function recipeOf(
  arm: Arm,
  plans: Plans,
  targets: readonly (string | null)[],
  title: string,
  paths: { readonly recipe: string; readonly order: string },
  how = BY_SWEEP,
): Promise<RecipeFiles> {
  const tried = await Promise.all(targets.map((t) => plans.plan(arm, t)));
  const plan = tried[0];
  const request = plans.request(arm, plan.sm);
  const { specs } = await withFiles(await plans.specs(arm), request);
  const named = request.recipes ?? [];
  const only = named.length === 1 ? specs.recipes.get(named[0]) : undefined;
  // A single recipe without `extends` and parts is copied into the new one. Otherwise, the new one extends the recipes of the base.
  const copied = only?.data.extends === undefined && only?.data.parts === undefined ? only : undefined;
  const base = (copied?.data ??
    (named.length === 0
      ? undefined
      : { kind: 'recipe', extends: named.map((n) => seenFrom(n, paths.recipe)) })) as
    | RecipeSpec.Recipe
    | undefined;
  const data = produce((base ?? { kind: 'recipe' }) as RecipeSpec.Recipe, (d) => {
    d.title = title;
    // Measurements of the base do not apply to this recipe.
    delete d.measured;
    if (how.measured !== undefined) d.measured = how.measured;
    if (how.kernels !== undefined) d.when = { kernel: how.kernels };
    d.sm = [...new Set(tried.map((p) => p.sm))];
    d.level = plan.level;
    const knobs = valuesOf(plan);
    if (Object.keys(knobs).length > 0) d.knobs = knobs as RecipeSpec.Recipe['knobs'];
    const off = [...new Set([...(d.phases?.disable ?? []), ...request.disable])];
    if (off.length > 0) d.phases = { ...d.phases, disable: off };
  });
  const order =
    arm.moves === undefined
      ? null
      : schemaLine('order', paths.order) + orderText(request.order, arm.moves, title);
  const options = [
    ...(order !== null
      ? [`--order ${shellWord(paths.order)}`]
      : request.order === DEFAULT_ORDER
        ? []
        : [`--order ${shellWord(request.order)}`]),
    ...(request.rules ?? []).map((r) => `--rules ${shellWord(r)}`),
  ];
  const recipe = recipeText(data, title, options, schemaLine('recipe', paths.recipe), how);
  const same = await Promise.all(tried.map((p) => samePlan(p, data, arm, plans)));
  return { recipe, order, options, same: same.every(Boolean) };
}

/** A recipe name or path as seen from another file. */
const seenFrom = (name: string, file: string): string =>
  isPath(name) ? relative(dirname(resolve(file)), resolve(name)).replaceAll('\\', '/') : name;

/** Knobs that are set for all kernels, with their values. */
function valuesOf(plan: Plan): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const k of plan.knobs.values())
    if (OWN.has(k.origin.source) && k.when === null && k.name !== MANAGER_KNOB) out[k.name] = k.value;
  return out;
}

/** First line of a spec, which names its schema for editors; '' for paths outside of the project. */
function schemaLine(kind: string, path: string): string {
  const to = relative(dirname(resolve(path)), join(ROOT, 'schemas', `${kind}.schema.json`));
  const inside = !relative(ROOT, resolve(path)).startsWith('..');
  return inside ? `# yaml-language-server: $schema=${to.replaceAll('\\', '/')}\n` : '';
}

const recipeText = (
  data: RecipeSpec.Recipe,
  title: string,
  options: readonly string[],
  head: string,
  how: HowFound,
): string =>
  [
    `${head}# ${visible(title)}. Found by \`${visible(how.by)}\`.`,
    ...how.reasons.map((r) => `# ${visible(r)}`),
    ...(options.length > 0 ? [`# Run it with ${visible(options.join(' '))}.`] : []),
    stringify(data, { lineWidth: 120 }),
  ].join('\n');

/** True if the recipe alone, with the order and the rules of the arm, gives the plan of the arm. */
async function samePlan(plan: Plan, data: RecipeSpec.Recipe, arm: Arm, plans: Plans): Promise<boolean> {
  const ordered = await plans.orderedSpecs(arm, plan.sm);
  const name = '<recipe>';
  const file = { file: name, text: '', kind: 'recipe', data: data as never } as const;
  const request = { ...ordered.request, recipes: [name], level: null, knobSets: [], set: [], disable: [] };
  const found = await makePlan(request, host, withSpec(ordered.specs, file));
  return found.plan?.hash === plan.hash;
}
