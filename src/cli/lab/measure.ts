import { runPipeline } from '../../engine/pipeline.ts';
import { idleConditions, type PlannedProgram } from '../../lab/idle-conditions.ts';
import { loadModules, lowerModule, noKernel } from '../../lab/kernels.ts';
import { compileValues, Measurer } from '../../lab/measure.ts';
import { type ModuleMeasure, measureJson, measureText } from '../../lab/render/measure.ts';
import { loadShipped } from '../../spec/node.ts';
import { warnOtherFunctions } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { type CacheOptions, cacheOf } from '../optimize/cache.ts';
import { Progress } from '../terminal/progress.ts';
import { CliExit, out, show, tableColumns } from '../terminal/ui.ts';
import {
  heap,
  knownFor,
  type MeasureCliOptions,
  measureOptions,
  metricsOf,
  paint,
  plansOf,
  tellMissing,
} from './lab.ts';

interface MeasureCommand extends PlanOptions, MeasureCliOptions, CacheOptions {
  readonly metrics?: string;
  readonly opt: boolean;
  readonly json?: boolean;
}

/** `orrery measure`: prints metrics of kernels. */
export async function measure(patterns: readonly string[], o: MeasureCommand): Promise<void> {
  const specs = await loadShipped();
  const plans = plansOf(o, specs);
  const modules = await loadModules(patterns);
  const known = await knownFor(o.metrics, o, modules, plans);
  const chosen = o.metrics === undefined ? null : metricsOf(o.metrics, known);
  const disk = cacheOf(o);
  const progress = new Progress();
  const tell = (text: string): void => progress.detail(text);
  const opts = { ...measureOptions(o, specs, chosen ?? []), tell };
  const found: ModuleMeasure[] = [];
  const planned: PlannedProgram[] = [];
  for (const m of modules) {
    progress.of(found.length, modules.length, m.file);
    const plan = await plans.plan({ name: 'base' }, m.target);
    const input = lowerModule(m, plan);
    show(input.warnings);
    if (o.opt) planned.push({ plan, program: input.program });
    const cache = disk?.shelf(input.key, plan.isa);
    const journal = o.opt ? runPipeline(input.program, plan, { heap, cache, inputKey: input.key }) : null;
    disk?.release(cache);
    found.push({
      file: m.file,
      sm: plan.sm,
      level: plan.level,
      order: plan.order,
      plan: plan.hash,
      compile: journal === null ? {} : compileValues(journal),
      kernels: await new Measurer(m, input, opts).kernels(journal?.last ?? input.program, plan),
    });
  }
  progress.done();
  if (found.every((m) => m.kernels.length === 0)) throw noKernel();
  show(plans.warnings);
  show(idleConditions(modules.length === 1 ? modules[0].file : '', [{ name: '', inputs: planned }]));
  if (o.profile !== undefined)
    warnOtherFunctions(
      o.profile,
      found.flatMap((m) => m.kernels.map((k) => k.kernel)),
    );
  if (o.metrics !== undefined && o.json !== true)
    tellMissing(
      o.metrics,
      found.flatMap((m) => m.kernels.map((k) => ({ ...m.compile, ...k.values }))),
      known,
    );
  out(
    o.json === true
      ? JSON.stringify(measureJson(found), null, 2)
      : measureText(found, chosen, paint, tableColumns()),
  );
  if (found.some((m) => m.kernels.some((k) => k.launches.some((l) => !l.ok)))) throw new CliExit(1);
}
