// Files that transfer launches to the GPU program, and its results back (test/bench/gpu/README.md).
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** An argument of a launch: the contents of a buffer to which the kernel gets a pointer, or a value in memory layout. */
export type GpuArgument =
  | { readonly kind: 'buffer'; readonly bytes: Uint8Array }
  | { readonly kind: 'value'; readonly bytes: Uint8Array };

type Triple = readonly [number, number, number];

/** One launch, to be run with each of several versions of a module. */
export interface GpuJob {
  /** Unique name without spaces. */
  readonly name: string;
  readonly kernel: string;
  readonly grid: Triple;
  readonly block: Triple;
  readonly cluster?: Triple | undefined;
  readonly dynamicShared: number;
  readonly args: readonly GpuArgument[];
  /** The PTX of each version, by name of the version. */
  readonly arms: Readonly<Record<string, string>>;
}

/** The result of one version of a job. */
export interface GpuResult {
  /** Why it did not run; null if it did. */
  readonly why: string | null;
  /** The contents of its buffers after the run, by argument; null for values. Empty if it did not run. */
  readonly buffers: readonly (Uint8Array | null)[];
  /** Median time in microseconds; null if it was not timed. */
  readonly us: number | null;
}

/** Writes jobs for the GPU program: `jobs`, `data.bin`, and a PTX file for each version. */
export function writeJobs(folder: string, jobs: readonly GpuJob[]): void {
  mkdirSync(join(folder, 'ptx'), { recursive: true });
  const lines: string[] = [];
  const data: Uint8Array[] = [];
  let at = 0;
  for (const [n, j] of jobs.entries()) {
    lines.push(
      `job ${j.name}`,
      `kernel ${j.kernel}`,
      `grid ${j.grid.join(' ')}`,
      `block ${j.block.join(' ')}`,
    );
    if (j.cluster !== undefined) lines.push(`cluster ${j.cluster.join(' ')}`);
    lines.push(`shared ${j.dynamicShared}`);
    for (const [arm, text] of Object.entries(j.arms)) {
      const file = `ptx/${n}.${arm}.ptx`;
      writeFileSync(join(folder, file), text);
      lines.push(`arm ${arm} ${file}`);
    }
    for (const a of j.args) {
      if (a.kind === 'buffer') {
        lines.push(`buffer ${at} ${a.bytes.length}`);
        data.push(a.bytes);
        at += a.bytes.length;
      } else lines.push(`scalar ${Buffer.from(a.bytes).toString('hex')}`);
    }
  }
  writeFileSync(join(folder, 'jobs'), `${lines.join('\n')}\n`);
  writeFileSync(join(folder, 'data.bin'), Buffer.concat(data));
}

/** Exit code of the GPU program if a faulting kernel ended the process; the next job must run in a new one. */
const FAULT = 3;

/** Runs jobs on the local GPU. @throws Error if the GPU program cannot run */
export function runJobs(program: string, folder: string, repeats: number): void {
  let first = 0;
  for (;;) {
    const r = spawnSync(program, [folder, String(repeats), String(first)], { encoding: 'utf8' });
    if (r.status === 0) return;
    if (r.status !== FAULT) throw new Error(r.stderr?.trim() || `${program} did not run`);
    const done = readFileSync(join(folder, 'results'), 'utf8').trimEnd().split('\n').at(-1)!;
    first = Number(done.split(' ')[0]) + 1;
  }
}

/** The results that the GPU program wrote, by job and version. @throws Error if there are none, or they are of unknown jobs */
export function readResults(
  folder: string,
  jobs: readonly GpuJob[],
): ReadonlyMap<string, ReadonlyMap<string, GpuResult>> {
  const file = join(folder, 'results');
  if (!existsSync(file)) throw new Error(`no results in ${folder}: run the GPU program on it first`);
  const bytes = readFileSync(join(folder, 'results.bin'));
  const byName = new Map(jobs.map((j) => [j.name, j]));
  const out = new Map<string, Map<string, GpuResult>>();
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) {
    const [, name, arm, what, ...rest] = line.split(' ');
    const job = byName.get(name);
    if (job === undefined) throw new Error(`${file}: results of '${name}', which is not among the jobs`);
    const arms = out.get(name) ?? new Map<string, GpuResult>();
    out.set(name, arms);
    if (what === 'fails') arms.set(arm, { why: rest.join(' '), buffers: [], us: null });
    else if (what === 'us') arms.set(arm, { ...arms.get(arm)!, us: Number(rest[0]) });
    else {
      let at = Number(rest[0]);
      const buffers = job.args.map((a) => {
        if (a.kind !== 'buffer') return null;
        at += a.bytes.length;
        return new Uint8Array(bytes.subarray(at - a.bytes.length, at));
      });
      arms.set(arm, { why: null, buffers, us: null });
    }
  }
  return out;
}
