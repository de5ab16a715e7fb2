import { expect, it } from 'vitest';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type LaunchResult, runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from '../support/isa.ts';

/*
 * The cost of a launch. Its budget counts warp instructions; one that does the work of many is charged accordingly, and pending work is
 * charged for its memory.
 */

const BASE = 0x210;
const BUDGET = 20_000;

function launched(body: string, budget = BUDGET, before = '', threads = 32): LaunchResult {
  const text = `.version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 s[32768];\n.global .align 128 .b8 g[32768];
${before}.visible .entry k() { .reg .b32 %r<20>; .reg .f32 %f<5>; .reg .b64 %d<2>; .reg .pred %p;
mov.u32 %r0, 0; mov.u32 %r1, s; mov.u64 %d1, g;
L: ${body}\n bra L; }\n`;
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  expect(diagnostics).toEqual([]);
  const { program } = lowerPtx(module, { isa: testIsa(), paramBase: BASE, sm: 'sm_90a' });
  return runLaunch(
    program,
    testIsa(),
    { name: 't', kernel: 'k', grid: [1, 1, 1], block: [threads, 1, 1], dynamicShared: 0, params: [] },
    BASE,
    { budget },
  );
}

it('plain instructions count as one', () => {
  expect(launched('ld.volatile.shared.u32 %r2, [%r1]; add.u32 %r2, %r2, 1;').warpInstructions).toBe(BUDGET);
});

it.each([
  [
    'a product of matrices',
    'mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%r2,%r3,%r4,%r5},{%r6,%r7,%r8,%r9},{%r10,%r11},{%r2,%r3,%r4,%r5};',
    100,
  ],
  [
    'a fragment',
    'wmma.load.a.sync.aligned.m16n16k16.row.shared.f16 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [%r1], 16;',
    10,
  ],
  ['a copy in bulk', 'cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 32768;', 1000],
])('%s counts as many', (_what, body, least) => {
  const r = launched(body);
  expect([r.status, r.error]).toEqual(['budget', expect.stringContaining(`budget of ${BUDGET} is used up`)]);
  expect(r.warpInstructions).toBeLessThan(BUDGET / least);
});

it('a call of a function with many registers counts as many', () => {
  const sums = Array.from({ length: 5000 }, (_, k) => `add.u32 %q${k + 1}, %q${k}, 1;`).join('\n');
  const wide = `.func f() { .reg .b32 %q<5002>; .reg .pred %p; ld.volatile.global.u32 %q0, [g]; setp.eq.u32 %p, %q0, 0; @%p ret;
${sums}\nst.global.u32 [g], %q5000; ret; }\n`;
  const r = launched('call.uni f;', 200_000, wide);
  expect([r.status, r.warpInstructions < 50_000]).toEqual(['budget', true]);
});

it('a copy in bulk of more than memory holds takes no room', () => {
  const r = launched('cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 4294967280;');
  expect([r.status, r.error]).toEqual(['fault', expect.stringContaining('is in no block of the cluster')]);
});

it('copies that nothing waits for hold memory', () => {
  // Most of what threads may hold is taken before: 127 of 128 parts.
  const malloc = '.extern .func (.param .b64 r) malloc(.param .b64 n);\n';
  const most = `mov.b64 %d0, 8388608; setp.lt.u32 %p, %r0, 127; add.u32 %r0, %r0, 1; @!%p bra C; { .param .b64 n; .param .b64 r;
st.param.b64 [n], %d0; call.uni (r), malloc, (n); } bra L; C:`;
  const copy = 'cp.async.ca.shared.global [%r1], [%d1], 16;';
  const r = launched(`${most} ${copy}`, 800_000, malloc, 1);
  expect([r.status, r.error]).toEqual(['fault', expect.stringContaining('hold more than 1073741824 bytes')]);
  const waits = `${copy} cp.async.commit_group; cp.async.wait_group 1;`;
  expect(launched(`${most} ${waits}`, 800_000, malloc, 1).status).toBe('budget');
});
