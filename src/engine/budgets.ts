import type { FunctionPlans } from './function-plans.ts';

/**
 * Counters of budget knobs. One set lives as long as one run of a plan over one program. A knob with one value has one
 * counter; where its value is for some functions only, these count for themselves and the others for themselves.
 */
export class Budgets {
  /** Units taken, by counter; counters without a limit do not count. */
  private readonly used = new Map<string, number>();
  private readonly plans: FunctionPlans;

  constructor(plans: FunctionPlans) {
    this.plans = plans;
  }

  /** The counters as they stand now. */
  copy(): Budgets {
    const b = new Budgets(this.plans);
    for (const [c, n] of this.used) b.used.set(c, n);
    return b;
  }

  /** Name of the counter that a function takes units of a knob from. */
  counter(name: string, fn: string): string {
    const when = this.plans.of(fn).knobs.get(name)?.when ?? null;
    return when === null ? name : `${name} ${when}`;
  }

  /** Units that are left for a function; Infinity where the knob is not set. */
  left(name: string, fn: string): number {
    const limit = this.plans.knob(name, fn);
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
