import { describe, expect, it } from 'vitest';
import { liftedOf, machineFor } from '../../src/cli/machine/lifted.ts';
import { cubinOf, ptxasVersion } from '../../src/cli/optimize/ptxas-run.ts';
import { KnownFaults, sitesInPtx } from '../../src/known-faults.ts';
import { paramBase } from '../../src/read.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { planFor, readModule, simLaunch } from '../support/oracle.ts';
import { type Kernel, randomKernel, sweepOf, textOf } from '../support/ptx-text/generate/kernel.ts';
import { launchOf } from '../support/ptx-text/generate/launch.ts';
import { BUDGET, differs, MORE_SEEDS, SEEDS, specified } from '../support/ptx-text/specified.ts';
import { partOf, runs, seeds } from '../support/size.ts';
import { shipped } from '../support/specs.ts';

/*
 * ptxas' code for generated kernels, in the simulator of machine code, compared with an interpreter of PTX text, which shares nothing with
 * the decoder, lifter and simulator. The nightly size is 250 times the usual one (.ci/nightly --only machine).
 */

/** Number of kernels in a usual run. */
const USUAL = 4;
/** A usual run tries one of this many instructions of the sweep. */
const STEP = Math.max(1, Math.round(250 / runs(1)));
const TARGETS = [90, 80, 75, 100, 120];

const oracle = ptxasVersion()?.startsWith('13.0.88') === true;

/**
 * Instructions of which the code of ptxas 13.0.88 does something else than the PTX ISA says, here and on an H200 (docs/gpu.md): video
 * instructions that saturate, scale or write a part of a register, fns that finds nothing, subnormals that a conversion to f16 flushes, and
 * shifts of 16 bits by 65,536 and more.
 */
const OTHERWISE = new RegExp(
  [
    /\bv(add|sub|absdiff|min|max|shl|shr|mad)\.\S*(sat|shr)/,
    /\bv(add|sub|absdiff|min|max)\S* %r\d\.[bh]\d/,
    /\bfns\./,
    /\bcvt\.\S*ftz\S*\.f16\.f32/,
    /\bsh[lr]\.[bus]16 .*, 0x[0-9a-f]{5,}/,
  ]
    .map((r) => r.source)
    .join('|'),
);
/** What sm_100 and later have forms for that are not known yet: arithmetic of pairs of f32, and of halves with f32. */
const UNKNOWN = /\.f32x2\b|\b(add|sub|fma)\.\S*f32\.b?f16\b/;

/** Kernels whose memory was compared. */
let compared = 0;

/** What ptxas' code of a kernel does otherwise than specified; null if nothing, or if that is known; a gap of ours is said as such. */
async function deviation(k: Kernel): Promise<string | null> {
  const [text, launch, sm] = [textOf(k), launchOf(k), `sm_${k.sm}`];
  if (OTHERWISE.test(text) || UNKNOWN.test(text)) return null;
  const plan = planFor(sm, { level: 0, order: 'binary' });
  const faults = KnownFaults.of(shipped, plan.isa, sm, 3);
  if (
    faults !== null &&
    sitesInPtx(text, faults, { isa: plan.isa, paramBase: paramBase(plan), sm }).length > 0
  )
    return null;
  const right = specified(text, launch);
  if (typeof right === 'string') return null;
  const elf = cubinOf(text, [`-arch=${sm}`]);
  if (typeof elf === 'string') return `ptxas: ${elf}`;
  const { program } = readModule(text, sm, plan);
  const lifted = liftedOf({ elf }, await machineFor(sm), plan, program, launch.kernel);
  if (typeof lifted === 'string') return `gap: ${lifted}`;
  const r = runLaunch(lifted.program, plan.isa, simLaunch(launch), paramBase(plan), { budget: BUDGET });
  compared++;
  const what = r.error ?? differs(right, r.buffers);
  if (what === null) return null;
  // What two runs agree in may still be open.
  const surer = specified(text, launch, [...SEEDS, ...MORE_SEEDS]);
  if (typeof surer === 'string') return null;
  return r.error ?? differs(surer, r.buffers);
}

describe.skipIf(!oracle)('the code of ptxas 13.0.88 does what the PTX ISA says (needs ptxas 13.0.88)', () => {
  it('of kernels that were made up', async () => {
    const found: string[] = [];
    for (const seed of seeds(USUAL)) {
      const what = await deviation(randomKernel(seed));
      if (what !== null) found.push(`${seed}: ${what}`);
    }
    expect(found).toEqual([]);
  }, 3_600_000);

  it('of every instruction by itself, in all its spellings', async () => {
    const found: string[] = [];
    const all = TARGETS.flatMap((sm, n) => {
      const sweep = sweepOf(1 + n, sm, 1);
      return Array.from({ length: Math.floor((sweep.kernels - 1 - n) / STEP) + 1 }, (_, k) => ({
        name: `sm_${sm} ${n + k * STEP}`,
        kernel: () => sweep.kernel(n + k * STEP),
      }));
    });
    compared = 0;
    const own = partOf(all);
    for (const { name, kernel } of own) {
      const what = await deviation(kernel());
      if (what !== null) found.push(`${name}: ${what}`);
    }
    expect(found).toEqual([]);
    // What is known to be otherwise, and what the PTX ISA leaves open, is the smaller part.
    expect(compared).toBeGreaterThan(own.length / 2);
  }, 3_600_000);
});
