import type { Pass } from './pass.ts';
import { verified } from './verified.ts';

/**
 * Phase 94, FinalInspectionPass: the last legality check before code layout.
 *
 * before, after: the same text; ends the run if a rule is violated
 *
 * Requires: control-last. Guarantees: the rules of phases 0 and 12. Pseudo instructions are rejected only if the
 * binding sets `no-pseudo: true`, because some of the phases that expand them do not exist yet.
 * Bound: one look at each operand.
 */
export const finalInspection: Pass = (fn, ctx) =>
  verified(fn, ctx, { controlLast: true, noPseudo: ctx.params['no-pseudo'] === true });
