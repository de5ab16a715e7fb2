import { grouped } from '../../ir/counts.ts';
import { baseTarget } from '../../ir/target.ts';
import { mostShared, paramBase } from '../../read.ts';
import { runLaunch } from '../../sim/launch.ts';
import { fitLaunch, loadLaunch } from '../../spec/node-launch.ts';
import { readText } from '../input/files.ts';
import { planFor, programFor } from '../input/input.ts';
import { err, failWith } from '../terminal/ui.ts';
import type { Chosen } from './cubin-file.ts';
import type { Executions } from './disasm-text.ts';
import { liftedOf, machineFor } from './lifted.ts';

/**
 * Runs a launch with the machine code of a cubin, and returns how often warps executed each instruction. If the launch does not end, or
 * gives unexpected results, that is printed on standard error.
 */
export async function executionsIn(file: string, cubin: Chosen, launchFile: string): Promise<Executions> {
  const launch = await loadLaunch(launchFile);
  const text = readText(launch.modulePath);
  const plan = await planFor({ sm: baseTarget(cubin.target) }, cubin.target);
  const { program } = programFor(launch.modulePath, text, plan);
  await fitLaunch(launch, program, mostShared(plan));
  const lifted = liftedOf(cubin, await machineFor(cubin.target), plan, program, launch.kernel);
  if (typeof lifted === 'string') failWith(`${file}: '${launch.kernel}' cannot be run: ${lifted}`);
  const r = runLaunch(lifted.program, plan.isa, launch, paramBase(plan), { counters: true });
  const blocks = r.counters?.blocks[launch.kernel] ?? {};
  const out = new Map<string, Map<number, number>>();
  let all = 0;
  for (const w of lifted.words) {
    const n = blocks[w.block] ?? 0;
    all += n;
    if (n === 0 && w.fn !== launch.kernel && !out.has(w.fn)) continue;
    const own = out.get(w.fn) ?? new Map<number, number>();
    out.set(w.fn, own.set(w.offset, n));
  }
  const how =
    r.status === 'ok'
      ? ''
      : `: ${r.error ?? `${grouped(r.mismatchCount)} values differ from what it expects`}`;
  err(
    `note: warps executed ${grouped(all)} machine instructions of '${launch.kernel}' in ${launchFile}${how}`,
  );
  return out;
}
