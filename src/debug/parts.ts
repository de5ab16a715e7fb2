/** Stops a reduction early. */
export interface Limits {
  /** Returns true once nothing more should be tried. */
  readonly stopped: () => boolean;
}

/**
 * Removes as many parts as possible while a condition holds: first all, then halves, quarters, and so on down to single parts, which are
 * tried repeatedly as long as any can be removed. Unless stopped, the result is 1-minimal: no single part can be removed.
 *
 * This is the delta debugging of Zeller and Hildebrandt ("Simplifying and Isolating Failure-Inducing Input", 2002) without its tests of
 * subsets, which program reducers omit because a small subset of a program is rarely a valid program.
 *
 * @param parts candidates for removal
 * @param holds returns whether the condition holds with only these parts; called in a deterministic order
 * @returns the parts that cannot be removed, in order
 */
export async function fewest<T>(
  parts: readonly T[],
  holds: (kept: readonly T[]) => Promise<boolean>,
  { stopped }: Limits,
): Promise<readonly T[]> {
  let kept = parts;
  for (let size = parts.length; size >= 1 && kept.length > 0; ) {
    let went = false;
    // Start at the end, where few other parts depend on the removed ones.
    for (let end = kept.length; end > 0 && !stopped(); end -= size) {
      const start = Math.max(0, end - size);
      const less = [...kept.slice(0, start), ...kept.slice(end)];
      if (!(await holds(less))) continue;
      kept = less;
      went = true;
    }
    if (stopped()) break;
    if (size === 1 && !went) break;
    size = size === 1 ? 1 : Math.max(1, size >> 1);
  }
  return kept;
}

/** A way to make a program smaller: parts that can be removed or simplified independently. */
export interface Reduction<S> {
  /** The kind of parts, for progress messages, such as 'instructions'. */
  readonly name: string;
  /** The number of such parts, and a function that removes those with given numbers, from 0; null if the reduction does not apply. */
  readonly of: (
    s: S,
  ) => { readonly count: number; readonly without: (gone: ReadonlySet<number>) => S } | null;
}

/**
 * A reduction defined by a function that rebuilds a program and calls `goes` for each part, in a deterministic order, to decide whether to
 * remove it.
 * @param rebuild called once to count the parts, and once for each candidate
 */
export const offering = <S>(name: string, rebuild: (s: S, goes: () => boolean) => S): Reduction<S> => ({
  name,
  of(s) {
    let count = 0;
    rebuild(s, () => {
      count++;
      return false;
    });
    const without = (gone: ReadonlySet<number>): S => {
      let i = 0;
      return rebuild(s, () => gone.has(i++));
    };
    return { count, without };
  },
});

/** Maximum number of rounds over all reductions, since each may enable others. Programs of the tests need three or four. */
const ROUNDS = 12;

/**
 * Applies reductions in turn until none of them makes the program smaller.
 *
 * @param holds returns whether a candidate still shows the failure
 * @param tell called after every improvement with the name of the reduction and the best program so far
 */
export async function reduceBy<S>(
  start: S,
  reductions: readonly Reduction<S>[],
  holds: (s: S) => Promise<boolean>,
  limits: Limits,
  tell: (what: string, best: S) => void = () => {},
): Promise<S> {
  let best = start;
  for (let round = 0; round < ROUNDS; round++) {
    const before = best;
    for (const { name, of } of reductions) {
      if (limits.stopped()) return best;
      const parts = of(best);
      if (parts === null || parts.count === 0) continue;
      const all = Array.from({ length: parts.count }, (_, i) => i);
      const without = (kept: readonly number[]): S => {
        const left = new Set(kept);
        return parts.without(new Set(all.filter((i) => !left.has(i))));
      };
      await fewest(
        all,
        async (kept) => {
          const candidate = without(kept);
          if (!(await holds(candidate))) return false;
          best = candidate;
          tell(name, best);
          return true;
        },
        limits,
      );
    }
    if (best === before) break;
  }
  return best;
}
