import { inexactness } from './engine/inexact.ts';
/**
 * Orrery without Node: everything that works on texts and data, for browsers, workers and tests. `orrery` adds file access.
 *
 * `openSpecs` collects the specs, `planOf` resolves them for a target, `readPtx` lowers PTX for that plan, `optimize` runs the
 * plan, `simulate` and `compare` execute kernels, and `writePtx` writes PTX again. Functions throw a `DiagnosticError` that
 * carries every problem found; `renderDiagnostic` formats one.
 */
import type { Journal } from './engine/journal.ts';
import { host, type PipelineOptions, runPipeline } from './engine/pipeline.ts';
import { append } from './ir/append.ts';
import { type Diagnostic, DiagnosticError } from './ir/diagnostic.ts';
import type { Program } from './ir/program.ts';
import type { EffortName } from './judge/effort.ts';
import { type Judgement, judgeKernel } from './judge/judge.ts';
import { avoidFaults, avoidsFaults, faultWarnings, KnownFaults } from './known-faults.ts';
import type { PtxModule } from './ptx/ast.ts';
import { emitPtx } from './ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from './ptx/emit/table.ts';
import { paramBase, refuseErrors, targetFor } from './read.ts';
import { type Launch, type LaunchOptions, type LaunchResult, runLaunch } from './sim/launch.ts';
import { type ShippedSpecs, shippedSpecFiles, specsOf, withSpec } from './spec/collect.ts';
import { readSpec } from './spec/document.ts';
import { issueDiagnostics } from './spec/issue-diagnostics.ts';
import { launchOf, type ReadData } from './spec/launch-data.ts';
import type { Plan } from './spec/plan.ts';
import { PTXAS_LEVEL } from './spec/ptxas-faults.ts';
import { resolve } from './spec/resolve.ts';
import type { PlanRequest, Specs } from './spec/specs.ts';
import { withoutSsa } from './ssa/program.ts';

export type { Journal, PhaseRecord } from './engine/journal.ts';
export type { PhaseMemory, RunMemory } from './engine/memory.ts';
export type { PipelineOptions } from './engine/pipeline.ts';
export {
  type Decision,
  type DecisionCounts,
  RecipeManager,
  type RecipeUser,
} from './engine/recipe-manager.ts';
export { memoryReport, type TimingRecord, timingRecords } from './engine/report.ts';
export { type Span, type Trace, type TraceEvent, traceOf } from './engine/trace-events.ts';
export { type Diagnostic, DiagnosticError, renderDiagnostic } from './ir/diagnostic.ts';
export type { Isa, Opcode } from './ir/opcode.ts';
export type { Operand, Reg } from './ir/operand.ts';
export type { Block, Fn, Instr, Program } from './ir/program.ts';
export { baseTarget } from './ir/target.ts';
export { printFn, printInstr, printProgram } from './ir/text.ts';
export type { Judgement } from './judge/judge.ts';
export type { PtxModule } from './ptx/ast.ts';
export { paramBase, type Read, readOri, readPtx, targetOf } from './read.ts';
export type { Launch, LaunchOptions, LaunchParam, LaunchResult } from './sim/launch.ts';
export type { ShippedSpecs } from './spec/collect.ts';
export { phaseIndex } from './spec/phase-names.ts';
export type { Plan, PlanPhase, ResolvedKnob } from './spec/plan.ts';
export type { PlanRequest, Specs } from './spec/specs.ts';

/**
 * The specs from which plans are resolved: the shipped ones and the given documents.
 *
 * @param shipped the export `shipped` of `orrery/specs`
 * @param documents YAML texts by file name: orders, recipes, knob sets, rules, back ends. Requests, and the documents themselves,
 *   refer to them by these names
 * @throws DiagnosticError with every fault in the form of the documents
 */
export function openSpecs(shipped: ShippedSpecs, documents: Readonly<Record<string, string>> = {}): Specs {
  const faults: Diagnostic[] = [];
  let specs = specsOf(shippedSpecFiles(shipped));
  for (const [file, text] of Object.entries(documents)) {
    const { spec, diagnostics } = readSpec(file, text, (kind) => shipped.schemas[kind]);
    append(faults, diagnostics);
    if (spec !== null) specs = withSpec(specs, spec);
  }
  refuseErrors(faults);
  return specs;
}

/**
 * The plan for a request: the phase index array, what is bound to each phase, and the value of every knob. Warnings are in
 * `Plan.warnings`.
 *
 * @param request `sm` is required (such as `sm_90`; `targetOf` finds it in a text). The defaults are level 3 (or the recipe's), order
 *   `binary`, no recipe, no knob sets, nothing set and nothing disabled
 * @throws DiagnosticError with every fault
 */
export function planOf(specs: Specs, request: Partial<PlanRequest> & { readonly sm: string }): Plan {
  const target = targetFor(specs, request.sm);
  const whole: PlanRequest = {
    level: null,
    order: 'binary',
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
 * Runs a plan over a program, which is not modified. `last` of the journal is the result, and `records` describe what each phase did.
 *
 * @throws DiagnosticError if a pass finds the program invalid, if `verify` finds that a pass made it invalid, or if a rule has faults
 */
export const optimize = (program: Program, plan: Plan, options: PipelineOptions = {}): Journal =>
  runPipeline(program, plan, options);

/**
 * Reads a launch for `simulate` from YAML text.
 *
 * @param data reads a data file that the launch names (`ReadData`)
 * @param file name for messages
 * @throws DiagnosticError with every fault
 */
export function readLaunch(text: string, shipped: ShippedSpecs, data: ReadData, file = '<launch>'): Launch {
  const { spec, diagnostics } = readSpec(file, text, (kind) => shipped.schemas[kind], 'launch');
  if (spec === null) throw new DiagnosticError(diagnostics);
  const { launch, issues } = launchOf(spec, data);
  if (launch === null) throw new DiagnosticError(issueDiagnostics(issues));
  return launch;
}

/** Runs a launch in the simulator and compares its buffers with the expected results. Faults of the kernel are part of the result. */
export const simulate = (
  program: Program,
  plan: Plan,
  launch: Launch,
  options: LaunchOptions = {},
): LaunchResult => runLaunch(program, plan.isa, launch, paramBase(plan), options);

/**
 * Compares the behaviour of a kernel before and after in open worlds, where every address exists, so no launch is needed.
 *
 * @param effort how many worlds are tried; `orrery opt --check auto` uses `medium`
 */
export const compare = (
  before: Program,
  after: Program,
  kernel: string,
  plan: Plan,
  effort: EffortName = 'high',
): Judgement =>
  judgeKernel(before, after, kernel, paramBase(plan), {
    effort,
    inexact: inexactness(plan, before).length > 0,
  });

/** Options of `writePtx`. */
export interface WriteOptions {
  /** The module from which the program was read. Variables, directives and functions without an Ori form are copied from it. */
  readonly module?: PtxModule | null;
  /** Architecture for `.target`; by default that of the module. */
  readonly target?: string | null;
}

/**
 * PTX text of a program. Functions that a run left in SSA form are taken out of it first. Unless knob KeepPtxasFaults is set, code that
 * ptxas is known to miscompile for the plan's target is rewritten. `warnings` name what could not be written and was copied unchanged, and
 * such code that is left.
 *
 * @throws DiagnosticError if something can be neither written nor copied
 * @throws Error if the specs have no document of the kind `ptx`
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
  const { text, diagnostics } = emitPtx(withoutSsa(program, plan.isa), {
    table,
    paramBase: paramBase(plan),
    module,
    target,
  });
  refuseErrors(diagnostics);
  const faults = KnownFaults.of(specs, plan.isa, plan.sm, PTXAS_LEVEL);
  if (faults === null) return { text, warnings: diagnostics };
  const how = { isa: plan.isa, table, paramBase: paramBase(plan), sm: plan.sm };
  const safe = avoidFaults(text, faults, how, avoidsFaults(plan));
  return { text: safe.text, warnings: [...diagnostics, ...faultWarnings(safe.left, '', safe.text)] };
}
