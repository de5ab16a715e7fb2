import { coldBlocksOf } from '../../analysis/flow/cold-blocks.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 41, MarkAdditionalColdBlocks: finds blocks that hardly ever run.
 *
 *     before, after: the same text; the phase's report reads
 *       # 2 of 7 blocks are cold: BB2 BB6
 *
 * Requires: nothing. Guarantees: nothing that later phases depend on. Phases that place blocks query the analysis
 * (`analysis/flow/cold-blocks.ts`) themselves, because blocks may have been added and removed by then.
 * Bound: nothing until the report is read; then linear in blocks.
 */
export const markColdBlocks: Pass = (fn, ctx) => {
  ctx.report(() => {
    const cold = coldBlocksOf(fn);
    const names = fn.blocks.flatMap((b, k) => (cold[k] === 1 ? [`BB${b.id}`] : []));
    const which = names.length === 0 ? 'none' : `${names.length}`;
    return `# ${which} of ${fn.blocks.length} blocks ${names.length === 1 ? 'is' : 'are'} cold${names.map((n, k) => `${k === 0 ? ': ' : ' '}${n}`).join('')}`;
  });
  return fn;
};
