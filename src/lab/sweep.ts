import { relative, resolve, sep } from 'node:path';
import { hashText } from '../ir/hash.ts';
import { codeHash } from './code-hash.ts';
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
  /** Module, relative to the folder of the experiment: the same on every machine, wherever the command runs. */
  readonly file: string;
}

export interface FinishedCell extends Cell {
  readonly result: TrialResult;
}

/** Name of a cell among those of its sweep. */
export const cellKey = (c: Cell): string => `${c.arm} ${c.file}`;

/** How the cells of an experiment name a module. */
const nameOf = (m: Module, experiment: Experiment): string =>
  relative(experiment.folder, resolve(m.file)).split(sep).join('/');

/** Every cell of an experiment, module by module, so that what a module's arms share is at hand. */
export const cellsOf = (experiment: Experiment, modules: readonly Module[]): Cell[] =>
  modules.flatMap((m) => {
    const file = nameOf(m, experiment);
    return experiment.arms.map((_, arm) => ({ arm, file }));
  });

/** The programs that make figures; those of two versions cannot be compared. */
export interface Makers {
  /** Hash of the code of orrery. */
  readonly orrery: string;
  /** Version of ptxas; absent where nothing is asked of it. */
  readonly ptxas?: string;
}

export const makersOf = (measure: MeasureOptions): Makers => ({
  orrery: codeHash(),
  ...(measure.ptxas !== undefined && { ptxas: measure.ptxas.version }),
});

/** What results are results of. */
export interface Identity {
  readonly hash: string;
  readonly makers: Makers;
}

/**
 * What decides the results of a sweep: the experiment, the texts of its kernels and launches, the plan of every arm, and what makes
 * the figures. Results of another identity are results of something else.
 */
export async function identityOf(
  experiment: Experiment,
  modules: readonly Module[],
  plans: Plans,
  makers: Makers,
): Promise<Identity> {
  const targets = new Set(modules.map((m) => m.target));
  const hashes: string[] = [];
  for (const { arm } of experiment.arms)
    for (const t of targets) hashes.push((await plans.tryPlan(arm, t)).plan?.hash ?? 'illegal');
  const files = modules.map((m) => [
    nameOf(m, experiment),
    hashText(m.text),
    m.launches.map((l) => hashText(l.spec.text)),
  ]);
  return { hash: hashText(JSON.stringify([experiment.spec.data, files, hashes, makers])), makers };
}

/** What cells are run with. */
export interface CellOptions {
  readonly measure: MeasureOptions;
  /** Where results of phases are kept beyond this process. */
  readonly disk?: DiskCache;
}

/** Runs cells; what cells of one module share, and follow one another, is done once. */
export class CellRunner {
  private readonly experiment: Experiment;
  private readonly plans: Plans;
  private readonly opts: CellOptions;
  private readonly byFile: ReadonlyMap<string, Module>;
  private bench: Bench | null = null;

  constructor(experiment: Experiment, modules: readonly Module[], plans: Plans, opts: CellOptions) {
    this.experiment = experiment;
    this.plans = plans;
    this.opts = opts;
    this.byFile = new Map(modules.map((m) => [nameOf(m, experiment), m]));
  }

  async run(cell: Cell): Promise<TrialResult> {
    const module = this.byFile.get(cell.file)!;
    if (this.bench?.module !== module) {
      this.close();
      this.bench = new Bench(module, this.opts.measure, this.opts.disk);
    }
    return this.bench.run(this.experiment.arms[cell.arm].arm, this.plans);
  }

  /** Ends it: what was found out goes to disk. */
  close(): void {
    this.bench?.close();
    this.bench = null;
  }
}

/** Told of finished cells, and asked whether to go on. */
export interface CellWatch {
  /** Told of each finished cell, by its place. */
  readonly onCell: (place: number, result: TrialResult) => void;
  /** Asked before each cell; true ends the sweep there. */
  readonly stop?: () => boolean;
}

/**
 * Runs cells in this thread, in order.
 * @returns whether all were run
 */
export async function runCells(
  cells: readonly Cell[],
  places: readonly number[],
  runner: CellRunner,
  watch: CellWatch,
): Promise<boolean> {
  for (const at of places) {
    if (watch.stop?.() === true) return false;
    watch.onCell(at, await runner.run(cells[at]));
    // Signals are heard only between turns.
    await new Promise((next) => setImmediate(next));
  }
  runner.close();
  return true;
}

/**
 * How many of the cells that are left one of several workers is to take in a row: of one module, since its arms share most of
 * the work, and fewer the fewer are left, so that all end at about the same time.
 */
export function cellsTogether(cells: readonly Cell[], left: readonly number[], workers: number): number {
  const most = Math.max(1, Math.floor(left.length / (2 * workers)));
  let n = 1;
  while (n < most && n < left.length && cells[left[n]].file === cells[left[0]].file) n++;
  return n;
}

/** Places of the cells of shard `i` of `n`, from 1: neighbours, since they share most of the work. */
export function shardOf(count: number, i: number, n: number): number[] {
  const [from, to] = [Math.floor(((i - 1) * count) / n), Math.floor((i * count) / n)];
  return Array.from({ length: to - from }, (_, k) => from + k);
}
