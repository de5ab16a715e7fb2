import { describe, expect, it } from 'vitest';
import { ptxasPresent, runPtxas } from '../../src/cli/optimize/ptxas-run.ts';
import type { PlanChoice } from '../support/oracle.ts';
import { disagreement, kernelDisagreement, report } from '../support/oracle-compare.ts';
import { judge, kernelLaunches } from '../support/oracle-kernels.ts';
import { type Kernel, randomKernel, sweepOf, textOf } from '../support/ptx-text/generate/kernel.ts';
import { FLOAT_FAULTS } from '../support/ptx-text/planted/floats.ts';
import { INTEGER_FAULTS } from '../support/ptx-text/planted/integers.ts';
import { type Known, known, shows, showsInText } from '../support/ptx-text/planted/search.ts';
import { TEXT_FAULTS } from '../support/ptx-text/planted/texts.ts';
import { partOf, runs, seeds } from '../support/size.ts';

/*
 * Compares Orrery's reader, simulator and the output of `opt` with an independent interpreter of PTX text (test/support/ptx-text). The
 * nightly size is 200 times the usual one (.ci/nightly --only oracle).
 */

/** Number of kernels in a usual run. */
const USUAL = 10;
/** Number of kernels that together detect every planted fault. */
const NOTICING = 160;
/** True for a run larger than usual. */
const long = runs(USUAL) > USUAL;

const DEFAULT: PlanChoice = { level: 3, order: 'binary' };
const OTHERS: readonly PlanChoice[] = [
  { level: 1, order: 'binary' },
  { level: 2, order: 'binary' },
  { level: 3, order: 'seed' },
  { level: 4, order: 'binary' },
  { level: 5, order: 'binary' },
  { level: 3, order: 'binary', recipes: ['inline'] },
  // Shuffled orders.
  ...Array.from({ length: 6 }, (_, k) => ({ level: 3, order: k + 1 })),
];

/** Plans under which a kernel is written: the default and another, or in a usual run one of them. */
function plansOf(n: number): readonly PlanChoice[] {
  const other = OTHERS[n % OTHERS.length];
  if (long) return [DEFAULT, other];
  return [n % 2 === 0 ? DEFAULT : OTHERS[(n >> 1) % OTHERS.length]];
}

/** Fails with a small kernel where Orrery and the interpreter disagree. */
function agree(n: number, kernel: Kernel): void {
  const plans = plansOf(n);
  const d = kernelDisagreement(kernel, plans);
  if (d !== null) expect.fail(report(n, kernel, plans, d));
}

it.skipIf(!ptxasPresent())(
  'ptxas takes the kernels that are made up',
  () => {
    for (const seed of seeds(USUAL)) {
      const k = randomKernel(seed);
      const { why } = runPtxas(textOf(k), [`-arch=sm_${k.sm}`]);
      expect([seed, why]).toEqual([seed, null]);
    }
  },
  600_000,
);

describe('Orrery does what the PTX ISA says', () => {
  it('of kernels that were made up', () => {
    for (const seed of seeds(USUAL)) agree(seed, randomKernel(seed));
  }, 600_000);

  it('of every instruction in all its spellings', () => {
    const targets = [90, 100, 80, 75];
    // A usual run takes a few kernels of the first sweep; a sweep has about 200.
    for (const seed of seeds(3)) {
      const round = Math.floor((seed - 1) / 250);
      const sweep = sweepOf(1 + round, targets[round % targets.length]);
      agree(seed, sweep.kernel(((seed - 1) * 61) % sweep.kernels));
    }
  }, 600_000);
});

/** What the interpreter has found wrong in Orrery, each as small as it became. */
const FOUND: Readonly<Record<string, string>> = {
  'a guarded lop3 reads its guard before it writes it': `
mov.u32 %r0, 5; setp.eq.u32 %p1, %tid, 0; setp.ne.u32 %p2, %tid, %tid;
@%p1 lop3.and.b32 %r0|%p1, %ntid, 12, -1, 0x80, %p2; selp.u32 %r1, 1, 0, %p1;`,
  'zeros are normal': `
mov.b32 %f1, %tid; testp.normal.f32 %p1, %f1; selp.u32 %r0, 1, 0, %p1;
cvt.u64.u32 %d1, %tid; mov.b64 %g1, %d1; testp.normal.f64 %p2, %g1; selp.u32 %r1, 1, 0, %p2;`,
  'min.NaN of equal operands gives the canonical NaN': `
add.u32 %r2, %tid, 0x7f800000; mov.b32 %f1, %r2; min.NaN.f32 %f2, %f1, %f1; mov.b32 %r0, %f2; max.NaN.f32 %f3, %f1, %f1; mov.b32 %r1, %f3;`,
  'a number that was found from a shared variable may name a place in local memory': `
mov.u64 %d1, s; mov.u64 %d2, l; sub.u64 %d2, %d2, %d1; st.volatile.global.u64 [%out], %d2; ld.volatile.global.u64 %d2, [%out];
add.u64 %d3, %d1, %d2; cvta.local.u64 %d4, %d3; mov.u32 %r1, 0;
st.local.u32 [l], 5; st.u32 [%d4], %tid; ld.local.u32 %r0, [l];`,
};

describe('what was found wrong is right', () => {
  it.each(Object.entries(FOUND))('%s', (_, body) => {
    const text = `.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 pout) {
.shared .align 8 .b8 s[64]; .local .align 8 .b8 l[16];
.reg .b32 %tid, %ntid, %r<9>; .reg .b64 %out, %at, %d<9>; .reg .f32 %f<9>; .reg .f64 %g<9>; .reg .pred %p<9>;
ld.param.u64 %out, [pout]; mov.u32 %tid, %tid.x; mov.u32 %ntid, %ntid.x; mul.wide.u32 %at, %tid, 8; add.u64 %out, %out, %at;
${body}
st.global.v2.u32 [%out], {%r0, %r1}; ret; }
`;
    const bytes = new Uint8Array(32 * 8);
    const d = disagreement(
      text,
      {
        kernel: 'k',
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamicShared: 0,
        args: [{ kind: 'buffer', bytes }],
      },
      'sm_90',
      [DEFAULT, { level: 1, order: 'binary' }],
    );
    expect(d).toBe(null);
  });
});

/** In a usual run, every so many launches of bundled kernels, and most instructions of one. */
const STEP = 31;
const SHORT = 40_000;

describe('bundled kernels give what the host computed, and what opt writes of them the same bits', () => {
  const step = Math.max(1, Math.round(STEP / runs(1)));
  const some = partOf(kernelLaunches.filter((_, k) => k % step === 7 % step));
  let judged = 0;
  it.each(some)('$name', (l) => {
    const verdict = judge(l, long ? 50_000_000 : SHORT);
    if (verdict === 'too long') {
      expect(long).toBe(false);
      return;
    }
    judged++;
    expect(verdict.wrong).toBe(null);
  });
  it('at least half of them', () => expect(judged).toBeGreaterThan(some.length / 2));
});

/** What in a usual run is planted: every so many faults, from one on that few kernels are enough for. */
const EVERY = 9;

describe('planted faults are noticed', () => {
  const all: Known[] = [];
  /** Those kernels, made as far as they are needed. */
  const kernel = (k: number): Known => (all[k] ??= known(randomKernel(k + 1)));
  const found = (by: (k: Known) => boolean): boolean => {
    for (let k = 0; k < NOTICING; k++) if (by(kernel(k))) return true;
    return false;
  };
  const some = <T>(faults: readonly T[], from: number): readonly T[] =>
    long ? partOf(faults) : faults.filter((_, k) => k % EVERY === from);

  it('there are many', () => {
    const names = [...INTEGER_FAULTS, ...FLOAT_FAULTS, ...TEXT_FAULTS].map((f) => f.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(75);
  });
  it.each(some([...INTEGER_FAULTS, ...FLOAT_FAULTS], 7))('$key: $name', (f) =>
    expect(found((k) => shows(k, f))).toBe(true),
  );
  it.each(some(TEXT_FAULTS, 3))('what is written: $name', (f) =>
    expect(found((k) => showsInText(k, f))).toBe(true),
  );
});

it('a kernel is the same by its seed', () => {
  expect(textOf(randomKernel(11))).toBe(textOf(randomKernel(11)));
  expect(textOf(randomKernel(11))).not.toBe(textOf(randomKernel(12)));
});
