import { DiagnosticError } from '../ir/diagnostic.ts';
import { armOfData } from './arms.ts';
import type { DiskCache } from './disk-cache.ts';
import { type Module, noKernel } from './kernels.ts';
import type { MeasureOptions } from './measure.ts';
import type { Metric, Values } from './metrics.ts';
import type { Plans } from './plans.ts';
import { geometricMean } from './statistics.ts';
import { Bench, type KernelTrial } from './trials.ts';

/** The result of an arm over all kernels. */
export interface Evaluation {
  /** True if every kernel behaves as before any phase. */
  readonly ok: boolean;
  /** The first kernel that does not, and the difference; '' if all do. */
  readonly error: string;
  /** The sum over the kernels, by metric. */
  readonly metrics: Values;
  /** The geometric mean over the kernels of the arm's value divided by the base's, by metric. */
  readonly ratios: Values;
  readonly kernels: readonly {
    readonly file: string;
    readonly kernel: string;
    readonly ok: boolean;
    readonly values: Values;
    /** For a kernel that did not run in full in open worlds: percent of its blocks that ran. */
    readonly ran?: number;
  }[];
}

/** Evaluates arms one after another; work that they share is done once. */
export class Evaluator {
  private readonly benches: readonly Bench[];
  private readonly plans: Plans;
  private readonly metrics: readonly Metric[];
  private base: ReadonlyMap<string, KernelTrial> = new Map();

  private constructor(benches: readonly Bench[], plans: Plans, metrics: readonly Metric[]) {
    this.benches = benches;
    this.plans = plans;
    this.metrics = metrics;
  }

  /**
   * Runs the base, which also reads everything that later arms share.
   * @throws DiagnosticError if the base is not a plan, or if the modules have no kernel
   */
  static async start(
    modules: readonly Module[],
    plans: Plans,
    measure: MeasureOptions,
    metrics: readonly Metric[],
    disk?: DiskCache,
  ): Promise<Evaluator> {
    const e = new Evaluator(
      modules.map((m) => new Bench(m, measure, disk)),
      plans,
      metrics,
    );
    for (const m of modules) await plans.plan({ name: 'base' }, m.target);
    e.base = await e.run({});
    if (e.base.size === 0) throw noKernel();
    return e;
  }

  /**
   * Runs an arm, given as data, over all kernels.
   * @param plans of another base, if it is not to be that of all arms
   * @throws DiagnosticError if the data are not an arm, or give no plan
   */
  async evaluate(data: unknown, plans = this.plans): Promise<Evaluation> {
    const found = await this.run(data, plans);
    const kernels = [...found].map(([key, k]) => {
      const [file] = key.split('\n');
      const values = Object.fromEntries(
        this.metrics.flatMap((m) => (k.values[m.name] === undefined ? [] : [[m.name, k.values[m.name]]])),
      );
      const { ok, ran } = k.equal;
      return { file, kernel: k.kernel, ok, values, ...(ran !== undefined && { ran }) };
    });
    const wrong = [...found.values()].find((k) => !k.equal.ok);
    return {
      ok: wrong === undefined,
      error:
        wrong === undefined
          ? ''
          : `${wrong.kernel} does not do what it did (by ${wrong.equal.by}: ${wrong.equal.note})`,
      metrics: Object.fromEntries(
        this.metrics.map((m) => [m.name, kernels.reduce((s, k) => s + (k.values[m.name] ?? 0), 0)]),
      ),
      ratios: Object.fromEntries(this.metrics.map((m) => [m.name, this.ratio(m, found)])),
      kernels,
    };
  }

  private ratio(m: Metric, found: ReadonlyMap<string, KernelTrial>): number {
    const pairs = [...found].flatMap(([key, k]) => {
      const [a, b] = [this.base.get(key)?.values[m.name], k.values[m.name]];
      return a === undefined || b === undefined ? [] : [[a, b] as const];
    });
    return geometricMean(pairs) ?? 1;
  }

  private async run(data: unknown, plans = this.plans): Promise<Map<string, KernelTrial>> {
    const arm = armOfData(data);
    const out = new Map<string, KernelTrial>();
    for (const b of this.benches) {
      const r = await b.run(arm, plans);
      if ('illegal' in r)
        // Resolve again, to report all problems.
        throw new DiagnosticError((await plans.tryPlan(arm, b.module.target)).diagnostics);
      for (const k of r.kernels) out.set(`${b.module.file}\n${k.kernel}`, k);
    }
    return out;
  }
}
