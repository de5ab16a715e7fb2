import { type Compiled, compiledKernels, cubinFrom, RECIPE } from '../../src/codegen/module.ts';
import { codePasses } from '../../src/codegen/passes.ts';
import type { Elf } from '../../src/cubin/elf.ts';
import { readCubin } from '../../src/cubin/read.ts';
import { host, runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import { type Lifted, liftKernel } from '../../src/lift/lift.ts';
import type { Machine } from '../../src/machine/forms.ts';
import { paramBase } from '../../src/read.ts';
import { makePlan } from '../../src/spec/node.ts';
import { loadMachine } from '../../src/spec/node-machine.ts';
import { loadSelection } from '../../src/spec/node-selection.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { plain, shipped } from '../support/specs.ts';

/** What `orrery asm` compiles with, for a target. */
export interface BackEnd {
  readonly plan: Plan;
  readonly machine: Machine;
  readonly selection: Awaited<ReturnType<typeof loadSelection>>;
}

export async function backEnd(sm: string, level = 3): Promise<BackEnd> {
  const { plan } = await makePlan({ ...plain, sm, level, recipes: [RECIPE] }, host, shipped);
  const machine = await loadMachine(sm);
  if (plan === null || machine === null) throw new Error(`no plan or no machine code for ${sm}`);
  return { plan, machine, selection: await loadSelection() };
}

/** Code of the kernels of a program, which the pipeline has optimized unless `isFinal`. */
export function compiled(
  program: Program,
  { plan, machine, selection }: BackEnd,
  { isFinal = false, registers }: { isFinal?: boolean; registers?: number } = {},
): { readonly program: Program; readonly kernels: readonly Compiled[] } {
  const { facts } = plan.backend;
  const limits = {
    ...(facts.limits as object),
    ...(registers === undefined ? {} : { 'max-registers': registers }),
  };
  const limited = { ...plan, backend: { ...plan.backend, facts: { ...facts, limits } } };
  const { last } = runPipeline(program, limited, {
    snapshots: 'ends',
    codePasses: codePasses({ sm: plan.sm, machine, selection }),
    ...(isFinal ? { startAt: 'AdvancedPhasePreSched' } : {}),
  });
  return { program: last, kernels: compiledKernels(last) };
}

/** The cubin of kernels that were all compiled. */
export function cubinOf(c: ReturnType<typeof compiled>, sm: string): Elf {
  const done = c.kernels.map((k) => {
    if ('why' in k) throw new Error(`${k.fn.name}: ${k.why}`);
    return k;
  });
  return readCubin(cubinFrom(c.program, sm, done));
}

/** A kernel of a cubin as Ori. */
export const lifted = (elf: Elf, source: Program, kernel: string, { plan, machine }: BackEnd): Lifted =>
  liftKernel(elf, machine, plan.isa, source, kernel, paramBase(plan));
