import type { Fn } from '../ir/program.ts';
import { type Difference, differencesOf, writesAlike } from './difference.ts';
import { placesApart, type Run, type RunOptions, type Subject } from './run.ts';
import { UNDEFINED, Zeros } from './undefined.ts';

/** Two versions in one world, as `definedOf` needs them. */
export interface Pair {
  readonly before: Subject;
  readonly after: Subject;
  /** The kernel of the first version. */
  readonly kernel: Fn;
  readonly budget: number;
  /** How both ran. */
  readonly how: RunOptions;
  run(subject: Subject, opts: RunOptions): Run;
  /** Called if the world gives no evidence. */
  tellsNothing(): void;
}

/**
 * The differences that do not depend on what PTX leaves undefined: accesses beyond a variable of shared memory, uninitialised registers and
 * shared or local memory, divisions by zero.
 *
 * @param a a run of the first version @param b of the second
 */
export function definedOf(pair: Pair, a: Run, b: Run, found: Difference[]): Difference[] {
  if (found.length === 0 || found[0].kind === 'order differs' || found[0].kind === 'does not end')
    return found;
  const moved = movedOf(pair, a);
  if (moved === null) return ofValues(pair, a, b, found);
  if (pair.after.machine) {
    // Where its variables are is decided already: words that depend on that may differ.
    const left =
      a.status === 'done' && moved.run.status === 'done' && found[0].kind === 'memory differs'
        ? differencesOf(a, b, pair.budget, [moved.run])
        : [];
    if (left.length > 0) return ofValues(pair, a, b, left, [moved.run]);
    pair.tellsNothing();
    return [];
  }
  const how = { ...pair.how, places: moved.places, blank: true };
  const [x, y] = [pair.before, pair.after].map((s) => pair.run(s, how));
  const apart = differencesOf(x, y, pair.budget);
  return apart.length === 0 ? [] : ofValues({ ...pair, how }, x, y, apart);
}

/**
 * Places of the variables in shared memory that let the first version give something else, and what it gives: an access beyond the end of
 * one reaches another, or an address is a result. Null if there are none.
 */
function movedOf(
  { before, kernel, budget, how, run }: Pair,
  a: Run,
): { readonly places: ReadonlyMap<string, number>; readonly run: Run } | null {
  const places = placesApart(before.program, kernel);
  if (places === null) return null;
  // What memory holds that was not written must not depend on them.
  const blank = before.blank ? a : run(before, { ...how, blank: true });
  const apart = run(before, { ...how, places, blank: true });
  return differencesOf(blank, apart, budget).length === 0 ? null : { places, run: apart };
}

/**
 * Those that do not depend on undefined values.
 * @param also more runs of the first version, as `differencesOf` takes them
 */
function ofValues(pair: Pair, a: Run, b: Run, found: Difference[], also: readonly Run[] = []): Difference[] {
  const { before, after, budget, how, run } = pair;
  const zeros = new Zeros(after.machine);
  const again = (value: number): Run => run(before, { ...how, undefined: value, probe: zeros });
  const other = again(UNDEFINED);
  if (zeros.found) {
    // Whatever a division by zero decides or addresses is arbitrary. The words it flows into may differ; all others must agree.
    const third = again(0);
    const decides = [other, third].some((r) => r.status !== 'done' || !writesAlike(a, r));
    const kept =
      decides || a.status !== 'done' || found[0].kind !== 'memory differs'
        ? []
        : differencesOf(a, b, budget, [...also, third, other]);
    if (kept.length === 0) pair.tellsNothing();
    return kept;
  }
  if (a.status !== 'done' || other.status !== 'done' || found[0].kind !== 'memory differs')
    return differencesOf(a, other, budget).length > 0 ? [] : found;
  return differencesOf(a, b, budget, [...also, other]);
}
