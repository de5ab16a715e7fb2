import { expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { Kind } from '../../src/ir/operand.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseProgram } from '../../src/ir/text.ts';
import { type Launch, runLaunch } from '../../src/sim/launch.ts';
import { planWith } from '../support/specs.ts';

/*
 * Phases 48 and 103 in the plan: Ori text whose instructions have more constant-bank operands than an encoding allows.
 */
const TEXT = `.program "k" version 9.0 target sm_80 address 64
.entry k
  .param b64 out size 8 align 8 at 0
  .param b32 a size 4 align 4 at 8
  .param b32 b size 4 align 4 at 12
{
BB0:
  LDC.B64 RD1, c[0x0][0x160]
  S2R.TID.X R9
  ISETP.LT P3, R9, 1
  IADD3 R2, c[0x0][0x168], c[0x0][0x16c], c[0x0][0x168]
  @!P3 IMAD R2, c[0x0][0x168], c[0x0][0x16c], -c[0x0][0x16c]
  IMAD_WIDE RD4, R9, 4, RD1
  STG [RD4], R2
  EXIT
}
`;
const [A, B] = [7, 100];
/** Of two threads: 2a + b, and a * b - b. */
const EXPECTED = [2 * A + B, A * B - B];

const words = (values: readonly number[]): Uint8Array => new Uint8Array(Int32Array.from(values).buffer);
const LAUNCH: Launch = {
  name: 'k',
  kernel: 'k',
  grid: [1, 1, 1],
  block: [2, 1, 1],
  dynamicShared: 0,
  params: [
    { kind: 'buffer', type: 's32', length: 2, bytes: words([0, 0]), expect: words(EXPECTED), tolerance: 0 },
    { kind: 'scalar', type: 's32', value: A },
    { kind: 'scalar', type: 's32', value: B },
  ],
};

/** Instructions that compute from more than one place of a constant bank. */
const crowded = (p: Program): number =>
  p.functions
    .flatMap((f) => f.blocks.flatMap((b) => b.ins))
    .filter((x) => x.src.filter((o) => o.kind === Kind.CBank).length > 1).length;

it.each<[number, string]>([
  [3, 'EnforceArgumentRestrictions'],
  [1, 'LateEnforceArgumentRestrictions'],
])('at level %i %s leaves one constant to an instruction, and the same results', async (level, id) => {
  const ran = async (disable: string[]) => {
    const plan = (await planWith({ order: 'binary', sm: 'sm_80', level, disable })).plan!;
    const { program } = parseProgram(TEXT, plan.isa);
    const { records, last } = runPipeline(program, plan, { verify: true });
    const { status, mismatches } = runLaunch(
      last,
      plan.isa,
      LAUNCH,
      Number(plan.backend.facts['param-base']),
    );
    expect([status, mismatches]).toEqual(['ok', []]);
    return { last, changed: records.filter((r) => r.blocksChanged > 0).map((r) => r.phase.id) };
  };
  const both = ['EnforceArgumentRestrictions', 'LateEnforceArgumentRestrictions'];
  const { last, changed } = await ran([]);
  expect(changed.filter((p) => both.includes(p))).toEqual([id]);
  expect(crowded(last)).toBe(0);
  expect(crowded((await ran(both)).last)).toBe(2);
});
