import type { Pass } from '../pass.ts';
import { verified } from './verified.ts';

/**
 * Phase 12, OriSanitize: the consistency check before the first global optimization.
 *
 * before, after: the same text; ends the run if a rule is violated
 *
 * Requires: control-last (phase 6). Guarantees: the rules of phase 0, and that control operations end their blocks.
 * Bound: each operand is examined once.
 */
export const sanitize: Pass = (fn, ctx) => verified(fn, ctx, { controlLast: true });
