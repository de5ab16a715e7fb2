import { statSync } from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { RecipeManager } from '../../engine/recipe-manager.ts';
import { grouped } from '../../ir/counts.ts';
import { visible } from '../../ir/quote.ts';
import { equalWhereRun } from '../../judge/reached.ts';
import { kernelFiles } from '../../lab/files.ts';
import { percent } from '../../lab/render/table.ts';
import { targetOf } from '../../read.ts';
import { Unreadable } from '../../spec/node-files.ts';
import { writtenBelow } from '../../spec/node-paths.ts';
import { keepInputs, makeFolderOf, STANDARD_INPUT, STANDARD_OUTPUT, textOrFault } from '../input/files.ts';
import { plansFor, warnOtherFunctions } from '../input/input.ts';
import { jobsOf } from '../input/jobs.ts';
import { runWorkers } from '../input/workers.ts';
import { printable } from '../terminal/colours.ts';
import { Progress } from '../terminal/progress.ts';
import { table } from '../terminal/table.ts';
import { CliExit, captured, duration, err, failWith, out, type Printed, pcErr } from '../terminal/ui.ts';
import { emitOf } from './opt-emit.ts';
import { ENDING, type Optimized, type OptOptions } from './opt-options.ts';
import { optimize } from './optimize.ts';
import { decisionsText } from './stat.ts';

/** One of several files, and the path of its result; undefined: none. */
export interface OptTask {
  readonly file: string;
  readonly output: string | undefined;
  /** Path of its trace; undefined: none is requested. */
  readonly trace: string | undefined;
}

/** Settings of a worker thread that optimizes files. */
export interface OptWorker {
  readonly role: 'opt';
  readonly tasks: readonly OptTask[];
  readonly options: OptOptions;
}

/** Output of a task, and the result for the file; null if it failed. */
export interface OptResult extends Printed {
  readonly code: number;
  readonly optimized: Optimized | null;
}

/**
 * `orrery opt` for several files and folders: each is optimized on its own, and a failure does not stop the others. The output does not
 * depend on the number of threads.
 */
export async function optMany(patterns: readonly string[], given: OptOptions): Promise<void> {
  const emit = emitOf(given, true);
  const o = { ...given, emit };
  // Missing files are reported first: they may be the only fault.
  if (!patterns.includes(STANDARD_INPUT)) kernelFiles(patterns);
  if (o.ptxas === true)
    failWith('--ptxas compares one file', '`orrery measure` shows the results of ptxas for many');
  if (o.why !== undefined) failWith('--why follows a line of one file');
  if (o.json === true && o.stat === true)
    failWith('--stat --json prints one document, of one file', '--json alone tells of several');
  if (patterns.includes(STANDARD_INPUT)) failWith('standard input (-) is one file, and the only one');
  if (emit !== 'none' && (o.output === undefined || o.output === STANDARD_OUTPUT))
    failWith(
      `several files need a folder for their results${o.output === undefined ? '' : ', not standard output (-)'}`,
      'name it with -o, or write nothing with --emit none',
    );
  if (emit !== 'none' && namesFile(o.output!))
    failWith(
      `several files need a folder for their results, and '${o.output}' names one file`,
      'name a folder with -o, or write nothing with --emit none',
    );
  const jobs = jobsOf(o.jobs, 1);
  const tasks = tasksOf(patterns, emit, o);
  keepInputs(
    tasks.flatMap((t) => [t.output, t.trace]),
    tasks.map((t) => t.file),
  );
  const planOf = plansFor(o);
  // The output for all files is one document.
  const each = { ...o, json: undefined };
  // Faults of the options are reported once, not for each file.
  const text = textOrFault(tasks[0].file);
  if (typeof text === 'string') await planOf(targetOf(text));
  const results: (OptResult | undefined)[] = [];
  let shown = 0;
  let done = 0;
  const progress = new Progress();
  progress.of(0, tasks.length, tasks[0].file);
  const onResult = (at: number, r: OptResult): void => {
    results[at] = r;
    progress.of(++done, tasks.length, tasks[at].file);
    // In the order of the files, whichever thread finishes first.
    for (; results[shown] !== undefined; shown++) {
      if (results[shown]!.out + results[shown]!.err !== '') progress.done();
      if (results[shown]!.out !== '') process.stdout.write(results[shown]!.out);
      if (results[shown]!.err !== '') process.stderr.write(results[shown]!.err);
    }
  };
  if (jobs === 1) {
    const { run, close } = taskRunner(each, planOf);
    for (const [at, task] of tasks.entries()) onResult(at, await run(task));
    close();
  } else
    await runWorkers<OptResult, OptWorker>(
      { role: 'opt', tasks, options: each },
      { tasks: [...tasks.keys()], workers: Math.min(jobs, tasks.length), together: () => 1, onResult },
    );
  progress.done();
  if (o.profile !== undefined)
    warnOtherFunctions(
      o.profile,
      results.flatMap((r) => r!.optimized?.functions ?? []),
    );
  if (o.json === true) {
    const files = tasks.map((t, i) => ({ ...t, optimized: results[i]!.optimized }));
    out(JSON.stringify((await import('./summary-json.ts')).filesJson(files), null, 2));
  } else if (o.quiet !== true) {
    const { text, decisions } = summary(tasks, results as OptResult[]);
    err(text);
    if (o.stat === true && decisions !== '') err(`\n${decisions}`);
  }
  if (results.some((r) => r!.code !== 0 || r!.optimized?.equal === false)) throw new CliExit(1);
}

/** Whether a path names a file: it exists, or has the extension of one. */
const namesFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true &&
  (statSync(path, { throwIfNoEntry: false })?.isFile() === true ||
    [...Object.values(ENDING), '.sass'].some((e) => path.endsWith(e)));

/** Optimizes files one after another. */
export interface TaskRunner {
  readonly run: (task: OptTask) => Promise<OptResult>;
  /** Releases resources that the files share. */
  readonly close: () => void;
}

/**
 * Optimizes several files that share decisions about recipes; the account of the phases is printed only if part of it is requested by name.
 */
export function taskRunner(o: OptOptions, planOf = plansFor(o)): TaskRunner {
  const named = o.stat === true || o.remarks === true;
  const detailed = o.quiet !== true && named;
  const recipes = new RecipeManager();
  const user = recipes.acquire();
  const run: TaskRunner['run'] = async ({ file, output, trace }) => {
    let optimized: Optimized | null = null;
    const printed = await captured(async () => {
      for (const path of [output, trace]) if (path !== undefined) makeFolderOf(path);
      optimized = await optimize(file, { ...o, output, traceEvents: trace }, detailed, planOf, recipes);
    });
    // The account names the file.
    const heading =
      named && !detailed && printed.err !== '' ? `${printable(pcErr.bold(visible(file)))}\n` : '';
    return { ...printed, err: `${heading}${printed.err}`, optimized };
  };
  return { run, close: () => user.release() };
}

/** Extension of the trace of one of several files. */
const TRACE_ENDING = '.trace.json';

/** Ends the command if a file below a folder would be written outside of it. */
function staysBelow(folder: string, path: string): void {
  try {
    writtenBelow(folder, path);
  } catch (e) {
    if (!(e instanceof Unreadable)) throw e;
    failWith(`cannot write ${path}: ${e.message}`, ...e.notes);
  }
}

/** The named files with their output paths: relative to the folder that was named, else by their own names. */
function tasksOf(patterns: readonly string[], emit: string, o: OptOptions): OptTask[] {
  const names = new Map<string, string>();
  const seen = new Set<string>();
  return patterns.flatMap((p) => {
    const isFolder = statSync(p, { throwIfNoEntry: false })?.isDirectory() === true;
    const files = kernelFiles([p]).filter((f) => !seen.has(f));
    for (const f of files) seen.add(f);
    return files.map((file): OptTask => {
      const whole = isFolder ? relative(p, file) : basename(file);
      const name = whole.slice(0, whole.length - extname(whole).length);
      const below = (folder: string | undefined, ending: string): string | undefined => {
        if (folder === undefined) return undefined;
        const path = join(folder, name + ending);
        const other = names.get(path);
        if (other !== undefined)
          failWith(`${other} and ${file} would both be written to ${path}`, 'name the folder above them');
        names.set(path, file);
        staysBelow(folder, path);
        return path;
      };
      return {
        file,
        output: emit === 'none' ? undefined : below(o.output, ENDING[emit]),
        trace: below(o.traceEvents, TRACE_ENDING),
      };
    });
  });
}

/** What checks found of a file that they found equal: how much is proved, and how far runs compared it. */
function equalText({ ran, stopped, proof, unrun }: Optimized): string {
  const count = proof && `${grouped(proof.proved)}/${grouped(proof.regions)}`;
  const whole = proof !== null && proof.proved === proof.regions;
  const words = [
    ...(count === null ? [] : [whole ? `proved ${count}` : `${count} proved`]),
    ...(unrun ? [] : [ran === null ? 'equal' : equalWhereRun(ran)]),
    ...(stopped ? ['stopped at a limit'] : []),
  ].join('; ');
  return (proof === null || whole) && ran === null && !stopped ? words : pcErr.yellow(words);
}

/** A line for each file, and one for all; also how decisions about recipes were shared. */
function summary(
  tasks: readonly OptTask[],
  results: readonly OptResult[],
): { readonly text: string; readonly decisions: string } {
  const change = (from: number, to: number): string => (from === to ? '' : percent(to / from));
  const row = (name: string, r: Optimized | null): string[] =>
    r === null
      ? [name, '', '', '', '', pcErr.red('failed')]
      : [
          name,
          grouped(r.before),
          grouped(r.after),
          change(r.before, r.after),
          duration(r.ms),
          r.equal === null ? '' : r.equal ? equalText(r) : pcErr.red('DIFFERS'),
        ];
  const good = results.flatMap((r) => (r.optimized === null ? [] : [r.optimized]));
  const sum = (f: (r: Optimized) => number): number => good.reduce((t, r) => t + f(r), 0);
  const all: Optimized = {
    before: sum((r) => r.before),
    after: sum((r) => r.after),
    ms: sum((r) => r.ms),
    equal: null,
    ran: null,
    stopped: false,
    proof: null,
    unrun: false,
    decisions: { made: sum((r) => r.decisions.made), shared: sum((r) => r.decisions.shared) },
    functions: [],
  };
  const rows = [
    ['file', 'instructions (Ori)', 'after', 'change', 'time', ''],
    ...results.map((r, i) => row(visible(tasks[i].file), r.optimized)),
  ];
  if (good.length > 1)
    rows.push(row(`${good.length < results.length ? `${good.length} of ` : ''}${results.length} files`, all));
  return { text: table(rows, 'lrrrrl'), decisions: decisionsText(all.decisions) };
}
