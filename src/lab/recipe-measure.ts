import { dirname, join, resolve } from 'node:path';
import { MemoryCache } from '../engine/memory-cache.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { DiagnosticError, fileError, nearest } from '../ir/diagnostic.ts';
import { pathNamedBy, ROOT, withFiles } from '../spec/node.ts';
import { DEFAULT_ORDER, type Specs } from '../spec/specs.ts';
import type { RecipeSpec } from '../spec/types.generated.ts';
import { loadModules, lowerModule } from './kernels.ts';
import { type MeasureOptions, Measurer } from './measure.ts';
import { metricOf, type Values } from './metrics.ts';
import { DEFAULT_SM, Plans } from './plans.ts';

/** One measurement of a recipe: as stated in its file, and as measured now. */
export interface RecipeFigure {
  readonly file: string;
  readonly kernel: string;
  readonly metric: string;
  /** The values that the recipe states: without it, and with it. */
  readonly stated: readonly [number, number];
  /** The values measured now; undefined if they cannot be measured, such as ptxas metrics without ptxas. */
  readonly now: readonly [number | undefined, number | undefined];
}

/** Caches for one input, shared by calls with the same options: recipes often have the same plans and programs in part. */
export interface KnownInput {
  /** Results of phases. */
  readonly cache: MemoryCache;
  /** Measurers by target. */
  readonly measurers: Map<string, Measurer>;
}

/**
 * Repeats the measurements that a recipe states, without it and with it, for the first of its targets.
 *
 * @param name name of a shipped recipe, or the path of one
 * @param tell called with the name of each kernel before it is measured
 * @param known caches by input key; extended by this call
 * @throws DiagnosticError if there is no such recipe, if it states no measurements, if a kernel or metric does not exist, or if a launch
 *   gives wrong results
 */
export async function measureRecipe(
  name: string,
  specs: Specs,
  opts: MeasureOptions,
  tell: (text: string) => void = () => {},
  known = new Map<string, KnownInput>(),
): Promise<RecipeFigure[]> {
  const base = {
    level: null,
    sm: null,
    order: DEFAULT_ORDER,
    knobSets: [],
    set: [],
    disable: [],
  };
  const { specs: all, faults } = await withFiles(specs, { ...base, sm: DEFAULT_SM, recipes: [name] });
  if (faults.length > 0) throw new DiagnosticError(faults);
  const file = all.recipes.get(name);
  const data = file?.data as RecipeSpec.Recipe | undefined;
  if (file === undefined || data?.measured === undefined) {
    const others = [...specs.recipes].flatMap(([n, f]) => (f.data.measured === undefined ? [] : [n]));
    const near = nearest(name, others);
    throw file === undefined
      ? wrong('', `there is no recipe '${name}'`, [
          near.length > 0 ? `did you mean '${near[0]}'?` : `name a file, or one of ${others.join(', ')}`,
        ])
      : wrong(file.file, `recipe '${name}' states no measurements`, [
          `those that do are ${others.join(', ')}`,
        ]);
  }
  // Paths in a recipe are relative to its file; those in shipped recipes are relative to the project.
  const folder = specs.recipes.has(name) ? ROOT : dirname(resolve(name));
  const plansOf = (nvopt?: number): Plans =>
    new Plans(
      { ...base, sm: data.sm?.[0] ?? null, ...(nvopt === undefined ? {} : { nvopt }) },
      Promise.resolve(all),
    );
  const plans = plansOf();
  const out: RecipeFigure[] = [];
  for (const [i, entry] of data.measured.kernels.entries()) {
    tell(entry.kernel);
    for (const metric of Object.keys(entry.values)) {
      const meant = metricOf(metric);
      if (meant === undefined) throw wrong(file.file, `there is no metric '${metric}'`);
      if (meant.noisy) throw wrong(file.file, `metric '${metric}' differs in every run`);
    }
    if (folder !== ROOT)
      await pathNamedBy(entry.file, { spec: file, at: ['measured', 'kernels', i, 'file'] });
    const [module] = await loadModules([join(folder, entry.file)]);
    const sides = [];
    const { nvopt } = entry;
    for (const [arm, of] of [
      [{ name: 'base' }, plans],
      [{ name, recipe: [name] }, nvopt === undefined ? plans : plansOf(nvopt)],
    ] as const) {
      const plan = await of.plan(arm, module.target);
      const input = lowerModule(module, plan);
      const inputKey = `${input.key}|${plan.isa.hash}`;
      const { cache, measurers } = known.get(inputKey) ?? {
        cache: new MemoryCache(),
        measurers: new Map<string, Measurer>(),
      };
      known.set(inputKey, { cache, measurers });
      const { last, records } = runPipeline(input.program, plan, { cache, inputKey });
      const { sm } = plan.backend;
      const measurer = measurers.get(sm) ?? new Measurer(module, input, opts);
      measurers.set(sm, measurer);
      const kernels = await measurer.kernels(last, plan);
      const found = kernels.find((k) => k.kernel === entry.kernel);
      if (found === undefined) throw wrong(file.file, `${entry.file} has no kernel '${entry.kernel}'`);
      const bad = found.launches.find((l) => !l.ok);
      if (bad !== undefined) throw wrong(file.file, `${bad.file} under ${arm.name}: ${bad.why}`);
      const ran = records.filter((r) => r.outcome === 'ran').length;
      sides.push({ ...found.values, 'phases-run': ran } as Values);
    }
    for (const [metric, stated] of Object.entries(entry.values)) {
      const [before, after] = sides.map((v) => v[metric]);
      out.push({
        file: entry.file,
        kernel: entry.kernel,
        metric,
        stated: stated as [number, number],
        now: [before, after],
      });
    }
  }
  return out;
}

const wrong = (file: string, message: string, notes: readonly string[] = []): DiagnosticError =>
  fileError(file, message, notes);
