import { host } from '../../engine/pipeline.ts';
import { type Diagnostic, DiagnosticError, fileFault, nearest } from '../../ir/diagnostic.ts';
import { hashText } from '../../ir/hash.ts';
import type { Fn, Program } from '../../ir/program.ts';
import { idleConditions } from '../../lab/idle-conditions.ts';
import { otherFunctions, otherVersions, type ProfileFile, parseProfile } from '../../lab/profile-file.ts';
import type { PtxModule } from '../../ptx/ast.ts';
import { readOri, readPtx, targetFor } from '../../read.ts';
import { loadShipped, makePlan, withFiles } from '../../spec/node.ts';
import type { Plan } from '../../spec/plan.ts';
import type { PlanRequest, Specs } from '../../spec/resolve.ts';
import { beforeEachCommand } from '../command-state.ts';
import { CliExit, failWith, rememberText, show, stopOnErrors } from '../terminal/ui.ts';
import { readText, STANDARD_INPUT } from './files.ts';
import { runsForeign } from './foreign-rules.ts';
import { type PlanOptions, planOptionsOf, requestedSpecs } from './options.ts';
import { situation } from './situation.ts';

/** Warnings about targets that were already printed: a command that reads many files prints each once. */
const printedWarnings = new Set<string>();
beforeEachCommand(() => printedWarnings.clear());

/**
 * The plan that the options select. Errors are printed and end the command.
 *
 * @param beside true for an auxiliary plan: its warnings are not printed, and it is not part of a failure report
 */
export async function planFor(
  o: PlanOptions,
  target: string | null,
  specs?: Specs,
  beside = false,
): Promise<Plan> {
  const base = specs ?? (await loadShipped());
  const level = o.level === undefined ? null : Number(o.level);
  if (level !== null && !Number.isInteger(level))
    failWith(`-O ${o.level} is not a level`, 'levels are 0 to 5');
  if (o.nvopt !== undefined && !/^[-+]?\d+$/.test(o.nvopt))
    failWith(`--nvopt ${o.nvopt} is not an NvOpt level`, 'levels are 0 to 5');
  const { sm, warnings } = targetFor(base, o.sm ?? target ?? 'sm_75');
  for (const w of warnings)
    if (!beside && !printedWarnings.has(w.message)) {
      printedWarnings.add(w.message);
      show([w]);
    }
  const { plan, diagnostics } = await makePlan(requestOf(o, level, sm), host, base);
  if (!beside || plan === null) show(diagnostics);
  if (plan === null) throw new CliExit(1);
  if (beside) return plan;
  if (runsForeign(plan)) (await import('../rules/verdicts.ts')).judgeForeign(plan, o);
  situation.plan = plan;
  situation.options = planOptionsOf(o);
  return plan;
}

/** Reads a profile file; faults end the command. */
export function profileOf(file: string): ProfileFile {
  try {
    return parseProfile(readText(file), file);
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    show(e.diagnostics);
    throw new CliExit(1);
  }
}

/** Warns about functions whose profile was counted for another version of them. */
export const warnOtherVersions = (file: string, program: Program): void =>
  show(otherVersions(file, profileOf(file), program));

/** Warns about a profile that counts none of the functions of all inputs together. */
export const warnOtherFunctions = (file: string, functions: Iterable<string>): void =>
  show(otherFunctions(file, profileOf(file).counts, functions));

/** Warns about settings of a plan for functions that the input does not have: they have no effect. */
export const warnOtherConditions = (file: string, plan: Plan, program: Program): void =>
  show(idleConditions(file, [{ name: '', inputs: [{ plan, program }] }]));

/** Warns if a module cannot be compiled for the target of a plan, because it is for a newer one. */
export function warnNewerTarget(file: string, plan: Plan, module: PtxModule | null, retarget: boolean): void {
  const [named] = module?.target ?? [];
  const number = (sm: string): number => Number(/^sm_(\d+)/.exec(sm)?.[1] ?? 0);
  if (named === undefined || retarget || number(named) <= number(plan.sm)) return;
  show([
    {
      ...fileFault(file, `it is for ${named}: ptxas refuses to make code for ${plan.sm} of it`, [
        'PTX runs on its target and newer ones: `nvcc -ptx -arch=' +
          plan.sm +
          '` makes PTX that runs on ' +
          plan.sm,
        '--retarget states the target of --sm, which holds if nothing in the file needs a newer one',
      ]),
      severity: 'warning',
    },
  ]);
}

/** The plan request of plan options. */
const requestOf = (o: PlanOptions, level: number | null, sm: string): PlanRequest => ({
  level,
  sm,
  ...requestedSpecs(o),
  profile: o.profile === undefined ? null : profileOf(o.profile).counts,
});

/** The source of a plan: the request, and the specs with the files that it names. */
export async function sourceOf(
  o: PlanOptions,
  plan: Plan,
): Promise<{ readonly specs: Specs; readonly request: PlanRequest }> {
  const request = requestOf(o, plan.level, plan.sm);
  const { specs } = await withFiles(await loadShipped(), request);
  return { specs, request };
}

/** Makes plans for files of several targets: specs are read once, and a plan is made once per target. */
export function plansFor(o: PlanOptions): (target: string | null) => Promise<Plan> {
  const specs = loadShipped();
  const plans = new Map<string, Promise<Plan>>();
  return async (target) => {
    const key = o.sm ?? target ?? '';
    let plan = plans.get(key);
    if (plan === undefined) plans.set(key, (plan = planFor(o, target, await specs)));
    return plan;
  };
}

export interface Input {
  readonly program: Program;
  /** The module as parsed; null for Ori text. */
  readonly module: PtxModule | null;
  readonly text: string;
  /** Hash of the text and of the settings it was lowered for; computed lazily, since only a cache needs it. */
  readonly key: string;
  readonly warnings: readonly Diagnostic[];
}

export { readText } from './files.ts';

/** The functions of a program, or the named one. An unknown name ends the command with the names that exist. */
export function functionsOf(file: string, program: Program, name?: string): readonly Fn[] {
  const { functions } = program;
  if (functions.length === 0) failWith(`${file} holds no function that was lowered`);
  if (name === undefined) return functions;
  const chosen = functions.filter((f) => f.name === name);
  if (chosen.length > 0) return chosen;
  const names = functions.map((f) => f.name);
  const near = nearest(name, names);
  return failWith(
    `there is no function '${name}' in ${file}`,
    near.length > 0 ? `did you mean '${near[0]}'?` : `functions are ${names.join(', ')}`,
  );
}

/**
 * Program of a PTX or Ori file for a plan. Faults are printed and end the command; functions without an Ori form are warned about, or are
 * errors if `strict`.
 */
export function programFor(file: string, text: string, plan: Plan, strict = false): Input {
  const keyOf = (): string => hashText(text, `${plan.sm}|${plan.isa.hash}`);
  const name = file === STANDARD_INPUT ? '<stdin>' : file;
  if (name !== file) rememberText(name, text);
  if (file.endsWith('.ori') || (name !== file && /^\.program /m.test(text)))
    return {
      ...readOri(text, plan, name),
      text,
      get key() {
        return keyOf();
      },
    };
  const { program, module, warnings } = readPtx(text, plan, name);
  const leftOut = (d: Diagnostic): boolean => strict && d.code === 'no-ori-form';
  const reported = warnings.map((d) => (leftOut(d) ? { ...d, severity: 'error' as const } : d));
  stopOnErrors(reported);
  return {
    program,
    module,
    text,
    get key() {
      return keyOf();
    },
    warnings: reported,
  };
}
