/**
 * Machine code without Node and without ptxas: what `orrery asm` does, for browsers and workers. `orrery/machine` has the data.
 */
import { type CodeForms, MachineSpecs } from './codegen/machine-specs.ts';
import { type Compiled, compiledKernels, cubinFrom, RECIPE, TARGETS } from './codegen/module.ts';
import { codePasses } from './codegen/passes.ts';
import type { Journal } from './engine/journal.ts';
import { type PipelineOptions, runPipeline } from './engine/pipeline.ts';
import { DiagnosticError, fileFault } from './ir/diagnostic.ts';
import type { Program } from './ir/program.ts';
import { baseTarget } from './ir/target.ts';
import type { Plan } from './spec/plan.ts';

export type { CodeForms, MachineData } from './codegen/machine-specs.ts';
export { MachineSpecs };

/** The recipe that plans for machine code have: `planOf(specs, { sm, recipes: [MACHINE_CODE] })`. */
export const MACHINE_CODE = RECIPE;

/** Why there is no machine code for a target; null if there is. */
export const noTarget = (
  sm: string,
): { readonly message: string; readonly notes: readonly string[] } | null =>
  TARGETS.includes(baseTarget(sm))
    ? null
    : {
        message: `machine code is not written for ${sm} yet`,
        notes: [`it is for ${TARGETS.join(', ')}`],
      };

/** A kernel for which there is machine code, or why there is none. */
export type AssembledKernel =
  | {
      readonly name: string;
      readonly why: null;
      /** 32-bit registers of a thread. */
      readonly registers: number;
      /** Values that were moved to local memory. */
      readonly spills: number;
      /** Predicates that were moved to general registers. */
      readonly heldPredicates: number;
      /** Bytes of local memory of a thread, and of shared memory of a block. */
      readonly frameBytes: number;
      readonly sharedBytes: number;
    }
  | {
      readonly name: string;
      readonly why: string;
      /** Line of the PTX that has no machine code; 0 if there is none. */
      readonly line: number;
    };

/** Options of `assemble`. */
export interface AssembleOptions extends PipelineOptions {
  /** The PTX that the program was read from: the cubin gets tables of its lines, and of the source lines that it names. */
  readonly lines?: string;
}

/** Machine code of a program. */
export interface Assembled {
  /** An ELF file that the CUDA driver loads; null if a kernel has no machine code, or there is no kernel. */
  readonly cubin: Uint8Array | null;
  readonly kernels: readonly AssembledKernel[];
  /** What each phase did. */
  readonly journal: Journal;
}

/**
 * Compiles the kernels of a program to machine code. Device functions are inlined.
 *
 * @param program as it was read, which is not modified
 * @param plan with the recipe `MACHINE_CODE`
 * @param forms `new MachineSpecs(machine)` with the export `machine` of `orrery/machine`; it can be used again
 * @throws DiagnosticError if there is no machine code for the target, and as `optimize` does
 */
export function assemble(
  program: Program,
  plan: Plan,
  forms: CodeForms,
  options: AssembleOptions = {},
): Assembled {
  const { journal, compiled, cubin } = assembled(program, plan, forms, options);
  return { journal, cubin, kernels: compiled.map((c) => kernelOf(c, journal.last)) };
}

/** `assemble` with the kernels as code generation has them. */
export function assembled(
  program: Program,
  plan: Plan,
  forms: CodeForms,
  { lines, ...options }: AssembleOptions = {},
): { readonly journal: Journal; readonly compiled: readonly Compiled[]; readonly cubin: Uint8Array | null } {
  const none = noTarget(plan.sm);
  if (none !== null) throw new DiagnosticError([fileFault('', none.message, none.notes, 'no-machine-code')]);
  const sm = baseTarget(plan.sm);
  const journal = runPipeline(program, plan, {
    ...options,
    codePasses: codePasses({ sm, machine: forms.machine(sm), selection: forms.selection }),
  });
  const compiled = compiledKernels(journal.last);
  const done = compiled.flatMap((c) => ('why' in c ? [] : [c]));
  const isWhole = done.length > 0 && done.length === compiled.length;
  return { journal, compiled, cubin: isWhole ? cubinFrom(journal.last, sm, done, lines) : null };
}

function kernelOf(c: Compiled, program: Program): AssembledKernel {
  const { name } = c.fn;
  if ('why' in c) return { name, why: c.why, line: program.locs[c.loc]?.line ?? 0 };
  const { registers, spills, heldPredicates, frameBytes, sharedBytes } = c.code;
  return { name, why: null, registers, spills, heldPredicates, frameBytes, sharedBytes };
}
