import { diffLineText } from '../lab/lines.ts';
import { metricOf } from '../lab/metrics.ts';
import { metricsJson } from '../lab/render/json.ts';
import type { ChangeEffect } from './change-effects.ts';
import type { Effect, Row } from './effect.ts';
import { changedMeanings, doneRows, isAlarm, isRefused, type Review } from './reviewed.ts';
import { changeEffectText } from './words.ts';

/** Version of the output; incremented on incompatible changes. */
const VERSION = 2;

/** A review as plain data (schemas/output/diff.schema.json). */
export const reviewJson = (r: Review) => ({
  version: VERSION,
  kind: 'diff',
  base: r.base,
  head: r.head,
  differs: r.differs,
  refused: isRefused(r),
  faults: r.faults.map((f) => f.text),
  warnings: r.warnings.map((f) => f.text),
  limits: r.broken,
  plans: r.plans,
  changes: r.changes.map(({ acts: _, ...c }, i) => ({
    ...c,
    alarm: isAlarm(r.changes[i], r.effects[i]),
    effect: effectJson(r.effects[i], changeEffectText(r.effects[i], r.effect?.measures ?? [])),
  })),
  kernels: r.effect === null ? null : kernelsJson(r.effect),
  otherFiles: r.unread,
  unknown: r.unknown,
});

const effectJson = (e: ChangeEffect, text: string) =>
  e.state === 'not measured'
    ? { state: e.state, text }
    : {
        state: e.state,
        text,
        by: e.by,
        kernels: e.rows.length,
        changed: e.rows.filter((x) => x.changed).length,
        hurt: e.rows.filter((x) => (x.readings[0]?.worse ?? 0) > 0).length,
        helped: e.rows.filter((x) => (x.readings[0]?.worse ?? 0) < 0).length,
        wrong: e.rows.filter((x) => x.wrong[1] !== '').length,
        otherMeaning: changedMeanings(e).length,
      };

function kernelsJson(effect: Effect) {
  const used = new Set(effect.rows.flatMap((x) => Object.keys(x.effect?.values ?? {})));
  const metrics = [...used].flatMap((name) => metricOf(name) ?? []);
  return {
    comparisons: effect.comparisons.map((c) => ({
      name: c.name,
      kind: c.kind,
      base: c.sides[0],
      head: c.sides[1],
      files: c.files,
    })),
    metrics: metricsJson(metrics),
    measures: effect.totals.map((t) => ({
      title: t.measure.title,
      values: t.values,
      hurt: t.worse,
      helped: t.better,
      measured: t.measured,
      estimates: t.estimates,
      worst: t.worst === null ? null : { kernel: t.worst.label, plan: t.worst.comparison.name },
    })),
    rows: [
      ...doneRows(effect).map(rowJson),
      ...effect.rows.filter((x) => x.comparison.kind === 'allowed').map(rowJson),
    ],
  };
}

const rowJson = (x: Row) => ({
  plan: x.comparison.name,
  file: x.file,
  kernel: x.kernel,
  label: x.label,
  changed: x.changed,
  // JSON has no infinity, which the ratio to a zero base is.
  severity: Number.isFinite(x.severity) ? x.severity : null,
  wrong: { base: x.wrong[0], head: x.wrong[1] },
  values: x.effect?.values ?? {},
  equal: x.effect?.equal == null ? null : { base: x.effect.equal[0], head: x.effect.equal[1] },
  meaning: x.effect?.meaning ?? '',
  has: x.effect?.has ?? [],
  why: x.effect?.why == null ? null : { ...x.effect.why, diff: x.effect.why.diff.map(diffLineText) },
});
