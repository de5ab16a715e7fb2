import { makePlan } from '../../src/spec/node.ts';
import type { Plan } from '../../src/spec/plan.ts';
import type { PlanRequest, Specs } from '../../src/spec/resolve.ts';
import { passNames, plain, rendered, shipped, specOf } from './specs.ts';

/** Texts of recipes by name, without their kind. */
export type RecipeTexts = Readonly<Record<string, string>>;

/** The shipped specs with additional recipes. */
export const withRecipes = (texts: RecipeTexts): Specs => ({
  ...shipped,
  recipes: new Map([
    ...shipped.recipes,
    ...Object.entries(texts).map(
      ([name, text]) => [name, specOf(`${name}.yaml`, `kind: recipe\n${text}\n`)] as const,
    ),
  ]),
});

/** A request in which recipes determine the level. */
export const binary = { ...plain, order: 'binary', level: null };

/** A request for these recipes in this order, unless `change` names others. */
export async function made(
  texts: RecipeTexts,
  change: Partial<PlanRequest> = {},
  specs: Specs = withRecipes(texts),
): ReturnType<typeof makePlan> {
  return makePlan({ ...binary, recipes: Object.keys(texts), ...change }, passNames, specs);
}

/** The plan of such a request. @throws Error with its diagnostics */
export async function planOf(
  texts: RecipeTexts,
  change: Partial<PlanRequest> = {},
  specs?: Specs,
): Promise<Plan> {
  const { plan, diagnostics } = await made(texts, change, specs);
  if (plan === null) throw new Error(rendered(diagnostics, sources(texts)));
  return plan;
}

const sources = (texts: RecipeTexts): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([n, t]) => [`${n}.yaml`, `kind: recipe\n${t}\n`]));

/** The diagnostics of such a request. */
export async function says(
  texts: RecipeTexts,
  change: Partial<PlanRequest> = {},
  specs?: Specs,
): Promise<string> {
  return rendered((await made(texts, change, specs)).diagnostics, sources(texts));
}
