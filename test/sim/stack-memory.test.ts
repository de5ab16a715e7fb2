import { describe, expect, it } from 'vitest';
import { ptxTable } from '../../src/cli/optimize/emit.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { paramBase } from '../../src/read.ts';
import { type LaunchResult, runLaunch } from '../../src/sim/launch.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { withoutSsa } from '../../src/ssa/program.ts';
import { planWith, shipped } from '../support/specs.ts';

/* `alloca`, `stacksave` and `stackrestore`: PTX ISA 9.0, 9.7.17. */

const table = ptxTable(shipped);
const HEAD = '.version 7.4\n.target sm_80\n.address_size 64\n';

/** Each lane fills an array of tid + 1 words with squares, calls a function that allocates too, and computes the sum. */
const SQUARES = `${HEAD}
.func (.param .b32 r) twice(.param .b32 n)
{ .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u32 %r1, [n]; mov.u64 %rd1, 64; alloca.u64 %rd2, %rd1, 32;
  st.local.u32 [%rd2+60], %r1; ld.local.u32 %r2, [%rd2+60]; add.u32 %r3, %r2, %r2;
  st.param.b32 [r], %r3; ret; }
.visible .entry k(.param .u64 p)
{ .reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .local .align 8 .b8 fixed[16];
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  st.local.u32 [fixed+4], %r1;
  add.u32 %r2, %r1, 1; mul.wide.u32 %rd3, %r2, 4;
  stacksave.u64 %rd4; alloca.u64 %rd5, %rd3;
  mov.u32 %r3, 0;
FILL:
  mul.wide.u32 %rd6, %r3, 4; add.s64 %rd7, %rd5, %rd6; mul.lo.u32 %r4, %r3, %r3; st.local.u32 [%rd7], %r4;
  add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra FILL;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r10, [b]; }
  mov.u32 %r3, 0; mov.u32 %r5, 0;
SUM:
  mul.wide.u32 %rd6, %r3, 4; add.s64 %rd7, %rd5, %rd6; ld.local.u32 %r4, [%rd7]; add.u32 %r5, %r5, %r4;
  add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra SUM;
  stackrestore.u64 %rd4; stacksave.u64 %rd8; sub.s64 %rd9, %rd8, %rd4; cvt.u32.u64 %r6, %rd9;
  ld.local.u32 %r7, [fixed+4];
  add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r10; add.u32 %r5, %r5, %r6;
  st.global.u32 [%rd1], %r5; ret; }
`;

async function planOf(level: number, recipes: readonly string[] = []): Promise<Plan> {
  const { plan, diagnostics } = await planWith({ level, order: 'binary', recipes: [...recipes] });
  expect(diagnostics).toEqual([]);
  return plan!;
}

function lowered(text: string, plan: Plan) {
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  expect(diagnostics).toEqual([]);
  const { program } = lowerPtx(module, { isa: plan.isa, paramBase: paramBase(plan), sm: 'sm_80' });
  expect(program.skipped).toEqual([]);
  return { module, program };
}

function run(
  program: Program,
  plan: Plan,
  options: { schedule?: number; stack?: number } = {},
): LaunchResult {
  const launch = {
    name: 't',
    kernel: 'k',
    grid: [1, 1, 1],
    block: [64, 1, 1],
    dynamicShared: 0,
    params: [
      { kind: 'buffer', type: 'u32', length: 64, bytes: new Uint8Array(256), expect: null, tolerance: 0 },
    ],
  } as const;
  return runLaunch(program, plan.isa, launch, paramBase(plan), options);
}

const words = (r: LaunchResult): number[] => [...new Uint32Array(r.buffers[0]!.buffer)];
/** The sum of squares up to the lane, twice the lane from the function, and the lane from the variable. */
const SUMS = Array.from({ length: 64 }, (_, t) => (t * (t + 1) * (2 * t + 1)) / 6 + 3 * t);

describe('memory from the stack', () => {
  it.each([0, 1, 3])(
    'is right after all phases at -O%i, and after a round trip through PTX',
    async (level) => {
      const plan = await planOf(level);
      const { module, program } = lowered(SQUARES, plan);
      const { last } = runPipeline(program, plan);
      const { text, diagnostics } = emitPtx(withoutSsa(last, plan.isa), {
        table,
        paramBase: paramBase(plan),
        module,
        target: null,
      });
      expect(diagnostics).toEqual([]);
      expect(text.match(/\b(alloca|stacksave|stackrestore)\.u64/g)).toHaveLength(5);
      for (const p of [program, last, lowered(text, plan).program])
        for (const schedule of [undefined, 7]) {
          const r = run(p, plan, { schedule });
          expect([r.error, words(r)]).toEqual([null, SUMS]);
        }
      expect(judgeKernel(program, last, 'k', paramBase(plan), { budget: 100_000 }).differences).toEqual([]);
    },
  );

  it('open worlds see what follows it, in callees too', async () => {
    const plan = await planOf(0);
    const { program } = lowered(SQUARES, plan);
    const same = (text: string): boolean =>
      judgeKernel(program, lowered(text, plan).program, 'k', paramBase(plan), { budget: 100_000 }).same;
    expect(same(SQUARES)).toBe(true);
    expect(same(SQUARES.replace('add.u32 %r3, %r2, %r2', 'add.u32 %r3, %r2, %r1; add.u32 %r3, %r3, 1'))).toBe(
      false,
    );
    expect(same(SQUARES.replace('add.u32 %r5, %r5, %r10', 'add.u32 %r5, %r5, 1'))).toBe(false);
    // A variable that goes moves no allocation.
    expect(same(SQUARES.replace('fixed[16]', 'fixed[16]; .local .align 8 .b8 more[4096]'))).toBe(true);
  });

  it('is taken by calls of a loop again and again', async () => {
    const plan = await planOf(3);
    const text = SQUARES.replace(
      /\{ \.param \.b32 a.*\n/,
      (call) =>
        `mov.u32 %r8, 0;\nAGAIN:\n${call}add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 500; @%p2 bra AGAIN;\n`,
    );
    const { program } = lowered(text, plan);
    // Five hundred times 64 bytes would not fit.
    const r = run(runPipeline(program, plan).last, plan, { stack: 1024 });
    expect([r.error, words(r)]).toEqual([null, SUMS]);
  });

  it('ends where the stack ends', async () => {
    const plan = await planOf(0);
    const { program } = lowered(SQUARES, plan);
    expect(run(program, plan, { stack: 300 }).error).toMatch(
      /^the stack of 300 bytes is full \(--stack gives/,
    );
    const wrong = SQUARES.replace('stackrestore.u64 %rd4', 'add.s64 %rd4, %rd4, 4096; stackrestore.u64 %rd4');
    expect(run(lowered(wrong, plan).program, plan).error).toMatch(
      /^the stack is restored to 0x10[0-9a-f]0, which/,
    );
  });

  it('a function that takes some is not inlined', async () => {
    const plan = await planOf(3, ['inline']);
    const { program } = lowered(SQUARES, plan);
    const { last, records } = runPipeline(program, plan);
    expect(last.functions.map((f) => f.name)).toEqual(['twice', 'k']);
    expect(records.flatMap((r) => r.remarks.map((x) => x.message)).join('\n')).toContain(
      'memory that the function takes from the stack is freed when it returns',
    );
  });

  it('is as aligned in a function that is called', async () => {
    const plan = await planOf(0);
    const text = SQUARES.replace(
      'st.param.b32 [r], %r3',
      'cvt.u32.u64 %r4, %rd2; and.b32 %r4, %r4, 31; st.param.b32 [r], %r4',
    );
    const r = run(lowered(text, plan).program, plan);
    expect([r.error, words(r)]).toEqual([null, SUMS.map((s, t) => s - 2 * t)]);
  });

  it('has addresses that are multiples of what is asked for', async () => {
    const plan = await planOf(3);
    const text = `${HEAD}.visible .entry k(.param .u64 p)
{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .local .b8 odd[3];
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  add.u32 %r2, %r1, 1; cvt.u64.u32 %rd3, %r2; alloca.u64 %rd4, %rd3; alloca.u64 %rd5, %rd3, 256; alloca.u64 %rd6, %rd3, 1;
  and.b64 %rd4, %rd4, 7; and.b64 %rd5, %rd5, 255; and.b64 %rd6, %rd6, 7;
  or.b64 %rd4, %rd4, %rd5; or.b64 %rd4, %rd4, %rd6; cvt.u32.u64 %r3, %rd4; st.global.u32 [%rd1], %r3; ret; }\n`;
    const { program } = lowered(text, plan);
    for (const p of [program, runPipeline(program, plan).last]) {
      const r = run(p, plan);
      expect([r.error, words(r)]).toEqual([null, Array(64).fill(0)]);
    }
  });
});
