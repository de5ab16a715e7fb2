import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type GpuJob, type GpuResult, readResults, runJobs, writeJobs } from '../../src/tools/gpu-jobs.ts';
import { planFor, readModule, written } from '../support/oracle.ts';
import { type Kernel, randomKernel, sweepOf, textOf } from '../support/ptx-text/generate/kernel.ts';
import { launchOf } from '../support/ptx-text/generate/launch.ts';
import { differs, type Specified, specified } from '../support/ptx-text/specified.ts';

/*
 * Compares a GPU with the interpreter of PTX text, and the output of `opt` with both: on generated kernels, and on every instruction in all
 * its spellings. ORRERY_GPU names the program that runs them (test/bench/gpu/README.md); without one, the jobs are written to the folder
 * ORRERY_GPU_JOBS or, if it contains results, those are read.
 */
const program = process.env['ORRERY_GPU'];
const given = process.env['ORRERY_GPU_JOBS'];
const COUNT = Number(process.env['ORRERY_GPU_COUNT'] ?? 200);
/** Compute capability of the kernels: the GPU must have it, or a newer one of the same family. */
const SM = Number(process.env['ORRERY_GPU_SM'] ?? 90);
/** Seeds of kernels that no other test uses. */
const FIRST_SEED = 500_000;

interface Case {
  readonly job: GpuJob;
  readonly right: Specified;
}

/** @returns null if the PTX ISA leaves open what a kernel does, or the kernel needs a newer target */
function caseOf(name: string, k: Kernel): Case | null {
  if (k.sm > SM) return null;
  const text = textOf({ ...k, sm: SM });
  const launch = launchOf(k);
  const right = specified(text, launch);
  if (typeof right === 'string') return null;
  const sm = `sm_${SM}`;
  const ours = written(
    readModule(text, sm, planFor(sm, { level: 0, order: 'binary' })),
    planFor(sm, { level: 3, order: 'binary' }),
  );
  const { kernel, grid, block, dynamicShared, args } = launch;
  return { job: { name, kernel, grid, block, dynamicShared, args, arms: { original: text, ours } }, right };
}

function cases(): Case[] {
  const sweep = sweepOf(1, SM);
  const all = [
    ...Array.from({ length: COUNT }, (_, n) => caseOf(`random-${n}`, randomKernel(FIRST_SEED + n))),
    ...Array.from({ length: sweep.kernels }, (_, n) => caseOf(`sweep-${n}`, sweep.kernel(n))),
  ];
  return all.filter((c) => c !== null);
}

const wrong = (c: Case, arm: string, r: GpuResult | undefined): string[] => {
  const what = r === undefined ? 'no result' : (r.why ?? differs(c.right, r.buffers));
  return what === null ? [] : [`${c.job.name} ${arm}: ${what}`];
};

it.skipIf(program === undefined && given === undefined)(
  'a GPU does what the PTX ISA says, with the original and with what opt writes (ORRERY_GPU names the program that runs them)',
  () => {
    const folder = given ?? mkdtempSync(join(tmpdir(), 'orrery-gpu-'));
    try {
      const all = cases();
      expect(all.length).toBeGreaterThan(COUNT / 2);
      const jobs = all.map((c) => c.job);
      if (!existsSync(join(folder, 'results'))) writeJobs(folder, jobs);
      if (program !== undefined) runJobs(program, folder, 0);
      else if (!existsSync(join(folder, 'results'))) return;
      const results = readResults(folder, jobs);
      expect(
        all.flatMap((c) =>
          ['original', 'ours'].flatMap((arm) => wrong(c, arm, results.get(c.job.name)?.get(arm))),
        ),
      ).toEqual([]);
    } finally {
      if (given === undefined) rmSync(folder, { recursive: true, force: true });
    }
  },
  3_600_000,
);
