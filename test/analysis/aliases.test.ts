import { expect, it } from 'vitest';
import { sharedBytes } from '../../src/analysis/memory/shared-layout.ts';
import { ptxTable } from '../../src/cli/optimize/emit.ts';
import { assemble } from '../../src/cli/optimize/ptxas-run.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseProgram, printProgram } from '../../src/ir/text.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { paramBase } from '../../src/read.ts';
import { type LaunchResult, runLaunch } from '../../src/sim/launch.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { withoutSsa } from '../../src/ssa/program.ts';
import { hasPtxas } from '../support/ptxas.ts';
import { planWith, shipped } from '../support/specs.ts';

/* Aliases of functions (PTX ISA 9.0, 5.4.6): after `.alias f, g;` a call of f calls g. */

const call = (name: string, from: string, to: string) =>
  `{ .param .b32 a; .param .b32 b; st.param.b32 [a], ${from}; call (b), ${name}, (a); ld.param.b32 ${to}, [b]; }`;
/** g is called once by its own name, and once by its alias. */
const TEXT = `.version 7.4\n.target sm_80\n.address_size 64
.func (.param .b32 r) f(.param .b32 n);
.func (.param .b32 r) g(.param .b32 n)
{ .reg .b32 %r<9>; ld.param.u32 %r1, [n]; add.u32 %r3, %r1, 7; st.param.b32 [r], %r3; ret; }
.alias /* another name */ f, g;
.visible .entry k(.param .u64 p)
{ .reg .b32 %r<20>; .reg .b64 %rd<20>;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  ${call('g', '%r1', '%r10')}
  ${call('f', '%r10', '%r11')}
  st.global.u32 [%rd1], %r11; ret; }
`;

async function optimized(
  recipes: string[],
): Promise<{ plan: Plan; before: Program; after: Program; text: string }> {
  const { plan } = await planWith({ order: 'binary', recipes });
  const { module, diagnostics } = parsePtx(TEXT, 'k.ptx');
  expect(diagnostics).toEqual([]);
  const { program } = lowerPtx(module, { isa: plan!.isa, paramBase: paramBase(plan!), sm: 'sm_80' });
  const { last } = runPipeline(program, plan!, { verify: true });
  const { text } = emitPtx(withoutSsa(last, plan!.isa), {
    table: ptxTable(shipped),
    paramBase: paramBase(plan!),
    module,
    target: null,
  });
  return { plan: plan!, before: program, after: last, text };
}

/** Runs the kernel by a warp, on a buffer of a word for each lane. */
function launched(program: Program, plan: Plan): LaunchResult {
  const bytes = new Uint8Array(128);
  const params = [{ kind: 'buffer', type: 'u32', length: 32, bytes, expect: null, tolerance: 0 }] as const;
  const launch = {
    name: 't',
    kernel: 'k',
    grid: [1, 1, 1],
    block: [32, 1, 1],
    dynamicShared: 0,
    params,
  } as const;
  return runLaunch(program, plan.isa, launch, paramBase(plan), {});
}

it.each([[[]], [['inline']]])(
  'a launch calls the function by its other name, with recipes %j',
  async (recipes) => {
    const { plan, before, after } = await optimized(recipes);
    for (const p of [before, after]) {
      const r = launched(p, plan);
      expect(r.error).toBeNull();
      expect([...new Uint32Array(r.buffers[0]!.buffer)]).toEqual(
        Array.from({ length: 32 }, (_, t) => t + 14),
      );
    }
    expect(judgeKernel(before, after, 'k', paramBase(plan)).differences).toEqual([]);
  },
);

it('a function stays as long as it has another name, and ptxas takes it', async () => {
  const { after, text } = await optimized(['inline']);
  expect(after.functions.map((f) => f.name)).toEqual(['g', 'k']);
  expect(text).toMatch(/\.alias .*f, g;/);
  expect(text.match(/call \(.*\), f,/g)).toHaveLength(1);
  expect(text).not.toMatch(/call \(.*\), g,/);
  if (hasPtxas('aliases')) expect(assemble(text, ['-arch=sm_80'])).toMatchObject({ ok: true });
});

it('the text of Ori has them', async () => {
  const { plan, before } = await optimized([]);
  const text = printProgram(before);
  expect(text).toContain('\n.alias f g\n');
  const read = parseProgram(text, plan.isa).program;
  expect(read.aliases).toEqual([{ name: 'f', of: 'g' }]);
  expect(printProgram(read)).toBe(text);
});

it('shared memory that a function uses belongs to kernels that call it by any name', async () => {
  const { plan } = await optimized([]);
  const text = `.version 7.4\n.target sm_80\n.address_size 64\n.shared .align 4 .b32 buf[32];
.func f(.param .b32 n);
.func g(.param .b32 n)
{ .reg .b32 %r<4>; ld.param.u32 %r1, [n]; st.shared.u32 [buf+8], %r1; ret; }
.alias f, g;
.visible .entry k(.param .u64 p)
{ .reg .b32 %r<4>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  { .param .b32 a; st.param.b32 [a], 5; call f, (a); }
  mov.u64 %rd2, f; setp.ne.u64 %p1, %rd2, 0; ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, 1; st.global.u32 [%rd1], %r2; ret; }
`.replace('.reg .b64 %rd<3>;', '.reg .b64 %rd<3>; .reg .pred %p<2>;');
  const { module } = parsePtx(text, 'k.ptx');
  const { program } = lowerPtx(module, { isa: plan.isa, paramBase: paramBase(plan), sm: 'sm_80' });
  const k = program.functions.find((f) => f.name === 'k')!;
  expect(sharedBytes(program, k)).toBe(128);
  expect(launched(program, plan).error).toBeNull();
});

it('a program from Ori text is written with them', async () => {
  const { plan, before } = await optimized([]);
  const { program } = parseProgram(printProgram(before), plan.isa);
  const { text } = emitPtx(program, { table: ptxTable(shipped), paramBase: paramBase(plan), module: null });
  expect(text).toMatch(/^\.func .* f .*;$/m);
  expect(text).toContain('\n.alias f, g;\n');
  expect(text).not.toContain('.extern');
  if (hasPtxas('aliases')) expect(assemble(text, ['-arch=sm_80'])).toMatchObject({ ok: true });
});
