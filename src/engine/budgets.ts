import type { FunctionPlans } from './function-plans.ts';

/**
 * Counters of budget knobs, for one run of a plan over one program. A knob with a single value has one counter. If
 * its value differs for some functions, those share one counter and the others another. A knob that is `perFunction` has a
 * counter for each function.
 */
export class Budgets {
  /** Units taken, by name of the counter. Counters without a limit are not tracked. */
  private readonly used = new Map<string, number>();
  private readonly plans: FunctionPlans;

  constructor(plans: FunctionPlans) {
    this.plans = plans;
  }

  /** A copy of the counters as they are now. */
  copy(): Budgets {
    const b = new Budgets(this.plans);
    for (const [c, n] of this.used) b.used.set(c, n);
    return b;
  }

  /** Name of the counter from which a function takes units of a knob. */
  counter(name: string, fn: string): string {
    const knob = this.plans.of(fn).knobs.get(name);
    if (knob?.perFunction === true) return `${name} of ${fn}`;
    const when = knob?.when ?? null;
    return when === null ? name : `${name} ${when}`;
  }

  /** Units left for a function; Infinity if the knob is not set. */
  left(name: string, fn: string): number {
    const limit = this.plans.knob(name, fn);
    return typeof limit === 'number' ? limit - (this.used.get(this.counter(name, fn)) ?? 0) : Infinity;
  }

  /** Takes one unit; false once the limit is reached. An unset knob has no limit. */
  take(name: string, fn: string): boolean {
    const left = this.left(name, fn);
    if (left <= 0) return false;
    if (left !== Infinity) this.spend(name, fn, 1);
    return true;
  }

  /** Adds units that were taken elsewhere, for instance in a run whose result comes from the cache. */
  spend(name: string, fn: string, units: number): void {
    const c = this.counter(name, fn);
    this.used.set(c, (this.used.get(c) ?? 0) + units);
  }
}
