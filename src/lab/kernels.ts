import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Diagnostic, DiagnosticError } from '../ir/diagnostic.ts';
import { hashText } from '../ir/hash.ts';
import type { Program } from '../ir/program.ts';
import { parseProgram } from '../ir/text.ts';
import { verifyMessage, verifyProgram } from '../ir/verify.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { checkPtx } from '../ptx/check.ts';
import { lowerPtx } from '../ptx/lower/index.ts';
import { parsePtx } from '../ptx/parse.ts';
import { type LoadedLaunch, loadLaunch } from '../spec/launch.ts';
import { fileFault, shownPath } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import { isLaunchFile, kernelFiles, launchFilesBeside, stemOf } from './files.ts';

/** A file of kernels as it was read, with the launches that are known for it. */
export interface Module {
  readonly file: string;
  readonly text: string;
  /** Target that the text names: sm_90; null where it names none. */
  readonly target: string | null;
  /** As parsed; null for Ori text. */
  readonly ptx: PtxModule | null;
  readonly launches: readonly LoadedLaunch[];
}

/** A module lowered for a plan. */
export interface Lowered {
  readonly program: Program;
  /** Names it for caches: what it was lowered from, and how. */
  readonly key: string;
  /** Functions that have no Ori form, with the reasons. */
  readonly warnings: readonly Diagnostic[];
}

/** `sm_90` of `sm_90a`. */
const baseTarget = (t: string | undefined): string | null => t?.replace(/[af]$/, '') ?? null;

/**
 * Reads modules and the launches beside them. A launch file names its module, and stands for the versions of it that the
 * folder has for other targets too; given itself, it is the only one of its module.
 *
 * @param base folder that patterns are relative to
 * @throws DiagnosticError for what is missing or broken
 */
export async function loadModules(patterns: readonly string[], base = '.'): Promise<Module[]> {
  const out: Module[] = [];
  for (const file of kernelFiles(patterns, base)) {
    if (!isLaunchFile(file)) {
      const launches = [];
      for (const l of launchFilesBeside(file)) {
        const launch = await loadLaunch(l);
        if (stemOf(launch.modulePath) === stemOf(file)) launches.push(launch);
      }
      out.push(readModule(file, launches));
      continue;
    }
    const launch = await loadLaunch(file, true);
    const module = shownPath(resolve(launch.modulePath));
    const known = out.findIndex((m) => m.file === module);
    if (known < 0) out.push(readModule(module, [launch]));
    else out[known] = { ...out[known], launches: [...out[known].launches, launch] };
  }
  return out;
}

function readModule(file: string, launches: readonly LoadedLaunch[]): Module {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (e) {
    throw new DiagnosticError([
      fileFault(file, `cannot read the file (${(e as NodeJS.ErrnoException).code})`),
    ]);
  }
  if (file.endsWith('.ori')) {
    const target = baseTarget(/^\.program .* target (sm_\w+)/m.exec(text)?.[1]);
    return { file, text, target, ptx: null, launches };
  }
  const { module, diagnostics } = parsePtx(text, file);
  const faults = [...diagnostics, ...checkPtx(module)].filter((d) => d.severity === 'error');
  if (faults.length > 0) throw new DiagnosticError(faults);
  return { file, text, target: baseTarget(module.target[0]), ptx: module, launches };
}

/**
 * Lowers a module for the target and the instruction set of a plan.
 * @throws DiagnosticError for Ori text that does not hold
 */
export function lowerModule(m: Module, plan: Plan): Lowered {
  const key = hashText(m.text, `${m.file}|${plan.sm}|${plan.isa.hash}`);
  if (m.ptx === null) {
    const { program, diagnostics } = parseProgram(m.text, plan.isa, m.file);
    const faults = diagnostics.filter((d) => d.severity === 'error');
    if (faults.length > 0) throw new DiagnosticError(faults);
    const wrong = verifyProgram(program);
    if (wrong.length > 0)
      throw new DiagnosticError([
        fileFault(m.file, 'this is no valid program', wrong.slice(0, 10).map(verifyMessage)),
      ]);
    return { program, key, warnings: [] };
  }
  const { program, diagnostics } = lowerPtx(m.ptx, {
    isa: plan.isa,
    paramBase: paramBase(plan),
    sm: plan.sm,
  });
  return { program, key, warnings: diagnostics };
}

/** Offset of kernel parameters in constant bank 0. */
export const paramBase = (plan: Plan): number => Number(plan.backend.facts['param-base'] ?? 0);
