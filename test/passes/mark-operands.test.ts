import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { flatSteps } from '../../src/spec/plan.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { programOf, testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { runPass } from '../support/run-pass.ts';
import { runs } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const isa = testIsa();
const { plan } = await planWith({ order: 'binary', sm: 'sm_80' });
const row = plan!.phases.find((p) => p.id === 'GeneralOptimize')!;
const step = flatSteps(row.steps).find((s) => s.kind === 'pass' && s.pass === 'mark-operands')!;
const TABLE = step.kind === 'pass' ? step.params : {};

const fn = parseFn(
  `.entry k
{
BB0:
  LDG R2, [RD6]
  FADD R3, R2, R2
  ISETP.LT P1, R2, R3
  @P1 SEL R4, R2, R3, P1
  SEL R5, R2, R2, P9
  SEL R7, 7, 7, P1
  SEL.64 RD8, 0x100000000, 0x100000000, P1
  SEL.64 RD10, -5, -5, P1
  SEL.64 RD11, c[0x0][0x160], c[0x0][0x160], P1
  SEL R12, 0x3f800000, 0x3f800000, P1
  FADD R13, R12, R2
  STG.V4 [RD6+16], {R4, R5, R7, R13}
  STG.B64 [RD6], RD8
  STG.B64 [RD6+8], RD10
  STG.B64 [RD6+16], RD11
  EXIT
}`,
  isa,
);

type Opts = { params?: Record<string, unknown>; limited?: boolean; facts?: Record<string, unknown> };

/** Runs the pass with the table of the row. */
function run(fn: Fn, { params, limited = false, facts }: Opts) {
  const ctx = testContext(fn, {
    params: { ...TABLE, ...params },
    knobs: { LimitFoldFp: limited },
    backend: plan!.backend,
    ...(facts && { facts }),
  });
  const out = runPass('mark-operands', fn, ctx);
  expect(verifyFn(out)).toEqual([]);
  return { report: ctx.reports.join('\n'), out };
}

/** What the walk said, line by line. */
const marksOf = (fn: Fn, opts: Opts): string[] =>
  run(fn, opts)
    .report.split('\n')
    .slice(1)
    .map((l) => l.slice(2));

/** What the walk said and what was made of it. */
function told(opts: Opts): string {
  const { report, out } = run(fn, opts);
  return `${report}\n${printFn(out)}`;
}

describe('the table of mark-operands', () => {
  it('has what seed 001 states', () => {
    expect(TABLE).toEqual({
      propagated: 0x100,
      deferred: 0x201,
      'under-guard': 0x400,
      tier: 0,
      'limited-tier': 1,
      'tier-mask': 7,
      'scan-mask': 0x1b,
      'short-codes': 0x4fff,
      constraints: 0x1c00,
      'wide-bit': 1 << 10,
      'sign-bit': 1 << 11,
      'bank-bit': 1 << 12,
    });
  });

  it.each<[string, number, boolean, string]>([
    ['propagated', 0x80, false, 'SEL R5, R2, R2, P9  0x80'],
    ['deferred', 0x81, true, 'SEL R12, 0x3f800000, 0x3f800000, P1  0x81'],
    ['under-guard', 0x20, false, 'ISETP.LT P1, R2, R3  0x20'],
    ['tier', 1, false, 'SEL R5, R2, R2, P9  -, no comparison'],
    ['limited-tier', 0, true, 'SEL R5, R2, R2, P9  0x100'],
    ['tier-mask', 0, true, 'SEL R5, R2, R2, P9  0x100'],
    ['scan-mask', 0, true, 'SEL R5, R2, R2, P9  0x201'],
    ['short-codes', 28673, false, 'SEL.64 RD8, 0x100000000, 0x100000000, P1  0x100'],
    ['constraints', 0, false, 'SEL.64 RD8, 0x100000000, 0x100000000, P1  0x100'],
    ['wide-bit', 0, false, 'SEL.64 RD8, 0x100000000, 0x100000000, P1  0x100'],
    ['sign-bit', 0, false, 'SEL.64 RD10, -5, -5, P1  0x100'],
    ['bank-bit', 0, false, 'SEL.64 RD11, c[0x0][0x160], c[0x0][0x160], P1  0x100'],
  ])('%s = %i: another result', (name, value, limited, line) => {
    const usual = told({ limited });
    const other = told({ params: { [name]: value }, limited });
    expect(usual).not.toContain(line);
    expect(other).toContain(line);
  });

  it.each<[string, unknown, Opts, string]>([
    // Without a handler that marks predicates, a guard tells nothing.
    ['slots.1312', 'none', {}, 'SEL R4, R2, R3, P1\n'],
    // A handler that refuses comparisons.
    ['slots.1320', 'refuse-comparisons', {}, 'SEL R4, R2, R3, P1\n'],
    ['capabilities.careful-constants', false, { limited: true }, 'SEL R7, 7, 7, P1  -, an integer constant'],
    ['code', 20479, {}, 'SEL.64 RD10, -5, -5, P1  0x100'],
    ['code', 20480, {}, 'SEL.64 RD10, -5, -5, P1  -, a constant has constraint bits 0x800'],
  ])('the back end decides by %s: %j', (path, value, opts, line) => {
    expect(told({ ...opts, facts: { [path]: value } })).toContain(line);
  });

  it('a selection is of a constant if one of its values is', () => {
    const mark = (values: string): string[] =>
      marksOf(parseFn(`.entry k\n{\nBB0:\nSEL R8, ${values}, P1\nSTG [RD6], R8\nEXIT\n}`, isa), {
        limited: true,
        facts: { 'capabilities.careful-constants': false },
      });
    for (const values of ['7, 7', '7, R2', 'R2, 7'])
      expect(mark(values)[0], values).toContain(', P1  -, an integer constant');
    expect(mark('R2, R3')[0]).not.toContain('constant');
  });

  it('a constant of 64 bits that is the extension of its low word has one bit, any other wide one another', () => {
    const selects = (c: string): string =>
      marksOf(
        parseFn(`.entry k\n{\nBB0:\nSEL.64 RD8, ${c}, ${c}, P1\nSTG.B64 [RD6], RD8\nEXIT\n}`, isa),
        {},
      )[0];
    for (const c of ['-1', '0xffffffff80000000', '-5']) expect(selects(c)).toContain('constraint bits 0x800');
    for (const c of ['0xffffffff00000000', '0xffffffff00000001', '0x100000000', '0x7fffffff80000000'])
      expect(selects(c)).toContain('constraint bits 0x400');
    for (const c of ['0', '0x80000000', '0xffffffff']) expect(selects(c)).not.toContain('constraint bits');
  });

  it('where predicates are not marked, a copy makes the walk continue in a single predecessor', () => {
    const ways = parseFn(
      `.entry k
{
BB0:
  LDG R2, [RD6]
  ISETP.LT P1, R2, 5
  SEL R3, 7, 7, P1
  @P1 BRA BB2
BB1:
  SEL R4, 7, 7, P1
  STG [RD6], R4
BB2:
  SEL R5, 7, 7, P1
  STG [RD6+4], R3
  STG [RD6+8], R5
  EXIT
}`,
      isa,
    );
    const none = { limited: true, facts: { 'slots.1312': 'none' } };
    expect(marksOf(ways, none)).toEqual([
      'BB0: SEL R3, 7, 7, P1  0x100',
      'BB1: SEL R4, 7, 7, P1  0x100, found backwards',
      'BB2: SEL R5, 7, 7, P1  -, an integer constant, and what decides it is not on a single path to it',
    ]);
    expect(marksOf(ways, { limited: true }).filter((l) => l.includes('0x100'))).toHaveLength(3);
  });
});

describe('in phase 29, the marks decide about selections', () => {
  /** Does the phase leave a selection between two equal sides? */
  const stays = async (side: string, sm: string, set: string[] = [], without = ''): Promise<boolean> => {
    const p = (await planWith({ order: 'binary', sm, set })).plan!;
    const phases = p.phases
      .filter(({ id }) => ['GenerateMovPhi', 'GeneralOptimize'].includes(id))
      .map((x) => ({ ...x, steps: x.steps.filter((s) => s.kind !== 'pass' || s.pass !== without) }));
    const wide = side.length > 4;
    const given = parseFn(
      `.entry k\n{\nBB0:\n  LDG R1, [RD50]\n  ISETP.LT P60, R1, 5
  ${wide ? 'SEL.64 RD70' : 'SEL R70'}, ${side}, ${side}, P60\n  STG${wide ? '.B64' : ''} [RD50+8], ${wide ? 'RD70' : 'R70'}\n  EXIT\n}`,
      p.isa,
    );
    const { last } = runPipeline(programOf(given), { ...p, phases });
    return printFn(last.functions[0]).includes('SEL');
  };

  it.each([
    // Up to code 20479 any constant is taken; above it, none with a constraint bit.
    ['0x100000000', 'sm_50', false],
    ['0x100000000', 'sm_60', true],
    ['0x100000000', 'sm_80', true],
    ['0xffffffff80000000', 'sm_50', false],
    ['0xffffffff80000000', 'sm_80', true],
    ['c[0x0][0x160]', 'sm_50', false],
    ['c[0x0][0x160]', 'sm_80', true],
    ['5', 'sm_80', false],
  ])('%s on %s stays: %s', async (side, sm, kept) => {
    expect(await stays(side, sm)).toBe(kept);
  });

  it('in a conservative tier, integer constants by the class of the target', async () => {
    for (const [sm, kept] of [
      ['sm_50', false],
      ['sm_60', true],
      ['sm_80', false],
    ] as const)
      expect([sm, await stays('5', sm, ['LimitFoldFp'])]).toEqual([sm, kept]);
  });

  it('nothing else does: without the marks, the selection stays', async () => {
    expect(await stays('5', 'sm_80', [], 'mark-operands')).toBe(true);
  });
});

it('what a function returns is still written where a selection is known', () => {
  const returning = parseFn(
    `.func f
  .return b32 r size 4 align 4 at 0 reg R5
  .param b32 a size 4 align 4 at 0 reg R1
{
BB0:
  IADD3 R2, R1, 1
  SEL R5, R2, R2, P9
  RET
}`,
    isa,
  );
  expect(printFn(run(returning, {}).out)).toContain('MOV R5, R2');
});

it('values stay what they are, in every tier', () => {
  let changed = 0;
  fc.assert(
    fc.property(randomFn({ defined: true }), fc.integer({ min: 0, max: 7 }), (input: Fn, tier) => {
      const ssa = constructSsa(input, isa);
      const ctx = () => testContext(ssa, { params: { ...TABLE, tier }, backend: plan!.backend });
      const out = runPass('mark-operands', ssa, ctx());
      expect(verifyFn(out)).toEqual([]);
      expect(verifySsa(out)).toEqual([]);
      expect(sameBehaviour(input, leaveSsa(out, isa))).toBe(null);
      expect(runPass('mark-operands', out, ctx())).toBe(out);
      if (out !== ssa) changed++;
    }),
    { numRuns: runs(400), seed: 29 },
  );
  expect(changed).toBeGreaterThan(5);
});
