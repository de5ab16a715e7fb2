import type { PrefixCache } from '../engine/cache.ts';
import { runPipeline } from '../engine/pipeline.ts';
import type { Plan } from '../spec/plan.ts';
import type { Arm } from './arms.ts';
import { type Equality, equalityOf } from './equality.ts';
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
  /** The arm is no plan: what is wrong with it. */
  | { readonly illegal: string };

/** Results that one module's cache keeps before it begins anew. */
const MOST_CACHED = 20_000;

/** A module as it is tried under one arm after the other: what they share is done once. */
export class Bench {
  readonly module: Module;
  private readonly opts: MeasureOptions;
  private readonly inputs = new Map<string, { readonly input: Lowered; readonly measurer: Measurer }>();
  private cache = new Map() as Map<string, never> & PrefixCache;
  private readonly verdicts = new Map<KernelMeasure, Equality>();

  constructor(module: Module, opts: MeasureOptions) {
    this.module = module;
    this.opts = opts;
  }

  /** Runs an arm and measures what comes out. */
  async run(arm: Arm, plans: Plans): Promise<TrialResult> {
    const { plan, diagnostics } = await plans.tryPlan(arm, this.module.target);
    if (plan === null) return { illegal: diagnostics.find((d) => d.severity === 'error')?.message ?? '' };
    const { input, measurer } = this.inputOf(plan);
    if (this.cache.size > MOST_CACHED) this.cache = new Map() as Map<string, never> & PrefixCache;
    const { last } = runPipeline(input.program, plan, { cache: this.cache, inputKey: input.key });
    const measured = await measurer.kernels(last, plan);
    return {
      kernels: measured.map((m) => {
        // The measurer gives one answer for equal programs, so one verdict does.
        let equal = this.verdicts.get(m);
        if (equal === undefined) this.verdicts.set(m, (equal = equalityOf(input.program, last, m, plan)));
        return { kernel: m.kernel, values: m.values, equal };
      }),
    };
  }

  private inputOf(plan: Plan) {
    const key = `${plan.sm}|${plan.isa.hash}`;
    let known = this.inputs.get(key);
    if (known === undefined) {
      const input = lowerModule(this.module, plan);
      known = { input, measurer: new Measurer(this.module, input, this.opts) };
      this.inputs.set(key, known);
    }
    return known;
  }
}
