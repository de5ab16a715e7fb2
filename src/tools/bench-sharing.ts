// What arms of an experiment cost that have most of their phases in common, and what several workers make of a sweep.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryCache } from '../engine/memory-cache.ts';
import { runPipeline } from '../engine/pipeline.ts';
import type { Arm } from '../lab/arms.ts';
import { DiskCache } from '../lab/disk-cache.ts';
import { type Lowered, loadModules, lowerModule } from '../lab/kernels.ts';
import { Plans } from '../lab/plans.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import { DEFAULT_ORDER } from '../spec/specs.ts';

/** Kernels of different kinds, from short ones to the longest: 256 runs of all would take an hour. */
const KERNELS = [
  'saxpy',
  'float-compare',
  'atomics-int',
  'nested-conditions',
  'histogram',
  'chacha',
  'fft',
  'sieve',
];
/** Knobs that the last phases with rules read, and no phase before them. */
const LATE = ['GeneralOptimizeLateBudget', 'GeneralOptimizeLate2Budget'];

/** Fresh objects, so that no analysis is remembered. */
const fresh = (x: Lowered) => ({
  ...x.program,
  functions: x.program.functions.map((f) => ({ ...f })),
});

const ms = (f: () => void): number => {
  const began = performance.now();
  f();
  return performance.now() - began;
};

/** Milliseconds that the processor worked: what others do beside it counts for little. */
const cpu = (f: () => void): number => {
  const began = process.cpuUsage();
  f();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
};

/** Prints what sharing prefixes and workers bring. `kernel` gives the PTX of a kernel of about n instructions. */
export async function benchSharing(kernel: (n: number) => string, say: (s: string) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
  try {
    await arms(say, folder);
    await oneKnob(kernel, say, folder);
    workers(say, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const newPlans = async () =>
  new Plans(
    { level: 3, sm: 'sm_80', order: DEFAULT_ORDER, recipe: null, knobSets: [], set: [], disable: [] },
    loadShipped(),
  );

async function arms(say: (s: string) => void, folder: string): Promise<void> {
  const plans = await newPlans();
  const modules = await loadModules(KERNELS.map((k) => join(ROOT, 'test', 'kernels', k, `${k}.sm_80.ptx`)));
  const list: Plan[] = [];
  const began = process.cpuUsage();
  for (let i = 0; i < 256; i++) {
    const set = [`${LATE[0]}=${i >> 4}`, `${LATE[1]}=${i & 15}`];
    list.push(await plans.plan({ name: String(i), set }, 'sm_80'));
  }
  const { user, system } = process.cpuUsage(began);
  const resolving = (user + system) / 1000;
  const inputs = modules.map((m) => lowerModule(m, list[0]));
  // What is compiled by then, is for both.
  for (const x of inputs) for (const p of list.slice(0, 4)) runPipeline(fresh(x), p);
  const alone = cpu(() => {
    for (const x of inputs) for (const p of list) runPipeline(fresh(x), p);
  });
  const share = (cacheOf: (x: Lowered) => MemoryCache | ReturnType<DiskCache['shelf']>) =>
    cpu(() => {
      for (const x of inputs) {
        const cache = cacheOf(x);
        const program = fresh(x);
        for (const p of list) runPipeline(program, p, { cache, inputKey: x.key });
      }
    });
  const shared = share(() => new MemoryCache());
  const onDisk = () => {
    const disk = new DiskCache(join(folder, 'cache'));
    let took = share((x) => disk.shelf(x.key, list[0].isa));
    took += cpu(() => disk.close());
    return took;
  };
  const [cold, warm] = [onDisk(), onDisk()];
  const s = (n: number) => `${(n / 1000).toFixed(2)} s`;
  say(
    `\n256 arms              ${s(alone)} of processor time for phases one by one, ${s(shared)} with a shared prefix: ${(alone / shared).toFixed(1)} times faster (${LATE.join(' and ')}, 16 values each, ${KERNELS.length} kernels; resolving the plans is ${s(resolving)} beside both)`,
  );
  say(
    `  with --cache        ${s(cold)} where it is empty, ${s(warm)} where it has all: ${(alone / warm).toFixed(1)} times faster than one by one`,
  );
}

async function oneKnob(
  kernel: (n: number) => string,
  say: (s: string) => void,
  folder: string,
): Promise<void> {
  const plans = await newPlans();
  const file = join(folder, 'k.ptx');
  writeFileSync(file, kernel(1000));
  const [module] = await loadModules([file]);
  const arm = (i: number): Arm => ({ name: String(i), set: [`${LATE[1]}=${i}`] });
  const base = await plans.plan({ name: 'base' }, 'sm_80');
  const input = lowerModule(module, base);
  const cache = new MemoryCache();
  runPipeline(input.program, base, { cache, inputKey: input.key });
  const times: number[] = [];
  const resolved: number[] = [];
  for (let i = 0; i < 40; i++) {
    const began = performance.now();
    const plan = await plans.plan(arm(i), 'sm_80');
    resolved.push(performance.now() - began);
    times.push(ms(() => runPipeline(input.program, plan, { cache, inputKey: input.key })));
  }
  const whole = Array.from({ length: 9 }, () => ms(() => runPipeline(fresh(input), base)));
  const worst = Math.max(...times).toFixed(1);
  const median = (l: number[]) => l.sort((a, b) => a - b)[l.length >> 1].toFixed(1);
  say(
    `one late knob         ${median(times)} ms (at most ${worst}) for the phases of a kernel of 1,000 instructions, where all phases take ${median(whole)} ms (and ${median(resolved)} ms to resolve the plan)`,
  );
}

function workers(say: (s: string) => void, folder: string): void {
  const experiment = join(folder, 'bench.experiment.yaml');
  const kernels = KERNELS.map((k) => join(ROOT, 'test', 'kernels', k, `${k}.sm_80.ptx`));
  writeFileSync(
    experiment,
    `kind: experiment
factors: { knobs: { ${LATE.map((k) => `${k}: [default, 0, 2, 4]`).join(', ')}, GeneralOptimizationBudget: [default, 0, 3, 9] } }
kernels: [${kernels.join(', ')}]
metrics: [weighted]
`,
  );
  const seconds = (jobs: number): number => {
    const args = ['sweep', experiment, '-o', join(folder, 'r.jsonl'), '--best', join(folder, 'b.yaml')];
    return (
      ms(() => {
        const all = [join(ROOT, 'bin', 'orrery.js'), ...args, '--restart', '-j', String(jobs)];
        const r = spawnSync(process.execPath, all, { cwd: folder });
        if (r.status !== 0) throw new Error(r.stderr.toString());
      }) / 1000
    );
  };
  const [one, two] = [seconds(1), seconds(2)];
  say(
    `two workers           ${two.toFixed(1)} s where one takes ${one.toFixed(1)}: ${(one / two).toFixed(2)} times faster (the whole command, ${64 * KERNELS.length} cells)`,
  );
}
