import { DiagnosticError } from '../../ir/diagnostic.ts';
import { covers } from '../../ir/glob.ts';
import type { Specs } from '../../spec/specs.ts';
import { type Arm, armText } from '../arms.ts';
import type { DiskCache } from '../disk-cache.ts';
import { Evaluator } from '../evaluate.ts';
import { type Module, noKernel } from '../kernels.ts';
import type { MeasureOptions } from '../measure.ts';
import type { Metric, Values } from '../metrics.ts';
import type { Plans } from '../plans.ts';
import { armOf, type Change, Changes } from './changes.ts';
import { type Goal, isEnough, type KernelValues, scoreOf } from './goal.ts';
import { type Found, search } from './search.ts';

/** A request to tune modules. */
export interface TuneRequest {
  readonly modules: readonly Module[];
  readonly plans: Plans;
  readonly specs: Specs;
  readonly measure: MeasureOptions;
  readonly goals: readonly Goal[];
  /** The metric that decides between arms that are equal by the goals. */
  readonly executed: Metric;
  /** All metrics that are reported. */
  readonly metrics: readonly Metric[];
  /** Pattern of the kernels to tune. */
  readonly only: string;
  /** Recipes of the base, which are kept. */
  readonly recipes: readonly string[];
  /** True to try moving phases too. */
  readonly positions: boolean;
  readonly disk?: DiskCache;
  /** True if the time is up. */
  readonly late: () => boolean;
  /** Called after each trial with the number of arms tried so far. */
  readonly tell?: (tried: number, arm: string) => void;
}

/** A kernel under the base and the best arm. */
export interface TunedKernel extends KernelValues {
  readonly file: string;
  /** For a kernel that did not run in full in open worlds: percent of its blocks that ran. */
  readonly ran?: number;
}

/** The result of a search. */
export interface Tuned {
  readonly arm: Arm;
  readonly ended: Found<Change>['ended'];
  /** Number of measured arms, and how many of them have no legal plan or change the behaviour of a kernel. */
  readonly tried: number;
  readonly refused: number;
  readonly kernels: readonly TunedKernel[];
  /** Each change of the arm, with the kernels under the arm without this change. */
  readonly changes: readonly { readonly change: Change; readonly without: readonly TunedKernel[] }[];
}

/** Measures arms, each once, and compares them with the base. */
export class Judge {
  private readonly evaluator: Evaluator;
  private readonly only: string;
  private base: readonly TunedKernel[] = [];
  private readonly results = new Map<string, readonly TunedKernel[] | null>();
  refused = 0;

  private constructor(evaluator: Evaluator, only: string) {
    this.evaluator = evaluator;
    this.only = only;
  }

  /** @throws DiagnosticError if the base has no legal plan or breaks a kernel, or no kernel matches the pattern */
  static async start(r: TuneRequest): Promise<Judge> {
    const evaluator = await Evaluator.start(r.modules, r.plans, r.measure, r.metrics, r.disk);
    const judge = new Judge(evaluator, r.only);
    const base = (await judge.of({ name: 'base' })) ?? [];
    if (base.length === 0) throw noKernel();
    judge.base = base;
    judge.results.clear();
    return judge;
  }

  get tried(): number {
    return this.results.size;
  }

  /** The matching kernels under an arm; null if it has no legal plan or changes the behaviour of a kernel. */
  async of(arm: Arm): Promise<readonly TunedKernel[] | null> {
    const key = armText(arm);
    let made = this.results.get(key);
    if (made === undefined) {
      made = await this.measured(key);
      this.results.set(key, made);
      if (made === null) this.refused++;
    }
    return made;
  }

  /** Like `of`, with plans of another base; results are not cached. */
  under(plans: Plans, arm: Arm): Promise<readonly TunedKernel[] | null> {
    return this.measured(armText(arm), plans);
  }

  private async measured(arm: string, plans?: Plans): Promise<readonly TunedKernel[] | null> {
    try {
      const r = await this.evaluator.evaluate(arm, plans);
      if (!r.ok) return null;
      const base = new Map<string, Values>(this.base.map((k) => [`${k.file}\n${k.kernel}`, k.base]));
      return r.kernels
        .filter((k) => covers(this.only, k.kernel))
        .map(({ file, kernel, values, ran }) => ({
          file,
          kernel,
          values,
          ...(ran !== undefined && { ran }),
          base: base.get(`${file}\n${kernel}`) ?? values,
        }));
    } catch (e) {
      // The arm has no legal plan; for the base, the error is the user's.
      if (!(e instanceof DiagnosticError) || arm === 'base') throw e;
      return null;
    }
  }
}

/** Searches for a plan that reaches the goals. The behaviour of kernels is checked for every arm, as `orrery ab` does. */
export async function tune(r: TuneRequest, judge: Judge): Promise<Tuned> {
  const offers = new Changes(r.modules, r.plans, r.specs);
  const armFor = (changes: readonly Change[]): Arm =>
    changes.length === 0 ? { name: 'base' } : armOf(changes, r.recipes);
  const measure = async (changes: readonly Change[]): Promise<readonly TunedKernel[] | null> => {
    const arm = armFor(changes);
    const made = await judge.of(arm);
    r.tell?.(judge.tried, arm.name);
    return made;
  };
  const score = (kernels: readonly TunedKernel[]) => scoreOf(r.goals, r.executed, kernels);
  const base = (await measure([]))!;
  const found = await search<Change>({
    start: score(base),
    stages: r.positions ? 2 : 1,
    offers: async (chosen, stage) => {
      const taken = new Set(chosen.map((c) => c.subject));
      const all = await offers.of(armFor(chosen), stage > 0);
      return all.filter((c) => !taken.has(c.subject));
    },
    judge: async (changes) => {
      if (new Set(changes.map((c) => c.subject)).size < changes.length) return null;
      const made = await measure(changes);
      return made === null ? null : score(made);
    },
    enough: (s) => isEnough(r.goals, s),
    late: r.late,
  });
  const changes = [];
  for (const change of found.chosen) {
    const without = await measure(found.chosen.filter((c) => c !== change));
    // If the plan is illegal without a change, that change has no effect of its own to report.
    changes.push({ change, without: without ?? [] });
  }
  return {
    arm: armFor(found.chosen),
    ended: found.ended,
    tried: judge.tried,
    refused: judge.refused,
    kernels: (await measure(found.chosen))!,
    changes,
  };
}
