import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DiagnosticError } from '../ir/diagnostic.ts';
import { type KernelPair, runAb } from '../lab/ab.ts';
import { kernelAndLaunchFiles, kernelFiles } from '../lab/files.ts';
import { loadModules } from '../lab/kernels.ts';
import { Plans } from '../lab/plans.ts';
import { foreignWorkingTree, specInPlace, specsOfPlace } from '../lab/refs.ts';
import { servingTarget } from '../read.ts';
import { annotations, faultAnnotations } from '../review/annotations.ts';
import { BUDGET_FILE, type Budget, budgetOf, type Limit } from '../review/budget.ts';
import { canonical } from '../review/data-diff.ts';
import { reviewJson, reviewMarkdown, reviewText } from '../review/render.ts';
import { checkScope, type Review, review as runReview } from '../review/review.ts';
import { loadShipped, loadSpec, ROOT, shownPath } from '../spec/node.ts';
import type { Specs } from '../spec/specs.ts';
import { diffCommand } from './ab.ts';
import { writeWhole } from './files.ts';
import { formatOf } from './format.ts';
import { type JuryOptions, juryFor } from './jury.ts';
import { baseOf, clock, decidingMetric, heap, measureOptions, paint } from './lab.ts';
import { ptxasPresent } from './ptxas-run.ts';
import { CliExit, failWith, out, Progress, show } from './ui.ts';

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
}

const FORMATS = ['text', 'markdown', 'json'];
/** Exit code when the two sides differ. `diff` uses 1 for that; here, as in every command, 1 is an error. */
const DIFFERS = 2;

/** `orrery diff`. */
export async function diff(baseName: string, headName: string | undefined, o: DiffCommand): Promise<void> {
  const format = formatOf(o, FORMATS);
  if (o.annotations === true && format === 'json' && o.output === undefined)
    failWith('--annotations would stand between the JSON', 'write the JSON to a file: -o review.json');
  const by = decidingMetric(o.by);
  const { level, sm } = baseOf({ level: o.level, sm: o.sm });
  const patterns = kernelsOf(o);
  // What is mistyped must fail even where nothing differs, so that nobody takes it for the answer.
  kernelAndLaunchFiles(patterns);
  const base = await specsOfPlace(baseName);
  const headPlace = headName ?? foreignWorkingTree();
  const headTitle =
    headName ?? (headPlace === undefined ? 'the working tree' : `the working tree of ${headPlace}`);
  const prefix = headName === undefined ? '' : `${headName}:`;
  let head: Specs;
  let budget: Budget | null;
  try {
    head = headPlace === undefined ? await loadShipped() : await specsOfPlace(headPlace);
    budget = await limits(baseName, headPlace, o.budget);
  } catch (e) {
    if (e instanceof DiagnosticError && o.annotations === true)
      process.stdout.write(`${faultAnnotations(e.diagnostics, prefix).join('\n')}\n`);
    throw e;
  }
  checkScope(base, head, { sm, level });
  if (budget !== null && o.ptxas === false) {
    const limits = budget.limits.filter((l) => l.metric.source !== 'ptxas');
    const left = budget.limits.length - limits.length;
    if (left > 0) {
      const message = `${left} ${left === 1 ? 'limit' : 'limits'} on what ptxas makes ${left === 1 ? 'is' : 'are'} not checked`;
      const nowhere = { file: budget.file, line: 0, column: 0, length: 0 };
      show([{ severity: 'warning', code: 'limit-left-out', message, ...nowhere }]);
    }
    budget = { ...budget, limits };
  }
  const asksPtxas = budget?.limits.some((l) => l.metric.source === 'ptxas') === true;
  if (asksPtxas && !ptxasPresent())
    failWith(
      `${budget?.file} limits what ptxas makes, and ptxas cannot be run`,
      'put that of a CUDA toolkit on PATH, name it in ORRERY_PTXAS, or leave these limits out: --no-ptxas',
    );
  const measure =
    patterns.length === 0 ? null : measureOptions({ launches: true, ptxas: o.ptxas ?? asksPtxas }, head);
  const progress = new Progress();
  const { close, ...jury } = juryFor(o, baseName, headPlace, (text) => progress.update(text));
  try {
    const result = await runReview(
      [baseName, headTitle],
      base,
      head,
      { sm, level },
      jury,
      async () => {
        if (measure === null) return null;
        const modules = await loadModules(patterns);
        const arms = [
          { name: baseName, ref: baseName },
          { name: headTitle, ...(headPlace !== undefined && { ref: headPlace }) },
        ] as const;
        return runAb(
          modules,
          arms,
          new Plans(baseOf({ level: o.level, sm: o.sm, forceRules: 'quiet' }), loadShipped()),
          {
            measure,
            by,
            repeat: 0,
            minEffect: 0,
            seed: 1,
            clock,
            heap,
            progress: (text) => progress.update(text),
          },
        );
      },
      patterns.length === 0 ? null : budget,
      (text) => progress.update(text),
    );
    progress.done();
    const text =
      format === 'json'
        ? JSON.stringify(reviewJson(result), null, 2)
        : format === 'markdown'
          ? reviewMarkdown(result)
          : reviewText(result, paint, (k) => kernelDiff(baseName, headPlace, o, result, k));
    if (o.output === undefined) out(text);
    else writeWhole(o.output, text.endsWith('\n') ? text : `${text}\n`);
    if (o.annotations === true) {
      const lines = annotations(result, prefix);
      if (lines.length > 0) out(lines.join('\n'));
    }
    if (result.faults.length > 0 || result.kernels?.equal === false || result.broken.length > 0)
      throw new CliExit(1);
    if (result.differs) throw new CliExit(DIFFERS);
  } finally {
    progress.done();
    close();
  }
}

/** The command that shows how the code of a kernel differs between both sides, or why there is none. */
function kernelDiff(
  base: string,
  head: string | undefined,
  o: DiffCommand,
  r: Review,
  kernel: KernelPair,
): string {
  const places = head === undefined ? [base] : [base, head];
  const spaced = places.find((p) => /\s/.test(p));
  if (spaced !== undefined)
    return `\`orrery ab\` shows it for a folder whose name has no space in it, as '${spaced}' has`;
  const arms = [...places.map((p) => `ref:${p}`), ...(head === undefined ? ['base'] : [])];
  // Here wrong rules run, so that their effect is seen; there they do not.
  const forceRules = r.changes.some((c) => c.kind === 'rules' && c.alarm);
  return diffCommand(arms, { level: o.level, sm: o.sm, forceRules }, kernel);
}

/** The limits of the file that is named, or else those that the head sets and those of the base, which no head takes away. */
async function limits(
  base: string,
  head: string | undefined,
  file: string | undefined,
): Promise<Budget | null> {
  if (file !== undefined) return budgetOf(await loadSpec(file, 'budget'));
  const at = async (place: string): Promise<Budget | null> => {
    const spec = await specInPlace(place, BUDGET_FILE, 'budget');
    return spec === null ? null : budgetOf(spec);
  };
  const is = await at(head ?? ROOT);
  const was = await at(base).catch((e: unknown) => {
    // What was wrong already is not the head's fault.
    if (!(e instanceof DiagnosticError)) throw e;
    return null;
  });
  if (was === null || is === null) return is ?? was;
  const said = ({ place: _, metric, ...l }: Limit): string => canonical({ ...l, metric: metric.name });
  const kept = new Set(is.limits.map(said));
  return { ...is, limits: [...is.limits, ...was.limits.filter((l) => !kept.has(said(l)))] };
}

/**
 * Kernels on which the effect is measured: those named, or else those of the project for the target, or for the one whose code runs
 * on it.
 */
function kernelsOf(o: DiffCommand): readonly string[] {
  if (o.kernels === false) return [];
  if (o.kernels !== undefined) return o.kernels;
  const own = join(ROOT, 'test', 'kernels');
  if (!existsSync(own)) return [];
  const targets = kernelFiles([own]).flatMap((f) => /\.(sm_\d+)\.ptx$/.exec(f)?.[1] ?? []);
  const sm = o.sm === undefined ? 'sm_90' : servingTarget(o.sm, targets);
  return targets.includes(sm) ? [`${shownPath(own)}/*/*.${sm}.ptx`] : [];
}
