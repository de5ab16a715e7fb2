import type { Bound, Experiment } from './experiment.ts';
import { type Metric, totalOf } from './metrics.ts';
import { geometricMean, mean } from './statistics.ts';
import type { FinishedCell } from './sweep.ts';
import type { KernelTrial } from './trials.ts';

/** The result of an arm over all kernels. */
export interface ArmScore {
  /** Index in the experiment. */
  readonly arm: number;
  readonly name: string;
  /** By metric: geometric mean over the kernels of its value divided by the base's; below 1 means less. */
  readonly ratio: Readonly<Record<string, number>>;
  readonly total: Readonly<Record<string, number>>;
  /** Why the arm is excluded: it is not a plan, or breaks a kernel or a bound; '' if it is not. */
  readonly refused: string;
}

/** The effect of a factor on the first metric. */
export interface Effect {
  readonly factor: string;
  /** By level: mean ratio of the arms with it. */
  readonly levels: readonly { readonly name: string; readonly ratio: number; readonly arms: number }[];
  /** Highest ratio of a level divided by the lowest, minus one. */
  readonly size: number;
}

/** The joint effect of two factors beyond their single effects. */
export interface Interaction {
  readonly factors: readonly [string, string];
  /** Largest deviation of a pair of levels from the product of their single effects. */
  readonly size: number;
  readonly levels: readonly [string, string];
}

export interface SweepReport {
  readonly metrics: readonly Metric[];
  readonly scores: readonly ArmScore[];
  /** Arms that no other arm improves in one metric without being worse in another. */
  readonly front: readonly ArmScore[];
  /** The arm of the front that is best by the first metric. */
  readonly best: ArmScore;
  readonly effects: readonly Effect[];
  readonly interactions: readonly Interaction[];
}

/** The report of a finished sweep. */
export function reportOf(experiment: Experiment, cells: readonly FinishedCell[]): SweepReport {
  const byArm = experiment.arms.map(() => new Map<string, KernelTrial>());
  const illegal = experiment.arms.map(() => '');
  for (const c of cells) {
    if ('illegal' in c.result) illegal[c.arm] = c.result.illegal;
    else for (const k of c.result.kernels) byArm[c.arm].set(`${c.file}: ${k.kernel}`, k);
  }
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
  const front = frontOf(scores, experiment.metrics);
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
    effects: effectsOf(experiment, scores),
    interactions: interactionsOf(experiment, scores),
  };
}

/** Geometric mean of the ratios of new to old values; if the old ones are all zero, the ratio of the sums. */
function ratioOf(pairs: readonly (readonly [number, number])[]): number {
  const known = geometricMean(pairs);
  if (known !== null) return known;
  const [a, b] = [0, 1].map((i) => pairs.reduce((s, p) => s + p[i], 0));
  return a === b ? 1 : a === 0 ? 1 + b : b / a;
}

/** Why an arm is excluded. */
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
      const said = `${key} has ${v} ${b.metric.name}`;
      if ('most' in b && v > b.most) return `${said}, more than ${b.most}`;
      if ('least' in b && v < b.least) return `${said}, less than ${b.least}`;
      if ('never' in b && was !== undefined && (b.never === 'more' ? v > was : v < was))
        return `${said}, the base ${was}`;
    }
  return '';
}

function frontOf(scores: readonly ArmScore[], metrics: readonly Metric[]): ArmScore[] {
  const worth = (s: ArmScore) =>
    metrics.map((m) => (m.better === 'less' ? s.ratio[m.name] : -s.ratio[m.name]));
  const counted = scores.filter((s) => s.refused === '').map((s) => ({ s, w: worth(s) }));
  const beats = (x: readonly number[], y: readonly number[]) =>
    x.every((v, i) => v <= y[i]) && x.some((v, i) => v < y[i]);
  const front = counted.filter((x) => !counted.some((y) => beats(y.w, x.w)));
  // The first of several arms with equal results represents all.
  const seen = new Set<string>();
  return front
    .filter((x) => {
      const key = x.w.join(' ');
      return !seen.has(key) && seen.add(key) !== undefined;
    })
    .sort((x, y) => x.w[0] - y.w[0])
    .map((x) => x.s);
}

/** Number of groups if a factor has too many distinct levels. */
const GROUPS = 4;

/** Each arm's level of a factor; sampled ranges are grouped by size. */
function levelsOfArms(experiment: Experiment, factor: string): readonly (string | null)[] {
  const names = experiment.arms.map((a) => a.choice.get(factor)?.name ?? null);
  const distinct = [...new Set(names.filter((n) => n !== null))];
  const f = experiment.factors.find((x) => x.name === factor);
  if (f === undefined || !('range' in f) || distinct.length <= 2 * GROUPS) return names;
  const values = distinct.map(Number).sort((a, b) => a - b);
  const cut = (k: number) => values[Math.min(values.length - 1, Math.floor((k * values.length) / GROUPS))];
  return names.map((n) => {
    if (n === null) return null;
    let g = 0;
    while (g + 1 < GROUPS && Number(n) >= cut(g + 1)) g++;
    return `${cut(g)} to ${g + 1 === GROUPS ? values[values.length - 1] : cut(g + 1)}`;
  });
}

/** Logarithms of the first metric's ratio, for arms that are plans. */
const logsOf = (experiment: Experiment, scores: readonly ArmScore[]): (number | null)[] =>
  scores.map((s) => (s.refused.startsWith('no plan') ? null : Math.log(s.ratio[experiment.metrics[0].name])));

function effectsOf(experiment: Experiment, scores: readonly ArmScore[]): Effect[] {
  const logs = logsOf(experiment, scores);
  const out: Effect[] = [];
  for (const { name } of experiment.factors) {
    const groups = new Map<string, number[]>();
    levelsOfArms(experiment, name).forEach((level, i) => {
      const log = logs[i];
      if (level === null || log === null || !Number.isFinite(log)) return;
      const list = groups.get(level);
      if (list === undefined) groups.set(level, [log]);
      else list.push(log);
    });
    const levels = [...groups].map(([level, xs]) => ({
      name: level,
      ratio: Math.exp(mean(xs)),
      arms: xs.length,
    }));
    if (levels.length === 0) continue;
    const ratios = levels.map((l) => l.ratio);
    // If only one factor varies at a time, its levels are compared with the base, which has no choice.
    const all = [...ratios, ...(levels.length === 1 ? [1] : [])];
    out.push({ factor: name, levels, size: Math.max(...all) / Math.min(...all) - 1 });
  }
  return out.sort((a, b) => b.size - a.size);
}

/** Pairs of factors, the strongest first; only those whose levels occur in all combinations. */
function interactionsOf(experiment: Experiment, scores: readonly ArmScore[]): Interaction[] {
  const logs = logsOf(experiment, scores);
  const names = experiment.factors.map((f) => f.name);
  const levels = names.map((n) => levelsOfArms(experiment, n));
  const out: Interaction[] = [];
  for (let a = 0; a < names.length; a++)
    for (let b = a + 1; b < names.length; b++) {
      const found = interaction(levels[a], levels[b], logs);
      if (found !== null) out.push({ factors: [names[a], names[b]], ...found });
    }
  return out.sort((x, y) => y.size - x.size);
}

function interaction(
  xs: readonly (string | null)[],
  ys: readonly (string | null)[],
  logs: readonly (number | null)[],
): { size: number; levels: [string, string] } | null {
  const cells = new Map<string, Map<string, number[]>>();
  logs.forEach((log, i) => {
    const [x, y] = [xs[i], ys[i]];
    if (log === null || !Number.isFinite(log) || x === null || y === null) return;
    const row = cells.get(x) ?? new Map<string, number[]>();
    cells.set(x, row.set(y, [...(row.get(y) ?? []), log]));
  });
  const columns = new Set([...cells.values()].flatMap((r) => [...r.keys()]));
  if (cells.size < 2 || columns.size < 2) return null;
  if ([...cells.values()].some((r) => r.size < columns.size)) return null;
  const at = (x: string, y: string) => mean(cells.get(x)!.get(y)!);
  const rows = [...cells.keys()];
  const cols = [...columns];
  const all = mean(rows.flatMap((x) => cols.map((y) => at(x, y))));
  let best = { size: 0, levels: [rows[0], cols[0]] as [string, string] };
  for (const x of rows)
    for (const y of cols) {
      const off = at(x, y) - mean(cols.map((c) => at(x, c))) - mean(rows.map((r) => at(r, y))) + all;
      const size = Math.exp(Math.abs(off)) - 1;
      if (size > best.size) best = { size, levels: [x, y] };
    }
  return best;
}
