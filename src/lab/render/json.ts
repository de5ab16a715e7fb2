import type { AbResult } from '../ab.ts';
import { diffLineText } from '../lines.ts';
import type { Metric } from '../metrics.ts';

/** Version of the output of `measure`, `ab`, `sweep` and `evaluate`; incremented on incompatible changes. */
export const OUTPUT_VERSION = 1;

/** The properties of metrics, by name. */
export const metricsJson = (used: Iterable<Metric>) =>
  Object.fromEntries(
    [...used].map((m) => [
      m.name,
      { title: m.title, unit: m.unit, better: m.better, source: m.source, exact: !m.noisy, of: m.of },
    ]),
  );

/** An A/B result as plain data (schemas/output/ab.schema.json). */
export const abJson = (r: AbResult) => ({
  version: OUTPUT_VERSION,
  kind: 'ab',
  arms: { a: r.arms[0], b: r.arms[1] },
  status: r.status,
  equal: r.equal,
  differences: r.differences,
  unread: r.unread,
  by: r.by.name,
  metrics: metricsJson([...r.metrics.map((m) => m.metric), ...r.noisy.map((n) => n.metric)]),
  totals: r.metrics.map((m) => ({
    metric: m.metric.name,
    a: m.total[0],
    b: m.total[1],
    ratio: m.ratio,
    helped: m.helped,
    hurt: m.hurt,
    unchanged: m.unchanged,
  })),
  noisy: r.noisy.map((n) => ({
    metric: n.metric.name,
    a: n.total[0],
    b: n.total[1],
    ratio: n.ratio,
    interval: n.pairs < 3 ? null : n.interval,
    pairs: n.pairs,
    significant: n.significant,
    minEffect: r.minEffect,
  })),
  kernels: r.kernels.map((k) => ({
    file: k.file,
    kernel: k.kernel,
    label: k.label,
    verdict: k.verdict,
    values: k.values,
    equal: { a: k.equal[0], b: k.equal[1] },
    why: k.why === null ? null : { ...k.why, diff: k.why.diff.map(diffLineText) },
  })),
});
