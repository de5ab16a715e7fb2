import { getHeapStatistics } from 'node:v8';
import { baseTarget } from '../../ir/target.ts';
import type { Module } from '../../lab/kernels.ts';
import type { MeasureOptions } from '../../lab/measure.ts';
import {
  type Known,
  METRICS,
  type Metric,
  metricOf,
  metricsLike,
  SHORT_NAMES,
  shortMetric,
  type Values,
} from '../../lab/metrics.ts';
import { allLaunched, type Base, Plans } from '../../lab/plans.ts';
import { parseProfile } from '../../lab/profile-file.ts';
import type { Paint } from '../../lab/render/table.ts';

import type { Specs } from '../../spec/specs.ts';
import { readText } from '../input/files.ts';
import { type PlanOptions, requestedSpecs } from '../input/options.ts';
import { machineRunner } from '../machine/machine-runner.ts';
import { ptxTable } from '../optimize/emit.ts';
import { assemble, ptxasVersion, refusal } from '../optimize/ptxas-run.ts';
import { foreignFaults } from '../rules/verdicts.ts';
import { err, failWith, pc, pcErr } from '../terminal/ui.ts';
import { ORRERY_VERSION } from '../version.ts';

/** Options that control what is measured. */
export interface MeasureCliOptions {
  readonly ptxas?: boolean | string;
  readonly launches: boolean;
  readonly profile?: string;
}

export const paint: Paint = { good: pc.green, bad: pc.red, bold: pc.bold, dim: pc.dim };

/** Bytes of heap in use. */
export const heap = (): number => getHeapStatistics().used_heap_size;

/** Milliseconds of processor time of this process. */
export const clock = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** The base of a comparison, from the plan options. */
export function baseOf(o: PlanOptions): Base {
  const level = o.level === undefined ? null : Number(o.level);
  if (level !== null && !Number.isInteger(level))
    failWith(`-O ${o.level} is not a level`, 'levels are 0 to 5');
  return {
    level,
    sm: o.sm === undefined ? null : baseTarget(o.sm),
    ...requestedSpecs(o),
  };
}

/** Plans of arms relative to the options; rules that a solver has refuted are in none, unless they are forced. */
export const plansOf = (o: PlanOptions, specs: Specs): Plans =>
  new Plans(baseOf(o), Promise.resolve(specs), (plan) => foreignFaults(plan, o));

/**
 * Measurement options. ptxas is included if it can be run, unless `--no-ptxas` is given.
 * @param wanted metrics requested by name: launches run with machine code, too, only if a metric of it is among them
 */
export function measureOptions(
  o: MeasureCliOptions,
  specs: Specs,
  wanted: readonly Metric[] = [],
): MeasureOptions {
  const ptxas = ptxasOptions(
    o,
    wanted.some((m) => m.source === 'machine'),
  );
  return {
    launches: o.launches,
    profile: o.profile === undefined ? undefined : parseProfile(readText(o.profile), o.profile).counts,
    ...(ptxas !== undefined && { ptxas, table: ptxTable(specs) }),
  };
}

/** The programs behind figures, for pages that outlive them. */
export const makersText = ({ ptxas }: MeasureOptions): string =>
  `orrery ${ORRERY_VERSION}, ${ptxas === undefined ? 'without ptxas' : `ptxas ${ptxas.version} -O${ptxas.level}`}`;

function ptxasOptions(o: MeasureCliOptions, machine: boolean): MeasureOptions['ptxas'] {
  if (o.ptxas === false) return undefined;
  const level = typeof o.ptxas === 'string' ? Number(o.ptxas) : 3;
  if (!Number.isInteger(level) || level < 0 || level > 4)
    failWith(
      `--ptxas ${String(o.ptxas)} is not a level of ptxas`,
      'levels are 0 to 4; --no-ptxas leaves it out',
    );
  const version = ptxasVersion();
  if (version === null) {
    if (typeof o.ptxas === 'string')
      failWith('ptxas cannot be run', 'put that of a CUDA toolkit on PATH, or name it in ORRERY_PTXAS');
    return undefined;
  }
  return {
    version,
    level,
    assemble: (text, arch, atLevel) => {
      const r = assemble(text, [`-arch=${arch}`, `-O${atLevel}`]);
      return r.cubin === null ? refusal(r.messages) : { functions: r.functions, cubin: r.cubin };
    },
    ...(machine && { machine: machineRunner() }),
  };
}

/** Assumes that everything is measured, for interpreting names of metrics. */
const ALL: Known = { ptxas: true, launched: true };

const namesOf = (text: string): string[] => text.split(',').map((name) => name.trim());

/** What can be measured for modules, as far as the names of metrics require it. */
export async function knownFor(
  text: string | undefined,
  o: MeasureCliOptions,
  modules: readonly Module[],
  plans: Plans,
): Promise<Known> {
  const short = namesOf(text ?? '').filter((n) => Object.hasOwn(SHORT_NAMES, n));
  if (short.length === 0) return ALL;
  return {
    ptxas: o.ptxas !== false && ptxasVersion() !== null,
    launched: o.launches && (await allLaunched(modules, plans)),
  };
}

/**
 * Metrics by name, separated by commas; `weighted.*` names a whole family. A short name (`registers`) that is not a metric stands for the
 * best available one.
 *
 * @param known what can be measured
 */
export function metricsOf(text: string, known = ALL): Metric[] {
  return namesOf(text).flatMap((name) => {
    if (name.endsWith('.*')) {
      const family = METRICS.filter((m) => m.name.startsWith(name.slice(0, -1)));
      if (family.length > 0) return family;
    }
    const m = metricOf(name) ?? shortMetric(name, known);
    if (m !== undefined) return [m];
    const near = metricsLike(name).map((n) => `'${n}' (${metricOf(n)!.title})`);
    return failWith(
      `there is no metric '${name}'`,
      ...(near.length > 0 ? [`did you mean ${near.join(' or ')}?`] : []),
      '`orrery measure FILE` shows the metrics of a kernel, --json all of them',
    );
  });
}

/** Why no kernel has a value of a metric, by source of the metric. */
const WHY_NONE: Readonly<Record<Metric['source'], string>> = {
  program: 'nothing computes it',
  model: 'the target has no facts for it, or no kernel has a launch beside it',
  simulator: 'no kernel has a launch beside it, or --no-launches leaves them out',
  engine: 'no phase has run, or its results came from a cache',
  ptxas: 'ptxas was not run, or has rejected every module',
  machine: 'it needs ptxas, a launch, and machine code in which every instruction has a meaning',
};

/**
 * Warns about metrics that were requested by name and that no kernel has. If it has none of them at all, the command ends.
 *
 * @param text the request, as `metricsOf` takes it
 */
export function tellMissing(text: string, found: readonly Values[], known = ALL): void {
  const requested = metricsOf(text, known);
  const missing = requested.filter((m) => found.every((v) => v[m.name] === undefined));
  const messageFor = ({ name }: Metric) => `no kernel has a value of '${name}'`;
  if (missing.length === requested.length)
    failWith(
      messageFor(requested[0]),
      WHY_NONE[requested[0].source],
      '`orrery measure FILE` shows what it has',
    );
  const names = new Set(namesOf(text));
  for (const m of missing)
    if (names.has(m.name)) err(`${pcErr.yellow('warning')}: ${messageFor(m)}\n  ${WHY_NONE[m.source]}`);
}

/** The metric that `--by` names; undefined if it is not given. */
export function decidingMetric(text: string | undefined, known = ALL): Metric | undefined {
  if (text === undefined) return undefined;
  const [by, ...more] = metricsOf(text, known);
  return more.length > 0 || by.noisy || by.of === 'module'
    ? failWith(
        `--by ${text} decides nothing`,
        'it is one exact metric of a kernel, such as weighted or cycles',
      )
    : by;
}
