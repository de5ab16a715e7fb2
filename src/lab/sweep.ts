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
  /** Index of the arm in the experiment. */
  readonly arm: number;
  /** Module path relative to the experiment's folder, so that it does not depend on the machine or the current folder. */
  readonly file: string;
}

export interface FinishedCell extends Cell {
  readonly result: TrialResult;
}

/** Identifies a cell within its sweep. */
export const cellKey = (c: Cell): string => `${c.arm} ${c.file}`;

/** The name of a module in the cells of an experiment. */
const nameOf = (m: Module, experiment: Experiment): string =>
  relative(experiment.folder, resolve(m.file)).split(sep).join('/');

/** All cells of an experiment, module by module, so that the arms of a module share work. */
export const cellsOf = (experiment: Experiment, modules: readonly Module[]): Cell[] =>
  modules.flatMap((m) => {
    const file = nameOf(m, experiment);
    return experiment.arms.map((_, arm) => ({ arm, file }));
  });

/** The programs that produce the results; results of different versions cannot be compared. */
export interface Makers {
  /** Hash of the code of orrery. */
  readonly orrery: string;
  /** Version of ptxas; absent if it is not called. */
  readonly ptxas?: string;
}

/** The programs that produce results with these options. */
export const makersOf = (measure: MeasureOptions): Makers => ({
  orrery: codeHash(),
  ...(measure.ptxas !== undefined && { ptxas: measure.ptxas.version }),
});

/** Identifies the sweep to which results belong. */
export interface Identity {
  readonly hash: string;
  readonly makers: Makers;
}

/**
 * The identity of a sweep: a hash of everything that determines its results, that is, the experiment, the texts of kernels and launches,
 * the plan of every arm, and the programs that produce the results.
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

/** Options for running cells. */
export interface CellOptions {
  readonly measure: MeasureOptions;
  /** Cache of phase results that outlives this process. */
  readonly disk?: DiskCache;
}

/** Runs cells. Consecutive cells of one module share work. */
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

  /** Ends the runner and writes its results to disk. */
  close(): void {
    this.bench?.close();
    this.bench = null;
  }
}

/** Callbacks of `runCells`. */
export interface CellWatch {
  /** Called with the index and result of each finished cell. */
  readonly onCell: (place: number, result: TrialResult) => void;
  /** Called before each cell; true ends the sweep. */
  readonly stop?: () => boolean;
}

/**
 * Runs cells in this thread, in order.
 *
 * @param places indices of the cells to run
 * @returns true if all were run
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
    // Signals are delivered only between turns of the event loop.
    await new Promise((next) => setImmediate(next));
  }
  runner.close();
  return true;
}

/**
 * How many of the remaining cells one of several workers should take at once: those of one module, since its arms share most of the work,
 * and fewer as fewer remain, so that all workers finish at about the same time.
 */
export function cellsTogether(cells: readonly Cell[], left: readonly number[], workers: number): number {
  const most = Math.max(1, Math.floor(left.length / (2 * workers)));
  let n = 1;
  while (n < most && n < left.length && cells[left[n]].file === cells[left[0]].file) n++;
  return n;
}

/** Indices of the cells of shard `i` of `n`, counted from 1. They are contiguous, since neighbours share most of the work. */
export function shardOf(count: number, i: number, n: number): number[] {
  const [from, to] = [Math.floor(((i - 1) * count) / n), Math.floor((i * count) / n)];
  return Array.from({ length: to - from }, (_, k) => from + k);
}
