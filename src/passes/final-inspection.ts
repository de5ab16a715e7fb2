import type { Pass } from './pass.ts';
import { verified } from './verified.ts';

/**
 * Phase 94, FinalInspectionPass: the last legality check before code is laid out.
 *
 *     before, after: the same text; ends the run where a rule is broken
 *
 * Requires: control-last. Guarantees: the rules of phases 0 and 12. Pseudo instructions are refused only when the binding
 * says `no-pseudo: true`, because the phases that take them apart are not all there yet.
 * Bound: one look at each operand.
 */
export const finalInspection: Pass = (fn, ctx) =>
  verified(fn, ctx, { controlLast: true, noPseudo: ctx.params['no-pseudo'] === true });
