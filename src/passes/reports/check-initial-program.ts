import type { Pass } from '../pass.ts';
import { verified } from './verified.ts';

/**
 * Phase 0, OriCheckInitialProgram: is the front end's output a valid program?
 *
 * before, after: the same text; a broken program ends the run and every violated rule is reported, e.g.
 *       axpy, BB2, instruction 3: source to of 'BRA BB9' names BB9, which does not exist
 *
 * Requires: nothing. Guarantees: shapes, register files and widths, targets, tables and symbols are valid; control operations may still
 * occur in the middle of a block. Bound: each operand is examined once.
 */
export const checkInitialProgram: Pass = (fn, ctx) => verified(fn, ctx, {});
