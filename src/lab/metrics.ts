import { nearest } from '../ir/diagnostic.ts';
import { entryOf } from '../ir/entry-of.ts';
import { CLASSES, SPACES } from '../ir/opcode.ts';

/** A metric and its properties. */
export interface Metric {
  /** Stable name, used in scripts and with `--metrics`, such as 'weighted.memory'. */
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  /** The direction of improvement. */
  readonly better: 'less' | 'more';
  /** Where the number comes from. */
  readonly source: 'program' | 'model' | 'simulator' | 'engine' | 'ptxas' | 'machine';
  /** False if the metric is exact: equal inputs give equal numbers. True if it is a measurement, which needs statistics. */
  readonly noisy: boolean;
  /** The object that it describes. */
  readonly of: 'kernel' | 'module';
}

/** Numbers by metric name. A metric that does not apply (no launch, no ptxas) is absent. */
export type Values = Readonly<Record<string, number>>;

const metric = (
  name: string,
  title: string,
  unit: string,
  source: Metric['source'],
  more: Partial<Pick<Metric, 'better' | 'noisy' | 'of'>> = {},
): Metric => ({ name, title, unit, better: 'less', source, noisy: false, of: 'kernel', ...more });

/** Spaces of memory operations, as in metric names. */
export const MEMORY = SPACES;

/** Every metric, in display order. */
export const METRICS: readonly Metric[] = [
  metric('instructions', 'instructions', 'instructions', 'program'),
  ...CLASSES.map((c) => metric(`instructions.${c}`, `${c} instructions`, 'instructions', 'program')),
  metric('weighted', 'instructions, weighted by how often a warp runs their block', 'instructions', 'model'),
  ...CLASSES.map((c) => metric(`weighted.${c}`, `${c} instructions, weighted`, 'instructions', 'model')),
  metric('blocks', 'basic blocks', 'blocks', 'program'),
  metric('branches', 'branches', 'branches', 'program'),
  metric('divergence-points', 'branches at which the threads of a warp may diverge', 'branches', 'program'),
  metric('convergence-depth', 'deepest nesting of convergence regions', 'regions', 'program'),
  ...MEMORY.map((s) => metric(`memory.${s}`, `operations on ${s} memory`, 'instructions', 'program')),
  metric('code-bytes', 'code, one machine instruction for each of ours', 'bytes', 'model'),
  metric('table-bytes', 'jump tables', 'bytes', 'program'),
  metric('shared-bytes', 'static shared memory of a block, with padding', 'bytes', 'program'),
  metric('pressure.R', 'most general registers in use at once', 'registers', 'program'),
  metric('pressure.UR', 'most uniform registers in use at once', 'registers', 'program'),
  metric('pressure.P', 'most predicates in use at once', 'registers', 'program'),
  metric('pressure.UP', 'most uniform predicates in use at once', 'registers', 'program'),
  metric('occupancy', 'resident warps of those that an SM can hold', '%', 'model', { better: 'more' }),
  metric('warp-instructions', 'instructions that warps carried out', 'instructions', 'simulator'),
  metric('thread-instructions', 'instructions that threads carried out', 'instructions', 'simulator'),
  metric('divergent-branches', 'branches at which the threads of a warp diverged', 'branches', 'simulator'),
  metric('deepest-divergence', 'most parts of one warp', 'paths', 'simulator'),
  ...MEMORY.map((s) => metric(`transactions.${s}`, `32-byte transactions, ${s}`, 'sectors', 'simulator')),
  metric('barrier-waits', 'waits of warps at barriers', 'waits', 'simulator'),
  metric('cycles', 'cycles of one SM that runs the whole grid, by issue and latency', 'cycles', 'model'),
  metric('ptxas.registers', 'registers of a thread', 'registers', 'ptxas'),
  metric('ptxas.occupancy', 'resident warps that these registers leave', '%', 'ptxas', { better: 'more' }),
  metric('ptxas.spill-stores', 'bytes stored for want of registers', 'bytes', 'ptxas'),
  metric('ptxas.spill-loads', 'bytes loaded for want of registers', 'bytes', 'ptxas'),
  metric('ptxas.stack', 'stack frame', 'bytes', 'ptxas'),
  metric('ptxas.instructions', 'machine instructions', 'instructions', 'ptxas'),
  metric('ptxas.code-bytes', 'machine code, padding included', 'bytes', 'ptxas'),
  metric('machine.executed', 'machine instructions that warps executed', 'instructions', 'machine'),
  metric('machine.stalls', 'cycles that their control words make warps wait', 'cycles', 'machine'),
  metric('phases-run', 'phases that ran', 'phases', 'engine', { of: 'module' }),
  metric('compile-time', 'processor time of all phases', 'ms', 'engine', { noisy: true, of: 'module' }),
  metric('compile-memory', 'growth of the heap over all phases', 'KB', 'engine', {
    noisy: true,
    of: 'module',
  }),
];

/** The total of a metric over kernels: the sum; for percentages the mean, rounded to a tenth like the values. */
export function totalOf(metric: Metric, values: readonly number[]): number {
  const sum = values.reduce((s, v) => s + v, 0);
  return metric.unit === '%' && values.length > 0 ? Math.round((10 * sum) / values.length) / 10 : sum;
}

const byName = new Map(METRICS.map((m) => [m.name, m]));

/** The metric of a name; undefined if there is none. */
export const metricOf = (name: string): Metric | undefined => byName.get(name);

/** What can be measured. */
export interface Known {
  readonly ptxas: boolean;
  /** True if launches run every kernel. */
  readonly launched: boolean;
}

/** Short names, each with the preferred metric and the fallback if that cannot be measured. */
export const SHORT_NAMES: Readonly<Record<string, readonly [best: string, otherwise: string]>> = {
  registers: ['ptxas.registers', 'pressure.R'],
  code: ['ptxas.code-bytes', 'code-bytes'],
  executed: ['warp-instructions', 'weighted'],
  occupancy: ['ptxas.occupancy', 'occupancy'],
};

/** True if a metric can be measured. */
export const canMeasure = (m: Metric, known: Known): boolean =>
  m.source === 'ptxas'
    ? known.ptxas
    : m.source === 'machine'
      ? known.ptxas && known.launched
      : m.source === 'simulator' || m.name === 'cycles'
        ? known.launched
        : true;

/** The metric for a short name: the preferred one if it can be measured, otherwise the fallback; undefined for other names. */
export function shortMetric(name: string, known: Known): Metric | undefined {
  if (!Object.hasOwn(SHORT_NAMES, name)) return undefined;
  const [best, otherwise] = SHORT_NAMES[name].map((n) => metricOf(n)!);
  return canMeasure(best, known) ? best : otherwise;
}

/** Common words for what metrics measure, with suitable metrics. */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  speed: ['warp-instructions', 'cycles', 'weighted'],
  time: ['cycles', 'warp-instructions', 'compile-time'],
  performance: ['warp-instructions', 'cycles', 'weighted'],
  latency: ['cycles'],
  throughput: ['cycles', 'warp-instructions'],
  work: ['warp-instructions', 'weighted'],
  size: ['ptxas.code-bytes', 'code-bytes', 'instructions'],
  code: ['ptxas.code-bytes', 'code-bytes', 'instructions'],
  registers: ['ptxas.registers', 'pressure.R'],
  regs: ['ptxas.registers', 'pressure.R'],
  spills: ['ptxas.spill-stores', 'ptxas.spill-loads'],
  occupancy: ['ptxas.occupancy', 'occupancy'],
  memory: ['transactions.global', 'memory.global', 'weighted.memory'],
  divergence: ['divergent-branches', 'divergence-points'],
};

/** Suggestions for an unknown metric name: metrics for a common word, or metrics with similar names. */
export function metricsLike(name: string): readonly string[] {
  const word = name.toLowerCase();
  const called = entryOf(CALLED, word) ?? entryOf(CALLED, `${word}s`);
  if (called !== undefined) return called;
  const [family, part] = word.split('.');
  const inFamily = (entryOf(CALLED, part) ?? []).filter((n) => n.startsWith(`${family}.`));
  return inFamily.length > 0 ? inFamily : nearest(name, byName.keys());
}

/** True if `b` is better than `a`; equal is not. */
export const improves = (m: Metric, a: number, b: number): boolean => (m.better === 'less' ? b < a : b > a);

/**
 * The deciding metric by default: executed warp instructions if launches run every kernel, otherwise the static estimate.
 */
export const usualMetric = (launched: boolean): Metric =>
  metricOf(launched ? 'warp-instructions' : 'weighted')!;

/** A text that names a deciding metric and marks an estimate as such. */
export const decidedBy = (m: Metric): string => `by ${m.name}${m.source === 'model' ? ', an estimate' : ''}`;
