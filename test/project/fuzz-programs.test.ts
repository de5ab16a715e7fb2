import fc from 'fast-check';
import { it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn } from '../../src/ir/text.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { programOf } from '../support/context.ts';
import { countedLoops } from '../support/counted-loops.ts';
import { expectNone } from '../support/expect-none.ts';
import { randomArms } from '../support/random-arms.ts';
import { randomKernel } from '../support/random-kernel.ts';
import { generator } from '../support/random-loops.ts';
import { randomPlan, shippedPlan } from '../support/random-plans.ts';
import { runs } from '../support/size.ts';

/*
 * Generated programs under generated plans: any level, any target, knobs of the value and branch phases at values that change their
 * effect, and every third time another legal order. The simulator must see no difference. The nightly size is 20,000 programs: 200 times
 * the usual number, in parts selected by ORRERY_FUZZ_SEED.
 */
/** Number of different plans, which the programs use in turn. */
const PLANS = runs(24);

/** Parts of a long run take different programs: ORRERY_FUZZ_SEED. */
const SEED = 71 + 2 * Number(process.env['ORRERY_FUZZ_SEED'] ?? 0);

const THREAD = { grid: [1, 1, 1], block: [1, 1, 1], budget: 3000, seeds: [1] } as const;
const WARP = { grid: [1, 1, 1], block: [32, 1, 1], budget: 20_000, seeds: [1] } as const;

/**
 * Does it ask which lanes execute together? A way that is never taken may have kept lanes apart that meet once it is gone, and
 * ACTIVEMASK promises nothing about that (PTX ISA 9.0, activemask).
 */
const asksWhoIsThere = (fn: Fn): boolean =>
  fn.blocks.some((b) => b.ins.some((x) => x.op.name === 'ACTIVEMASK'));

/** Checks one program under one plan; the failing text says how to see it again. */
function check(fn: Fn, n: number, world: typeof THREAD | typeof WARP, mayEndLate = false): void {
  const plan = randomPlan(n);
  const program = programOf(fn);
  const { last } = runPipeline(program, plan, { verify: true });
  const { differences, partial } = judgeKernel(program, last, fn.name, 0x160, world);
  // Of a program that does not end, stores that are overwritten may be gone: what it leaves in memory is never seen.
  if (partial && mayEndLate) return;
  expectNone(differences, `plan ${n} ${plan.hash}`, fn, last.functions[0]);
}

it('loops, nests and tables keep what a warp does under any plan', () => {
  fc.assert(
    fc.property(randomKernel, fc.nat(PLANS - 1), (fn, n) => check(fn, n, asksWhoIsThere(fn) ? THREAD : WARP)),
    { numRuns: runs(40), seed: SEED },
  );
}, 600_000);

it('loops that count, by lanes and to the ends of their ranges, keep what a warp does under any plan', () => {
  const below = generator(SEED + 2);
  for (let i = 0; i < runs(20); i++) {
    const raw = parseFn(countedLoops(below, i % 3 === 0), shippedPlan.isa);
    check(raw, below(PLANS), WARP, true);
  }
}, 600_000);

it.each(['thread', 'memory', 'warps'] as const)(
  'arms that have much in common keep what a thread does under any plan: %s',
  (kind) => {
    fc.assert(
      fc.property(randomArms(kind), fc.nat(PLANS - 1), (fn, n) => check(fn, n, THREAD)),
      { numRuns: runs(20), seed: SEED + 1 },
    );
  },
  600_000,
);
