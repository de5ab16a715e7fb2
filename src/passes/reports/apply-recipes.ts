import type { Pass } from '../pass.ts';

/**
 * Phase 1, ApplyNvOptRecipes: reports which recipes apply to the function, and which do not because of their conditions.
 *
 *     before, after: the same text
 *
 * What a recipe fills, switches and sets is part of the function's plan, which is chosen before the first phase, so nothing is left to
 * change here. If this phase is disabled, plans are made without recipes, so none applies.
 *
 * Requires: nothing. Guarantees: nothing. Bound: linear in recipes.
 */
export const applyRecipes: Pass = (fn, ctx) => {
  for (const { name, when, holds } of ctx.recipes())
    ctx.remark(
      holds ? 'passed' : 'missed',
      'recipe',
      `recipe '${name}'${when === '' ? '' : ` (${when})`} ${holds ? 'is applied' : 'is not for this function'}`,
    );
  return fn;
};
