import type { ModuleEffect } from '../lab/pair-effects.ts';
import type { Pair } from '../lab/pairs.ts';
import type { Specs } from '../spec/specs.ts';
import { type Cell, cellsOf, SidePlans } from './cells.ts';
import { type Comparison, comparisonsOf, type KernelFiles } from './comparisons.ts';
import { type Effect, effectOf } from './effect.ts';
import type { Measure } from './measures.ts';
import type { Scope } from './requests.ts';
import type { Differences } from './review.ts';

/**
 * Measures the effect of a difference on kernels, with comparisons chosen by `comparisonsOf`.
 *
 * @param sides specs of base and head
 * @param run runs all cells and returns their results in the same order
 */
export async function measured(
  found: Differences,
  sides: Pair<Specs>,
  scope: Scope,
  kernels: KernelFiles,
  measures: readonly Measure[],
  run: (comparisons: readonly Comparison[], cells: readonly Cell[]) => Promise<readonly ModuleEffect[]>,
): Promise<Effect> {
  const plans = new SidePlans(...sides);
  const chosen = await comparisonsOf(found, ...sides, scope, kernels, (p) => plans.fault(p));
  const { comparisons } = chosen;
  const cells = cellsOf(comparisons);
  const results = await run(comparisons, cells);
  return effectOf(
    chosen,
    cells.map((cell, i) => ({ cell, result: results[i] })),
    measures,
  );
}
