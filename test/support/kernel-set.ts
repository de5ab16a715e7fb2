import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Program } from '../../src/ir/program.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type Launch, type LaunchResult, runLaunch } from '../../src/sim/launch.ts';
import { loadLaunch } from '../../src/spec/node-launch.ts';
import { testIsa } from './isa.ts';

const root = fileURLToPath(new URL('../kernels/', import.meta.url));
const BASE = 0x160;

/** Names of the test kernels with a launch and PTX for sm_80. */
export const kernelNames: readonly string[] = readdirSync(root, { withFileTypes: true })
  .filter((d) => d.isDirectory() && existsSync(`${root}${d.name}/${d.name}.sm_80.ptx`))
  .map((d) => d.name)
  .filter((n) => readdirSync(`${root}${n}`).some((f) => /^launch.*\.yaml$/.test(f)));

/** A lowered test kernel and its launches. */
export async function kernelOf(name: string): Promise<{ program: Program; launches: Launch[] }> {
  const text = readFileSync(`${root}${name}/${name}.sm_80.ptx`, 'utf8');
  const { module } = parsePtx(text, name);
  const { program } = lowerPtx(module, { isa: testIsa(), paramBase: BASE, sm: 'sm_80' });
  const launches: Launch[] = [];
  for (const f of readdirSync(`${root}${name}`))
    if (/^launch.*\.yaml$/.test(f)) launches.push(await loadLaunch(`${root}${name}/${f}`));
  return { program, launches };
}

/** Runs a launch of a test kernel with a budget of warp instructions. */
export const runKernel = (program: Program, launch: Launch, budget: number): LaunchResult =>
  runLaunch(program, testIsa(), launch, BASE, { budget });
