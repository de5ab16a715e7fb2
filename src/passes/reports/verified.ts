import { type Diagnostic, DiagnosticError } from '../../ir/diagnostic.ts';
import type { Fn } from '../../ir/program.ts';
import { type VerifyError, type VerifyOptions, verifyFn } from '../../ir/verify.ts';
import type { PassContext } from '../pass.ts';

/** Errors shown in full before the rest is only counted: enough to see a pattern, few enough for one screen. */
const SHOWN = 8;

/**
 * Runs the verifier for one of the checking phases.
 *
 * @param more errors that another check found
 * @returns `fn`
 * @throws DiagnosticError with all errors, naming function, block, instruction and violated rule
 */
export function verified(
  fn: Fn,
  ctx: PassContext,
  opts: VerifyOptions,
  more: readonly VerifyError[] = [],
): Fn {
  const errors = [...verifyFn(fn, ctx.program, opts), ...more];
  if (errors.length === 0) return fn;
  for (const e of errors) {
    const ins = fn.blocks.find((b) => b.id === e.block)?.ins[e.index];
    ctx.remark('missed', 'invalid', `${e.rule}: ${e.message}`, { block: e.block, ins });
  }
  throw new DiagnosticError(errors.map((e, i) => diagnostic(e, i, errors.length, ctx)).slice(0, SHOWN));
}

function diagnostic(e: VerifyError, index: number, total: number, ctx: PassContext): Diagnostic {
  const at = `${e.fn}${e.block >= 0 ? `, BB${e.block}` : ''}${e.index >= 0 ? `, instruction ${e.index}` : ''}`;
  const notes = [`rule '${e.rule}', found by phase ${ctx.phase}`];
  if (index === SHOWN - 1 && total > SHOWN) notes.push(`and ${total - SHOWN} more`);
  return {
    severity: 'error',
    code: `invalid-ir-${e.rule}`,
    message: `${at}: ${e.message}`,
    file: ctx.program.name,
    line: ctx.program.locs[e.loc]?.line ?? 0,
    column: 1,
    length: 1,
    notes,
  };
}
