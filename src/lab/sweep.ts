import { hashText } from '../ir/hash.ts';
import type { DiskCache } from './disk-cache.ts';
import type { Experiment } from './experiment.ts';
import type { Module } from './kernels.ts';
import type { MeasureOptions } from './measure.ts';
import type { Plans } from './plans.ts';
import { Bench, type TrialResult } from './trials.ts';

/** One arm on one module. */
export interface Cell {
  /** Place of the arm in the experiment. */
  readonly arm: number;
  readonly file: string;
}

export interface FinishedCell extends Cell {
  readonly result: TrialResult;
}

/** Name of a cell among those of its sweep. */
export const cellKey = (c: Cell): string => `${c.arm} ${c.file}`;

/** Every cell of an experiment, module by module, so that what a module's arms share is at hand. */
export const cellsOf = (experiment: Experiment, modules: readonly Module[]): Cell[] =>
  modules.flatMap((m) => experiment.arms.map((_, arm) => ({ arm, file: m.file })));

/**
 * What decides the results of a sweep: the experiment, the texts of its kernels and launches, the plan of every arm. Results
 * of another identity are results of something else.
 */
export async function identityOf(
  experiment: Experiment,
  modules: readonly Module[],
  plans: Plans,
): Promise<string> {
  const targets = new Set(modules.map((m) => m.target));
  const hashes: string[] = [];
  for (const { arm } of experiment.arms)
    for (const t of targets) hashes.push((await plans.tryPlan(arm, t)).plan?.hash ?? 'illegal');
  const files = modules.map((m) => [m.file, hashText(m.text), m.launches.map((l) => hashText(l.spec.text))]);
  return hashText(JSON.stringify([experiment.spec.data, files, hashes]));
}

export interface SweepOptions {
  readonly measure: MeasureOptions;
  /** Where results of phases are kept beyond this process. */
  readonly disk?: DiskCache;
  /** Cells that are done already, by `cellKey`. */
  readonly done: ReadonlySet<string>;
  /** Told of each finished cell, in the order of the cells. */
  readonly onCell: (cell: FinishedCell) => void;
  /** Asked before each cell; true ends the sweep there. */
  readonly stop?: () => boolean;
}

/**
 * Runs cells that are not done yet.
 * @returns whether all were run
 */
export async function runCells(
  cells: readonly Cell[],
  experiment: Experiment,
  modules: readonly Module[],
  plans: Plans,
  opts: SweepOptions,
): Promise<boolean> {
  const byFile = new Map(modules.map((m) => [m.file, m]));
  let bench: Bench | null = null;
  for (const cell of cells) {
    if (opts.done.has(cellKey(cell))) continue;
    if (opts.stop?.() === true) return false;
    const module = byFile.get(cell.file)!;
    if (bench?.module !== module) {
      bench?.close();
      bench = new Bench(module, opts.measure, opts.disk);
    }
    opts.onCell({ ...cell, result: await bench.run(experiment.arms[cell.arm].arm, plans) });
    // Signals are heard only between turns.
    await new Promise((next) => setImmediate(next));
  }
  bench?.close();
  return true;
}
