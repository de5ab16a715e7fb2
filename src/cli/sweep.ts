import { loadExperiment } from '../lab/experiment.ts';
import { stemOf } from '../lab/files.ts';
import { loadModules } from '../lab/kernels.ts';
import { Plans } from '../lab/plans.ts';
import { recipeOf } from '../lab/recipe.ts';
import { sweepJson, sweepMarkdown, sweepText } from '../lab/render/sweep.ts';
import { cellKey, cellsOf, identityOf, runCells } from '../lab/sweep.ts';
import { SweepFile } from '../lab/sweep-file.ts';
import { reportOf, type SweepReport } from '../lab/sweep-report.ts';
import { loadShipped } from '../spec/node.ts';
import { type CacheOptions, cacheOf } from './cache.ts';
import { writeWhole } from './files.ts';
import { measureOptions, paint } from './lab.ts';
import { CliExit, duration, err, failWith, out, Progress } from './ui.ts';

interface SweepCommand extends CacheOptions {
  readonly output?: string;
  readonly best?: string;
  readonly restart?: boolean;
  readonly format?: string;
  readonly json?: boolean;
}

const FORMATS = ['text', 'markdown', 'json'];
/** Exit code of a command that a signal ended, by custom: 128 and the signal's number. */
const INTERRUPTED = 130;

/** `orrery sweep`. */
export async function sweep(file: string, o: SweepCommand): Promise<void> {
  const format = o.json === true ? 'json' : (o.format ?? 'text');
  if (!FORMATS.includes(format))
    failWith(`--format ${format} is not known`, `it is one of ${FORMATS.join(', ')}`);
  if (!/\.ya?ml$/.test(file))
    failWith(`${file} is no experiment`, 'an experiment is a YAML file: `orrery sweep --help`');
  const specs = await loadShipped();
  const experiment = await loadExperiment(file, specs);
  const modules = await loadModules(experiment.kernels, experiment.folder);
  const plans = new Plans(experiment.base, Promise.resolve(specs));
  const base = experiment.arms[0].arm;
  for (const m of modules) await plans.plan(base, m.target);
  const cells = cellsOf(experiment, modules);
  const stem = stemOf(file).replace(/\.experiment$/, '');
  const results = SweepFile.open(
    o.output ?? `${stem}.results.jsonl`,
    experiment,
    await identityOf(experiment, modules, plans),
    o.restart === true,
  );
  const done = new Map(results.cells.map((c) => [cellKey(c), c]));
  const wanted = [...experiment.metrics, ...experiment.bounds.map((b) => b.metric)];
  const ptxas = wanted.some((m) => m.source === 'ptxas');
  const launches = wanted.some((m) => m.source === 'simulator' || m.name === 'cycles');
  const measure = {
    ...measureOptions({ launches: true, ptxas: ptxas ? undefined : false }, specs),
    launches: true,
  };
  if (ptxas && measure.ptxas === undefined)
    failWith(
      'the experiment asks what ptxas makes, and ptxas cannot be run',
      'put it on PATH or name it in ORRERY_PTXAS',
    );
  if (launches && modules.every((m) => m.launches.length === 0))
    failWith('the experiment asks what launches do, and no launch file stands beside the kernels');

  const before = done.size;
  let stopped = false;
  const stop = () => {
    stopped = true;
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const progress = new Progress();
  const start = performance.now();
  const whole = await runCells(cells, experiment, modules, plans, {
    measure,
    disk: cacheOf(o),
    done: new Set(done.keys()),
    stop: () => stopped,
    onCell: (cell) => {
      results.add(cell);
      done.set(cellKey(cell), cell);
      const each = (performance.now() - start) / (done.size - before);
      const left = duration(each * (cells.length - done.size));
      progress.update(`${done.size} of ${cells.length} cells, ${left} left: ${cell.file}`);
    },
  });
  progress.done();
  process.off('SIGINT', stop).off('SIGTERM', stop);
  if (!whole) {
    err(`stopped: ${done.size} of ${cells.length} cells are in ${results.path}; the same command goes on`);
    throw new CliExit(INTERRUPTED);
  }
  const report = reportOf(
    experiment,
    cells.map((c) => done.get(cellKey(c))!),
  );
  out(
    format === 'json'
      ? JSON.stringify(sweepJson(experiment, report), null, 2)
      : format === 'markdown'
        ? sweepMarkdown(experiment, report)
        : sweepText(experiment, report, paint),
  );
  const note = await writeBest(report, o.best ?? `${stem}.best.yaml`);
  if (format === 'text')
    out(`\nresults: ${results.path} (${cells.length} cells, ${before} of them from before)\n${note}`);

  async function writeBest(r: SweepReport, path: string): Promise<string> {
    const { arm } = experiment.arms[r.best.arm];
    if (r.best.arm === 0) return 'no arm is better than the base, so there is no recipe to write';
    const orderFile = path.replace(/(\.ya?ml)?$/, '.order.yaml');
    const title = `Best of ${experiment.title === '' ? stem : experiment.title} by ${r.metrics[0].name}`;
    const targets = modules.map((m) => m.target);
    const files = await recipeOf(arm, plans, targets, title, { recipe: path, order: orderFile });
    writeWhole(path, files.recipe);
    if (files.order !== null) writeWhole(orderFile, files.order);
    const options = files.options.length === 0 ? '' : ` ${files.options.join(' ')}`;
    return files.same
      ? `recipe:  ${path}; try it: orrery ab base recipe:${path}${options} --kernels ...`
      : `recipe:  ${path}; it does not give the whole of the arm '${arm.name}'`;
  }
}
