import { describe, expect, it } from 'vitest';
import type { Program } from '../../src/ir/program.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type LaunchResult, runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from '../support/isa.ts';

const BASE = 0x210;
function lowered(body: string): Program {
  const { module, diagnostics } = parsePtx(
    `.version 9.0\n.target sm_90\n.address_size 64\n.global .b32 arrived = 0;\n${body}`,
    'k.ptx',
  );
  expect(diagnostics).toEqual([]);
  const r = lowerPtx(module, { isa: testIsa(), paramBase: BASE, sm: 'sm_90' });
  expect(r.diagnostics).toEqual([]);
  return r.program;
}

function run(program: Program, grid: number, block: number, words: number, budget: number): LaunchResult {
  const bytes = new Uint8Array(4 * words);
  const launch = {
    name: 't',
    kernel: 'k',
    grid: [grid, 1, 1],
    block: [block, 1, 1],
    dynamicShared: 0,
    params: [{ kind: 'buffer', type: 'u32', length: words, bytes, expect: null, tolerance: 0 }],
  } as const;
  return runLaunch(program, testIsa(), launch, BASE, { budget });
}

/** All blocks of the grid wait for each other, `rounds` times; each adds to its word what its neighbour had before. */
const barrier = (wait: string, rounds: number): string => `
.visible .entry k(.param .u64 out)
{ .reg .b32 %r<20>; .reg .b64 %d<9>; .reg .pred %p<9>;
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %d1, %d2;
  add.s32 %r4, %r2, 1; setp.eq.s32 %p1, %r4, %r3; selp.b32 %r4, 0, %r4, %p1;
  mul.wide.u32 %d3, %r4, 4; add.s64 %d3, %d1, %d3;
  setp.ne.s32 %p2, %r1, 0; mov.b32 %r5, 0; mov.b32 %r9, 0; mov.b64 %d5, arrived;
  @!%p2 st.global.b32 [%d2], %r2;
ROUND:
  add.s32 %r9, %r9, %r3;
  bar.sync 0;
  @%p2 bra WAITED;
  membar.gl; atom.global.add.u32 %r6, [%d5], 1;
SPIN:
  ${wait}
  setp.lt.u32 %p3, %r6, %r9; @%p3 bra SPIN;
  membar.gl;
WAITED:
  bar.sync 0;
  and.b32 %r10, %r5, 1; setp.ne.s32 %p4, %r10, 0;
  @%p4 bra WRITE;
  ld.volatile.global.b32 %r7, [%d3];
  bra NEXT;
WRITE:
  ld.volatile.global.b32 %r8, [%d2]; add.s32 %r8, %r8, %r7;
  @!%p2 st.volatile.global.b32 [%d2], %r8;
NEXT:
  add.s32 %r5, %r5, 1; setp.lt.s32 %p5, %r5, ${2 * rounds}; @%p5 bra ROUND;
  ret; }\n`;

/** The same without a barrier: every round reads all words, then adds. */
function expected(blocks: number, rounds: number): number[] {
  let now = Array.from({ length: blocks }, (_, k) => k);
  for (let r = 0; r < rounds; r++) now = now.map((x, k) => (x + now[(k + 1) % blocks]) >>> 0);
  return now;
}

describe('blocks that wait for other blocks', () => {
  it.each([
    ['ld.volatile.global.b32 %r6, [%d5];', 8],
    ['ld.volatile.global.b32 %r6, [%d5];', 40],
    ['ld.acquire.gpu.global.b32 %r6, [%d5]; nanosleep.u32 20;', 132],
    ['atom.global.cas.b32 %r6, [%d5], 0, 0;', 132],
    ['atom.global.add.u32 %r6, [%d5], 0; st.local.b32 [l], %r6;', 40],
  ])('go on when all have come: %s with %i blocks', (wait, blocks) => {
    const body = barrier(wait, 3).replace('.reg .b32', '.local .b32 l; .reg .b32');
    const r = run(lowered(body), blocks, 64, blocks, 40_000_000);
    expect([r.status, r.error]).toEqual(['ok', null]);
    expect([...new Uint32Array(r.buffers[0]!.buffer)]).toEqual(expected(blocks, 3));
  });

  it('are compared to their end', () => {
    const p = lowered(barrier('ld.volatile.global.b32 %r6, [%d5];', 2));
    const q = lowered(barrier('ld.volatile.global.b32 %r6, [%d5]; add.s32 %r11, %r6, 1;', 2));
    expect(judgeKernel(p, q, 'k', BASE, { effort: 'high' })).toMatchObject({ same: true, partial: false });
    const wrong = lowered(
      barrier('ld.volatile.global.b32 %r6, [%d5];', 2).replace(
        'add.s32 %r8, %r8, %r7',
        'sub.s32 %r8, %r8, %r7',
      ),
    );
    expect(judgeKernel(p, wrong, 'k', BASE, { effort: 'high' })).toMatchObject({
      same: false,
      partial: false,
    });
  });

  it('and warps that wait for the last one of their block', () => {
    const body = `.shared .b32 flag;
.visible .entry k(.param .u64 out)
{ .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>;
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2;
  mov.b32 %r2, 0; setp.eq.s32 %p0, %r1, 0; @%p0 st.shared.b32 [flag], %r2;
  bar.sync 0;
  setp.lt.u32 %p1, %r1, 992; @%p1 bra SPIN;
  mov.b32 %r2, 7; st.shared.b32 [flag], %r2; bra DONE;
SPIN: ld.volatile.shared.b32 %r2, [flag]; setp.eq.s32 %p2, %r2, 0; @%p2 bra SPIN;
DONE: st.global.b32 [%d1], %r2; ret; }\n`;
    const r = run(lowered(body), 1, 1024, 1024, 5_000_000);
    expect([r.status, r.error]).toEqual(['ok', null]);
    expect(new Set(new Uint32Array(r.buffers[0]!.buffer))).toEqual(new Set([7]));
  });

  it('a wait that never ends uses up the budget', () => {
    const p = lowered(barrier('ld.volatile.global.b32 %r6, [%d5]; mov.b32 %r6, 0;', 1));
    expect(run(p, 40, 64, 40, 3_000_000).status).toBe('budget');
  });
});
