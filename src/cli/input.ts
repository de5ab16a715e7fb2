import { host } from '../engine/pipeline.ts';
import type { Diagnostic } from '../ir/diagnostic.ts';
import { hashText } from '../ir/hash.ts';
import type { Program } from '../ir/program.ts';
import { parseProgram } from '../ir/text.ts';
import { verifyMessage, verifyProgram } from '../ir/verify.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { checkPtx } from '../ptx/check.ts';
import { lowerPtx } from '../ptx/lower/index.ts';
import { parsePtx } from '../ptx/parse.ts';
import { loadShipped, makePlan } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import type { Specs } from '../spec/resolve.ts';
import { DEFAULT_ORDER } from '../spec/specs.ts';
import type { PlanOptions } from './main.ts';
import { CliExit, failWith, show, stopOnErrors } from './ui.ts';

/** The plan that the options ask for; errors are printed and end the command. */
export async function planFor(o: PlanOptions, target: string | null, specs?: Specs): Promise<Plan> {
  const base = specs ?? (await loadShipped());
  const level = o.level === undefined ? null : Number(o.level);
  if (level !== null && !Number.isInteger(level)) failWith(`-O ${o.level} is no level`, 'levels are 0 to 5');
  const sm = baseTarget(o.sm ?? target) ?? 'sm_75';
  const { plan, diagnostics } = await makePlan(
    {
      level,
      sm,
      order: o.order ?? DEFAULT_ORDER,
      recipe: o.recipe ?? null,
      knobSets: o.knobs ?? [],
      set: o.set ?? [],
      disable: o.disable ?? [],
      rules: o.rules ?? [],
    },
    host,
    base,
  );
  show(diagnostics);
  if (plan === null) throw new CliExit(1);
  return plan;
}

/** `sm_90` of `sm_90a`. */
export const baseTarget = (t: string | null): string | null => t?.replace(/[af]$/, '') ?? null;

/** The target that a PTX or Ori text names. */
export const targetOf = (text: string): string | null =>
  /^\s*\.target\s+(sm_\w+)/m.exec(text)?.[1] ?? /^\.program .* target (sm_\w+)/m.exec(text)?.[1] ?? null;

export interface Input {
  readonly program: Program;
  /** The module as parsed; null for Ori text. */
  readonly module: PtxModule | null;
  readonly text: string;
  readonly key: string;
  readonly warnings: readonly Diagnostic[];
}

export { readText } from './files.ts';

/**
 * Program of a PTX or Ori file for a plan. Faults are printed and end the command; functions without an Ori form are
 * warned about, or are errors if `strict`.
 */
export function programFor(file: string, text: string, plan: Plan, strict = false): Input {
  const key = hashText(text, `${plan.sm}|${plan.isa.hash}`);
  if (file.endsWith('.ori')) {
    const { program, diagnostics } = parseProgram(text, plan.isa, file);
    stopOnErrors(diagnostics);
    const faults = verifyProgram(program);
    if (faults.length > 0) failWith(`${file} is no valid program`, ...faults.slice(0, 10).map(verifyMessage));
    return { program, module: null, text, key, warnings: [] };
  }
  const { module, diagnostics } = parsePtx(text, file);
  stopOnErrors([...diagnostics, ...checkPtx(module)]);
  const base = plan.backend.facts['param-base'];
  const lowered = lowerPtx(module, {
    isa: plan.isa,
    paramBase: typeof base === 'number' ? base : 0,
    sm: plan.sm,
  });
  const warnings = lowered.diagnostics.map((d) => (strict ? { ...d, severity: 'error' as const } : d));
  show(warnings);
  if (strict && warnings.length > 0) throw new CliExit(1);
  return { program: lowered.program, module, text, key, warnings };
}

/** Offset of kernel parameters in constant bank 0. */
export const paramBase = (plan: Plan): number => Number(plan.backend.facts['param-base'] ?? 0);
