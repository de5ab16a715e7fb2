import { functionHash } from '../../engine/content.ts';
import { FunctionPlans } from '../../engine/function-plans.ts';
import { recipesFor } from '../../engine/reads.ts';
import { measureRecipe, type RecipeFigure } from '../../lab/recipe-measure.ts';
import { change } from '../../lab/render/table.ts';
import { targetOf } from '../../read.ts';
import { loadShipped } from '../../spec/node.ts';
import { extendedBy, recipeId } from '../../spec/recipes.ts';
import { planFor, programFor, readText } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { measureOptions } from '../lab/lab.ts';
import { Progress } from '../terminal/progress.ts';
import { ROOMY, table, tableAbove } from '../terminal/table.ts';
import { CliExit, columnsOf, out, pc, tableColumns } from '../terminal/ui.ts';

/** `orrery recipes`: lists those that ship. */
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
  const cells = [
    ['recipe', 'targets', 'default of', 'id'].map((h) => pc.bold(h)),
    ...rows.map((r) => [r.name, r.sm?.join(' ') ?? 'all', r.defaultOf.join(' '), r.id]),
  ];
  const titles = rows.map((r) => r.title);
  out(
    columnsOf(process.stdout) < ROOMY
      ? tableAbove(cells, 'llll', titles, 2)
      : table(
          cells.map((row, i) => [...row, i === 0 ? pc.bold('title') : titles[i - 1]]),
          'lllll',
        ),
  );
}

/**
 * `orrery recipes --measure NAME`: measures the stated effect of a recipe again.
 *
 * @throws CliExit with code 1 if a figure differs
 */
async function measureAgain(name: string, json: boolean): Promise<void> {
  const specs = await loadShipped();
  const progress = new Progress();
  const opts = measureOptions({ launches: true }, specs);
  const figures = await measureRecipe(name, specs, opts, (t) => progress.update(t));
  progress.done();
  const same = (f: RecipeFigure) => f.now.every((v, i) => v === undefined || v === f.stated[i]);
  if (json)
    out(
      JSON.stringify(
        figures.map((f) => ({ ...f, now: f.now.map((v) => v ?? null), same: same(f) })),
        null,
        2,
      ),
    );
  else {
    const rows = figures.map((f) => [
      f.kernel,
      f.metric,
      String(f.now[0] ?? '-'),
      String(f.now[1] ?? '-'),
      f.now[0] === undefined || f.now[1] === undefined ? '' : change(f.now[0], f.now[1]),
      f.now.includes(undefined)
        ? pc.dim('not measured here')
        : same(f)
          ? pc.green('as the recipe says')
          : pc.red(`the recipe says ${f.stated.join(' and ')}`),
    ]);
    out(
      table(
        [['kernel', 'metric', 'without', 'with', 'change', ''].map((h) => pc.bold(h)), ...rows],
        'llrrrl',
      ),
    );
  }
  if (!figures.every(same)) throw new CliExit(1);
}

/** `orrery recipes [FILE]`: lists the recipes that ship, or those that are applied to each function of a file, with its hash. */
export async function recipes(
  file: string | undefined,
  o: PlanOptions & { json?: boolean; measure?: string },
): Promise<void> {
  if (o.measure !== undefined) return measureAgain(o.measure, o.json === true);
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
    const isWide = f.function.length + f.hash.length + 2 > tableColumns();
    out(`${pc.bold(f.function)}${isWide ? '\n' : ''}  ${f.hash}`);
    for (const r of f.recipes)
      out(
        `  ${r.holds ? pc.green('applied') : pc.dim('not for')}  ${r.name}${r.when === '' ? '' : `  (${r.when})`}`,
      );
    if (f.recipes.length === 0) out(pc.dim('  no recipe: --recipe NAME, or --set NvOptRecipe=1'));
  }
}
