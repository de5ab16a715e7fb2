import { DiagnosticError } from '../../ir/diagnostic.ts';
import { kernelAndLaunchFiles } from '../../lab/files.ts';
import type { ModuleEffect } from '../../lab/pair-effects.ts';
import { foreignWorkingTree, objectsIn, specInPlace, specsOfPlace } from '../../lab/refs.ts';
import { PLAIN } from '../../lab/render/table.ts';
import { annotations, faultAnnotations } from '../../review/annotations.ts';
import {
  BUDGET_FILE,
  type Budget,
  budgetOf,
  DEFAULT_BUDGET,
  needsAll,
  withLimitsOf,
} from '../../review/budget.ts';
import { BUDGET, type Budgets } from '../../review/budget-changes.ts';
import type { Cell } from '../../review/cells.ts';
import type { Comparison } from '../../review/comparisons.ts';
import { otherFiles } from '../../review/files.ts';
import { measured } from '../../review/measured.ts';
import { measuresOf } from '../../review/measures.ts';
import { reviewJson } from '../../review/render-json.ts';
import { reviewMarkdown } from '../../review/render-markdown.ts';
import { reviewText } from '../../review/render-text.ts';
import { checkScope } from '../../review/requests.ts';
import { differences } from '../../review/review.ts';
import { exitCode, type Review, reviewed } from '../../review/reviewed.ts';
import { unreadNames } from '../../review/words.ts';
import { isCompared, loadSpec, ROOT } from '../../spec/node.ts';
import { writeWhole } from '../input/files.ts';
import { coreJobs, jobsOf } from '../input/jobs.ts';
import { runWorkers } from '../input/workers.ts';
import { baseOf, decidingMetric, measureOptions, paint } from '../lab/lab.ts';
import { formatOf } from '../terminal/format.ts';
import { Progress } from '../terminal/progress.ts';
import { CliExit, failWith, out, tableColumns } from '../terminal/ui.ts';
import { type JuryOptions, juryFor } from './jury.ts';
import {
  diffOf,
  kernelFilesOf,
  type Places,
  projectKernels,
  type ReviewCells,
  reviewRunner,
  specsAtPlace,
} from './review-setup.ts';
import type { ReviewWorker } from './review-worker.ts';

interface DiffCommand extends JuryOptions {
  readonly level?: string;
  readonly sm?: string;
  readonly kernels?: readonly string[] | false;
  readonly by?: string;
  readonly ptxas?: boolean | string;
  readonly format?: string;
  readonly json?: boolean;
  readonly output?: string;
  readonly budget?: string;
  readonly annotations?: boolean;
  readonly failOn?: string;
  readonly jobs?: string;
}

const FORMATS = ['text', 'markdown', 'json'];
/** Number of cells from which on another thread pays off: starting and compiling takes as long as a few cells. */
const CELLS_FOR_THREAD = 8;

/** `orrery diff`: reviews the differences between two states of the specs. */
export async function diff(baseName: string, headName: string | undefined, o: DiffCommand): Promise<void> {
  const format = formatOf(o, FORMATS, o.output);
  if (o.failOn !== undefined && o.failOn !== 'alarm')
    failWith(`--fail-on ${o.failOn} is not known`, 'it is `alarm`');
  if (o.annotations === true && format === 'json' && o.output === undefined)
    failWith('--annotations would be mixed with the JSON', 'write the JSON to a file: -o review.json');
  const by = decidingMetric(o.by);
  const jobs = jobsOf(o.jobs, coreJobs());
  const { level, sm } = baseOf({ level: o.level, sm: o.sm });
  const scope = { level, sm };
  const patterns = o.kernels === false ? [] : (o.kernels ?? projectKernels());
  // Typos must be reported even if nothing differs, so that the result is not taken for an answer.
  kernelAndLaunchFiles(patterns);
  const progress = new Progress();
  const tell = (text: string): void => progress.update(text);
  tell(`specs of ${baseName}`);
  const base = await specsOfPlace(baseName);
  const headPlace = headName ?? foreignWorkingTree();
  const places: Places = [baseName, headPlace];
  const headTitle =
    headName ?? (headPlace === undefined ? 'the working tree' : `the working tree of ${headPlace}`);
  const prefix = headName === undefined ? '' : `${headName}:`;
  tell(`specs of ${headTitle}`);
  const { head, budgets } = await headOf(places, o, prefix);
  checkScope(base, head, scope);
  const requested = { launches: true, ptxas: o.ptxas };
  // Requests that cannot be satisfied must be reported even if nothing differs.
  const ptxas = patterns.length === 0 ? null : (measureOptions(requested, head).ptxas?.version ?? null);
  const { budget, leftOut } = checkable(budgets, ptxas !== null, o);
  const { close, ...jury } = juryFor(o, baseName, headPlace, tell);
  try {
    const files = otherFiles(
      (side, names) => objectsIn(places[side === 'base' ? 0 : 1] ?? ROOT, names),
      [`${baseName}:`, prefix],
      isCompared,
    );
    const found = await differences([baseName, headTitle], base, head, scope, jury, budgets, tell, files);
    const none =
      patterns.length === 0 ? (o.kernels === false ? '--no-kernels' : 'there are no kernels here') : '';
    const setup = { places, measure: requested, patterns };
    const effect =
      none !== '' || found.faults.length > 0 || found.differs !== true
        ? null
        : await measured(
            found,
            [base, head],
            scope,
            await kernelFilesOf(patterns, headPlace, head, needsAll(budget)),
            measuresOf(by),
            (comparisons, cells) => runCells(comparisons, cells, setup, jobs, progress),
          );
    progress.done();
    const more = [
      ...(files.unread.some((f) => f.startsWith('src/'))
        ? ['the code of src, which differs too: the code here ran both sides']
        : []),
      ...(files.unread.length === 0 ? [] : [`what differs in ${unreadNames(files.unread)}`]),
    ];
    const review = reviewed(found, effect, budget, { none, ptxas, leftOut, more });
    print(review, format, places, prefix, o);
    const code = exitCode(review, o.failOn === 'alarm');
    if (code !== 0) throw new CliExit(code);
  } finally {
    progress.done();
    close();
  }
}

/** The specs of the head and the limits of both sides; faults are also printed as annotations if these are requested. */
async function headOf([base, head]: Places, o: DiffCommand, prefix: string) {
  try {
    const specs = await specsAtPlace(head);
    const own = o.budget === undefined ? null : await budgetOf(await loadSpec(o.budget, 'budget'));
    // A budget that is named explicitly applies to this review alone: it counts as unchanged.
    return {
      head: specs,
      budgets:
        own === null
          ? { base: await limitsOfBase(base), head: await limits(head) }
          : { base: own, head: own },
    };
  } catch (e) {
    if (e instanceof DiagnosticError && o.annotations === true)
      process.stdout.write(`${faultAnnotations(e.diagnostics, prefix).join('\n')}\n`);
    throw e;
  }
}

/** Limits that a place sets, or else those that ship. */
async function limits(place: string | undefined): Promise<Budget | null> {
  const own = await specInPlace(place ?? ROOT, BUDGET_FILE, 'budget');
  if (own !== null) return budgetOf(own);
  const usual =
    (await specInPlace(place ?? ROOT, DEFAULT_BUDGET, 'budget')) ??
    (await specInPlace(ROOT, DEFAULT_BUDGET, 'budget'));
  return usual === null ? null : budgetOf(usual, false);
}

/** Limits of the base. Faults that they already had are not the head's fault. */
const limitsOfBase = (base: string): Promise<Budget | null> =>
  limits(base).catch((e: unknown) => {
    if (!(e instanceof DiagnosticError)) throw e;
    return null;
  });

/**
 * The limits that can be checked, and the number of others: those of the head, and those of the base, which the head cannot remove unless a
 * person accepts that.
 */
function checkable(
  { base, head }: Budgets,
  ptxas: boolean,
  o: DiffCommand,
): { readonly budget: Budget | null; readonly leftOut: number } {
  const budget = o.accept?.includes(BUDGET) === true ? head : withLimitsOf(base, head);
  if (budget === null || ptxas) return { budget, leftOut: 0 };
  const limits = budget.limits.filter((l) => l.metric.source !== 'ptxas');
  const leftOut = budget.limits.length - limits.length;
  if (budget.limits.some((l) => l.own && !limits.includes(l)) && o.ptxas !== false && o.kernels !== false)
    failWith(
      `${budget.file} limits what ptxas makes, and ptxas cannot be run`,
      'put that of a CUDA toolkit on PATH, name it in ORRERY_PTXAS, or leave these limits out: --no-ptxas',
    );
  return { budget: { ...budget, limits }, leftOut };
}

/** Runs cells on threads, each of which reads both sides, or in this thread if there are few. */
async function runCells(
  comparisons: readonly Comparison[],
  cells: readonly Cell[],
  setup: Omit<ReviewCells, 'comparisons'>,
  jobs: number,
  progress: Progress,
): Promise<readonly ModuleEffect[]> {
  const results: ModuleEffect[] = [];
  let done = 0;
  const onResult = (at: number, result: ModuleEffect): void => {
    results[at] = result;
    progress.of(++done, cells.length, `${comparisons[cells[at].comparison].name}, ${cells[at].file}`);
  };
  progress.of(0, cells.length, 'kernels');
  const workers = Math.min(jobs, Math.floor(cells.length / CELLS_FOR_THREAD));
  if (workers < 2) {
    const runner = await reviewRunner({ ...setup, comparisons }, (text) => progress.detail(text));
    for (const [at, c] of cells.entries()) onResult(at, await runner.run(comparisons[c.comparison], c.file));
    return results;
  }
  await runWorkers<ModuleEffect, ReviewWorker>(
    { role: 'review', ...setup, comparisons },
    { tasks: [...cells.keys()], workers, together: (left) => oneFile(cells, left), onResult },
  );
  return results;
}

/** Number of leading cells of one file, whose comparisons share most of their work. */
function oneFile(cells: readonly Cell[], left: readonly number[]): number {
  let n = 1;
  while (n < left.length && cells[left[n]].file === cells[left[0]].file) n++;
  return n;
}

function print(r: Review, format: string, places: Places, prefix: string, o: DiffCommand): void {
  // Wrong rules run here, so that their effect is visible; other commands do not run them.
  const forceRules = r.changes.some((c) => c.kind === 'rules' && c.alarm);
  const text =
    format === 'json'
      ? JSON.stringify(reviewJson(r), null, 2)
      : format === 'markdown'
        ? reviewMarkdown(r)
        : reviewText(
            r,
            o.output === undefined ? paint : PLAIN,
            (row) => diffOf(row, places, forceRules),
            o.output === undefined ? tableColumns() : undefined,
          );
  if (o.output === undefined) out(text);
  else writeWhole(o.output, text.endsWith('\n') ? text : `${text}\n`);
  if (o.annotations !== true) return;
  const lines = annotations(r, prefix);
  if (lines.length > 0) out(lines.join('\n'));
}
