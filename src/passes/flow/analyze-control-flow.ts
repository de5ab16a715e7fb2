import { analyzeControlFlow as annotate, BlockFlag } from '../../analysis/flow/control-flow.ts';
import { loopsOf } from '../../analysis/loops/loops.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 3, AnalyzeControlFlow: the first run of the control-flow service (`analysis/flow/control-flow.ts`).
 *
 *     before, after: the same text; blocks, loops and anything irregular are reported
 *
 * Requires: nothing. Guarantees: nothing that later phases depend on. The annotations are cached by snapshot, and every reader queries
 * the service itself, so knob 235, which disables this phase, changes no code (seed 002 says the same of the original). The binding may
 * set `force: true`.
 * Bound: linear in edges, times the loop nesting for the dominators.
 */
export const analyzeControlFlow: Pass = (fn, ctx) => {
  const cf = annotate(fn, { force: ctx.params['force'] === true });
  const forest = loopsOf(fn);
  const reachable = cf.cfg.rpo.length;
  const deepest = forest.loops.reduce((d, l) => Math.max(d, l.depth), 0);
  let inLoop = 0;
  for (const f of cf.flags) if ((f & BlockFlag.InLoop) !== 0) inLoop++;
  ctx.remark(
    'note',
    'control-flow',
    `${cf.cfg.count} blocks (${cf.cfg.count - reachable} unreachable), ${cf.cfg.succ.length} edges, ` +
      `${forest.loops.length} loops (deepest ${deepest}), ${inLoop} blocks in loop intervals`,
  );
  if (cf.rpoViolation) ctx.remark('note', 'rpo-violation', cf.violation);
  return fn;
};
