import { basename } from 'node:path';
import { runPipeline } from '../engine/pipeline.ts';
import type { Diagnostic } from '../ir/diagnostic.ts';
import type { Program } from '../ir/program.ts';
import type { Arm } from './arms.ts';
import type { DiskCache } from './disk-cache.ts';
import type { Equality } from './equality.ts';
import { stemOf } from './files.ts';
import { foldedRounds } from './folded-rounds.ts';
import { idleConditions } from './idle-conditions.ts';
import { type Module, noKernel, readWhole } from './kernels.ts';
import { compileValues, type MeasureOptions } from './measure.ts';
import { improves, METRICS, type Metric, metricOf, totalOf, usualMetric, type Values } from './metrics.ts';
import { comparedKernels, type Pair, PairBench, type PairMeasure, type Trial } from './pairs.ts';
import { type PlanDifference, placedDifferences } from './plan-differences.ts';
import type { Plans } from './plans.ts';
import { otherFunctions, otherVersions, parseProfile } from './profile-file.ts';
import { bootstrapMean, geometricMean, median } from './statistics.ts';
import type { Why } from './why.ts';

/** The effect of B, compared with A, on one kernel by the deciding metric; a kernel that is wrong under an arm has none. */
export type Verdict = 'helped' | 'HURT' | 'unchanged' | 'WRONG';

/** One kernel under both arms. */
export interface KernelPair {
  readonly file: string;
  readonly kernel: string;
  /** Its name, prefixed by its file's if another file has a kernel of the same name. */
  readonly label: string;
  readonly values: Readonly<Record<string, Pair<number>>>;
  readonly verdict: Verdict;
  readonly equal: Pair<Equality>;
  /** Null if the code is the same. */
  readonly why: Why | null;
}

/** An exact metric over all kernels that are right under both arms. */
export interface MetricPair {
  readonly metric: Metric;
  readonly total: Pair<number>;
  /** Geometric mean of B / A over the kernels with both above zero; null if there are none. */
  readonly ratio: number | null;
  readonly helped: number;
  readonly hurt: number;
  readonly unchanged: number;
}

/** A noisy metric over all modules. */
export interface NoisyPair {
  readonly metric: Metric;
  /** Sum of the modules' medians. */
  readonly total: Pair<number>;
  readonly ratio: number;
  /** 95 % interval of the ratio. */
  readonly interval: Pair<number>;
  readonly pairs: number;
  /** True if the interval excludes 1 and the ratio differs from 1 by at least `AbOptions.minEffect`. */
  readonly significant: boolean;
}

/** The result of an A/B comparison. */
export interface AbResult {
  readonly arms: Pair<{ readonly name: string; readonly plans: Readonly<Record<string, string>> }>;
  /** `no effect`: the plans are the same, or differ only in knobs that no phase read. Nothing is measured in this case. */
  readonly status: 'measured' | 'no effect';
  readonly differences: readonly PlanDifference[];
  /** Differing knobs that no phase read under either arm. */
  readonly unread: readonly string[];
  /** The metric that decides the verdict on a kernel. */
  readonly by: Metric;
  readonly metrics: readonly MetricPair[];
  readonly noisy: readonly NoisyPair[];
  /** Smallest relevant change of a noisy metric, as a fraction. */
  readonly minEffect: number;
  readonly kernels: readonly KernelPair[];
  /** True if every kernel behaves under both arms as before any phase. */
  readonly equal: boolean;
  readonly warnings: readonly Diagnostic[];
}

/** Options of `runAb`. */
export interface AbOptions {
  readonly measure: MeasureOptions;
  /** Cache of phase results that outlives this process. */
  readonly disk?: DiskCache;
  /** The metric that decides the verdict on a kernel. Default: `usualMetric`. */
  readonly by?: Metric;
  /** Timed runs of each arm; 0: no timing. */
  readonly repeat: number;
  readonly minEffect: number;
  readonly seed: number;
  /** Processor time of this process in milliseconds, which does not include other processes. */
  readonly clock: () => number;
  /** Bytes of heap in use. */
  readonly heap?: () => number;
  /** Called with the number of steps done, the total, and a text for the current step. */
  readonly progress?: (done: number, all: number, text: string) => void;
}

/**
 * Runs two arms over modules and compares them kernel by kernel. A common prefix of phases runs only once.
 * @throws DiagnosticError if an arm gives no legal plan, a module cannot be read, or the modules have no kernel
 */
export async function runAb(
  modules: readonly Module[],
  arms: Pair<Arm>,
  plans: Plans,
  opts: AbOptions,
): Promise<AbResult> {
  const trials: Trial[] = [];
  let done = 0;
  // Each module is run, then measured, then timed.
  const steps = modules.length * (opts.repeat > 0 ? 3 : 2);
  const step = (text: string): void => opts.progress?.(done++, steps, text);
  for (const m of modules) {
    step(`${m.file}: both arms`);
    const both = [await plans.plan(arms[0], m.target), await plans.plan(arms[1], m.target)] as const;
    trials.push(new PairBench(m, opts.disk).trial(both, opts.heap));
  }
  const { differences, unread } = settings(trials);
  const head = {
    arms: [nameOf(arms[0], trials, 0), nameOf(arms[1], trials, 1)] as const,
    differences,
    unread,
    minEffect: opts.minEffect,
    warnings: [
      ...plans.warnings,
      ...trials.flatMap((t) => t.inputs[0].warnings),
      ...([0, 1] as const).flatMap((i) =>
        profileWarnings(
          arms[i],
          trials.map((t) => t.inputs[i].program),
        ),
      ),
      ...idleConditions(
        '',
        arms.map(({ name }, i) => ({
          name,
          inputs: trials.map((t) => ({ plan: t.plans[i], program: t.inputs[i].program })),
        })),
      ),
    ],
  };
  if (differences.every((d) => d.kind === 'knob' && unread.includes(d.name)))
    return {
      ...head,
      by: opts.by ?? usualMetric(false),
      status: 'no effect',
      metrics: [],
      noisy: [],
      kernels: [],
      equal: true,
    };
  const measured: PairMeasure[] = [];
  const compile: Pair<Values>[] = [];
  for (const t of trials) {
    step(`${t.module.file}: metrics`);
    measured.push(...(await comparedKernels(t, [opts.measure, opts.measure])));
    compile.push([compileValues(t.journals[0]), compileValues(t.journals[1])]);
  }
  if (measured.length === 0) throw noKernel();
  const by = opts.by ?? usualMetric(measured.every((k) => k.values['warp-instructions'] !== undefined));
  const kernels = measured.map(
    (k): KernelPair => ({ ...k, verdict: isRight(k) ? verdictOf(by, k.values[by.name]) : 'WRONG' }),
  );
  const noisy = opts.repeat > 0 ? timing(trials, opts, step) : [];
  return {
    ...head,
    by,
    status: 'measured',
    metrics: summaries(kernels.filter(isRight), compile),
    noisy,
    kernels: labelled(kernels),
    equal: kernels.every(isRight),
  };
}

const nameOf = (arm: Arm, trials: readonly Trial[], i: 0 | 1) => ({
  name: arm.name,
  plans: Object.fromEntries(trials.map((t) => [t.plans[i].sm, t.plans[i].hash])),
});

/** Warnings about the profile of an arm: counts for other versions of the programs, or for functions that they lack. */
function profileWarnings({ profile: file }: Arm, programs: readonly Program[]): Diagnostic[] {
  if (file === undefined) return [];
  const profile = parseProfile(readWhole(file), file);
  const names = programs.flatMap((p) => p.functions.map((f) => f.name));
  return [
    ...programs.flatMap((p) => otherVersions(file, profile, p)),
    ...otherFunctions(file, profile.counts, names),
  ];
}

/** The differences between the plans of both arms over all targets, and the differing knobs that no phase read. */
function settings(trials: readonly Trial[]): { differences: PlanDifference[]; unread: string[] } {
  const found = new Map<string, PlanDifference>();
  const seen = new Set<string>();
  const read = new Set<string>();
  for (const t of trials) {
    const key = `${t.plans[0].hash} ${t.plans[1].hash}`;
    if (!seen.has(key))
      for (const { difference: d } of foldedRounds(placedDifferences(...t.plans)))
        found.set(JSON.stringify(d), d);
    seen.add(key);
    for (const j of t.journals) for (const r of j.records) for (const k of r.knobsRead) read.add(k);
  }
  const differences = [...found.values()];
  const unread = differences.flatMap((d) => (d.kind === 'knob' && !read.has(d.name) ? [d.name] : []));
  return { differences, unread: [...new Set(unread)] };
}

/** Whether a kernel behaves under both arms as before any phase. */
export const isRight = ({ equal }: Pick<KernelPair, 'equal'>): boolean => equal[0].ok && equal[1].ok;

/** The verdict on one kernel by a metric; `unchanged` if the metric does not apply to it. */
export const verdictOf = (m: Metric, pair: Pair<number> | undefined): Verdict =>
  pair === undefined || pair[0] === pair[1] ? 'unchanged' : improves(m, ...pair) ? 'helped' : 'HURT';

/** Gives each kernel the shortest unique label: its name, or its name prefixed by the module's name, its file name or its path. */
function labelled(kernels: readonly KernelPair[]): KernelPair[] {
  const forms = kernels.map((k) => [
    k.kernel,
    `${stemOf(k.file)}:${k.kernel}`,
    `${basename(k.file).replace(/\.(ptx|ori)$/, '')}:${k.kernel}`,
    `${k.file}:${k.kernel}`,
  ]);
  const times = new Map<string, number>();
  for (const list of forms) for (const f of new Set(list)) times.set(f, (times.get(f) ?? 0) + 1);
  return kernels.map((k, i) => ({
    ...k,
    label: forms[i].find((f) => times.get(f) === 1) ?? forms[i][forms[i].length - 1],
  }));
}

/** Summaries of all exact metrics that occur. */
function summaries(kernels: readonly KernelPair[], compile: readonly Pair<Values>[]): MetricPair[] {
  const out: MetricPair[] = [];
  for (const m of METRICS) {
    if (m.noisy) continue;
    const pairs =
      m.of === 'module'
        ? compile.map(([a, b]) => [a[m.name], b[m.name]] as const)
        : kernels.flatMap((k) => (k.values[m.name] === undefined ? [] : [k.values[m.name]]));
    if (pairs.length > 0) out.push(summaryOf(m, pairs));
  }
  return out;
}

/** The summary of one metric: totals, mean ratio, and numbers of changes. */
export function summaryOf(metric: Metric, pairs: readonly Pair<number>[]): MetricPair {
  const verdicts = pairs.map((p) => verdictOf(metric, p));
  const times = (v: Verdict) => verdicts.filter((x) => x === v).length;
  const total = (i: 0 | 1) =>
    totalOf(
      metric,
      pairs.map((p) => p[i]),
    );
  return {
    metric,
    total: [total(0), total(1)],
    ratio: geometricMean(pairs),
    helped: times('helped'),
    hurt: times('HURT'),
    unchanged: times('unchanged'),
  };
}

/** With at least this many modules, each module counts as one pair (its median); with fewer, each pair of runs counts separately. */
const ENOUGH_MODULES = 5;

/**
 * Measures time and memory of all phases without a cache. Runs of both arms alternate, and so does which one runs first, so that other load
 * on the machine affects both equally.
 */
function timing(trials: readonly Trial[], opts: AbOptions, step: (text: string) => void): NoisyPair[] {
  const names = ['compile-time', ...(opts.heap === undefined ? [] : ['compile-memory'])];
  const runs = new Map(names.map((n) => [n, [] as Pair<number>[][]]));
  for (const t of trials) {
    step(`${t.module.file}: time`);
    for (const n of names) runs.get(n)!.push([]);
    // The first pair is a warm-up, which compiles the code of both arms.
    for (let i = -1; i < opts.repeat; i++) {
      const once = (k: 0 | 1): Values => {
        const start = opts.clock();
        const j = runPipeline(t.inputs[k].program, t.plans[k], { heap: opts.heap });
        return { ...compileValues(j), 'compile-time': opts.clock() - start };
      };
      const second = i % 2 === 0 ? once(1) : null;
      const a = once(0);
      const b = second ?? once(1);
      if (i >= 0) for (const n of names) runs.get(n)!.at(-1)!.push([a[n], b[n]]);
    }
  }
  return names.map((n) => noisyPair(metricOf(n)!, runs.get(n)!, opts));
}

/**
 * Decides whether B differs from A in a noisy metric.
 *
 * @param runs for each module, the pairs of runs
 */
export function noisyPair(
  metric: Metric,
  runs: readonly (readonly Pair<number>[])[],
  opts: Pick<AbOptions, 'minEffect' | 'seed'>,
): NoisyPair {
  const logs = runs.map((pairs) => pairs.flatMap(([a, b]) => (a > 0 && b > 0 ? [Math.log(b / a)] : [])));
  const known = logs.filter((l) => l.length > 0);
  const differences = known.length >= ENOUGH_MODULES ? known.map(median) : known.flat();
  const mean = differences.length === 0 ? 0 : differences.reduce((s, x) => s + x, 0) / differences.length;
  const { low, high } = bootstrapMean(differences, opts.seed);
  const ratio = Math.exp(mean);
  const total = (i: 0 | 1) => runs.reduce((s, pairs) => s + median(pairs.map((p) => p[i])), 0);
  return {
    metric,
    total: [total(0), total(1)],
    ratio,
    interval: [Math.exp(low), Math.exp(high)],
    pairs: differences.length,
    significant: (low > 0 || high < 0) && Math.abs(ratio - 1) >= opts.minEffect,
  };
}
