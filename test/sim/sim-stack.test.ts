import { describe, expect, it } from 'vitest';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type LaunchResult, runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from '../support/isa.ts';

const BASE = 0x210;
/** Each call keeps n in its own array, calls itself with n - 1, and adds what it finds in the array afterwards. */
const TEXT = `.version 9.0\n.target sm_90\n.address_size 64
.func (.param .b64 r) sum(.param .b32 n)
{ .local .align 4 .b32 keep[16]; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;
  ld.param.b32 %r1, [n]; st.local.b32 [keep+60], %r1; mov.b64 %d1, keep; cvta.local.u64 %d1, %d1; st.b32 [%d1], %r1;
  mov.b64 %d2, 0; setp.eq.s32 %p, %r1, 0; @%p bra DONE;
  sub.s32 %r2, %r1, 1;
  { .param .b32 a; .param .b64 b; st.param.b32 [a], %r2; call (b), sum, (a); ld.param.b64 %d2, [b]; }
DONE:
  ld.local.b32 %r3, [keep+60]; ld.b32 %r4, [%d1]; cvt.u64.u32 %d3, %r3; cvt.u64.u32 %d4, %r4;
  add.s64 %d2, %d2, %d3; add.s64 %d2, %d2, %d4; st.param.b64 [r], %d2; ret; }
.visible .entry k(.param .u64 out, .param .u32 deep)
{ .reg .b32 %r<5>; .reg .b64 %d<5>;
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 8; add.s64 %d1, %d1, %d2;
  ld.param.u32 %r2, [deep]; sub.s32 %r2, %r2, %r1;
  { .param .b32 a; .param .b64 b; st.param.b32 [a], %r2; call (b), sum, (a); ld.param.b64 %d3, [b]; }
  st.global.b64 [%d1], %d3; ret; }\n`;

function run(deep: number, stack?: number, ofLaunch?: number): LaunchResult {
  const { module, diagnostics } = parsePtx(TEXT, 'k.ptx');
  expect(diagnostics).toEqual([]);
  const { program } = lowerPtx(module, { isa: testIsa(), paramBase: BASE, sm: 'sm_90' });
  const launch = {
    name: 't',
    kernel: 'k',
    grid: [1, 1, 1],
    block: [32, 1, 1],
    dynamicShared: 0,
    stack: ofLaunch,
    params: [
      { kind: 'buffer', type: 'u64', length: 32, bytes: new Uint8Array(256), expect: null, tolerance: 0 },
      { kind: 'scalar', type: 'u32', value: deep },
    ],
  } as const;
  return runLaunch(program, testIsa(), launch, BASE, { stack });
}

describe('recursion with arrays in local memory', () => {
  // A call takes 64 bytes of array, and 16 to come back.
  const takes = (deep: number): number => 80 * (deep + 1) + 16;

  it.each([[40], [700]])('%i calls deep: each call has an array of its own', (deep) => {
    const r = run(deep);
    expect([r.status, r.error]).toEqual(['ok', null]);
    const sums = [...new BigUint64Array(r.buffers[0]!.buffer)];
    const want = Array.from({ length: 32 }, (_, t) => BigInt((deep - t) * (deep - t + 1)));
    expect(sums).toEqual(want);
  });

  it('goes as deep as the stack of the launch', () => {
    expect(takes(700)).toBeLessThan(65536);
    expect(run(1000).error).toMatch(/^the stack of 65536 bytes is full: calls are nested 8\d\d deep/);
    expect(run(1000, takes(1000)).status).toBe('ok');
    expect(run(1000, takes(999)).error).toMatch(/stack of \d+ bytes is full: calls are nested 1001 deep/);
    // What the launch says holds where the run says nothing.
    expect(run(1000, undefined, takes(1000)).status).toBe('ok');
    expect(run(1000, takes(999), takes(1000)).error).toMatch(/stack of \d+ bytes is full/);
    // A frame of each function has room in any launch.
    expect(run(31, 16).status).toBe('fault');
    expect(run(0, 16).error).toMatch(/calls are nested 2 deep/);
  });
});
