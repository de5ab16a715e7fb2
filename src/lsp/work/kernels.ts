import { resolve } from 'node:path';
import { planOf } from '../../core.ts';
import { runPipeline } from '../../engine/pipeline.ts';
import { loadModules, lowerModule, type Module } from '../../lab/kernels.ts';
import { DEFAULT_SM } from '../../lab/plans.ts';
import { staticValues } from '../../lab/statics.ts';
import { loadShipped } from '../../spec/node.ts';
import type { Plan } from '../../spec/plan.ts';

/** What the plan that ships does to one kernel. */
export interface KernelFigures {
  readonly kernel: string;
  readonly before: number;
  readonly after: number;
  /** Most general registers in use at once. */
  readonly registers: number;
  /** Resident warps of those that an SM can hold, in percent. */
  readonly occupancy: number;
  readonly sm: string;
  /** Full path of the launch file beside the file that runs it; '' if there is none. */
  readonly launch: string;
}

/** The plan for a module, with everything as it ships. */
export async function planOfModule(m: Module): Promise<Plan> {
  return planOf(await loadShipped(), { sm: m.target ?? DEFAULT_SM });
}

/**
 * Figures of every kernel of a file.
 * @throws DiagnosticError if it cannot be read
 */
export async function kernelFigures(path: string): Promise<KernelFigures[]> {
  const [module] = await loadModules([path]);
  const plan = await planOfModule(module);
  const { program } = lowerModule(module, plan);
  const { last } = runPipeline(program, plan);
  return program.functions
    .filter((f) => f.kind === 'entry')
    .flatMap((f) => {
      const launch = module.launches.find((l) => l.kernel === f.name)?.file;
      const after = last.functions.find((x) => x.name === f.name);
      if (after === undefined) return [];
      const a = staticValues(program, f, plan.backend);
      const b = staticValues(last, after, plan.backend);
      return {
        kernel: f.name,
        before: a.instructions,
        after: b.instructions,
        registers: b['pressure.R'],
        occupancy: b.occupancy,
        sm: plan.sm,
        launch: launch === undefined ? '' : resolve(launch),
      };
    });
}
