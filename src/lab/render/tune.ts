import { fileWord } from '../../ir/quote.ts';
import { unreachedWords } from '../equality.ts';
import { type Metric, totalOf } from '../metrics.ts';
import { type Goal, missing, outcomeText } from '../tune/goal.ts';
import type { Tuned, TunedKernel } from '../tune/tune.ts';
import { metricHeading, metricLabel } from './ab-words.ts';
import { OUTPUT_VERSION } from './json.ts';
import { change, number, numbers, type Paint, plural, stacked, WIDTH, wrapped } from './table.ts';

/** The result of a search, and where it was written. */
export interface TuneReport {
  readonly goals: readonly Goal[];
  readonly metrics: readonly Metric[];
  readonly found: Tuned;
  /** The kernels under the written recipe; null if none was written. */
  readonly written: readonly TunedKernel[] | null;
  readonly recipe: string | null;
  /** Options that are needed besides the recipe. */
  readonly options: readonly string[];
  readonly seconds: number;
}

/** The kernels that a report is based on: under the written recipe if there is one. */
const kernelsOf = (r: TuneReport): readonly TunedKernel[] => r.written ?? r.found.kernels;

/** True if all bounds are met. */
export const isReached = (r: TuneReport): boolean =>
  r.goals.every((g) => missing(g, kernelsOf(r)).length === 0);

const ENDED: Readonly<Record<Tuned['ended'], string>> = {
  enough: 'every goal is reached',
  'nothing helps': 'no further change helps',
  time: 'the time was up; --budget gives it more',
};

/** The totals of a metric over kernels, before and after; null if no kernel has it. */
function totals(metric: Metric, kernels: readonly TunedKernel[]): readonly [number, number] | null {
  const known = kernels.filter(
    (k) => k.base[metric.name] !== undefined && k.values[metric.name] !== undefined,
  );
  if (known.length === 0) return null;
  const of = (side: 'base' | 'values') =>
    totalOf(
      metric,
      known.map((k) => k[side][metric.name]),
    );
  return [of('base'), of('values')];
}

/** The worst kernel by a metric, which a bound must hold for; a total says nothing of it. */
function worstRow(metric: Metric, kernels: readonly TunedKernel[]): string[] {
  const of = (side: 'base' | 'values'): number => {
    const known = kernels.flatMap((k) => k[side][metric.name] ?? []);
    return metric.better === 'less' ? Math.max(...known) : Math.min(...known);
  };
  const [a, b] = [of('base'), of('values')];
  const which = metric.better === 'less' ? 'largest' : 'smallest';
  return [`${metric.name} (${which})`, number(a), number(b), change(a, b)];
}

/** A summary of the search in one line. */
const triedText = ({ found, seconds }: TuneReport): string =>
  `${plural(found.tried, 'arm')} in ${seconds.toFixed(0)} s by combined elimination, each checked${
    found.refused > 0 ? ` (${found.refused} of them no plan, or wrong)` : ''
  }; ${ENDED[found.ended]}`;

/** The effect of one change: the metrics that differ without it. */
export function effectText(r: TuneReport, without: readonly TunedKernel[]): string {
  if (without.length === 0) return 'the others have no legal plan without it';
  const parts = r.metrics.flatMap((m) => {
    const [w, t] = [totals(m, without), totals(m, r.found.kernels)];
    return w === null || t === null || w[1] === t[1]
      ? []
      : [`${m.name} ${numbers(w[1], t[1]).join(' -> ')} (${change(w[1], t[1])})`];
  });
  if (parts.length === 0) return 'nothing alone';
  return `${without.length > 1 ? 'in total ' : ''}${parts.join(', ')}`;
}

/** The report for a terminal. */
export function tuneText(r: TuneReport, paint: Paint, width = WIDTH): string {
  const kernels = kernelsOf(r);
  const out: string[] = [];
  const line = (label: string, text: string) =>
    out.push(`${label.padEnd(8)}${wrapped(text, width - 8).join('\n        ')}`);
  for (const g of r.goals) {
    const text = `${g.text}${g.name === g.metric.name ? '' : ` (by ${g.metric.name})`}: ${outcomeText(g, kernels)}`;
    const reached = missing(g, kernels).length === 0;
    const mark = reached ? paint.good : paint.bad;
    line(
      'goal',
      text.replace(/: (NOT reached|reached)/, (_, w: string) => `: ${mark(w)}`),
    );
  }
  const partly = unreachedWords(
    kernels.flatMap(({ kernel, ran }) => (ran === undefined ? [] : [{ kernel, ran }])),
  );
  line(
    'kernels',
    `${kernels.length}, each doing what it did before any phase${partly === '' ? '' : `, ${partly}`}`,
  );
  line('tried', triedText(r));
  const rows = r.metrics.flatMap((m) => {
    const t = totals(m, kernels);
    if (t === null) return [];
    const bounded = kernels.length > 1 && r.goals.some((g) => g.bound !== null && g.metric === m);
    return [
      [metricLabel(m, kernels.length), number(t[0]), number(t[1]), change(...t)],
      ...(bounded ? [worstRow(m, kernels)] : []),
    ];
  });
  const head = [metricHeading(kernels.length), 'base', 'tuned', 'change'];
  out.push('', stacked([head, ...rows], width));
  if (r.found.changes.length > 0)
    out.push('', 'what it changes, and what each change does beside the others');
  for (const { change: c, without } of r.found.changes) {
    out.push(`  ${paint.bold(c.name)}`);
    out.push(...wrapped(effectText(r, without), width - 4).map((l) => `    ${l}`));
  }
  out.push('');
  if (r.recipe === null) out.push('nothing was found that helps, so there is no recipe to write');
  else {
    const options = r.options.length === 0 ? '' : ` ${r.options.join(' ')}`;
    out.push(`recipe: ${r.recipe}; use it: orrery opt --recipe ${fileWord(r.recipe)}${options} ...`);
  }
  return out.join('\n');
}

/** The report for scripts (schemas/output/tune.schema.json). */
export function tuneJson(r: TuneReport) {
  const kernels = kernelsOf(r);
  return {
    version: OUTPUT_VERSION,
    kind: 'tune',
    goals: r.goals.map((g) => ({
      goal: g.text,
      metric: g.metric.name,
      reached: g.bound === null ? null : missing(g, kernels).length === 0,
    })),
    reached: isReached(r),
    ended: r.found.ended,
    tried: r.found.tried,
    refused: r.found.refused,
    arm: r.found.arm.name,
    changes: r.found.changes.map((c) => ({ change: c.change.name, effect: effectText(r, c.without) })),
    kernels: kernels.map(({ file, kernel, base, values, ran }) => ({
      file,
      kernel,
      base,
      values,
      ...(ran !== undefined && { ran }),
    })),
    recipe: r.recipe,
    options: r.options,
  };
}
