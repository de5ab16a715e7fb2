import type { AbResult, KernelPair, MetricPair, NoisyPair } from '../ab.ts';
import { type Equality, type PartlyRun, unreachedWords } from '../equality.ts';
import { decidedBy, type Metric, SHORT_NAMES } from '../metrics.ts';
import type { PlanDifference } from '../plan-differences.ts';
import { numbers, percent, plural } from './table.ts';

/** A summary of the whole result in one line. */
export function statusLine(r: AbResult): string {
  if (r.status === 'no effect')
    return r.differences.length === 0
      ? 'no effect: both arms are the same plan'
      : `no effect: no phase read ${r.unread.join(', ')}; nothing was measured`;
  const by = r.metrics.find((m) => m.metric === r.by);
  const counts =
    by === undefined
      ? `${plural(r.kernels.length, 'kernel')}`
      : `${by.helped} helped, ${by.hurt} HURT, ${by.unchanged} unchanged ${decidedBy(r.by)}${
          by.ratio === null || by.ratio === 1 ? '' : ` (geometric mean ${percent(by.ratio)})`
        }`;
  const wrong = r.kernels.filter((k) => k.verdict === 'WRONG').length;
  const same = partlyRun(r).length === 0 ? 'results equal' : 'results equal where they ran';
  const equal = wrong === 0 ? same : `${plural(wrong, 'kernel')} WRONG (left out)`;
  const time = r.noisy.map((n) => `${n.metric.name}: ${noisyWords(n)}`);
  return [counts, equal, ...time].join('; ');
}

/** The change of a noisy metric, as text. */
export const noisyWords = (n: NoisyPair): string =>
  n.pairs < 3
    ? 'too few runs to tell'
    : n.significant
      ? `${percent(n.ratio)} (95 %: ${interval(n)})`
      : 'no significant change';

/** The 95 % interval of a noisy metric, as text. */
export const interval = (n: NoisyPair): string =>
  n.pairs < 3 ? 'unknown' : `${percent(n.interval[0])} to ${percent(n.interval[1])}`;

/** One difference of the plans, such as `knob X: 1 -> 2`. */
export const differenceText = (d: PlanDifference): string =>
  `${d.kind}${d.name === '' ? '' : ` ${d.name}`}: ${d.a} -> ${d.b}`;

/** The hashes of an arm's plans, by target. */
export const planHashes = ({ plans }: AbResult['arms'][number]): string =>
  Object.entries(plans)
    .map((p) => p.join(' '))
    .join(', ');

/** Metrics that every table includes even if they did not change: that they did not is often what the user wants to know. */
const ALWAYS = ['weighted', 'ptxas.spill-stores', 'ptxas.spill-loads'];

/** Metrics that changed, and always the deciding metric, registers, code, spills and the static estimate, in display order. */
export function changedMetrics(r: AbResult): MetricPair[] {
  const measured = new Set(r.metrics.map((m) => m.metric.name));
  const always = new Set([
    r.by.name,
    ...ALWAYS,
    ...[SHORT_NAMES.registers, SHORT_NAMES.code].map(([best, otherwise]) =>
      measured.has(best) ? best : otherwise,
    ),
  ]);
  return r.metrics.filter((m) => m.helped + m.hurt > 0 || always.has(m.metric.name));
}

/** The heading of the metrics of a table over kernels. */
export const metricHeading = (kernels: number): string => (kernels > 1 ? 'metric (total)' : 'metric');

/** The name of a metric in such a table. Percentages have no total. */
export const metricLabel = ({ name, unit }: Metric, kernels: number): string =>
  unit === '%' && kernels > 1 ? `${name} (mean)` : name;

/** A kernel's change by the deciding metric, as a ratio for sorting; below 1 is better. */
export function movement(r: AbResult, k: KernelPair): number {
  const pair = k.values[r.by.name];
  if (pair === undefined || pair[0] === pair[1] || k.verdict === 'WRONG') return 1;
  const ratio = (pair[1] + 1e-9) / (pair[0] + 1e-9);
  return r.by.better === 'less' ? ratio : 1 / ratio;
}

/** Kernels from the most helped to the most hurt. */
export const sorted = (r: AbResult): KernelPair[] =>
  [...r.kernels].sort((x, y) => movement(r, x) - movement(r, y) || (x.label < y.label ? -1 : 1));

/** Kernels whose behaviour changed, and under which arm. */
export function faults(r: AbResult): { kernel: string; arm: string; by: string; note: string }[] {
  return r.kernels.flatMap((k) =>
    ([0, 1] as const).flatMap((i) =>
      k.equal[i].ok
        ? []
        : [{ kernel: k.label, arm: r.arms[i].name, by: k.equal[i].by, note: k.equal[i].note }],
    ),
  );
}

/** Kernels that were found equal in open worlds without running in full there. */
const partlyRun = (r: AbResult): PartlyRun[] =>
  r.kernels.flatMap(({ label, equal: [, { ran }] }) => (ran === undefined ? [] : [{ kernel: label, ran }]));

/** How equality was determined, such as `40 by launch, 3 in open worlds`. */
export function equalityWords(r: AbResult): string {
  const n: Record<Equality['by'], number> = { launch: 0, 'open world': 0, unchanged: 0, ptxas: 0 };
  const notes = new Map<string, number>();
  for (const k of r.kernels) {
    n[k.equal[1].by]++;
    if (k.equal[1].ok && k.equal[1].note !== '')
      notes.set(k.equal[1].note, (notes.get(k.equal[1].note) ?? 0) + 1);
  }
  return [
    ...(n.launch > 0 ? [`${n.launch} by launch`] : []),
    ...(n['open world'] > 0 ? [`${n['open world']} in open worlds`] : []),
    ...(n.unchanged > 0 ? [`${n.unchanged} left as they were`] : []),
    ...[...notes].map(([note, times]) => `${times} ${note}`),
    ...(partlyRun(r).length > 0 ? [unreachedWords(partlyRun(r))] : []),
  ].join(', ');
}

/** Both values of the deciding metric, such as `10 -> 8`; '' if it does not apply. */
export function valuesText(r: AbResult, k: KernelPair): string {
  const pair = k.values[r.by.name];
  return pair === undefined ? '' : numbers(...pair).join(' -> ');
}
