import { join } from 'node:path';
import { runPipeline } from '../engine/pipeline.ts';
import { DiagnosticError, fileFault } from '../ir/diagnostic.ts';
import { ROOT } from '../spec/node.ts';
import type { Specs } from '../spec/specs.ts';
import type { RecipeSpec } from '../spec/types.generated.ts';
import { loadModules, lowerModule } from './kernels.ts';
import { type MeasureOptions, Measurer } from './measure.ts';
import { metricOf } from './metrics.ts';
import { Plans } from './plans.ts';

/** One measurement of a recipe: as stated in its file, and as measured now. */
export interface RecipeFigure {
  readonly file: string;
  readonly kernel: string;
  readonly metric: string;
  /** Without the recipe, and with it. */
  readonly said: readonly [number, number];
  /** Absent if it cannot be measured, such as ptxas metrics without ptxas. */
  readonly now: readonly [number | undefined, number | undefined];
}

/**
 * Repeats the measurements that a recipe states, without it and with it, for the first of its targets.
 *
 * @throws DiagnosticError if there is no such recipe, if it states no measurements, or if a kernel or metric does not
 * exist
 */
export async function measureRecipe(
  name: string,
  specs: Specs,
  opts: MeasureOptions,
  tell: (text: string) => void = () => {},
): Promise<RecipeFigure[]> {
  const file = specs.recipes.get(name);
  const data = file?.data as RecipeSpec.Recipe | undefined;
  if (file === undefined || data?.measured === undefined)
    throw new DiagnosticError([
      fileFault(
        file?.file ?? '',
        file === undefined
          ? `there is no recipe '${name}'`
          : `recipe '${name}' says nothing of what was measured`,
        [
          `recipes that do are ${[...specs.recipes]
            .filter(([, f]) => f.data.measured !== undefined)
            .map(([n]) => n)
            .join(', ')}`,
        ],
      ),
    ]);
  const plans = new Plans(
    { level: null, sm: data.sm?.[0] ?? null, order: 'binary', knobSets: [], set: [], disable: [] },
    Promise.resolve(specs),
  );
  const out: RecipeFigure[] = [];
  for (const entry of data.measured.kernels) {
    tell(entry.kernel);
    const [module] = await loadModules([join(ROOT, entry.file)]);
    const sides = [];
    for (const arm of [{ name: 'base' }, { name, recipe: [name] }]) {
      const plan = await plans.plan(arm, module.target);
      const input = lowerModule(module, plan);
      const last = runPipeline(input.program, plan).last;
      const kernels = await new Measurer(module, input, opts).kernels(last, plan);
      const found = kernels.find((k) => k.kernel === entry.kernel);
      if (found === undefined) throw wrong(file.file, `${entry.file} has no kernel '${entry.kernel}'`);
      const bad = found.launches.find((l) => !l.ok);
      if (bad !== undefined) throw wrong(file.file, `${bad.file} under ${arm.name}: ${bad.why}`);
      sides.push(found.values);
    }
    for (const [metric, said] of Object.entries(entry.values)) {
      if (metricOf(metric) === undefined) throw wrong(file.file, `there is no metric '${metric}'`);
      const [before, after] = sides.map((v) => v[metric]);
      out.push({
        file: entry.file,
        kernel: entry.kernel,
        metric,
        said: said as [number, number],
        now: [before, after],
      });
    }
  }
  return out;
}

const wrong = (file: string, message: string): DiagnosticError =>
  new DiagnosticError([fileFault(file, message, [])]);
