import { armText } from './arms.ts';
import { type Effects, effectsOf } from './effects.ts';
import type { Bound, Experiment } from './experiment.ts';
import { noKernel } from './kernels.ts';
import { type Metric, totalOf } from './metrics.ts';
import { geometricMean } from './statistics.ts';
import type { FinishedCell } from './sweep.ts';
import type { KernelTrial } from './trials.ts';

/** The result of an arm over all kernels. */
export interface ArmScore {
  /** Index in the experiment. */
  readonly arm: number;
  readonly name: string;
  /** The geometric mean over the kernels of the value divided by the base's, by metric; below 1 means less. */
  readonly ratio: Readonly<Record<string, number>>;
  readonly total: Readonly<Record<string, number>>;
  /** Why the arm is excluded: it has no legal plan, breaks a kernel or violates a bound; '' if it counts. */
  readonly refused: string;
}

/** The report of a sweep. */
export interface SweepReport extends Effects {
  readonly metrics: readonly Metric[];
  readonly scores: readonly ArmScore[];
  /** The Pareto front: arms that no other arm dominates, the best by the first metric first. */
  readonly front: readonly ArmScore[];
  /** The best arm of the front by the first metric; ties are decided by the next metrics. */
  readonly best: ArmScore;
}

/**
 * Computes the report of a finished sweep.
 * @throws DiagnosticError if the base has no kernel
 */
export function reportOf(experiment: Experiment, cells: readonly FinishedCell[]): SweepReport {
  const byArm = experiment.arms.map(() => new Map<string, KernelTrial>());
  const illegal = experiment.arms.map(() => '');
  for (const c of cells) {
    if ('illegal' in c.result) illegal[c.arm] = c.result.illegal;
    else for (const k of c.result.kernels) byArm[c.arm].set(`${c.file}: ${k.kernel}`, k);
  }
  if (illegal[0] === '' && byArm[0].size === 0) throw noKernel();
  const scores = experiment.arms.map((a, i): ArmScore => {
    const pairs = (m: Metric) =>
      [...byArm[i]].flatMap(([key, k]) => {
        const base = byArm[0].get(key)?.values[m.name];
        const v = k.values[m.name];
        return base === undefined || v === undefined ? [] : [[base, v] as const];
      });
    return {
      arm: i,
      name: a.arm.name,
      ratio: Object.fromEntries(experiment.metrics.map((m) => [m.name, ratioOf(pairs(m))])),
      total: Object.fromEntries(
        experiment.metrics.map((m) => [
          m.name,
          totalOf(
            m,
            pairs(m).map(([, v]) => v),
          ),
        ]),
      ),
      refused: illegal[i] !== '' ? `no plan: ${illegal[i]}` : refusal(byArm[i], byArm[0], experiment.bounds),
    };
  });
  const front = frontOf(experiment, scores);
  const better = (x: ArmScore, y: ArmScore): boolean => {
    for (const m of experiment.metrics) {
      const [u, v] = [x.ratio[m.name], y.ratio[m.name]];
      if (u !== v) return m.better === 'less' ? u < v : u > v;
    }
    return false;
  };
  return {
    metrics: experiment.metrics,
    scores,
    front,
    best: front.reduce((best, s) => (better(s, best) ? s : best), front[0] ?? scores[0]),
    ...effectsOf(
      experiment,
      scores.map((s) =>
        s.refused.startsWith('no plan') ? null : Math.log(s.ratio[experiment.metrics[0].name]),
      ),
    ),
  };
}

/** Geometric mean of the ratios of new to old values. If no pair has both above zero: the ratio of the sums, or 1 + new if old is 0. */
function ratioOf(pairs: readonly (readonly [number, number])[]): number {
  const known = geometricMean(pairs);
  if (known !== null) return known;
  const [a, b] = [0, 1].map((i) => pairs.reduce((s, p) => s + p[i], 0));
  return a === b ? 1 : a === 0 ? 1 + b : b / a;
}

/** Why an arm is excluded; '' if it is not. */
function refusal(
  kernels: ReadonlyMap<string, KernelTrial>,
  base: ReadonlyMap<string, KernelTrial>,
  bounds: readonly Bound[],
): string {
  for (const [key, k] of kernels)
    if (!k.equal.ok) return `${key} does not do what it did (by ${k.equal.by}: ${k.equal.note})`;
  for (const b of bounds)
    for (const [key, k] of kernels) {
      const v = k.values[b.metric.name];
      const was = base.get(key)?.values[b.metric.name];
      if (v === undefined) continue;
      const prefix = `${key} has ${v} ${b.metric.name}`;
      if ('most' in b && v > b.most) return `${prefix}, more than ${b.most}`;
      if ('least' in b && v < b.least) return `${prefix}, less than ${b.least}`;
      if ('never' in b && was !== undefined && (b.never === 'more' ? v > was : v < was))
        return `${prefix}, the base ${was}`;
    }
  return '';
}

function frontOf(experiment: Experiment, scores: readonly ArmScore[]): ArmScore[] {
  const worth = (s: ArmScore) =>
    experiment.metrics.map((m) => (m.better === 'less' ? s.ratio[m.name] : -s.ratio[m.name]));
  const counted = scores.filter((s) => s.refused === '').map((s) => ({ s, w: worth(s) }));
  const beats = (x: readonly number[], y: readonly number[]) =>
    x.every((v, i) => v <= y[i]) && x.some((v, i) => v < y[i]);
  const front = counted.filter((x) => !counted.some((y) => beats(y.w, x.w)));
  const settings = (s: ArmScore) => {
    const text = armText(experiment.arms[s.arm].arm);
    return text === 'base' ? 0 : text.split(' ').length;
  };
  // Of several arms with equal results, keep the first with the fewest settings: the other settings have no effect.
  const seen = new Set<string>();
  return front
    .sort((x, y) => settings(x.s) - settings(y.s))
    .filter((x) => {
      const key = x.w.join(' ');
      return !seen.has(key) && seen.add(key) !== undefined;
    })
    .sort((x, y) => x.w[0] - y.w[0])
    .map((x) => x.s);
}
