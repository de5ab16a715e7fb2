// `node dist/tools/gpu-bench.js ./gpu-bench [kernel...]`: runs every launch of the test kernels on the local GPU, as
// compiled originally and as written by Orrery (test/bench/gpu/README.md).
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runPipeline } from '../engine/pipeline.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../ptx/emit/table.ts';
import { lowerPtx } from '../ptx/lower/index.ts';
import { parsePtx } from '../ptx/parse.ts';
import { ELEMENT_BYTES, type Launch, type LaunchParam } from '../sim/launch.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { loadLaunch } from '../spec/node-launch.ts';
import { shippedPlan } from './shipped-plan.ts';

const REPEATS = 50;
const [program, ...wanted] = process.argv.slice(2);
if (program === undefined || !existsSync(program))
  throw new Error('give the compiled gpu-bench as the first argument (test/bench/gpu/README.md)');

const specs = await loadShipped();
const plan = await shippedPlan(specs, 'sm_80');
const { isa, sm } = plan;
const table = new PtxTable(specs.ptx?.data as unknown as PtxDoc);
const paramBase = Number(plan.backend.facts['param-base']);

/** Bytes of a parameter in kernel layout. */
function bytesOf(p: LaunchParam): Uint8Array {
  if (p.kind !== 'scalar') return p.bytes;
  const view = new DataView(new ArrayBuffer(8));
  if (p.type === 'f32') view.setFloat32(0, Number(p.value), true);
  else if (p.type === 'f64') view.setFloat64(0, Number(p.value), true);
  else view.setBigUint64(0, BigInt.asUintN(64, BigInt(p.value)), true);
  return new Uint8Array(view.buffer, 0, ELEMENT_BYTES[p.type]);
}

function launchText(l: Launch, dir: string): string {
  const lines = [
    `kernel ${l.kernel}`,
    `grid ${l.grid.join(' ')}`,
    `block ${l.block.join(' ')}`,
    `shared ${l.dynamicShared}`,
  ];
  for (const [k, p] of l.params.entries()) {
    const bytes = bytesOf(p);
    if (p.kind === 'buffer') {
      const file = join(dir, `${k}.bin`);
      writeFileSync(file, bytes);
      lines.push(`buffer ${file}`);
    } else lines.push(`scalar ${Buffer.from(bytes).toString('hex')}`);
  }
  return `${lines.join('\n')}\n`;
}

const kernels = join(ROOT, 'test', 'kernels');
const ratios: number[] = [];
for (const name of readdirSync(kernels).sort()) {
  const source = join(kernels, name, `${name}.${sm}.ptx`);
  if (!existsSync(source) || (wanted.length > 0 && !wanted.includes(name))) continue;
  const text = readFileSync(source, 'utf8');
  const { module } = parsePtx(text, source);
  const lowered = lowerPtx(module, { isa, paramBase, sm }).program;
  const ours = emitPtx(runPipeline(lowered, plan).last, { table, paramBase, module }).text;
  for (const file of readdirSync(join(kernels, name)).filter((f) => /^launch.*\.yaml$/.test(f))) {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-gpu-'));
    try {
      const launch = await loadLaunch(join(kernels, name, file));
      const [out, how] = [join(dir, 'ours.ptx'), join(dir, 'launch')];
      writeFileSync(out, ours);
      writeFileSync(how, launchText(launch, dir));
      const r = spawnSync(program, [source, out, how, String(REPEATS)], { encoding: 'utf8' });
      if (r.status !== 0 && r.status !== 2) {
        process.stdout.write(`${name}/${file}: ${r.stderr.trim() || 'did not run'}\n`);
        continue;
      }
      const said = JSON.parse(r.stdout) as { equal: boolean; original_us: number; ours_us: number };
      const ratio = said.ours_us / said.original_us;
      ratios.push(ratio);
      process.stdout.write(
        `${name}/${file}: ${said.equal ? 'equal' : `DIFFERENT ${r.stdout.trim()}`}  ${said.original_us.toFixed(1)} -> ${said.ours_us.toFixed(1)} us  ${ratio.toFixed(3)}\n`,
      );
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
}
if (ratios.length > 0) {
  const mean = Math.exp(ratios.reduce((s, r) => s + Math.log(r), 0) / ratios.length);
  process.stdout.write(
    `${ratios.length} launches, geometric mean of ours over the original: ${mean.toFixed(4)}\n`,
  );
}
