import { expect, it } from 'vitest';
import { optimize, planOf } from '../../src/core.ts';
import { modOf } from '../../src/ir/opcode.ts';

import { readPtx } from '../../src/read.ts';
import { shipped } from '../support/specs.ts';

/*
 * Phases that the table calls not applicable because their result is there already: checks what their notes say about Ori and the phases
 * before them.
 */

const kernel = (body: string): string => `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
.shared .align 8 .b64 m; .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<4>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; cvt.u64.u32 %rd2, %r1;
${body}
ret;
}
`;
const plan = planOf(shipped, { sm: 'sm_90' });

it.each([
  ['mbarrier.init.shared::cta.b64 [m], 32;', 'MBAR_INIT'],
  ['mbarrier.arrive.shared::cta.b64 %rd3, [m];', 'MBAR_ARRIVE'],
  ['mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [m], 64;', 'MBAR_ARRIVE'],
  ['mbarrier.test_wait.shared::cta.b64 %p1, [m], %rd2;', 'MBAR_WAIT'],
  ['mbarrier.try_wait.shared::cta.b64 %p1, [m], %rd2;', 'MBAR_WAIT'],
  ['mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], %r1;', 'MBAR_WAIT'],
  ['mbarrier.inval.shared::cta.b64 [m];', 'MBAR_INVAL'],
  ['cvta.shared.u64 %rd4, m; mbarrier.init.b64 [%rd4], 32;', 'MBAR_INIT'],
])('phase 42 has nothing to expand: %s is %s', (body, name) => {
  const { program } = readPtx(kernel(body), plan);
  const { last } = optimize(program, plan);
  for (const p of [program, last]) {
    const own = p.functions[0].blocks.flatMap((b) => b.ins).filter((x) => x.op.name.startsWith('MBAR_'));
    expect(own.map((x) => [x.op.name, x.op.space])).toEqual([[name, 'shared']]);
  }
});

it('phase 42 has no fences to add: those of proxies are operations of the program', () => {
  const { program } = readPtx(
    kernel('mbarrier.init.shared::cta.b64 [m], 32; fence.mbarrier_init.release.cluster; fence.proxy.async;'),
    plan,
  );
  const fences = program.functions[0].blocks.flatMap((b) => b.ins).filter((x) => x.op.name === 'MEMBAR');
  expect(fences.map((x) => [modOf(x.op, x.mods, 'restrict'), modOf(x.op, x.mods, 'proxy')])).toEqual([
    ['MBARRIER_INIT', 'ALIAS'],
    ['NONE', 'ASYNC'],
  ]);
});

it('phase 25 has nothing to stage: unrolled iterations keep the order of accesses and fences, and loops with joins stay', () => {
  const rounds = (synchronization: string): string[] => {
    const { program } = readPtx(
      kernel(
        `mov.u32 %r2, 0;\nL: ld.global.u32 %r3, [%rd1]; ${synchronization} ld.shared.u32 %r4, [m]; add.u32 %r3, %r3, %r4;\n` +
          'st.global.u32 [%rd1], %r3; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 4; @%p1 bra L;',
      ),
      plan,
    );
    const { records } = optimize(program, plan);
    const { functions } = records.find((r) => r.phase.id === 'OriLoopUnrolling')!.program;
    const names = functions[0].blocks.flatMap((b) => b.ins.map((x) => x.op.name));
    return names.filter((n) => ['LDG', 'BAR', 'MEMBAR', 'LDS', 'STG'].includes(n));
  };
  const round = ['LDG', 'MEMBAR', 'LDS', 'STG'];
  expect(rounds('membar.gl;')).toEqual([round, round, round, round].flat());
  expect(rounds('bar.sync 0; membar.gl;')).toEqual(['LDG', 'BAR', 'MEMBAR', 'LDS', 'STG']);
});

it('phase 8 has nothing to fuse: product and sum, and address and access, are one operation', () => {
  const { program } = readPtx(
    kernel(
      'ld.global.u32 %r2, [%rd1+8]; mul.lo.u32 %r3, %r2, %r1; add.u32 %r3, %r3, %r2; mul.wide.u32 %rd3, %r1, 4;\n' +
        'add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4+16], %r3;',
    ),
    plan,
  );
  const names = optimize(program, plan).last.functions[0].blocks.flatMap((b) => b.ins.map((x) => x.op.name));
  // The parameter and the thread's number, the load, a product with its sum for the value and one for the address, the store.
  expect(names).toEqual(['LDC', 'S2R', 'LDG', 'IMAD', 'IMAD_WIDE', 'STG', 'RET']);
});
