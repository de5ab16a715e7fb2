import { missingOperations, type Support } from '../../analysis/schedule/target-operations.ts';
import { barrierFaults } from '../../analysis/synchronization/barrier-use.ts';
import type { Pass } from '../pass.ts';
import { verified } from './verified.ts';

/**
 * Phase 94, FinalInspectionPass: the last legality check before code layout.
 *
 * before, after: the same text; ends the run if a rule is violated
 *
 * Requires: control-last. Guarantees: the rules of phases 0 and 12; no operation that the target lacks (the back end's `operations`),
 * whether a phase should have expanded it or the input has it although so old a target cannot run it; and no misuse of a convergence
 * barrier on any path (`barrierFaults`). Pseudo instructions are rejected only if the binding sets `no-pseudo: true`: PTX has them, and
 * ptxas expands them. Bound: each operand is examined once.
 */
export const finalInspection: Pass = (fn, ctx) =>
  verified(fn, ctx, { controlLast: true, noPseudo: ctx.params['no-pseudo'] === true }, [
    ...barrierFaults(fn),
    ...missingOperations(fn, (ctx.fact('operations') ?? {}) as Readonly<Record<string, Support>>, ctx.sm),
  ]);
