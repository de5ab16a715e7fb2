import type { KnobValue } from '../passes/pass.ts';
import { covers } from '../spec/glob.ts';
import type { Plan, ResolvedKnob } from '../spec/plan.ts';

/** A value that is for some kernels only speaks for this function. */
const speaksFor = (k: ResolvedKnob, fn: string): boolean => k.when !== null && covers(k.when, fn);

/** Value of a knob for a function: a conditional value holds only where its pattern covers the name. */
export function knobFor(k: ResolvedKnob | undefined, fn: string): KnobValue {
  if (k === undefined) return null;
  return k.when === null || speaksFor(k, fn) ? k.value : (k.overridden.at(-1)?.value ?? null);
}

/**
 * Counters of budget knobs. One set lives as long as one run of a plan over one program. A knob with one value has one
 * counter; where its value is for some kernels only, these count for themselves and the others for themselves.
 */
export class Budgets {
  /** Units taken, by counter; counters without a limit do not count. */
  private readonly used = new Map<string, number>();
  private readonly plan: Plan;

  constructor(plan: Plan) {
    this.plan = plan;
  }

  /** The counters as they stand now. */
  copy(): Budgets {
    const b = new Budgets(this.plan);
    for (const [c, n] of this.used) b.used.set(c, n);
    return b;
  }

  /** Name of the counter that a function takes units of a knob from. */
  counter(name: string, fn: string): string {
    const k = this.plan.knobs.get(name);
    return k !== undefined && speaksFor(k, fn) ? `${name} ${k.when}` : name;
  }

  /** Units that are left for a function; Infinity where the knob is not set. */
  left(name: string, fn: string): number {
    const limit = knobFor(this.plan.knobs.get(name), fn);
    return typeof limit === 'number' ? limit - (this.used.get(this.counter(name, fn)) ?? 0) : Infinity;
  }

  /** Takes one unit; false once the limit is reached. A knob that is not set has no limit. */
  take(name: string, fn: string): boolean {
    const left = this.left(name, fn);
    if (left <= 0) return false;
    if (left !== Infinity) this.spend(name, fn, 1);
    return true;
  }

  /** Counts units that were taken in another run. */
  spend(name: string, fn: string, units: number): void {
    const c = this.counter(name, fn);
    this.used.set(c, (this.used.get(c) ?? 0) + units);
  }
}
