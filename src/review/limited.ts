import type { LimitedKernels } from './budget.ts';
import type { Effect } from './effect.ts';

/**
 * The kernels to which limits are applied: those that are correct on both sides, in comparisons of plans that the base has too. New
 * documents and merely permitted orders have no earlier values that they could worsen.
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
