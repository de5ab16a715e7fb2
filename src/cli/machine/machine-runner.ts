import { BinaryError } from '../../cubin/bytes.ts';
import { readCubin } from '../../cubin/read.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { MachineRunner } from '../../lab/measure.ts';
import { type Lifted, liftKernel } from '../../lift/lift.ts';
import type { Machine } from '../../machine/forms.ts';
import { paramBase } from '../../read.ts';
import { runLaunch } from '../../sim/launch.ts';
import { loadMachine } from '../../spec/node-machine.ts';

/** Runs launches with machine code in the simulator, as `Measurer` asks for it. Descriptions of targets are read once. */
export function machineRunner(): MachineRunner {
  const machines = new Map<string, Promise<Machine | null>>();
  return async ({ cubin, target, input, plan, launch, budget }) => {
    if (!machines.has(target)) machines.set(target, loadMachine(target));
    const machine = await machines.get(target)!;
    if (machine === null) return null;
    let lifted: Lifted;
    try {
      lifted = liftKernel(readCubin(cubin), machine, plan.isa, input, launch.kernel, paramBase(plan));
    } catch (e) {
      if (e instanceof Unsupported || e instanceof BinaryError) return null;
      throw e;
    }
    if (lifted.gaps.length > 0) return null;
    const r = runLaunch(lifted.program, plan.isa, launch, paramBase(plan), { counters: true, budget });
    const blocks = r.counters?.blocks[launch.kernel] ?? {};
    let executed = 0;
    let stalls = 0;
    for (const { block, listed } of lifted.words) {
      const n = blocks[block] ?? 0;
      executed += n;
      stalls += n * listed.control.stall;
    }
    const [first] = r.mismatches;
    const why =
      r.error ??
      (first === undefined
        ? ''
        : `parameter ${first.param}[${first.index}] is ${first.got}, expected ${first.expected}`);
    return { executed, stalls, why };
  };
}
