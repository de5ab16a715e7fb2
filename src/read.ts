/** Reads programs from text for a plan; shared by the library and the command line. */
import { append } from './ir/append.ts';
import { type Diagnostic, DiagnosticError, fileError } from './ir/diagnostic.ts';
import { hasSsaForms } from './ir/flow.ts';
import type { Program } from './ir/program.ts';
import { baseTarget } from './ir/target.ts';
import { parseProgram } from './ir/text.ts';
import { verifyMessage, verifyProgram } from './ir/verify.ts';
import type { PtxModule } from './ptx/ast.ts';
import { checkPtx } from './ptx/check.ts';
import { lowerPtx } from './ptx/lower/index.ts';
import { parsePtx } from './ptx/parse.ts';
import { PTX_TARGETS } from './ptx/targets.ts';
import type { Plan } from './spec/plan.ts';
import type { Specs } from './spec/specs.ts';
import { targetsOf } from './spec/targets.ts';
import { verifySsa } from './ssa/verify.ts';

/** Checks diagnostics. @throws DiagnosticError with all of them if any is an error */
export function refuseErrors(diagnostics: readonly Diagnostic[]): void {
  if (diagnostics.some((d) => d.severity === 'error')) throw new DiagnosticError(diagnostics);
}

const numberOf = (sm: string): number => Number(sm.slice(3));

/**
 * The target whose back end is used for a target: the one with the same name without a suffix; if there is none, the nearest older one, as
 * sm_61 runs code compiled for sm_60; if there is no older one, the oldest. If `target` is not a PTX target, its name without a suffix is
 * returned.
 *
 * @param backends targets that have a back end
 */
export function servingTarget(target: string, backends: Iterable<string>): string {
  const base = baseTarget(target);
  if (!PTX_TARGETS.has(target)) return base;
  let older = '';
  let oldest = '';
  for (const sm of backends) {
    if (sm === base) return base;
    if (oldest === '' || numberOf(sm) < numberOf(oldest)) oldest = sm;
    if (numberOf(sm) < numberOf(base) && (older === '' || numberOf(sm) > numberOf(older))) older = sm;
  }
  return older || oldest || base;
}

/**
 * The first target whose f32 operations do not always flush subnormals, and whose mad.f32 requires a rounding modifier (PTX ISA 9.0, mad).
 */
const FIRST_WITH_SUBNORMALS = 20;

/** The target to plan for if `target` is requested, with a warning if that is another one. */
export function targetFor(specs: Specs, target: string): { sm: string; warnings: readonly Diagnostic[] } {
  const sm = servingTarget(target, targetsOf(specs));
  if (sm === baseTarget(target)) return { sm, warnings: [] };
  const message = `there is no back end for '${target}': that of ${sm} is used, the nearest`;
  const warning: Diagnostic = {
    severity: 'warning',
    code: 'nearest-backend',
    message,
    file: '',
    line: 0,
    column: 0,
    length: 0,
    notes:
      numberOf(target) < FIRST_WITH_SUBNORMALS
        ? [
            "f32 operations of sm_1x flush subnormal numbers, and 'mad.f32' is 'fma.rn.ftz.f32', as where such PTX is compiled for newer machines",
          ]
        : [],
  };
  return { sm, warnings: [warning] };
}

/**
 * The target that a PTX or Ori text names; null if it names none, or one that PTX does not have, which the parser reports at the directive.
 */
export function targetOf(text: string): string | null {
  const named = /^[^\S\n\r\u2028\u2029]*\.target\s+(sm_\w+)/m.exec(text)?.[1];
  if (named !== undefined) return PTX_TARGETS.has(named) ? named : null;
  return /^\.program .* target (sm_\w+)/m.exec(text)?.[1] ?? null;
}

/** Offset of kernel parameters in constant bank 0, in bytes. */
export const paramBase = (plan: Plan): number => Number(plan.backend.facts['param-base'] ?? 0);

/** Maximum bytes of shared memory of a block on a plan's target; infinity if it is unknown. */
export const mostShared = (plan: Plan): number =>
  Number(
    (plan.backend.facts.limits as Readonly<Record<string, unknown>> | undefined)?.['shared-per-cta'] ?? 0,
  ) || Number.POSITIVE_INFINITY;

/** A program as read. */
export interface Read {
  readonly program: Program;
  /** The module as parsed, for `writePtx`; null for Ori text. */
  readonly module: PtxModule | null;
  /** Features newer than the stated PTX version, and functions left out because an instruction has no Ori form. */
  readonly warnings: readonly Diagnostic[];
}

/**
 * Reads PTX and lowers it to Ori for the target of a plan.
 *
 * @param file name for messages
 * @throws DiagnosticError with every fault of the text
 */
export function readPtx(text: string, plan: Plan, file = '<ptx>'): Read & { readonly module: PtxModule } {
  const { module, diagnostics } = parsePtx(text, file, plan.isa.declared);
  const found = [...diagnostics, ...checkPtx(module)];
  refuseErrors(found);
  const lowered = lowerPtx(module, { isa: plan.isa, paramBase: paramBase(plan), sm: plan.sm });
  return { program: lowered.program, module, warnings: [...found, ...lowered.diagnostics] };
}

/** Maximum number of faults reported for a program. */
const MOST_FAULTS = 10;

/**
 * Reads Ori text.
 *
 * @param file name for messages
 * @throws DiagnosticError with every fault of the text, or with faults of the program that it describes
 */
export function readOri(text: string, plan: Plan, file = '<ori>'): Read {
  const { program, diagnostics } = parseProgram(text, plan.isa, file);
  refuseErrors(diagnostics);
  const faults = verifyProgram(program);
  // Passes and the simulator rely on a phi operand for each predecessor. A function must be in SSA form as a whole, or not at all.
  if (faults.length === 0)
    for (const fn of program.functions) if (hasSsaForms(fn)) append(faults, verifySsa(fn));
  if (faults.length === 0) return { program, module: null, warnings: diagnostics };
  const notes = faults.slice(0, MOST_FAULTS).map(verifyMessage);
  const message = `${file} is not a valid program`;
  throw fileError('', message, notes, 'ori-invalid');
}
