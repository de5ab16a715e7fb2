import { withDeclarations } from '../../ir/edit.ts';
import type { BlockCount } from '../../ir/program.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 20, PerformPGO: gives the blocks their counts from a profile. From here on `frequencyOf` uses these instead
 * of its estimate: if-conversion, switches and loop-invariant motion weigh their changes by measured frequencies.
 *
 *     before                 after, where the profile says so
 *     .entry k               .entry k
 *     {                        .count BB0 32
 *     BB0:                     .count BB1 1
 *       @P1 BRA BB2          {
 *     BB1:                   ...
 *
 * Blocks created by earlier phases have no count; it is inferred from their neighbours.
 *
 * Requires: nothing. Guarantees: only the counts differ.
 * Bound: linear in blocks.
 */
export const attachProfile: Pass = (fn, ctx) => {
  const profile = ctx.profile();
  if (profile === null) return fn;
  const counts: BlockCount[] = [];
  for (const { id } of fn.blocks) {
    const count = profile.get(id);
    if (count !== undefined) counts.push({ block: id, count });
  }
  if (counts.length === 0) {
    ctx.remark(
      'missed',
      'profile-unknown',
      'the profile counts none of its blocks: it is of another program',
    );
    return fn;
  }
  const same = fn.attrs.counts;
  if (
    counts.length === same.length &&
    counts.every((n, k) => n.block === same[k].block && n.count === same[k].count)
  )
    return fn;
  if (!ctx.mayRewrite('profiled')) return fn;
  ctx.remark(
    'passed',
    'profiled',
    `${counts.filter((n) => n.count > 0).length} of ${fn.blocks.length} blocks ran`,
  );
  const { directives, pragmas, linkage, noreturn } = fn.attrs;
  return withDeclarations(fn, fn.variables, { directives, pragmas, linkage, noreturn, counts });
};
