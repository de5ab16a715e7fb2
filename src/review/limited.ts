import type { LimitedKernels } from './budget.ts';
import type { Effect } from './effect.ts';

/**
 * The kernels that limits look at: of plans that the base has too, and right on both sides. What is new, or
 * only allowed, is worse than nothing.
 */
export const limitedKernels = ({ comparisons, rows }: Effect): LimitedKernels[] =>
  comparisons
    .filter((c) => c.kind === 'change')
    .map((c) => ({
      plan: c.name,
      kernels: rows.flatMap(({ comparison, kernel, label, effect, wrong }) =>
        comparison === c && effect !== null && wrong.every((x) => x === '')
          ? [{ kernel, label, same: effect.same, values: effect.values }]
          : [],
      ),
    }))
    .filter((p) => p.kernels.length > 0);
