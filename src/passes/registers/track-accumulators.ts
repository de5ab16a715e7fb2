import { matrixGroupsOf } from '../../analysis/synchronization/matrix-groups.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 85, OriPropagateGmma: how many accumulator registers asynchronous matrix products keep in flight.
 *
 *     before, after: the same text; the phase's report reads
 *       # 8 matrix products of a warpgroup; most accumulators in flight: 64 registers, sets: 1, in BB5
 *
 * Knob364 at 0 disables it. Requires: control-last, registers outside of SSA. Guarantees: nothing that phase 87 depends on; that
 * follows the products itself. Bound: nothing if the function has no such product, or until the report is read; then as
 * `analysis/synchronization/matrix-groups.ts`.
 */
export const trackAccumulators: Pass = (fn, ctx) => {
  if (ctx.knob('Knob364') === 0) return fn;
  const { program } = ctx;
  ctx.report(() => {
    const groups = matrixGroupsOf(fn, program);
    if (groups === null) return '# no products of a warpgroup';
    const { products, most } = groups;
    const all = `# ${products.length} matrix products of a warpgroup`;
    if (most === null) return all;
    const { registers, sets, at } = most;
    return `${all}; most accumulators in flight: ${registers} registers, sets: ${sets}, in BB${fn.blocks[at.block].id}`;
  });
  return fn;
};
