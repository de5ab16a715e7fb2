import { basename, dirname, relative, resolve } from 'node:path';
import { fileWord } from '../../ir/quote.ts';
import type { Arm } from '../../lab/arms.ts';
import { idleArms } from '../../lab/idle-conditions.ts';
import { loadModules, type Module, noKernel } from '../../lab/kernels.ts';
import { type Metric, metricOf } from '../../lab/metrics.ts';
import { allLaunched, DEFAULT_SM } from '../../lab/plans.ts';
import { type HowFound, recipeOf } from '../../lab/recipe.ts';
import { effectText, isReached, type TuneReport, tuneJson, tuneText } from '../../lab/render/tune.ts';
import { goalMetric, goalOf, outcomeText } from '../../lab/tune/goal.ts';
import { Judge, type Tuned, type TunedKernel, type TuneRequest, tune as tuned } from '../../lab/tune/tune.ts';
import { loadShipped } from '../../spec/node.ts';
import { DEFAULT_ORDER } from '../../spec/specs.ts';
import { writeTogether } from '../input/files.ts';
import type { PlanOptions } from '../input/options.ts';
import { type CacheOptions, cacheOf } from '../optimize/cache.ts';
import { Progress } from '../terminal/progress.ts';
import { millisecondsOf } from '../terminal/times.ts';
import { CliExit, failWith, out, show, tableColumns } from '../terminal/ui.ts';
import { baseOf, type MeasureCliOptions, measureOptions, paint, plansOf } from './lab.ts';

interface TuneCommand extends PlanOptions, MeasureCliOptions, CacheOptions {
  readonly goal?: readonly string[];
  readonly only?: string;
  readonly budget: string;
  readonly output?: string;
  readonly json?: boolean;
}

/** Metrics that are always reported in addition to the goals. */
const REPORTED = ['executed', 'code', 'registers', 'occupancy'];
const SPILLS = ['ptxas.spill-stores', 'ptxas.spill-loads'];
/** Exit code if a goal is not reached. */
const NOT_REACHED = 2;

/** Milliseconds of a time limit on the search. */
function timeOf(text: string): number {
  const found = millisecondsOf(text);
  return found === null ? failWith(`--budget ${text} is not a time`, 'write it as 90s, 10m or 1h') : found;
}

/** The file of the recipe for kernels by default. A target in the name of a kernel stays: the recipe is for it. */
export const recipeNameOf = (files: readonly string[]): string =>
  `${files.length === 1 ? basename(files[0]).replace(/\.(ptx|ori)$/, '') : 'kernels'}.tuned.yaml`;

/** `orrery tune`: searches for a plan that reaches goals, and writes it as a recipe. */
export async function tune(files: readonly string[], o: TuneCommand): Promise<void> {
  if (o.goal === undefined)
    failWith('--goal is missing', 'say what is wanted: --goal registers<=64, code, executed or cycles');
  const budget = timeOf(o.budget);
  const specs = await loadShipped();
  const modules = await loadModules(files);
  if (modules.length === 0) throw noKernel();
  const plans = plansOf(o, specs);
  const measure = measureOptions({ ...o, launches: true }, specs);
  const launched = await allLaunched(modules, plans);
  const idle = await idleArms([{ name: 'base' }], modules, plans);
  // Of the base only: what the search tries is its own choice.
  show([...plans.warnings, ...idle]);
  const known = { ptxas: measure.ptxas !== undefined, launched };
  const goals = o.goal.map((text) => goalOf(text, known));
  const wanted = [
    ...goals.map((g) => g.metric),
    ...REPORTED.map((name) => goalMetric(name, known)),
    ...(known.ptxas ? SPILLS.map((n) => metricOf(n)!) : []),
  ];
  const metrics: readonly Metric[] = [...new Set(wanted)];
  const progress = new Progress();
  let started = Date.now();
  const request: TuneRequest = {
    modules,
    plans,
    specs,
    measure: {
      ...measureOptions({ ...o, launches: true }, specs, metrics),
      tell: (text) => progress.detail(text),
    },
    goals,
    executed: goalMetric('executed', known),
    metrics,
    only: o.only ?? '*',
    recipes: baseOf(o).recipes ?? [],
    // An order applies to all functions of a program, so one for some functions would also affect the others.
    positions: o.only === undefined,
    disk: cacheOf(o),
    late: () => Date.now() - started > budget,
    tell: (tried, arm) => progress.update(`arm ${tried}: ${arm}`),
  };
  const judge = await Judge.start(request);
  // The cost of the base is not part of the search.
  started = Date.now();
  const found = await tuned(request, judge);
  progress.done();
  const path = o.output ?? recipeNameOf(modules.map((m) => m.file));
  const r: TuneReport = {
    goals,
    metrics,
    found,
    written: null,
    recipe: null,
    options: [],
    seconds: (Date.now() - started) / 1000,
  };
  const report = found.changes.length === 0 ? r : await written(r, path, request, judge, o);
  out(o.json === true ? JSON.stringify(tuneJson(report), null, 2) : tuneText(report, paint, tableColumns()));
  if (!isReached(report)) throw new CliExit(NOT_REACHED);
}

/** Writes the recipe of the result, and measures it as written. */
async function written(
  r: TuneReport,
  path: string,
  q: TuneRequest,
  judge: Judge,
  o: TuneCommand,
): Promise<TuneReport> {
  const order = path.replace(/(\.ya?ml)?$/, '.order.yaml');
  const targets = q.modules.map((m) => m.target);
  const title = `Tuned for ${r.goals.map((g) => g.text).join(', ')}`;
  const how: HowFound = {
    by: 'orrery tune',
    reasons: [
      ...r.goals.map((g) => `Goal ${g.text}: ${outcomeText(g, r.found.kernels)}.`),
      ...r.found.changes.map((c) => `${c.change.name}: ${effectText(r, c.without)}.`),
    ],
    ...(o.only !== undefined && { kernels: o.only }),
    ...(isPlain(o, r.found) && { measured: await measuredBy(r, path, q) }),
  };
  const files = await recipeOf(r.found.arm, q.plans, targets, title, { recipe: path, order }, how);
  writeTogether([[path, files.recipe], ...(files.order === null ? [] : [[order, files.order] as const])]);
  const arm: Arm = { name: '', recipe: [path], ...(files.order !== null && { order }) };
  // The recipe contains the options of the command line, which would override it.
  const kernels = await judge.under(
    plansOf({ sm: o.sm, order: o.order, rules: o.rules, isa: o.isa, forceRules: o.forceRules }, q.specs),
    arm,
  );
  if (kernels === null)
    failWith(
      `${path} does not reproduce the result: a kernel is wrong with it, or it gives no plan`,
      `\`orrery check ${fileWord(path)}\` says more`,
    );
  return { ...r, written: kernels, recipe: path, options: files.options };
}

/** Whether `orrery recipes --measure` can measure the result again: it adds nothing but the recipe to the shipped specs. */
const isPlain = (o: TuneCommand, { arm }: Tuned): boolean => {
  const b = baseOf(o);
  const more = [b.recipes, b.knobSets, b.set, b.disable, b.rules].some((l) => (l ?? []).length > 0);
  return (
    !more &&
    b.level === null &&
    b.order === DEFAULT_ORDER &&
    b.nvopt === undefined &&
    arm.moves === undefined &&
    o.profile === undefined &&
    typeof o.ptxas !== 'string'
  );
};

/** Metrics of the kernels for the first target, as recipes state them. */
async function measuredBy(r: TuneReport, path: string, q: TuneRequest): Promise<HowFound['measured']> {
  const smOf = async (m: Module) => (await q.plans.plan({ name: 'base' }, m.target)).sm;
  const first = await smOf(q.modules[0]);
  const own = new Set<string>();
  for (const m of q.modules)
    if ((await smOf(m)) === first && (m.target ?? DEFAULT_SM) === first) own.add(m.file);
  const values = (k: TunedKernel) =>
    Object.fromEntries(
      r.metrics.flatMap(({ name }) =>
        k.base[name] === undefined || k.base[name] === k.values[name]
          ? []
          : [[name, [k.base[name], k.values[name]]]],
      ),
    );
  const kernels = r.found.kernels
    .filter((k) => own.has(k.file))
    .map((k) => ({
      file: relative(dirname(resolve(path)), resolve(k.file)).replaceAll('\\', '/'),
      kernel: k.kernel,
      values: values(k) as never,
    }))
    .filter((k) => Object.keys(k.values).length > 0);
  if (kernels.length === 0) return undefined;
  const version = q.measure.ptxas?.version.split(' ')[0];
  return { ...(version !== undefined && { ptxas: version }), kernels };
}
