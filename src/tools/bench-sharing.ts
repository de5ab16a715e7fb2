// Measures the cost of arms that have most phases in common, and the speed-up of a sweep with several workers.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MemoryCache } from '../engine/memory-cache.ts';
import { runPipeline } from '../engine/pipeline.ts';
import type { Arm } from '../lab/arms.ts';
import { DiskCache } from '../lab/disk-cache.ts';
import { type Lowered, loadModules, lowerModule } from '../lab/kernels.ts';
import { Plans } from '../lab/plans.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { DEFAULT_ORDER } from '../spec/specs.ts';
import { branchyKernel } from './bench-kernels.ts';

/** Kernels of different kinds and sizes; 256 runs of all kernels would take an hour. */
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
/** Knobs that only the last phases with rules read. */
const LATE = ['GeneralOptimizeLateBudget', 'GeneralOptimizeLate2Budget'];

/** Fresh objects, so that no analysis is cached. */
const fresh = (x: Lowered) => ({
  ...x.program,
  functions: x.program.functions.map((f) => ({ ...f })),
});

const ms = async (f: () => unknown): Promise<number> => {
  const began = performance.now();
  await f();
  return performance.now() - began;
};

/** Milliseconds of processor time, which other load hardly affects. */
const cpu = async (f: () => unknown): Promise<number> => {
  const began = process.cpuUsage();
  await f();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
};

const median = (l: number[]) => l.sort((a, b) => a - b)[l.length >> 1];

/**
 * Prints the speed-up by shared prefixes and by workers.
 *
 * @param only names of parts to measure: arms, knob, workers; empty: all
 */
export async function benchSharing(say: (s: string) => void, only: readonly string[] = []): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
  try {
    for (const [name, part] of Object.entries({ arms, knob: oneKnob, workers }))
      if (only.length === 0 || only.includes(name)) await part(say, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const specs = loadShipped();
const newPlans = () =>
  new Plans({ level: 3, sm: 'sm_80', order: DEFAULT_ORDER, knobSets: [], set: [], disable: [] }, specs);

async function arms(say: (s: string) => void, folder: string): Promise<void> {
  const list = Array.from(
    { length: 256 },
    (_, i): Arm => ({ name: String(i), set: [`${LATE[0]}=${i >> 4}`, `${LATE[1]}=${i & 15}`] }),
  );
  const modules = await loadModules(KERNELS.map((k) => join(ROOT, 'test', 'kernels', k, `${k}.sm_80.ptx`)));
  const base = await newPlans().plan(list[0], 'sm_80');
  const inputs = modules.map((m) => lowerModule(m, base));
  /** Runs arms on one program with newly resolved plans, as separate commands would. */
  const separate = async (x: Lowered, some: readonly Arm[]): Promise<void> => {
    for (const arm of some) runPipeline(fresh(x), await newPlans().plan(arm, 'sm_80'));
  };
  const resolving = await cpu(async () => {
    const plans = newPlans();
    for (const arm of list) await plans.plan(arm, 'sm_80');
  });
  const share = (
    cacheOf: (x: Lowered) => MemoryCache | ReturnType<DiskCache['shelf']>,
    some: readonly Arm[] = list,
  ) =>
    cpu(async () => {
      const plans = newPlans();
      for (const x of inputs) {
        const cache = cacheOf(x);
        const program = fresh(x);
        for (const arm of some)
          runPipeline(program, await plans.plan(arm, 'sm_80'), { cache, inputKey: x.key });
      }
    });
  // Warm up, so that both variants run compiled code.
  for (const x of inputs) await separate(x, list.slice(0, 4));
  await share(() => new MemoryCache(), list.slice(0, 4));
  const alone = await cpu(async () => {
    for (const x of inputs) await separate(x, list);
  });
  const shared = await share(() => new MemoryCache());
  const onDisk = async () => {
    const disk = new DiskCache(join(folder, 'cache'));
    const took = await share((x) => disk.shelf(x.key, base.isa));
    return took + (await cpu(() => disk.close()));
  };
  const [cold, warm] = [await onDisk(), await onDisk()];
  const s = (n: number) => `${(n / 1000).toFixed(2)} s`;
  say(
    `\n256 arms              ${s(alone)} of processor time one by one, ${s(shared)} with a shared prefix: ${(alone / shared).toFixed(1)} times faster (${LATE.join(' and ')}, 16 values each, ${KERNELS.length} kernels; plans are resolved on both sides, ${(resolving / list.length).toFixed(2)} ms each)`,
  );
  say(
    `  with --cache        ${s(cold)} where it is empty, ${s(warm)} where it has all: ${(alone / warm).toFixed(1)} times faster than one by one`,
  );
}

async function oneKnob(say: (s: string) => void, folder: string): Promise<void> {
  const plans = newPlans();
  const file = join(folder, 'k.ptx');
  writeFileSync(file, branchyKernel(1000));
  const [module] = await loadModules([file]);
  const base = await plans.plan({ name: 'base' }, 'sm_80');
  const input = lowerModule(module, base);
  const cache = new MemoryCache();
  runPipeline(input.program, base, { cache, inputKey: input.key });
  const times: number[] = [];
  for (let i = 0; i < 40; i++)
    times.push(
      await ms(async () => {
        const plan = await plans.plan({ name: String(i), set: [`${LATE[1]}=${i}`] }, 'sm_80');
        runPipeline(input.program, plan, { cache, inputKey: input.key });
      }),
    );
  const whole: number[] = [];
  for (let i = 0; i < 9; i++) whole.push(await ms(() => runPipeline(fresh(input), base)));
  const worst = Math.max(...times).toFixed(1);
  say(
    `one late knob         ${median(times).toFixed(1)} ms (at most ${worst}) for its plan and its phases on a kernel of 1,000 instructions, where all phases take ${median(whole).toFixed(1)} ms`,
  );
}

/** Number of runs of each variant; variants take turns. */
const ROUNDS = 3;

async function workers(say: (s: string) => void, folder: string): Promise<void> {
  /** 16 arms: long enough that starting the threads does not dominate. */
  const short = experimentOf('short', [4, 4]);
  /** 256 arms: long enough that just-in-time compilation, which each worker repeats, does not dominate. */
  const long = experimentOf('long', [16, 16]);
  function experimentOf(name: string, values: readonly number[]): string {
    const path = join(folder, `${name}.experiment.yaml`);
    const factors = [LATE[0], 'GeneralOptimizationBudget'].map(
      (knob, i) => `${knob}: [default, ${Array.from({ length: values[i] - 1 }, (_, v) => 2 * v).join(', ')}]`,
    );
    writeFileSync(
      path,
      `kind: experiment
factors: { knobs: { ${factors.join(', ')} } }
kernels: ['${join(ROOT, 'test', 'kernels', '*', '*.sm_80.ptx')}']
metrics: [weighted]
`,
    );
    return path;
  }
  const commandFor = (
    experiment: string,
    jobs: number,
    processors: string | null,
    name = 'r',
  ): [string, ...string[]] => {
    const sweep = [
      'sweep',
      experiment,
      '-o',
      join(folder, `${name}.jsonl`),
      '--best',
      join(folder, `${name}.yaml`),
    ];
    const node = [
      process.execPath,
      join(ROOT, 'bin', 'orrery.js'),
      ...sweep,
      '--restart',
      '-j',
      String(jobs),
    ];
    return processors === null ? (node as [string, ...string[]]) : ['taskset', '-c', processors, ...node];
  };
  const seconds = async (experiment: string, jobs: number, processors: string | null): Promise<number> => {
    const [command, ...args] = commandFor(experiment, jobs, processors);
    const took = await ms(() => {
      const r = spawnSync(command, args, { cwd: folder });
      if (r.status !== 0) throw new Error(r.stderr.toString());
    });
    return took / 1000;
  };
  /** Seconds that two independent commands take at the same time, each confined to one processor. */
  const bothAtOnce = async (): Promise<number> => {
    const took = await ms(async () => {
      await Promise.all(
        ['0', '1'].map((p) => {
          const [command, ...args] = commandFor(long, 1, p, p);
          return new Promise<void>((done, fail) => {
            spawn(command, args, { cwd: folder, stdio: 'ignore' }).on('exit', (code) =>
              code === 0 ? done() : fail(new Error(`a sweep ended with ${code}`)),
            );
          });
        }),
      );
    });
    return took / 1000;
  };
  // V8 compiles and collects garbage in separate threads, so one worker uses more than one processor unless it is confined.
  const confine = availableParallelism() > 1 && spawnSync('taskset', ['-c', '0,1', 'true']).status === 0;
  const took: [one: number, two: number][] = [];
  for (let i = 0; i < ROUNDS; i++) took.push([await seconds(short, 1, null), await seconds(short, 2, null)]);
  const faster = (a: number, b: number): string =>
    `${b.toFixed(1)} s where one takes ${a.toFixed(1)}: ${(a / b).toFixed(2)} times faster`;
  const [one, two] = [0, 1].map((v) => median(took.map((t) => t[v])));
  say(
    `two workers           ${faster(one, two)} (the whole command, 16 arms on every test kernel, medians of ${ROUNDS} that took turns; ${loadavg()[0].toFixed(1)} processes wanted the ${availableParallelism()} processors)`,
  );
  if (!confine) return say('  by processors       not measured: this needs taskset and two processors');
  const alone = await seconds(long, 1, '0');
  say(
    `  by processors       ${faster(alone, await seconds(long, 2, '0,1'))}, one confined to one processor and two to two, 256 arms, once`,
  );
  const apart = await bothAtOnce();
  say(
    `  by the machine      ${((2 * alone) / apart).toFixed(2)} times, which no number of workers can exceed: two such commands that share nothing, one confined to each processor, take ${apart.toFixed(1)} s at once`,
  );
}

// This part alone: node dist/tools/bench-sharing.js [arms] [knob] [workers]
if (process.argv[1] === fileURLToPath(import.meta.url))
  await benchSharing((s) => void process.stdout.write(`${s}\n`), process.argv.slice(2));
