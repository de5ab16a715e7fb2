import { createInterface } from 'node:readline';
import { isMap } from '../../ir/data.ts';
import { DiagnosticError } from '../../ir/diagnostic.ts';
import { Evaluator } from '../../lab/evaluate.ts';
import { idleArms } from '../../lab/idle-conditions.ts';
import { loadModules } from '../../lab/kernels.ts';
import { loadShipped } from '../../spec/node.ts';
import { isTooDeep } from '../../spec/yaml-depth.ts';
import type { PlanOptions } from '../input/options.ts';
import { type CacheOptions, cacheOf } from '../optimize/cache.ts';
import { failWith, outExactly, show } from '../terminal/ui.ts';
import { knownFor, type MeasureCliOptions, measureOptions, metricsOf, plansOf } from './lab.ts';

interface EvaluateCommand extends PlanOptions, MeasureCliOptions, CacheOptions {
  readonly kernels?: readonly string[];
  readonly metrics: string;
  readonly perKernel?: boolean;
}

/** `orrery evaluate`: reads arms as JSON lines, and answers with metrics as JSON lines. */
export async function evaluate(o: EvaluateCommand): Promise<void> {
  if (o.kernels === undefined || o.kernels.length === 0)
    failWith('--kernels is missing', "name PTX files, folders or patterns: --kernels 'kernels/*.ptx'");
  const specs = await loadShipped();
  const modules = await loadModules(o.kernels);
  const plans = plansOf(o, specs);
  const metrics = metricsOf(o.metrics, await knownFor(o.metrics, o, modules, plans));
  const noisy = metrics.find((m) => m.noisy || m.of === 'module');
  if (noisy !== undefined) failWith(`'${noisy.name}' is not an exact metric of a kernel`);
  const wantsPtxas = metrics.some((m) => m.source === 'ptxas' || m.source === 'machine');
  const measure = measureOptions({ ...o, ptxas: wantsPtxas ? o.ptxas : false }, specs, metrics);
  if (wantsPtxas && measure.ptxas === undefined)
    failWith(
      'a metric of ptxas is requested, and ptxas cannot be run',
      'put it on PATH or name it in ORRERY_PTXAS',
    );
  const idle = await idleArms([{ name: 'base' }], modules, plans);
  show([...plans.warnings, ...idle]);
  const evaluator = await Evaluator.start(modules, plans, measure, metrics, cacheOf(o));
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    const answer = await answerTo(line, evaluator, o.perKernel === true);
    // The answer is written as one complete line immediately: the driving program waits for it.
    outExactly(JSON.stringify(answer));
  }
}

/** A faulty line is answered with its error, so that the optimizer at the other end can continue. */
async function answerTo(line: string, evaluator: Evaluator, perKernel: boolean): Promise<object> {
  // Parsing and printing of arms are recursive, so nesting is limited.
  if (isTooDeep(line)) return { version: 1, id: null, ok: false, error: 'this line is nested too deeply' };
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch {
    return { version: 1, id: null, ok: false, error: 'this line is not JSON' };
  }
  const { id = null, ...arm } = (isMap(request) ? request : { arm: request }) as {
    id?: unknown;
    arm?: unknown;
  };
  try {
    const { kernels, ...found } = await evaluator.evaluate('arm' in arm ? arm.arm : arm);
    return { version: 1, id, ...found, ...(perKernel && { kernels }) };
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    const d = e.diagnostics[0];
    return { version: 1, id, ok: false, error: [d.message, ...(d.notes ?? [])].join('; ') };
  }
}
