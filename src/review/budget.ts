import { DiagnosticError } from '../ir/diagnostic.ts';
import type { AbResult } from '../lab/ab.ts';
import { exactMetric } from '../lab/exact-metric.ts';
import type { Metric } from '../lab/metrics.ts';
import { change, number } from '../lab/render/table.ts';
import type { SpecFile } from '../spec/document.ts';
import { covers } from '../spec/glob.ts';
import { Issues } from '../spec/issues.ts';
import { toDiagnostics } from '../spec/node.ts';
import { placeOf } from '../spec/places.ts';
import type { BudgetSpec } from '../spec/types.generated.ts';

/** Name of the file, in the top folder of a repository, that sets its limits. */
export const BUDGET_FILE = 'orrery.budget.yaml';

/** One checked limit. */
export interface Limit {
  readonly metric: Metric;
  readonly of: 'each' | 'total';
  /** Pattern of kernel names. */
  readonly kernels: string;
  readonly bound: { readonly kind: 'percent' | 'by' | 'most' | 'least'; readonly value: number };
  /** Where it is stated: `file:line`. */
  readonly place: string;
}

/** The limits of a repository. */
export interface Budget {
  readonly file: string;
  readonly limits: readonly Limit[];
}

/** A limit that is exceeded, or that could not be checked. */
export interface BrokenLimit {
  readonly metric: string;
  /** In words: `never more than +2 %`. */
  readonly limit: string;
  /** The kernel; `total` for a sum; '' if nothing was measured. */
  readonly kernel: string;
  /** Base and head; null if nothing was measured. */
  readonly values: readonly [base: number, head: number] | null;
  readonly place: string;
}

/**
 * The limits that a budget sets.
 * @throws DiagnosticError with every unknown metric, each at its line
 */
export async function budgetOf(spec: SpecFile): Promise<Budget> {
  const issues = new Issues();
  const data = spec.data as unknown as BudgetSpec.Budget;
  const limits = data.limits.flatMap((l, i): Limit[] => {
    const kind = (['percent', 'by', 'most', 'least'] as const).find((k) => l[k] !== undefined)!;
    const at = { file: spec, path: ['limits', i, 'metric'] };
    return exactMetric(l.metric, at, issues, 'budget-metric').map((metric) => ({
      metric,
      of: l.of ?? 'each',
      kernels: l.kernels ?? '*',
      bound: { kind, value: l[kind]! },
      place: `${spec.file}:${placeOf(spec.text, ['limits', i]).line}`,
    }));
  });
  if (issues.failed) throw new DiagnosticError(await toDiagnostics(issues.list));
  return { file: spec.file, limits };
}

/** Rounding may carry a value this far beyond its bound, because the metrics are sums of doubles. */
const ROUNDING = 1e-9;

function broken({ metric, bound }: Limit, a: number, b: number): boolean {
  const worse = metric.better === 'less' ? b - a : a - b;
  const slack = ROUNDING * Math.max(Math.abs(a), Math.abs(b));
  if (bound.kind === 'percent') return worse > (Math.abs(a) * bound.value) / 100 + slack;
  if (bound.kind === 'by') return worse > bound.value + slack;
  return bound.kind === 'most' ? b > bound.value : b < bound.value;
}

/** A limit in words. */
function limitText({ metric, bound, of, kernels }: Limit): string {
  const sign = metric.better === 'less' ? '+' : '-';
  const what =
    bound.kind === 'percent'
      ? bound.value === 0
        ? 'never worse'
        : `never beyond ${sign}${bound.value} %`
      : bound.kind === 'by'
        ? `never beyond ${sign}${number(bound.value)}`
        : `at ${bound.kind} ${number(bound.value)}`;
  return `${what}${of === 'total' ? ' in total' : ''}${kernels === '*' ? '' : ` for ${kernels}`}`;
}

/**
 * The limits of a budget that the head breaks, kernel by kernel, in file order. A limit counts as broken if no kernel
 * was measured for it, because unchecked code must not pass. If no plan differs, nothing can have become worse.
 */
export function brokenLimits(budget: Budget, result: AbResult): BrokenLimit[] {
  if (result.status === 'no effect') return [];
  return budget.limits.flatMap((l): BrokenLimit[] => {
    const row = { metric: l.metric.name, limit: limitText(l), place: l.place };
    const rows = result.kernels.flatMap((k) => {
      const values = k.values[l.metric.name];
      return values !== undefined && covers(l.kernels, k.kernel) ? [{ kernel: k.label, values }] : [];
    });
    if (rows.length === 0) return [{ ...row, kernel: '', values: null }];
    const sum = (i: 0 | 1) => rows.reduce((s, r) => s + r.values[i], 0);
    const judged = l.of === 'total' ? [{ kernel: 'total', values: [sum(0), sum(1)] as const }] : rows;
    return judged.filter((r) => broken(l, r.values[0], r.values[1])).map((r) => ({ ...row, ...r }));
  });
}

/** A broken limit in one line, without its place. */
export function brokenText(b: BrokenLimit): string {
  if (b.values === null) return `limit ${b.metric} ${b.limit}: no kernel was measured by it`;
  const [x, y] = b.values;
  return `limit ${b.metric} ${b.limit}: ${b.kernel} ${number(x)} -> ${number(y)} (${change(x, y)})`;
}
