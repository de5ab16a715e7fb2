import { isSafeLoad } from '../../analysis/calls/effects.ts';
import { cfgOf } from '../../analysis/flow/cfg.ts';
import { postDominatorsOf } from '../../analysis/flow/dominators.ts';
import type { Fn } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 27, AnalyzeUniformsForSpeculation: which loads from constant banks may run where the program would not have run them.
 *
 *     before, after: the same text; the phase's report reads
 *       # 2 of 3 loads from constant banks may run anywhere; 1 of them stands where control may not come
 *       # BB2: LDC R4, c[0x0][0x160]
 *
 * A load from a fixed place of a bank cannot fault, and gives the same value whenever it runs; one with a computed address might leave
 * the bank. Phases that move or convert code query the property itself: 28 and SinkCodeIntoBlock, 31 and 63
 * (`mayRunAnywhere`), 35, 66, 79 and 88 (`isSafeLoad`); 56 needs no permission, since both arms have what it hoists.
 *
 * Requires: nothing. Guarantees: nothing that later phases depend on. Bound: nothing until the report is read; then linear.
 */
export const speculativeLoads: Pass = (fn, ctx) => {
  ctx.report(() => reportOf(fn).join('\n'));
  return fn;
};

function reportOf(fn: Fn): string[] {
  const { rpo } = cfgOf(fn);
  const { idom } = postDominatorsOf(fn);
  // Blocks that run whenever the function does.
  const certain = new Set<number>();
  for (let b = rpo[0]; b >= 0 && b < fn.blocks.length && !certain.has(b); b = idom[b]) certain.add(b);
  let all = 0;
  let safe = 0;
  const lines: string[] = [];
  for (const [at, b] of fn.blocks.entries())
    for (const x of b.ins) {
      if (x.op.space !== 'const') continue;
      all++;
      if (!isSafeLoad(x)) continue;
      safe++;
      if (!certain.has(at)) lines.push(`# BB${b.id}: ${printInstr(x)}`);
    }
  const stand = lines.length === 1 ? 'stands' : 'stand';
  return [
    `# ${safe} of ${all} loads from constant banks may run anywhere; ${lines.length} of them ${stand} where control may not come`,
    ...lines,
  ];
}
