/**
 * Orrery without files: everything that needs no Node, for browsers, workers and tests. `orrery` adds what reads files.
 *
 * The way through: `openSpecs` gives the specs that plans are made of, `planOf` resolves them for a target, `readPtx` lowers
 * PTX for the plan, `optimize` runs the plan, `simulate` and `compare` run kernels, `writePtx` writes PTX again. What cannot go
 * on throws `DiagnosticError` with everything that was found; `renderDiagnostic` makes text of a diagnostic.
 */
import type { Journal } from './engine/journal.ts';
import { host, type PipelineOptions, runPipeline } from './engine/pipeline.ts';
import { type Diagnostic, DiagnosticError } from './ir/diagnostic.ts';
import type { Program } from './ir/program.ts';
import type { PtxModule } from './ptx/ast.ts';
import { emitPtx } from './ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from './ptx/emit/table.ts';
import { paramBase, refuseErrors, targetFor } from './read.ts';
import { type Launch, type LaunchOptions, type LaunchResult, runLaunch } from './sim/launch.ts';
import { type OpenComparison, sameOpenWorld } from './sim/open-world.ts';
import { type ShippedSpecs, shippedSpecFiles, specsOf, withSpec } from './spec/collect.ts';
import { readSpec } from './spec/document.ts';
import { issueDiagnostics } from './spec/issue-diagnostics.ts';
import { launchOf, type ReadData } from './spec/launch-data.ts';
import type { Plan } from './spec/plan.ts';
import { resolve } from './spec/resolve.ts';
import type { PlanRequest, Specs } from './spec/specs.ts';

export type { Journal, PhaseRecord } from './engine/journal.ts';
export type { PipelineOptions } from './engine/pipeline.ts';
export { type Diagnostic, DiagnosticError, renderDiagnostic } from './ir/diagnostic.ts';
export type { Isa, Opcode } from './ir/opcode.ts';
export type { Operand, Reg } from './ir/operand.ts';
export type { Block, Fn, Instr, Program } from './ir/program.ts';
export { printFn, printInstr, printProgram } from './ir/text.ts';
export type { PtxModule } from './ptx/ast.ts';
export { baseTarget, paramBase, type Read, readOri, readPtx, targetOf } from './read.ts';
export type { Launch, LaunchOptions, LaunchParam, LaunchResult } from './sim/launch.ts';
export type { OpenComparison } from './sim/open-world.ts';
export type { ShippedSpecs } from './spec/collect.ts';
export type { Plan, PlanPhase, ResolvedKnob } from './spec/plan.ts';
export type { PlanRequest, Specs } from './spec/specs.ts';

/**
 * The specs that plans are made of.
 *
 * @param shipped what `orrery/specs` exports
 * @param documents YAML texts by file name: orders, recipes, knob sets, rules, back ends. A plan asks for them by file name, and
 *   they name one another so
 * @throws DiagnosticError with everything that is wrong with the form of the documents
 */
export function openSpecs(shipped: ShippedSpecs, documents: Readonly<Record<string, string>> = {}): Specs {
  const faults: Diagnostic[] = [];
  let specs = specsOf(shippedSpecFiles(shipped));
  for (const [file, text] of Object.entries(documents)) {
    const { spec, diagnostics } = readSpec(file, text, (kind) => shipped.schemas[kind]);
    faults.push(...diagnostics);
    if (spec !== null) specs = withSpec(specs, spec);
  }
  refuseErrors(faults);
  return specs;
}

/**
 * The plan for a request: the phase index array, what is bound to each phase, every knob's value. Its warnings are in `warnings`.
 *
 * @param request `sm` is needed (`sm_90`; `targetOf` finds it in a text); the others default to level 3, order `binary`, no recipe,
 *   no knob sets, nothing set, nothing disabled
 * @throws DiagnosticError with everything that is wrong
 */
export function planOf(specs: Specs, request: Partial<PlanRequest> & { readonly sm: string }): Plan {
  const target = targetFor(specs, request.sm);
  const whole: PlanRequest = {
    level: null,
    order: 'binary',
    recipe: null,
    knobSets: [],
    set: [],
    disable: [],
    ...request,
    sm: target.sm,
  };
  const { plan, issues } = resolve(specs, whole, host);
  const warnings = issueDiagnostics(issues);
  if (plan === null) throw new DiagnosticError(warnings);
  return { ...plan, warnings: [...target.warnings, ...warnings] };
}

/**
 * Runs a plan over a program. The program is not changed; `last` of the journal is the result, and `records` say what each phase did.
 *
 * @throws DiagnosticError where a pass finds the program broken, or with `verify` breaks it, and for rules that have faults
 */
export const optimize = (program: Program, plan: Plan, options: PipelineOptions = {}): Journal =>
  runPipeline(program, plan, options);

/**
 * A launch from its YAML text, for `simulate`.
 *
 * @param data contents of the files that it names, null for one that is not there
 * @throws DiagnosticError with everything that is wrong
 */
export function readLaunch(text: string, shipped: ShippedSpecs, data: ReadData, file = '<launch>'): Launch {
  const { spec, diagnostics } = readSpec(file, text, (kind) => shipped.schemas[kind], 'launch');
  if (spec === null) throw new DiagnosticError(diagnostics);
  const { launch, issues } = launchOf(spec, data);
  if (launch === null) throw new DiagnosticError(issueDiagnostics(issues));
  return launch;
}

/** Runs a kernel in the simulator on real memory, and compares what the launch expects. Faults of the kernel are in the result. */
export const simulate = (
  program: Program,
  plan: Plan,
  launch: Launch,
  options: LaunchOptions = {},
): LaunchResult => runLaunch(program, plan.isa, launch, paramBase(plan), options);

/** Compares what a kernel does before and after in an open world, where every address exists: needs no launch. */
export const compare = (before: Program, after: Program, kernel: string, plan: Plan): OpenComparison =>
  sameOpenWorld(before, after, kernel, paramBase(plan));

/** How PTX is written. */
export interface WriteOptions {
  /** What the program was read from: variables, directives and functions without an Ori form are copied from it. */
  readonly module?: PtxModule | null;
  /** Architecture for `.target`; that of the module if absent. */
  readonly target?: string | null;
}

/**
 * PTX text of a program; `warnings` say what could not be written and was kept as it came.
 *
 * @throws DiagnosticError where something can neither be written nor kept, and where the specs lack the table of PTX forms
 */
export function writePtx(
  program: Program,
  plan: Plan,
  specs: Specs,
  options: WriteOptions = {},
): { readonly text: string; readonly warnings: readonly Diagnostic[] } {
  if (specs.ptx === undefined) throw new Error('the specs have no document of the kind ptx');
  const table = new PtxTable(specs.ptx.data as unknown as PtxDoc);
  const { module = null, target = null } = options;
  const { text, diagnostics } = emitPtx(program, { table, paramBase: paramBase(plan), module, target });
  refuseErrors(diagnostics);
  return { text, warnings: diagnostics };
}
