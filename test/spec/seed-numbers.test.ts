import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { roundCost } from '../../src/engine/round-cost.ts';
import { Draft } from '../../src/ir/draft/index.ts';
import { parseFn } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';
import { planWith } from '../support/specs.ts';

/*
 * Numbers that the pages on the original state, each at its edge, and none of them set: what ships decides. Those of switches are in
 * passes/branch-phases.test.ts, the level accessor is in engine/engine.test.ts.
 */
const base = (await planWith({ order: 'binary' })).plan!;

/** How many variables phase 37 promotes. */
async function promoted(
  variables: readonly (readonly [stores: number, loads: number])[],
  set: readonly string[],
) {
  const { plan } = await planWith({ order: 'binary', set, disable: ['GeneralOptimize', 'Vectorization'] });
  const words = (n: number) => Array.from({ length: n }, (_, k) => 4 * k);
  const text = variables.flatMap(([stores, loads], v) => [
    ...words(stores).map((at) => `st.local.u32 [v${v}+${at}], %x; add.s32 %x, %x, 3;`),
    ...words(loads).map(
      (at) => `ld.local.u32 %y, [v${v}+${at % (4 * stores)}]; st.global.u32 [%rd+${at}], %y;`,
    ),
  ]);
  const ptx = `.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 n) {
${variables.map((_, v) => `.local .align 8 .b8 v${v}[256];`).join('\n')}\n.reg .b64 %rd; .reg .b32 %x, %y;
ld.param.u64 %rd, [a]; ld.param.u32 %x, [n];\n${text.join('\n')}\nret; }`;
  const { program } = lowerPtx(parsePtx(ptx, 'x.ptx').module, {
    isa: plan!.isa,
    paramBase: 0x160,
    sm: 'sm_80',
  });
  const record = runPipeline(program, plan!, { until: 'GeneralOptimizeMid' }).records.find(
    (r) => r.phase.id === 'GeneralOptimizeMid',
  )!;
  return record.remarks.filter((m) => m.name === 'promoted').length;
}

describe('phase 37 promotes', () => {
  /** As many words as five variables may have, which take 200 registers. */
  const five = Array.from({ length: 5 }, () => [40, 40] as const);

  it.each([
    ['knob 135, 80 loads and stores', [[40, 40]], [], 1],
    ['knob 135, 80 loads and stores', [[41, 40]], [], 0],
    // Of 255 registers 0.93 are 237.15.
    ['knob 136, 0.93 of the registers', [...five, [37, 1]], [], 6],
    ['knob 136, 0.93 of the registers', [...five, [38, 1]], [], 5],
    // Eight accesses cost 2; so many registers are allowed.
    ['knob 474, an access costs 0.25', [[1, 7]], ['Knob136=0.0079'], 1],
    ['knob 474, an access costs 0.25', [[1, 7]], ['Knob136=0.0078'], 0],
    ['knob 132, up to 50 stores', [[50, 1]], ['Knob134=0.01'], 0],
    ['knob 132, up to 50 stores', [[51, 1]], ['Knob134=0.01'], 1],
    // The original falls back to 3 and 2.0; here neither is a bound unless it is set, for a reason that the catalog gives.
    ['knob 133, no bound', [[1, 1]], [], 1],
    ['knob 133, 3 stores', [[2, 1]], ['Knob133=3'], 0],
    ['knob 133, 3 stores', [[3, 1]], ['Knob133=3'], 1],
    ['knob 134, no bound', [[1, 40]], [], 1],
    ['knob 134, 2 loads for each store', [[3, 6]], ['Knob134=2.0'], 1],
    ['knob 134, 2 loads for each store', [[3, 7]], ['Knob134=2.0'], 0],
  ] as const)('by %s: %j, %j', async (_, variables, set, times) => {
    expect(await promoted(variables, set)).toBe(times);
  });

  it('and weighs a copy with up to four uses as cheap', () => {
    const row = base.phases.find((p) => p.id === 'GeneralOptimizeMid')!;
    const rounds = row.steps.find((s) => s.kind === 'repeat')!;
    const weights = rounds.kind === 'repeat' ? rounds.weights! : null!;
    const least = Number(base.knobs.get('MovWeightForConvertMemToReg')!.value);
    const cost = (uses: number): number => {
      const stores = Array.from({ length: uses }, (_, k) => `STG [RD3+${4 * k}], R1`).join('\n');
      const fn = parseFn(`BB0:\nMOV R1, R0\n${stores}\nEXIT`, testIsa());
      return roundCost(least, weights, testIsa())!.of(new Draft(fn, testIsa()), 0, true);
    };
    expect([4, 5].map(cost)).toEqual([0.25, 1]);
  });
});

it('the window of phase 58 has six slots', () => {
  /** A sum of three values, `between` other sums, and the first sum in another order. */
  const found = (between: number): number => {
    const others = Array.from(
      { length: between },
      (_, k) => `IADD3 R${60 + k}, R4, ${k + 1}\nSTG [RD20+${64 + 4 * k}], R${60 + k}`,
    );
    const fn = parseFn(
      `.entry k\n{\nBB0:\nLDG.V4 {R1, R2, R3, R4}, [RD20]\nIADD3 R5, R1, R2\nIADD3 R6, R5, R3\n${others.join('\n')}
IADD3 R7, R3, R1\nIADD3 R8, R7, R2\nSTG.B64 [RD20], R6\nSTG [RD20+4], R8\nEXIT\n}`,
      testIsa(),
    );
    const ctx = testContext(fn, { params: { tier: 'standard' }, facts: { class: 'SM80' } });
    runPass('pair-window', fn, ctx);
    return ctx.remarks.filter((r) => r.name === 'pair-common').length;
  };
  // Each sum takes a slot: six come after the first one before the last is compared, where four stand between.
  expect([0, 1, 2, 3, 4, 5, 6].map(found)).toEqual([1, 1, 1, 1, 0, 0, 0]);
});

it('NvOpt level 5 is valid, and 6 gets warning 8000', async () => {
  const says = async (nvopt: number) =>
    (await planWith({ order: 'binary', nvopt })).diagnostics.map((d) => d.message);
  expect(await says(5)).toEqual([]);
  expect(await says(6)).toEqual(['8000: Invalid nvopt level : 6.']);
});
