import type { Pass } from './pass.ts';

/**
 * Says which recipes are applied to the function, and which are not because of what they ask (ApplyNvOptRecipes, phase 1).
 *
 * What a recipe fills, switches and sets is part of the plan of the function, which is chosen before the first phase; so nothing
 * remains to be changed here. Where this phase does not run, no recipe is applied: plans are made without them then.
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
