import { decidedByLaunches, type Experiment, loadExperiment, namesNoMetrics } from '../../lab/experiment.ts';
import { isLaunched, loadModules, type Module } from '../../lab/kernels.ts';
import type { MeasureOptions } from '../../lab/measure.ts';
import { Plans } from '../../lab/plans.ts';
import { type Cell, cellsOf } from '../../lab/sweep.ts';
import { loadShipped } from '../../spec/node.ts';
import { foreignFaults } from '../rules/verdicts.ts';
import { failWith } from '../terminal/ui.ts';
import { measureOptions } from './lab.ts';

/** An experiment and everything that running its cells needs: the same in every process and thread that reads the file. */
export interface SweepSetup {
  readonly experiment: Experiment;
  readonly modules: readonly Module[];
  readonly plans: Plans;
  readonly cells: readonly Cell[];
  readonly measure: MeasureOptions;
}

/**
 * Reads an experiment, its kernels and launches.
 *
 * @throws DiagnosticError for their faults, or if the base is not a plan
 */
export async function loadSweep(file: string): Promise<SweepSetup> {
  if (!/\.ya?ml$/.test(file))
    failWith(`${file} is not an experiment`, 'an experiment is a YAML file: `orrery sweep --help`');
  const specs = await loadShipped();
  const read = await loadExperiment(file, specs);
  const modules = await loadModules(read.kernels, read.folder);
  const plans = new Plans(read.base, Promise.resolve(specs), foreignFaults);
  let launched = namesNoMetrics(read);
  for (const m of modules) {
    const plan = await plans.plan(read.arms[0].arm, m.target);
    launched &&= isLaunched(m, plan);
  }
  const experiment = launched ? decidedByLaunches(read) : read;
  const wanted = [...experiment.metrics, ...experiment.bounds.map((b) => b.metric)];
  const ptxas = wanted.some((m) => m.source === 'ptxas' || m.source === 'machine');
  const launches = wanted.some((m) => ['simulator', 'machine'].includes(m.source) || m.name === 'cycles');
  const measure = {
    ...measureOptions({ launches: true, ptxas: ptxas ? undefined : false }, specs, wanted),
    launches: true,
  };
  if (ptxas && measure.ptxas === undefined)
    failWith(
      'the experiment needs metrics of ptxas, and ptxas cannot be run',
      'put it on PATH or name it in ORRERY_PTXAS',
    );
  if (launches && modules.every((m) => m.launches.length === 0))
    failWith('the experiment needs metrics of launches, and there is no launch file beside the kernels');
  return { experiment, modules, plans, cells: cellsOf(experiment, modules), measure };
}
