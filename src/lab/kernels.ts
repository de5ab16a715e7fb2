import { dirname, resolve } from 'node:path';
import { type Diagnostic, DiagnosticError, fileError } from '../ir/diagnostic.ts';
import { hashText } from '../ir/hash.ts';
import type { Program } from '../ir/program.ts';
import { baseTarget } from '../ir/target.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { paramBase, readOri, readPtx, targetOf } from '../read.ts';
import { shownPath } from '../spec/node.ts';
import { readNamed, whyUnread } from '../spec/node-files.ts';
import { type LoadedLaunch, loadLaunch } from '../spec/node-launch.ts';
import type { Plan } from '../spec/plan.ts';
import { containedText, namedModule } from './contained.ts';
import { isLaunchFile, kernelAndLaunchFiles, launchFilesBeside, seeFound, stemOf } from './files.ts';

/** A file of kernels with its launches. */
export interface Module {
  readonly file: string;
  readonly text: string;
  /** Target that the text names, such as sm_90; null if it names none. */
  readonly target: string | null;
  readonly launches: readonly LoadedLaunch[];
}

/** A module lowered for a plan. */
export interface Lowered {
  readonly program: Program;
  /** The parsed module, for writing PTX; null for Ori text. */
  readonly ptx: PtxModule | null;
  /** Cache key (`loweredKey`). */
  readonly key: string;
  /** Functions without an Ori form, with the reasons. */
  readonly warnings: readonly Diagnostic[];
}

/**
 * Reads modules and the launches in their folders. A launch file names its module and also applies to the module's versions for other
 * targets in the same folder. If launch files are given explicitly, their modules have only those launches.
 *
 * @param base folder to which patterns are relative
 * @throws DiagnosticError if a file is missing or faulty
 */
export async function loadModules(patterns: readonly string[], base = '.'): Promise<Module[]> {
  const out: Module[] = [];
  for (const file of kernelAndLaunchFiles(patterns, base)) {
    if (!isLaunchFile(file)) {
      const launches: LoadedLaunch[] = [];
      for (const l of launchFilesBeside(file)) {
        seeFound(dirname(l), l);
        const launch = await loadLaunch(l);
        if (stemOf(launch.modulePath) === stemOf(file)) launches.push(launch);
      }
      out.push(moduleOf(file, launches));
      continue;
    }
    const launch = await loadLaunch(file, true);
    const module = shownPath(resolve(launch.modulePath));
    const known = out.findIndex((m) => m.file === module);
    if (known < 0) out.push(moduleOf(module, [launch]));
    else out[known] = { ...out[known], launches: [...out[known].launches, launch] };
  }
  return out;
}

/** The error for modules without any kernel, of which nothing can be measured. */
export const noKernel = (): DiagnosticError =>
  fileError('', 'no kernel was found', ['a kernel is a .entry that has an Ori form']);

/**
 * Text of a PTX or Ori file, or the PTX inside of a binary or listing; `file#2` selects the second module of one.
 * @throws DiagnosticError if it cannot be read or has no PTX
 */
export function readWhole(file: string): string {
  try {
    const named = namedModule(file);
    const bytes = readNamed(named.file, 'input');
    const contained = containedText(named.file, bytes, named.nth);
    if (contained === null) return bytes.toString('utf8');
    if (typeof contained === 'string') return contained;
    throw fileError(file, contained.fault, contained.notes);
  } catch (e) {
    if (e instanceof DiagnosticError) throw e;
    throw fileError(file, whyUnread(e));
  }
}

function moduleOf(file: string, launches: readonly LoadedLaunch[]): Module {
  const text = readWhole(file);
  const target = targetOf(text);
  return { file, text, target: target === null ? null : baseTarget(target), launches };
}

/** Hash of everything that lowering depends on: the text, the target, the address of parameters, and the instruction set. */
export const loweredKey = (m: Module, plan: Plan): string =>
  hashText(m.text, `${plan.sm}|${paramBase(plan)}|${plan.isa.hash}`);

/**
 * Lowers a module for the target and the instruction set of a plan.
 * @throws DiagnosticError with every fault of its text
 */
export function lowerModule(m: Module, plan: Plan): Lowered {
  const key = loweredKey(m, plan);
  const { program, module, warnings } = (m.file.endsWith('.ori') ? readOri : readPtx)(m.text, plan, m.file);
  return { program, ptx: module, key, warnings };
}

/** True if launches run every kernel of a module. */
export const isLaunched = (m: Module, plan: Plan): boolean =>
  m.launches.length > 0 &&
  lowerModule(m, plan).program.functions.every(
    (f) => f.kind !== 'entry' || m.launches.some((l) => l.kernel === f.name),
  );
