import type { PrefixCache } from '../engine/cache.ts';
import type { Journal } from '../engine/journal.ts';
import { MemoryCache } from '../engine/memory-cache.ts';
import { runPipeline } from '../engine/pipeline.ts';
import type { Plan } from '../spec/plan.ts';
import type { DiskCache } from './disk-cache.ts';
import { type Equality, equalityOf } from './equality.ts';
import { type Lowered, loweredKey, lowerModule, type Module } from './kernels.ts';
import { type KernelMeasure, type MeasureOptions, Measurer } from './measure.ts';
import { functionsOf } from './statics.ts';
import { firstDifference, sameCode, type Why } from './why.ts';

/** A value for A and one for B. */
export type Pair<T> = readonly [a: T, b: T];

/** A module under two plans, after all phases have run. */
export interface Trial {
  readonly module: Module;
  readonly plans: Pair<Plan>;
  readonly inputs: Pair<Lowered>;
  readonly journals: Pair<Journal>;
}

/** One kernel under both plans. */
export interface PairMeasure {
  readonly file: string;
  readonly kernel: string;
  /** Its name, which need not be unique. */
  readonly label: string;
  readonly values: Readonly<Record<string, Pair<number>>>;
  readonly equal: Pair<Equality>;
  /** Null if the code is the same. */
  readonly why: Why | null;
  /** The message of ptxas if it rejects the PTX of both plans; '' if it accepts either or was not called. */
  readonly refused: string;
}

/** Runs a module under several pairs of plans. A common prefix of phases runs once. */
export class PairBench {
  readonly module: Module;
  private readonly disk: DiskCache | undefined;
  private readonly inputs = new Map<string, Lowered>();
  private readonly caches = new Map<string, PrefixCache>();

  /** @param disk cache of phase results that outlives this process */
  constructor(module: Module, disk?: DiskCache) {
    this.module = module;
    this.disk = disk;
  }

  /**
   * Runs both plans.
   *
   * @param heap returns the bytes of heap in use; absent: memory is not measured
   * @throws DiagnosticError if the module cannot be read for a plan, or a phase of it fails
   */
  trial(plans: Pair<Plan>, heap?: () => number): Trial {
    const inputs = [this.input(plans[0]), this.input(plans[1])] as const;
    const journals = [this.run(inputs[0], plans[0], heap), this.run(inputs[1], plans[1], heap)] as const;
    for (const c of this.caches.values()) this.disk?.release(c);
    if (this.disk !== undefined) this.caches.clear();
    return { module: this.module, plans, inputs, journals };
  }

  /**
   * The module as lowered for a plan.
   * @throws DiagnosticError with every fault of its text
   */
  input(plan: Plan): Lowered {
    const key = loweredKey(this.module, plan);
    let input = this.inputs.get(key);
    if (input === undefined) this.inputs.set(key, (input = lowerModule(this.module, plan)));
    return input;
  }

  /**
   * Runs one plan.
   * @throws DiagnosticError if a phase fails
   */
  run(input: Lowered, plan: Plan, heap?: () => number): Journal {
    let cache = this.caches.get(input.key);
    if (cache === undefined)
      this.caches.set(
        input.key,
        (cache = this.disk?.shelf(input.key, plan.isa) ?? (new MemoryCache() as PrefixCache)),
      );
    return runPipeline(input.program, plan, { cache, inputKey: input.key, heap });
  }
}

/**
 * Measures every kernel of a module under both plans, compares its behaviour with the input, and determines where the plans diverge.
 *
 * @param measure what to measure under each plan
 */
export async function comparedKernels(t: Trial, measure: Pair<MeasureOptions>): Promise<PairMeasure[]> {
  const first = new Measurer(t.module, t.inputs[0], measure[0]);
  const second = measure[0] === measure[1] ? first : new Measurer(t.module, t.inputs[1], measure[1]);
  const [a, b] = [t.journals[0].last, t.journals[1].last];
  const before = await first.kernels(a, t.plans[0]);
  const after = await second.kernels(b, t.plans[1], before);
  const out: PairMeasure[] = [];
  for (const x of before) {
    const y = after.find((k) => k.kernel === x.kernel);
    if (y === undefined) continue;
    const values: Record<string, Pair<number>> = {};
    for (const [name, v] of Object.entries(x.values))
      if (y.values[name] !== undefined) values[name] = [v, y.values[name]];
    const equal = unrefused(equalityOf(t.inputs[0].program, a, x, t.plans[0], measure[0].tell), x, y);
    out.push({
      file: t.module.file,
      kernel: x.kernel,
      label: x.kernel,
      values,
      // The measurer returns the same object for equal programs.
      equal: [
        equal,
        before === after
          ? equal
          : unrefused(equalityOf(t.inputs[1].program, b, y, t.plans[1], measure[1].tell), y, x),
      ],
      why: before === after ? null : whyOf(t, x.kernel),
      refused: x.refused !== '' && y.refused !== '' ? y.refused : '',
    });
  }
  return out;
}

/** A finding, replaced by a failure if ptxas rejects the PTX of this plan but accepts that of the other. */
const unrefused = (found: Equality, own: KernelMeasure, other: KernelMeasure): Equality =>
  found.ok && own.refused !== '' && other.refused === ''
    ? { ok: false, by: 'ptxas', note: `ptxas refuses it: ${own.refused}` }
    : found;

/** Where the two runs diverge for a kernel; null if they end with the same code. */
export function whyOf(t: Trial, kernel: string): Why | null {
  const names = namesOf(t, kernel);
  const [a, b] = t.journals;
  return sameCode(a.last, b.last, names) ? null : firstDifference(a, b, names);
}

/** Names of a kernel and of the functions that it calls. */
export function namesOf(t: Trial, kernel: string): ReadonlySet<string> {
  const { program } = t.inputs[0];
  const fn = program.functions.find((f) => f.name === kernel)!;
  return new Set(functionsOf(program, fn).map((f) => f.name));
}
