import { host } from '../engine/pipeline.ts';
import { DiagnosticError } from '../ir/diagnostic.ts';
import type { Module } from '../lab/kernels.ts';
import type { MeasureOptions } from '../lab/measure.ts';
import { EffectBench, type ModuleEffect, type Side } from '../lab/pair-effects.ts';
import type { Pair } from '../lab/pairs.ts';
import { movedRequest } from '../lab/plans.ts';
import { makePlan } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import type { Specs } from '../spec/specs.ts';
import type { Comparison, PlanOf } from './comparisons.ts';
import { type MadePlan, madePlan } from './made-plans.ts';

/** One comparison on one file of kernels. */
export interface Cell {
  /** Index of the comparison in the list of all. */
  readonly comparison: number;
  readonly file: string;
}

/** All cells, file by file, so that comparisons of the same kernels share work. */
export function cellsOf(comparisons: readonly Comparison[]): Cell[] {
  const files = [...new Set(comparisons.flatMap((c) => c.files))];
  return files.flatMap((file) =>
    comparisons.flatMap((c, comparison) => (c.files.includes(file) ? [{ comparison, file }] : [])),
  );
}

/** The specs of a side, and what to measure of its kernels. */
export interface SideOptions {
  readonly specs: Specs;
  readonly measure: MeasureOptions;
}

/** Resolves plans of both sides. */
export class SidePlans {
  private readonly sides: Readonly<Record<'base' | 'head', Specs>>;

  constructor(base: Specs, head: Specs) {
    this.sides = { base, head };
  }

  /**
   * The plan of a side.
   * @throws DiagnosticError with the reasons if it is illegal
   */
  async plan(wanted: PlanOf): Promise<Plan> {
    const { plan, diagnostics } = await this.made(wanted);
    if (plan === null) throw new DiagnosticError(diagnostics.filter((d) => d.severity === 'error'));
    return plan;
  }

  /** Why a plan does not resolve; null if it does. */
  async fault(wanted: PlanOf): Promise<string | null> {
    const { plan, diagnostics } = await this.made(wanted);
    return plan === null ? diagnostics.find((d) => d.severity === 'error')!.message : null;
  }

  private made({ of, request, moves }: PlanOf): Promise<MadePlan> {
    const specs = this.sides[of];
    if (moves.length === 0) return madePlan(specs, request);
    const moved = movedRequest(specs, request, moves);
    return makePlan(moved.request, host, moved.specs);
  }
}

/** Runs cells. Consecutive cells of one file share work. */
export class ReviewRunner {
  private readonly plans: SidePlans;
  private readonly sides: Readonly<Record<'base' | 'head', SideOptions>>;
  private readonly load: (file: string) => Promise<Module>;
  private bench: EffectBench | null = null;
  private file = '';

  /** @param load reads a file of kernels */
  constructor(base: SideOptions, head: SideOptions, load: (file: string) => Promise<Module>) {
    this.sides = { base, head };
    this.plans = new SidePlans(base.specs, head.specs);
    this.load = load;
  }

  /**
   * Runs one comparison on one file.
   * @throws DiagnosticError if the file cannot be read
   */
  async run(comparison: Comparison, file: string): Promise<ModuleEffect> {
    if (this.bench === null || this.file !== file) {
      this.bench = new EffectBench(await this.load(file));
      this.file = file;
    }
    const sides: Side[] = [];
    const fault: string[] = [];
    for (const p of comparison.sides) {
      try {
        sides.push({ plan: await this.plans.plan(p), measure: this.sides[p.of].measure });
        fault.push('');
      } catch (e) {
        if (!(e instanceof DiagnosticError)) throw e;
        fault.push(e.diagnostics[0].message);
      }
    }
    if (sides.length < 2) return { kernels: [], fault: fault as unknown as Pair<string>, refused: '' };
    return this.bench.run([sides[0], sides[1]], comparison.asked);
  }
}
