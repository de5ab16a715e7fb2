import { functionHash } from '../engine/content.ts';
import { FunctionPlans } from '../engine/function-plans.ts';
import { recipesFor } from '../engine/reads.ts';
import { targetOf } from '../read.ts';
import { loadShipped } from '../spec/node.ts';
import { extendedBy, recipeId } from '../spec/recipes.ts';
import { planFor, programFor, readText } from './input.ts';
import type { PlanOptions } from './options.ts';
import { out, pc, table } from './ui.ts';

/** `orrery recipes`: those that ship. */
async function list(json: boolean): Promise<void> {
  const { recipes, backends } = await loadShipped();
  const rows = [...recipes].map(([name, f]) => ({
    name,
    id: recipeId(f),
    title: String(f.data.title ?? ''),
    sm: (f.data.sm as readonly string[] | undefined) ?? null,
    extends: extendedBy(f),
    defaultOf: [...backends.values()]
      .filter((b) => (b.data.recipe as { default?: string } | undefined)?.default === name)
      .map((b) => String(b.data.name)),
  }));
  if (json) return out(JSON.stringify(rows, null, 2));
  out(
    table(
      [
        ['recipe', 'targets', 'default of', 'id', 'title'].map((h) => pc.bold(h)),
        ...rows.map((r) => [r.name, r.sm?.join(' ') ?? 'all', r.defaultOf.join(' '), r.id, r.title]),
      ],
      'lllll',
    ),
  );
}

/** `orrery recipes [FILE]`: the recipes that ship, or which are applied to each function of a file, and its hash. */
export async function recipes(file: string | undefined, o: PlanOptions & { json?: boolean }): Promise<void> {
  if (file === undefined) return list(o.json === true);
  const text = readText(file);
  const plan = await planFor(o, targetOf(text));
  const { program } = programFor(file, text, plan);
  const plans = new FunctionPlans(plan, program);
  const functions = program.functions.map((f) => ({
    function: f.name,
    hash: functionHash(f),
    recipes: recipesFor(plans, f.name),
  }));
  if (o.json === true) return out(JSON.stringify(functions, null, 2));
  for (const f of functions) {
    out(`${pc.bold(f.function)}  ${f.hash}`);
    for (const r of f.recipes)
      out(
        `  ${r.holds ? pc.green('applied') : pc.dim('not for')}  ${r.name}${r.when === '' ? '' : `  (${r.when})`}`,
      );
    if (f.recipes.length === 0) out(pc.dim('  no recipe: --recipe NAME, or --set NvOptRecipe=1'));
  }
}
