import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DiagnosticError } from '../ir/diagnostic.ts';
import type { SpecFile } from '../spec/document.ts';
import { RowTable } from '../spec/entries.ts';
import { Issues, type Spot } from '../spec/issues.ts';
import { isPath, loadSpec, pathNamedBy, toDiagnostics } from '../spec/node.ts';
import { DEFAULT_ORDER, type Specs } from '../spec/specs.ts';
import type { ExperimentSpec, KnobsSpec } from '../spec/types.generated.ts';
import { type Arm, armText, knobText, parseArm } from './arms.ts';
import { namedModule } from './contained.ts';
import {
  type Choice,
  choicesOf,
  type Design,
  type Factor,
  gridSize,
  type Level,
  MOST_ARMS,
} from './designs.ts';
import { exactMetric } from './exact-metric.ts';
import { type Metric, metricOf, usualMetric } from './metrics.ts';
import type { Base } from './plans.ts';

/** An arm of an experiment, with its chosen levels. */
export interface TrialArm {
  readonly arm: Arm;
  /** The level of each factor; absent factors are as in the base. */
  readonly choice: Choice;
}

/** A constraint that an arm must satisfy; `never` compares with the base. */
export type Bound = { readonly metric: Metric } & (
  | { readonly never: 'more' | 'less' }
  | { readonly most: number }
  | { readonly least: number }
);

/** A checked experiment. */
export interface Experiment {
  readonly spec: SpecFile;
  readonly title: string;
  readonly base: Base;
  readonly factors: readonly Factor[];
  readonly design: Design;
  /** The first is the base itself. */
  readonly arms: readonly TrialArm[];
  readonly kernels: readonly string[];
  /** Folder to which kernel paths are relative. */
  readonly folder: string;
  readonly metrics: readonly Metric[];
  readonly bounds: readonly Bound[];
}

const USUAL_STEPS = 4;

const usualMetrics = (launched: boolean): readonly Metric[] => [
  usualMetric(launched),
  metricOf('pressure.R')!,
];

/** True if an experiment does not name its metrics. */
export const namesNoMetrics = ({ spec }: Experiment): boolean => spec.data.metrics === undefined;

/** An experiment with the default metrics for modules of which launches run every kernel. */
export const decidedByLaunches = (e: Experiment): Experiment => ({ ...e, metrics: usualMetrics(true) });

/**
 * Reads and checks an experiment. If it names no metrics, it gets the default ones for kernels without launches.
 *
 * @param specs specs in which knobs and phases are looked up
 * @throws DiagnosticError with every fault at its line
 */
export async function loadExperiment(path: string, specs: Specs): Promise<Experiment> {
  const spec = await loadSpec(path, 'experiment');
  const issues = new Issues();
  const folder = dirname(path);
  const data = spec.data as unknown as ExperimentSpec.Experiment;
  const factors = [
    ...knobFactors(data, spec, specs, issues),
    ...switchFactors(data, spec, specs, issues),
    ...positionFactors(data, spec, specs, issues),
  ];
  const metrics =
    data.metrics?.flatMap((name, i) =>
      exactMetric(name, { file: spec, path: ['metrics', i] }, issues, 'experiment-metric'),
    ) ?? usualMetrics(false);
  const bounds = (data.constraints ?? []).flatMap(({ metric, ...bound }, i) =>
    exactMetric(metric, { file: spec, path: ['constraints', i, 'metric'] }, issues, 'experiment-metric').map(
      (m) => ({ metric: m, ...bound }) as Bound,
    ),
  );
  const design = data.design ?? 'grid';
  checkDesign(design, data, factors, spec, issues);
  const listed: TrialArm[] = [];
  for (const [i, text] of (data.arms ?? []).entries())
    try {
      const arm = armIn(folder, parseArm(text));
      for (const path of filesOfArm(arm)) await pathNamedBy(path, { spec, at: ['arms', i] });
      listed.push({ arm, choice: new Map() });
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw e;
      for (const d of e.diagnostics)
        issues.error({ file: spec, path: ['arms', i] }, 'experiment-arm', d.message, { notes: d.notes });
    }
  const base = baseOf(folder, data.base ?? {});
  const named = [
    base.order,
    ...(base.recipes ?? []),
    ...base.knobSets,
    ...(base.rules ?? []),
    ...(base.isa ?? []),
  ].filter(isPath);
  for (const path of named) await pathNamedBy(path, { spec, at: ['base'] });
  for (const [i, pattern] of data.kernels.entries()) {
    // As they are looked up: `*/../../x` is `../x`, a file may be called `*`, and `app.o#2` is in `app.o`.
    const { file } = namedModule(resolve(folder, pattern));
    const above = existsSync(file) ? file : file.replace(/(^|[\\/])[^\\/]*[*?].*/s, '$1.');
    await pathNamedBy(above, { spec, at: ['kernels', i] }, undefined, pattern);
  }
  if (issues.failed) throw new DiagnosticError(await toDiagnostics(issues.list));
  const chosen = choicesOf(design, factors, data.samples ?? 0, data.seed ?? 1).map(armOf);
  return {
    spec,
    title: data.title ?? '',
    base,
    factors,
    design,
    arms: distinct([{ arm: { name: 'base' }, choice: new Map() }, ...listed, ...chosen]),
    kernels: data.kernels,
    folder,
    metrics,
    bounds,
  };
}

/** Merges equal arms, keeping the choice of the last, so that the base counts as one of the levels. */
function distinct(arms: readonly TrialArm[]): TrialArm[] {
  const out = new Map<string, TrialArm>();
  for (const a of arms) {
    const key = armText(a.arm);
    const known = out.get(key);
    out.set(key, known === undefined ? a : { arm: known.arm, choice: a.choice });
  }
  return [...out.values()];
}

function armOf(choice: Choice): TrialArm {
  const levels = [...choice.values()];
  const of = <K extends keyof Level>(key: K) =>
    levels.flatMap((l) => (l[key] === undefined ? [] : [l[key] as NonNullable<Level[K]>]));
  const [set, disable, moves] = [of('set'), of('disable'), of('move')];
  const arm = {
    ...(set.length > 0 && { set }),
    ...(disable.length > 0 && { disable }),
    ...(moves.length > 0 && { moves }),
  };
  return { arm: { name: armText({ name: '', ...arm }), ...arm }, choice };
}

/** Resolves a file path relative to the experiment; other names are kept. */
const inFolder = (folder: string, name: string): string => (isPath(name) ? resolve(folder, name) : name);

/** Files and folders that an arm names. */
const filesOfArm = ({ order, recipe = [], knobs = [], rules = [], profile, ref }: Arm): string[] => [
  ...[...(order === undefined ? [] : [order]), ...recipe, ...knobs, ...rules].filter(isPath),
  ...(profile === undefined ? [] : [profile]),
  // A `ref` that is not a folder is a commit.
  ...(ref !== undefined && existsSync(ref) ? [resolve(ref)] : []),
];

function armIn(folder: string, arm: Arm): Arm {
  const at = (name: string) => inFolder(folder, name);
  return {
    ...arm,
    ...(arm.order !== undefined && { order: at(arm.order) }),
    ...(arm.recipe !== undefined && { recipe: arm.recipe.map(at) }),
    ...(arm.knobs !== undefined && { knobs: arm.knobs.map(at) }),
    ...(arm.rules !== undefined && { rules: arm.rules.map(at) }),
    ...(arm.profile !== undefined && { profile: resolve(folder, arm.profile) }),
  };
}

function baseOf(folder: string, b: ExperimentSpec.Base): Base {
  const at = (name: string) => inFolder(folder, name);
  return {
    level: b.level ?? null,
    sm: b.sm ?? null,
    order: at(b.order ?? DEFAULT_ORDER),
    recipes: (typeof b.recipe === 'string' ? [b.recipe] : (b.recipe ?? [])).map(at),
    knobSets: (b['knob-sets'] ?? []).map(at),
    set: Object.entries(b.set ?? {}).map(([k, v]) => `${k}=${knobText(v)}`),
    disable: b.disable ?? [],
    rules: (b.rules ?? []).map(at),
    isa: (b.isa ?? []).map((name) => resolve(folder, name)),
  };
}

function knobFactors(
  data: ExperimentSpec.Experiment,
  spec: SpecFile,
  specs: Specs,
  issues: Issues,
): Factor[] {
  const rows = specs.knobs.data.knobs as Readonly<Record<string, KnobsSpec.Knob>>;
  const names = Object.entries(rows).flatMap(([name, row]) => [name, ...(row.aliases ?? [])]);
  const lowerCase = new Set(names.map((n) => n.toLowerCase()));
  return Object.entries(data.factors?.knobs ?? {}).map(([name, values]) => {
    const path = ['factors', 'knobs', name];
    if (!lowerCase.has(name.toLowerCase()))
      issues.unknown(
        { file: spec, path },
        'unknown-knob',
        `there is no knob '${name}'`,
        name,
        names,
        'knobs/catalog.yaml lists them',
        { key: true },
      );
    if (Array.isArray(values))
      return {
        name,
        levels: values.map((v) =>
          v === 'default' ? { name: 'default' } : { name: knobText(v), set: `${name}=${knobText(v)}` },
        ),
      };
    const range = values as ExperimentSpec.Range;
    const log = range.scale === 'log';
    if (range.from >= range.to)
      issues.error(
        { file: spec, path: [...path, 'to'] },
        'experiment-range',
        `the range ends before it begins`,
      );
    else if (log && range.from <= 0)
      issues.error(
        { file: spec, path: [...path, 'from'] },
        'experiment-range',
        'a logarithmic range begins above 0',
      );
    const { from, to, integer = true, steps = USUAL_STEPS } = range;
    return { name, range: { from, to, log, integer, steps } };
  });
}

function phaseAt(name: string, at: Spot, key: boolean, specs: Specs, issues: Issues): string {
  const table = new RowTable(specs.phases);
  if (table.find(name) < 0)
    issues.unknown(
      at,
      'unknown-phase',
      `there is no phase '${name}'`,
      name,
      table.ids,
      '`orrery phases` lists them',
      { key },
    );
  return name;
}

const switchFactors = (
  data: ExperimentSpec.Experiment,
  spec: SpecFile,
  specs: Specs,
  issues: Issues,
): Factor[] =>
  (data.factors?.switches ?? []).map((phase, i) => {
    phaseAt(phase, { file: spec, path: ['factors', 'switches', i] }, false, specs, issues);
    return { name: phase, levels: [{ name: 'on' }, { name: 'off', disable: phase }] };
  });

const positionFactors = (
  data: ExperimentSpec.Experiment,
  spec: SpecFile,
  specs: Specs,
  issues: Issues,
): Factor[] =>
  Object.entries(data.factors?.positions ?? {}).map(([phase, places]) => {
    const path = ['factors', 'positions', phase];
    phaseAt(phase, { file: spec, path }, true, specs, issues);
    const levels = places.map((place, i): Level => {
      const at = place.before !== undefined ? 'before' : 'after';
      const anchor = phaseAt(place[at]!, { file: spec, path: [...path, i, at] }, false, specs, issues);
      return { name: `${at} ${anchor}`, move: { phase, at, anchor } };
    });
    return { name: `place of ${phase}`, levels: [{ name: 'here' }, ...levels] };
  });

function checkDesign(
  design: Design,
  data: ExperimentSpec.Experiment,
  factors: readonly Factor[],
  spec: SpecFile,
  issues: Issues,
): void {
  const at = (key: string): Spot => ({
    file: spec,
    path: data[key as keyof typeof data] === undefined ? [] : [key],
  });
  const drawn = design === 'random' || design === 'latin-hypercube';
  if (factors.length === 0 && data.design !== undefined)
    issues.error(at('design'), 'experiment-design', `the design '${design}' has no factors to vary`);
  if (factors.length === 0 && (data.arms ?? []).length === 0)
    issues.error(
      at('kind'),
      'experiment-design',
      "nothing is tried: there are neither 'factors' nor 'arms'",
      {
        notes: [
          'factors: { knobs: { NAME: [1, 2] }, switches: [PHASE], positions: { PHASE: [{ after: PHASE }] } }',
        ],
      },
    );
  if (drawn && data.samples === undefined)
    issues.error(at('design'), 'experiment-design', `the design '${design}' needs 'samples'`);
  if (!drawn && data.samples !== undefined)
    issues.error(at('samples'), 'experiment-design', `the design '${design}' draws no samples`);
  if (design === 'grid' && gridSize(factors) > MOST_ARMS)
    issues.error(
      at('design'),
      'experiment-design',
      `the grid has ${gridSize(factors)} arms, more than ${MOST_ARMS}`,
      {
        notes: ['fewer steps, or design: latin-hypercube with samples'],
      },
    );
}
