import type { PrefixCache } from '../engine/cache.ts';
import { MemoryCache } from '../engine/memory-cache.ts';
import { runPipeline } from '../engine/pipeline.ts';
import type { Plan } from '../spec/plan.ts';
import type { Arm } from './arms.ts';
import type { DiskCache } from './disk-cache.ts';
import { comparison, type Equality, withInexactness } from './equality.ts';
import { type Lowered, lowerModule, type Module } from './kernels.ts';
import { type KernelMeasure, type MeasureOptions, Measurer } from './measure.ts';
import type { Values } from './metrics.ts';
import type { Plans } from './plans.ts';

/** One kernel under one arm. */
export interface KernelTrial {
  readonly kernel: string;
  readonly values: Values;
  readonly equal: Equality;
}

/** One module under one arm. */
export type TrialResult =
  | { readonly kernels: readonly KernelTrial[] }
  /** Why the arm has no legal plan. */
  | { readonly illegal: string };

/** The module lowered for a target. */
interface TrialInput {
  readonly input: Lowered;
  readonly measurer: Measurer;
  readonly cache: PrefixCache;
}

/** Runs a module under one arm after another. Work that arms share is done once. */
export class Bench {
  readonly module: Module;
  private readonly opts: MeasureOptions;
  private readonly disk: DiskCache | undefined;
  private readonly inputs = new Map<string, TrialInput>();
  private readonly verdicts = new Map<KernelMeasure, Equality>();

  /** @param disk cache of phase results that outlives this process */
  constructor(module: Module, opts: MeasureOptions, disk?: DiskCache) {
    this.module = module;
    this.opts = opts;
    this.disk = disk;
  }

  /** Runs an arm and measures the result. */
  async run(arm: Arm, plans: Plans): Promise<TrialResult> {
    const { plan, diagnostics } = await plans.tryPlan(arm, this.module.target);
    if (plan === null) return { illegal: diagnostics.find((d) => d.severity === 'error')?.message ?? '' };
    const { input, measurer, cache } = this.inputOf(plan);
    const { last } = runPipeline(input.program, plan, { cache, inputKey: input.key });
    const measured = await measurer.kernels(last, plan);
    return {
      kernels: measured.map((m) => {
        // The measurer returns the same object for equal programs, so one comparison suffices.
        let found = this.verdicts.get(m);
        if (found === undefined)
          this.verdicts.set(m, (found = comparison(input.program, last, m, plan, this.opts.tell)));
        return { kernel: m.kernel, values: m.values, equal: withInexactness(found, plan, input.program) };
      }),
    };
  }

  /** Ends the bench and writes its results to disk. */
  close(): void {
    for (const { cache } of this.inputs.values()) this.disk?.release(cache);
    this.inputs.clear();
  }

  private inputOf(plan: Plan): TrialInput {
    const key = `${plan.sm}|${plan.isa.hash}`;
    let known = this.inputs.get(key);
    if (known === undefined) {
      const input = lowerModule(this.module, plan);
      const measurer = new Measurer(this.module, input, this.opts);
      known = { input, measurer, cache: this.disk?.shelf(input.key, plan.isa) ?? new MemoryCache() };
      this.inputs.set(key, known);
    }
    return known;
  }
}
