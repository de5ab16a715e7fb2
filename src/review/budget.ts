import { DiagnosticError } from '../ir/diagnostic.ts';
import { covers } from '../ir/glob.ts';
import { exactMetric } from '../lab/exact-metric.ts';
import type { Metric } from '../lab/metrics.ts';
import type { Pair } from '../lab/pairs.ts';
import { change, number } from '../lab/render/table.ts';
import { canonical } from '../spec/canonical.ts';
import type { SpecFile } from '../spec/document.ts';
import { Issues } from '../spec/issues.ts';
import { toDiagnostics } from '../spec/node.ts';
import { placeOf } from '../spec/places.ts';
import type { BudgetSpec } from '../spec/types.generated.ts';

/** Name of the file in the top folder of a repository that sets its limits. */
export const BUDGET_FILE = 'orrery.budget.yaml';
/** The limits for repositories without such a file. */
export const DEFAULT_BUDGET = 'pipelines/budget.yaml';

/** The bound of a limit. If both `percent` and `by` are given, the limit is broken only if both are exceeded. */
export interface Bound {
  readonly percent?: number;
  readonly by?: number;
  readonly most?: number;
  readonly least?: number;
}

/** One checked limit. */
export interface Limit {
  readonly metric: Metric;
  readonly of: 'each' | 'total';
  /** Pattern of kernel names. */
  readonly kernels: string;
  /** The limit applies only to kernels without a value of this metric; null: to all. */
  readonly unless: Metric | null;
  readonly bound: Bound;
  /** Where it is stated, as `file:line`. For a limit of the base: where the head states it differently, or else the file of the head. */
  readonly place: string;
  /** Where the base states it, if the head does not state the same. */
  readonly basePlace?: string;
  /** True if the repository sets it. Default limits are ignored if nothing can be measured by them. */
  readonly own: boolean;
}

/** The limits of a repository. */
export interface Budget {
  readonly file: string;
  readonly limits: readonly Limit[];
}

/** A limit that is exceeded, or that could not be checked. */
export interface BrokenLimit {
  readonly metric: string;
  /** The limit as text, such as `never beyond +2 %`. */
  readonly limit: string;
  /** The kernel; `total` for a sum; '' if nothing was measured. */
  readonly kernel: string;
  /** The plan under which it was measured, such as `sm_90 -O3`; '' if nothing was measured. */
  readonly plan: string;
  /** Values of base and head; null if nothing was measured. */
  readonly values: Pair<number> | null;
  readonly place: string;
  /** Where the base states it, if the head does not state it so; '' otherwise. */
  readonly basePlace: string;
}

/** The kernels under one plan to which limits are applied. */
export interface LimitedKernels {
  readonly plan: string;
  readonly kernels: readonly {
    readonly kernel: string;
    readonly label: string;
    /** True if the code and everything that measurements depend on is the same, so that no value is needed. */
    readonly same: boolean;
    readonly values: Readonly<Record<string, Pair<number>>>;
  }[];
}

/**
 * Reads the limits of a budget.
 *
 * @param own true if it belongs to the repository
 * @throws DiagnosticError with every unknown metric and invalid bound at its line
 */
export async function budgetOf(spec: SpecFile, own = true): Promise<Budget> {
  const issues = new Issues();
  const data = spec.data as unknown as BudgetSpec.Budget;
  const limits = data.limits.flatMap((l, i): Limit[] => {
    const named = (key: 'metric' | 'unless') =>
      l[key] === undefined
        ? []
        : exactMetric(l[key], { file: spec, path: ['limits', i, key] }, issues, 'budget-metric');
    const { percent, by, most, least } = l;
    const kinds = [percent ?? by, most, least].filter((v) => v !== undefined).length;
    if (kinds > 1)
      issues.error(
        { file: spec, path: ['limits', i] },
        'budget-bound',
        'a limit is one of percent and by, most, least',
      );
    const bound = Object.fromEntries(
      Object.entries({ percent, by, most, least }).filter(([, v]) => v !== undefined),
    ) as Bound;
    const place = `${spec.file}:${placeOf(spec.text, ['limits', i]).line}`;
    const [unless = null] = named('unless');
    const { of = 'each', kernels = '*' } = l;
    return named('metric').map((metric) => ({ metric, of, kernels, unless, bound, place, own }));
  });
  if (issues.failed) throw new DiagnosticError(await toDiagnostics(issues.list));
  return { file: spec.file, limits };
}

/**
 * The limits of the head, plus those of the base that the head does not state, so that no change is judged by limits that it loosened
 * itself.
 */
export function withLimitsOf(base: Budget | null, head: Budget | null): Budget | null {
  if (base === null) return head;
  const file = head?.file ?? '';
  const own = head?.limits ?? [];
  const keyOf = ({ metric, of, kernels, unless, bound }: Limit): string =>
    canonical({ metric: metric.name, of, kernels, unless: unless?.name ?? null, bound });
  const kept = new Set(own.map(keyOf));
  const places = new Map([...limitsByKey(own)].map(([key, l]) => [key, l.place]));
  const more = [...limitsByKey(base.limits)].flatMap(([key, l]) =>
    kept.has(keyOf(l)) ? [] : [{ ...l, place: places.get(key) ?? file, basePlace: l.place }],
  );
  return { file, limits: [...own, ...more] };
}

/** Limits by metric, scope, kernels and kind; several limits with the same of these are numbered. */
export function limitsByKey(limits: readonly Limit[]): Map<string, Limit> {
  const out = new Map<string, Limit>();
  for (const l of limits) {
    const kind = l.bound.most !== undefined ? 'most' : l.bound.least !== undefined ? 'least' : 'worse';
    for (let n = 1; ; n++) {
      const key = `${l.metric.name} ${l.of} ${l.kernels} ${kind} ${n}`;
      if (out.has(key)) continue;
      out.set(key, l);
      break;
    }
  }
  return out;
}

/** True if checking a budget requires values of kernels that did not change. */
export const needsAll = (budget: Budget | null): boolean =>
  budget?.limits.some(
    ({ of, bound }) =>
      bound.most !== undefined || bound.least !== undefined || (of === 'total' && (bound.percent ?? 0) > 0),
  ) === true;

/** Relative tolerance for rounding errors, because metrics are sums of doubles. */
const ROUNDING = 1e-9;

function breaks({ metric, bound }: Limit, [a, b]: Pair<number>): boolean {
  const worse = metric.better === 'less' ? b - a : a - b;
  const slack = ROUNDING * Math.max(Math.abs(a), Math.abs(b));
  if (bound.most !== undefined) return b > bound.most;
  if (bound.least !== undefined) return b < bound.least;
  return (
    (bound.percent === undefined || worse > (Math.abs(a) * bound.percent) / 100 + slack) &&
    (bound.by === undefined || worse > bound.by + slack)
  );
}

/** A number of a limit with all its digits: limits are distinguished by their text. */
const exactly = (n: number): string => n.toLocaleString('en-US', { maximumFractionDigits: 20 });

/** A limit as text, without its metric. */
export function limitText({ metric, bound, of, kernels, unless }: Limit): string {
  const sign = metric.better === 'less' ? '+' : '-';
  const allowed = [
    ...(bound.percent === undefined ? [] : [`${sign}${bound.percent} %`]),
    ...(bound.by === undefined ? [] : [`${sign}${exactly(bound.by)}`]),
  ];
  const what =
    bound.most !== undefined
      ? `at most ${exactly(bound.most)}`
      : bound.least !== undefined
        ? `at least ${exactly(bound.least)}`
        : allowed.some((x) => /^[+-]0( %)?$/.test(x))
          ? 'never worse'
          : `never beyond ${allowed.length > 1 ? 'both ' : ''}${allowed.join(' and ')}`;
  const who = `${of === 'total' ? ' in total' : ''}${kernels === '*' ? '' : ` for ${kernels}`}`;
  return `${what}${who}${unless === null ? '' : ` where ${unless.name} is not known`}`;
}

/**
 * The limits of a budget that the head breaks: limits in file order, each plan by plan and kernel by kernel. A limit of the repository also
 * counts as broken if nothing could be measured by it, because unchecked code must not pass. Empty if there is no plan.
 */
export const brokenLimits = (budget: Budget, plans: readonly LimitedKernels[]): BrokenLimit[] =>
  plans.length === 0
    ? []
    : budget.limits.flatMap((l) => {
        const found = plans.map((p) => brokenOf(l, p));
        return l.own && found.every((f) => f === null)
          ? [{ ...rowOf(l), kernel: '', plan: '', values: null }]
          : found.flatMap((f) => f ?? []);
      });

const rowOf = (l: Limit) => ({
  metric: l.metric.name,
  limit: limitText(l),
  place: l.place,
  basePlace: l.basePlace ?? '',
});

/** What breaks a limit under one plan; null if nothing was measured by it. */
function brokenOf(l: Limit, { plan, kernels }: LimitedKernels): BrokenLimit[] | null {
  const own = kernels.filter(
    (k) => covers(l.kernels, k.kernel) && (l.unless === null || k.values[l.unless.name] === undefined),
  );
  const rows = own.flatMap((k) => {
    const values = k.values[l.metric.name];
    return values === undefined ? [] : [{ kernel: k.label, values }];
  });
  if (rows.length === 0) return own.some((k) => k.same) ? [] : null;
  const sum = (i: 0 | 1) => rows.reduce((s, r) => s + r.values[i], 0);
  const judged = l.of === 'total' ? [{ kernel: 'total', values: [sum(0), sum(1)] as const }] : rows;
  return judged.filter((r) => breaks(l, r.values)).map((r) => ({ ...rowOf(l), plan, ...r }));
}

/** A broken limit as one line, without its location. */
export function brokenText(b: BrokenLimit): string {
  const limit = `limit ${b.metric} ${b.limit}`;
  if (b.values === null) return `${limit}: no kernel was measured by it`;
  return `${limit}: ${brokenBy(b)}`;
}

/**
 * What breaks a limit, as text: the kernel, its plan, and both values. `values` must not be null.
 *
 * @param also further plans under which the kernel breaks it
 */
export function brokenBy({ kernel, plan, values }: BrokenLimit, also: readonly string[] = []): string {
  const [x, y] = values!;
  const plans = also.length === 0 ? plan : `${plan}, also ${also.join(', ')}`;
  return `${kernel} (${plans}) ${number(x)} -> ${number(y)} (${change(x, y)})`;
}
