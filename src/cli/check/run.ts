import { runPipeline } from '../../engine/pipeline.ts';
import { grouped } from '../../ir/counts.ts';
import type { Program } from '../../ir/program.ts';
import { baseTarget } from '../../ir/target.ts';
import { profiledRun } from '../../lab/profile-file.ts';
import { mostShared, paramBase, targetOf } from '../../read.ts';
import { type LaunchResult, runLaunch, toleranceText } from '../../sim/launch.ts';
import { loadShipped } from '../../spec/node.ts';
import { fitLaunch, type LoadedLaunch, loadLaunch } from '../../spec/node-launch.ts';
import { readText, writeWhole } from '../input/files.ts';
import { planFor, programFor, warnOtherFunctions, warnOtherVersions } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { oneCubin } from '../machine/cubin-file.ts';
import { liftedOf, machineFor } from '../machine/lifted.ts';
import { table } from '../terminal/table.ts';
import { CliExit, failWith, out, pc } from '../terminal/ui.ts';

/** Maximum bytes of local memory of a thread, including its stack (CUDA C Programming Guide, technical specifications: 512 KB). */
const MOST_STACK = 2 ** 19;

interface RunOptions extends PlanOptions {
  readonly opt: boolean;
  readonly module?: string;
  readonly cubin?: string;
  readonly counters?: boolean;
  readonly profileOut?: string;
  readonly budget?: string;
  readonly stack?: string;
  readonly schedule?: string;
  readonly json?: boolean;
}

/**
 * `orrery run`: runs launches in the simulator.
 *
 * @throws CliExit with code 1 if a launch fails
 */
export async function run(files: readonly string[], o: RunOptions): Promise<void> {
  const specs = await loadShipped();
  const results: { launch: LoadedLaunch; result: LaunchResult; program: Program }[] = [];
  const budget = o.budget === undefined ? undefined : Number(o.budget);
  if (budget !== undefined && !(Number.isSafeInteger(budget) && budget > 0))
    failWith(`--budget ${o.budget} is not a positive whole number`, 'it counts warp instructions');
  const stack = o.stack === undefined ? undefined : Number(o.stack);
  if (stack !== undefined && !(Number.isSafeInteger(stack) && stack > 0 && stack <= MOST_STACK))
    failWith(
      `--stack ${o.stack} is not a stack of a thread`,
      `it is a whole number of bytes from 1 to ${MOST_STACK}`,
    );
  const schedule = o.schedule === undefined ? undefined : Number(o.schedule);
  if (schedule !== undefined && !Number.isSafeInteger(schedule))
    failWith(`--schedule ${o.schedule} is not a whole number`, 'it is the seed of a random schedule');
  for (const file of files) {
    if (/\.(ptx|ori)$/.test(file))
      failWith(
        `${file} is not a launch file`,
        'a launch file is YAML and names its module: `orrery run --help` shows one',
      );
    const launch = await loadLaunch(file, o.module === undefined);
    const module = o.module ?? launch.modulePath;
    const text = readText(module);
    const code = o.cubin === undefined ? null : oneCubin(o.cubin, o.sm);
    const plan = await planFor(
      code === null ? o : { ...o, sm: baseTarget(code.target) },
      code?.target ?? targetOf(text),
      specs,
    );
    let { program } = programFor(module, text, plan);
    if (o.profile !== undefined) warnOtherVersions(o.profile, program);
    await fitLaunch(launch, program, mostShared(plan));
    if (code !== null) {
      const lifted = liftedOf(code, await machineFor(code.target), plan, program, launch.kernel);
      if (typeof lifted === 'string') failWith(`${o.cubin}: '${launch.kernel}' cannot be run: ${lifted}`);
      program = lifted.program;
    } else if (o.opt) program = runPipeline(program, plan).last;
    const result = runLaunch(program, plan.isa, launch, paramBase(plan), {
      counters: o.counters === true || o.profileOut !== undefined,
      budget,
      stack,
      schedule,
    });
    results.push({ launch, result, program });
  }
  if (o.profile !== undefined)
    warnOtherFunctions(
      o.profile,
      results.flatMap((r) => r.program.functions.map((f) => f.name)),
    );
  if (o.profileOut !== undefined)
    writeWhole(
      o.profileOut,
      `${JSON.stringify(
        results.flatMap(({ launch, result, program }) =>
          result.counters === null ? [] : [profiledRun(launch.file, launch.kernel, program, result.counters)],
        ),
        null,
        2,
      )}\n`,
    );
  if (o.json === true)
    out(
      JSON.stringify(
        results.map(({ launch, result }) => ({
          launch: launch.file,
          kernel: launch.kernel,
          status: result.status,
          error: result.error,
          mismatchCount: result.mismatchCount,
          mismatches: result.mismatches,
          warpInstructions: result.warpInstructions,
          counters: result.counters,
          output: result.output,
        })),
        null,
        2,
      ),
    );
  else for (const r of results) print(r.launch, r.result, o.counters === true);
  if (results.some((r) => r.result.status !== 'ok')) throw new CliExit(1);
}

function print(launch: LoadedLaunch, r: LaunchResult, counters: boolean): void {
  if (r.output !== '') out(r.output);
  const expects = launch.params.filter((p) => p.kind === 'buffer' && p.expect !== null).length;
  const word = r.status === 'ok' ? pc.green('ok') : pc.red(r.status);
  const how = expects === 0 ? ', nothing expected' : toleranceText(launch);
  const count = `${grouped(r.warpInstructions)} warp instructions`;
  out(`${word}  ${launch.file}  ${launch.kernel}  ${count}${how}`);
  if (r.error !== null) out(`  ${r.error}`);
  for (const m of r.mismatches.slice(0, 10))
    out(`  parameter ${m.param}[${m.index}]: got ${m.got}, expected ${m.expected}`);
  if (r.mismatchCount > r.mismatches.length) out(`  and ${r.mismatchCount - r.mismatches.length} more`);
  if (!counters || r.counters === null) return;
  const c = r.counters;
  const rows = [
    ['warp instructions', grouped(c.warpInstructions)],
    ['thread instructions', grouped(c.threadInstructions)],
    ...Object.entries(c.byUnit).map(([u, n]) => [
      `  ${u}`,
      `${grouped(n.warp)} warp, ${grouped(n.thread)} thread`,
    ]),
    ['divergent branches', grouped(c.divergentBranches)],
    ['deepest divergence stack', grouped(c.deepestStack)],
    ...Object.entries(c.transactions).map(([s, n]) => [`32-byte transactions, ${s}`, grouped(n)]),
    ['barrier waits', grouped(c.barrierWaits)],
  ];
  out(
    table(
      rows.map((x) => ['', ...x]),
      'llr',
    ),
  );
}
