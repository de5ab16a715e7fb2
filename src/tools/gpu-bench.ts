// `node dist/tools/gpu-bench.js ./gpu-bench [kernel | launch.yaml ...]`: runs launches of the test kernels, or other launch files, on the
// local GPU, with the original PTX and with the PTX that Orrery writes, and compares results and times. `--write FOLDER` and `--read
// FOLDER` do the parts before and after the GPU (test/bench/gpu/README.md).
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ptxOf } from '../cli/optimize/emit.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { baseTarget } from '../ir/target.ts';
import { readPtx, targetOf } from '../read.ts';
import { compareBuffers, ELEMENT_BYTES, type Launch, type LaunchParam } from '../sim/launch.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { loadLaunch } from '../spec/node-launch.ts';
import { type GpuArgument, type GpuJob, readResults, runJobs, writeJobs } from './gpu-jobs.ts';
import { shippedPlan } from './shipped-plan.ts';

const REPEATS = 50;
const KERNELS = join(ROOT, 'test', 'kernels');
/** Target of the PTX of the test kernels; newer GPUs run it too. */
const TARGET = 'sm_80';

/** Converts a parameter to the memory layout of the kernel. */
function argument(p: LaunchParam): GpuArgument {
  if (p.kind === 'buffer') return { kind: 'buffer', bytes: p.bytes };
  if (p.kind === 'bytes') return { kind: 'value', bytes: p.bytes };
  const view = new DataView(new ArrayBuffer(8));
  if (p.type === 'f32') view.setFloat32(0, Number(p.value), true);
  else if (p.type === 'f64') view.setFloat64(0, Number(p.value), true);
  else view.setBigUint64(0, BigInt.asUintN(64, BigInt(p.value)), true);
  return { kind: 'value', bytes: new Uint8Array(view.buffer, 0, ELEMENT_BYTES[p.type]) };
}

/** A launch file, and the PTX file that it runs. */
interface Named {
  readonly name: string;
  readonly file: string;
  readonly source: string;
}

/** The launch files of the named test kernels; empty: of all. */
const ofTestKernels = (names: readonly string[]): Named[] =>
  readdirSync(KERNELS)
    .sort()
    .filter((n) => names.length === 0 || names.includes(n))
    .map((n) => ({ n, source: join(KERNELS, n, `${n}.${TARGET}.ptx`) }))
    .filter(({ source }) => existsSync(source))
    .flatMap(({ n, source }) =>
      readdirSync(join(KERNELS, n))
        .filter((f) => /^launch.*\.yaml$/.test(f))
        .map((f) => ({ name: `${n}/${f}`, file: join(KERNELS, n, f), source })),
    );

/** The launches that the arguments name (launch files and test kernels), each with its job for the GPU. */
async function launches(wanted: readonly string[]): Promise<{ job: GpuJob; launch: Launch }[]> {
  const specs = await loadShipped();
  const out: { job: GpuJob; launch: Launch }[] = [];
  const files: Named[] = [];
  for (const file of wanted.filter((w) => w.endsWith('.yaml')))
    files.push({ name: file, file, source: (await loadLaunch(file)).modulePath });
  const names = wanted.filter((w) => !w.endsWith('.yaml'));
  if (names.length > 0 || files.length === 0) files.push(...ofTestKernels(names));
  const written = new Map<string, { original: string; ours: string }>();
  for (const { name, file, source } of files) {
    let arms = written.get(source);
    if (arms === undefined) {
      const text = readFileSync(source, 'utf8');
      const plan = await shippedPlan(specs, baseTarget(targetOf(text) ?? TARGET));
      const input = readPtx(text, plan, source);
      const last = runPipeline(input.program, plan).last;
      const ours = await ptxOf(last, input.module, plan, { quiet: true });
      arms = { original: text, ours };
      written.set(source, arms);
    }
    const launch = await loadLaunch(file);
    const { kernel, grid, block, cluster, dynamicShared } = launch;
    const args = launch.params.map(argument);
    out.push({ launch, job: { name, kernel, grid, block, cluster, dynamicShared, args, arms } });
  }
  return out;
}

/** The first place where the results of a run on the GPU differ from what the launch expects, as text; null if there is none. */
function unexpected(launch: Launch, buffers: readonly (Uint8Array | null)[]): string | null {
  for (const [k, p] of launch.params.entries()) {
    if (p.kind !== 'buffer' || p.expect === null) continue;
    const { count, first } = compareBuffers(k, p.type, p.expect, buffers[k]!, p.tolerance);
    if (count > 0) return `parameter ${k}, element ${first[0].index}`;
  }
  return null;
}

function report(folder: string, all: readonly { job: GpuJob; launch: Launch }[]): void {
  const results = readResults(
    folder,
    all.map((l) => l.job),
  );
  const ratios: number[] = [];
  for (const { job, launch } of all) {
    const arms = results.get(job.name);
    const [a, b] = [arms?.get('original'), arms?.get('ours')];
    if (a === undefined || b === undefined || a.why !== null || b.why !== null) {
      process.stdout.write(`${job.name}: did not run: ${a?.why ?? b?.why ?? 'no result'}\n`);
      continue;
    }
    const differing = a.buffers.findIndex((x, k) => x !== null && Buffer.compare(x, b.buffers[k]!) !== 0);
    const findings = [
      differing < 0 ? 'equal' : `DIFFERENT in parameter ${differing}`,
      ...Object.entries({ original: a, ours: b }).flatMap(([arm, { buffers }]) => {
        const wrong = unexpected(launch, buffers);
        return wrong === null ? [] : [`${arm} gives another result than expected in ${wrong}`];
      }),
    ].join('; ');
    let times = '';
    if (a.us !== null && b.us !== null) {
      ratios.push(b.us / a.us);
      times = `  ${a.us.toFixed(1)} -> ${b.us.toFixed(1)} us  ${(b.us / a.us).toFixed(3)}`;
    }
    process.stdout.write(`${job.name}: ${findings}${times}\n`);
  }
  if (ratios.length > 0) {
    const mean = Math.exp(ratios.reduce((s, r) => s + Math.log(r), 0) / ratios.length);
    process.stdout.write(
      `${ratios.length} launches, geometric mean of ours over the original: ${mean.toFixed(4)}\n`,
    );
  }
}

const [first, ...rest] = process.argv.slice(2);
if (first === '--write')
  writeJobs(
    rest[0],
    (await launches(rest.slice(1))).map((l) => l.job),
  );
else if (first === '--read') report(rest[0], await launches(rest.slice(1)));
else {
  if (first === undefined || !existsSync(first))
    throw new Error('give the compiled gpu-bench as the first argument (test/bench/gpu/README.md)');
  const folder = mkdtempSync(join(tmpdir(), 'orrery-gpu-'));
  try {
    const all = await launches(rest);
    writeJobs(
      folder,
      all.map((l) => l.job),
    );
    runJobs(first, folder, REPEATS);
    report(folder, all);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
