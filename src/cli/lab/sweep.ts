import { constants } from 'node:os';
import { fileWord, shellWord } from '../../ir/quote.ts';
import { stemOf } from '../../lab/files.ts';
import { idleArms } from '../../lab/idle-conditions.ts';
import { recipeOf } from '../../lab/recipe.ts';
import { sweepJson, sweepMarkdown, sweepText } from '../../lab/render/sweep.ts';
import { sweepCsv } from '../../lab/render/sweep-csv.ts';
import { sweepHtml } from '../../lab/render/sweep-html.ts';
import {
  CellRunner,
  type CellWatch,
  cellKey,
  cellsTogether,
  type FinishedCell,
  identityOf,
  makersOf,
  runCells,
  shardOf,
} from '../../lab/sweep.ts';
import { SweepFile } from '../../lab/sweep-file.ts';
import { reportOf, type SweepReport } from '../../lab/sweep-report.ts';
import type { TrialResult } from '../../lab/trials.ts';
import { keepInputs, writeTogether, writeWhole } from '../input/files.ts';
import { jobsOf } from '../input/jobs.ts';
import { runWorkers } from '../input/workers.ts';
import { type CacheOptions, cacheOf } from '../optimize/cache.ts';
import { formatOf } from '../terminal/format.ts';
import { Progress } from '../terminal/progress.ts';
import { CliExit, err, failWith, out, show, tableColumns } from '../terminal/ui.ts';
import { makersText, paint } from './lab.ts';
import { type EmitCommand, emitSweep } from './sweep-emit.ts';
import { loadSweep, type SweepSetup } from './sweep-setup.ts';
import type { SweepWorker } from './sweep-worker.ts';

interface ReportCommand {
  readonly output?: string;
  readonly best?: string;
  /** Path of the results as CSV, and of the report as a page; true: next to the experiment. */
  readonly csv?: string | true;
  readonly html?: string | true;
  readonly format?: string;
  readonly json?: boolean;
}

interface SweepCommand extends CacheOptions, ReportCommand, Partial<EmitCommand> {
  readonly restart?: boolean;
  readonly jobs: string;
  readonly shard?: string;
}

/** Options that only apply to `--emit`, and options that only apply to a run here. */
const FOR_EMIT = ['shards', 'command', 'image', 'claim'] as const;
const FOR_RUN = ['restart', 'shard', 'best', 'csv', 'html', 'format', 'json'] as const;

const FORMATS = ['text', 'markdown', 'json'];

/** `orrery sweep`: runs an experiment, or writes it as a job. */
export async function sweep(file: string, o: SweepCommand): Promise<void> {
  formatOf(o, FORMATS);
  const jobs = jobsOf(o.jobs, 1);
  const stem = stemOf(file).replace(/\.experiment$/, '');
  const { emit } = o;
  const idle = (emit === undefined ? FOR_EMIT : FOR_RUN).find((k) => o[k] !== undefined);
  if (idle !== undefined)
    failWith(emit === undefined ? `--${idle} is for --emit` : `--${idle} is of no use with --emit`);
  if (emit !== undefined) return emitSweep(file, stem, jobs, { ...o, emit });
  const shard = o.shard === undefined ? null : shardFrom(o.shard);
  const setup = await loadSweep(file);
  const { cells, experiment } = setup;
  const arms = experiment.arms.map((a) => a.arm);
  show(await idleArms(arms, setup.modules, setup.plans));
  const part = shard === null ? '' : `.${shard.i}-of-${shard.n}`;
  const identity = await identityOf(experiment, setup.modules, setup.plans, makersOf(setup.measure));
  show(setup.plans.warnings);
  const path = o.output ?? `${stem}.results${part}.jsonl`;
  keepInputs([path]);
  const results = SweepFile.open(path, experiment, identity, o.restart === true);
  const done = new Map(results.cells.map((c) => [cellKey(c), c]));
  const places = shard === null ? [...cells.keys()] : shardOf(cells.length, shard.i, shard.n);
  const missing = places.filter((at) => !done.has(cellKey(cells[at])));

  const before = places.length - missing.length;
  let finished = 0;
  let stopped: NodeJS.Signals | null = null;
  const stop = (signal: NodeJS.Signals) => {
    stopped = signal;
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const progress = new Progress();
  progress.of(before, places.length, 'kernels', before);
  const whole = await run(missing, {
    stop: () => stopped !== null,
    onCell: (at, result) => {
      const cell = { ...cells[at], result };
      results.add(cell);
      done.set(cellKey(cell), cell);
      finished++;
      progress.of(before + finished, places.length, cell.file, before);
    },
  });
  progress.done();
  process.off('SIGINT', stop).off('SIGTERM', stop);
  if (!whole) {
    err(`stopped: ${before + finished} of ${places.length} cells are in ${path}; the same command continues`);
    // By convention, the exit code of a command that a signal ended.
    throw new CliExit(128 + constants.signals[stopped ?? 'SIGINT']);
  }
  const ordered = places.map((at) => done.get(cellKey(cells[at]))!);
  // Workers finish in any order, and an interrupted and resumed sweep has yet another order.
  writeWhole(path, SweepFile.text(experiment, identity, ordered));
  if (shard !== null)
    return out(
      `shard ${shard.i} of ${shard.n}: ${places.length} of ${cells.length} cells are in ${path}\n` +
        `orrery merge ${fileWord(file)} ${fileWord(path)} ... joins the shards`,
    );
  await report(setup, ordered, stem, o, `${path} (${cells.length} cells, ${before} of them from before)`);

  function run(todo: readonly number[], watch: CellWatch): Promise<boolean> {
    if (jobs === 1 || todo.length < 2) {
      const tell = (text: string): void => progress.detail(text);
      const opts = { measure: { ...setup.measure, tell }, disk: cacheOf(o) };
      return runCells(cells, todo, new CellRunner(experiment, setup.modules, setup.plans, opts), watch);
    }
    const workerData: SweepWorker = {
      role: 'sweep',
      file,
      cache: { cache: o.cache, cacheLimit: o.cacheLimit },
    };
    return runWorkers<TrialResult, SweepWorker>(workerData, {
      tasks: todo,
      workers: jobs,
      together: (left, workers) => cellsTogether(cells, left, workers),
      onResult: watch.onCell,
      stop: watch.stop,
    });
  }
}

/** `orrery merge`: joins the results of the shards of a sweep as if it had been run at once. */
export async function merge(file: string, parts: readonly string[], o: ReportCommand): Promise<void> {
  formatOf(o, FORMATS);
  const setup = await loadSweep(file);
  const { cells, experiment } = setup;
  const identity = await identityOf(experiment, setup.modules, setup.plans, makersOf(setup.measure));
  const done = new Map<string, FinishedCell>();
  for (const p of parts) for (const c of SweepFile.read(p, identity)) done.set(cellKey(c), c);
  const missing = cells.filter((c) => !done.has(cellKey(c)));
  if (missing.length > 0)
    failWith(
      `${missing.length} of ${cells.length} cells are in none of the files, the first of them arm ${missing[0].arm} on ${missing[0].file}`,
      'name the results of every shard; a shard that was interrupted is resumed by the command that started it',
    );
  const stem = stemOf(file).replace(/\.experiment$/, '');
  const path = o.output ?? `${stem}.results.jsonl`;
  const ordered = cells.map((c) => done.get(cellKey(c))!);
  writeWhole(path, SweepFile.text(experiment, identity, ordered));
  await report(setup, ordered, stem, o, `${path} (${cells.length} cells, of ${parts.length} files)`);
}

function shardFrom(text: string): { readonly i: number; readonly n: number } {
  const m = /^(\d+)\/(\d+)$/.exec(text);
  const [i, n] = m === null ? [0, 0] : [Number(m[1]), Number(m[2])];
  return i >= 1 && i <= n
    ? { i, n }
    : failWith(`--shard ${text} is not a shard`, 'the second of four shards is 2/4');
}

/** Prints the results of all cells, and writes the best arm as a recipe. */
async function report(
  setup: SweepSetup,
  cells: readonly FinishedCell[],
  stem: string,
  o: ReportCommand,
  results: string,
): Promise<void> {
  const { experiment } = setup;
  const format = formatOf(o, FORMATS);
  const r = reportOf(experiment, cells);
  out(
    format === 'json'
      ? JSON.stringify(sweepJson(experiment, r), null, 2)
      : format === 'markdown'
        ? sweepMarkdown(experiment, r)
        : sweepText(experiment, r, paint, tableColumns()),
  );
  const note = await writeBest(setup, r, stem, o.best ?? `${stem}.best.yaml`);
  const files: string[] = [];
  const also = (
    what: string,
    option: string | true | undefined,
    ending: string,
    text: () => string,
  ): void => {
    if (option === undefined) return;
    const path = option === true ? `${stem}.${ending}` : option;
    writeWhole(path, text());
    files.push(`${what.padEnd(9)}${path}`);
  };
  also('table:', o.csv, 'csv', () => sweepCsv(experiment, cells, r, makersText(setup.measure)));
  also('page:', o.html, 'html', () => sweepHtml(experiment, r, [makersText(setup.measure)]));
  if (format === 'text') out(['', `results: ${results}`, ...files, note].join('\n'));
}

async function writeBest(setup: SweepSetup, r: SweepReport, stem: string, path: string): Promise<string> {
  const { experiment, plans } = setup;
  const { arm } = experiment.arms[r.best.arm];
  if (r.best.arm === 0) return 'no arm is better than the base, so there is no recipe to write';
  const orderFile = path.replace(/(\.ya?ml)?$/, '.order.yaml');
  const title = `Best of ${experiment.title === '' ? stem : experiment.title} by ${r.metrics[0].name}`;
  const targets = setup.modules.map((m) => m.target);
  const files = await recipeOf(arm, plans, targets, title, { recipe: path, order: orderFile });
  writeTogether([[path, files.recipe], ...(files.order === null ? [] : [[orderFile, files.order] as const])]);
  const options = files.options.length === 0 ? '' : ` ${files.options.join(' ')}`;
  return files.same
    ? `recipe:  ${path}; try it: orrery ab base ${shellWord(`recipe:${path}`)}${options} --kernels ...`
    : `recipe:  ${path}; it does not give the whole of the arm '${arm.name}'`;
}
