import { describe, expect, it } from 'vitest';
import { checkOpen, checkResult } from '../src/cli/checks.ts';
import type { Program } from '../src/ir/program.ts';
import { lowerPtx } from '../src/ptx/lower/index.ts';
import { parsePtx } from '../src/ptx/parse.ts';
import { blockOf, sameOpenWorld } from '../src/sim/open-world.ts';
import { testIsa } from './support/isa.ts';
import { planWith } from './support/specs.ts';

const plan = (await planWith({ sm: 'sm_90' })).plan!;
const BASE = 0x210;
function of(body: string, directives = ''): Program {
  const text = `.version 9.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 p) ${directives} { .reg .b32 %r<9>; .reg .b64 %a, %d<3>; .reg .pred %p<5>;
ld.param.u64 %a, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.s64 %d1, %d1, %a; setp.lt.u32 %p1, %r1, 16;
${body}
ret; }\n`;
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  expect(diagnostics).toEqual([]);
  const r = lowerPtx(module, { isa: testIsa(), paramBase: BASE, sm: 'sm_90' });
  expect(r.diagnostics).toEqual([]);
  return r.program;
}
const differences = (before: string, after: string): readonly string[] =>
  sameOpenWorld(of(before), of(after), 'k', BASE).differences;

describe('operations between lanes without a use', () => {
  // Half of the warp waits for all of it, while the others are at another meeting: who waits for whom shows.
  const half = (dead: string, use = '') =>
    `@!%p1 bra L;\n${dead}\nL: shfl.sync.idx.b32 %r2, %r1, 3, 31, -1;\n${use}st.global.b32 [%d1], %r2;`;
  const DEAD = [
    'vote.sync.ballot.b32 %r3, %p1, -1;',
    'vote.sync.any.pred %p2, %p1, -1;',
    'shfl.sync.bfly.b32 %r3|%p2, %r1, 1, 31, -1;',
    'match.any.sync.b32 %r3, %r1, -1;',
    'redux.sync.add.s32 %r3, %r1, -1;',
    // What needs it is needed by nobody.
    'vote.sync.ballot.b32 %r3, %p1, -1; add.s32 %r3, %r3, 1; xor.b32 %r4, %r3, %r1;',
  ];
  it.each(DEAD)('are waited for: %s', (dead) => {
    expect(differences(half(dead), half(''))[0]).toMatch(/end by deadlock before and by exit after/);
  });

  it('stay where a lane needs the result, or where they order memory', () => {
    const used = half(DEAD[0], '@%p1 mov.b32 %r2, %r3;\n');
    expect(differences(used, half('mov.b32 %r3, 0xffff;', '@%p1 mov.b32 %r2, %r3;\n'))[0]).toMatch(
      /end by deadlock before and by exit after/,
    );
    expect(differences(half('bar.warp.sync -1;'), half(''))[0]).toMatch(/end by deadlock before/);
  });
});

describe('the block of a check', () => {
  // PTX ISA 9.0, 11.4: .reqntid is the size, .maxntid bounds the product, .minnctapersm blocks fit together.
  it.each([
    ['', 2048, [64, 1, 1]],
    ['.maxntid 1024, 1, 1', 2048, [64, 1, 1]],
    ['.maxntid 48', 2048, [48, 1, 1]],
    ['.maxntid 16, 16', 2048, [16, 4, 1]],
    ['.maxntid 4, 4, 4', 2048, [4, 4, 4]],
    ['.maxntid 2, 2, 64', 2048, [2, 2, 16]],
    ['.maxntid 32 .reqntid 96, 2', 2048, [96, 2, 1]],
    ['.reqntid 96, 2 .maxntid 32', 2048, [96, 2, 1]],
    ['.maxntid 1024 .minnctapersm 2', 2048, [64, 1, 1]],
    ['.maxntid 64 .minnctapersm 32', 1024, [32, 1, 1]],
    ['.minnctapersm 32 .maxntid 64', 1536, [48, 1, 1]],
    ['.minnctapersm 32 .maxntid 64', 2048, [64, 1, 1]],
  ])('%s with %i threads on a multiprocessor', (directives, threads, block) => {
    expect(blockOf(of('', directives).functions[0], threads)).toEqual(block);
  });

  it('is what the kernel runs with', () => {
    const body = (n: number) => `mov.u32 %r2, %ntid.x; sub.s32 %r2, %r2, ${n}; st.global.b32 [%d1], %r2;`;
    for (const directives of ['.maxntid 40', '.reqntid 40', '.maxntid 64 .minnctapersm 25']) {
      const constant = sameOpenWorld(
        of(body(40), directives),
        of('mov.b32 %r2, 0; st.global.b32 [%d1], %r2;', directives),
        'k',
        BASE,
      );
      expect(constant).toMatchObject({ same: true, partial: false });
    }
  });
});

describe('a program without a kernel', () => {
  it('is not called equal', () => {
    const none: Program = { ...of(''), functions: [] };
    expect(checkOpen(none, none, plan).text).toMatch(/not checked.*: there is no kernel to run$/);
  });
});

describe('the check of a result', () => {
  it('is one of the PTX that is written for it, too', async () => {
    const program = of('add.s32 %r2, %r1, 7; st.global.b32 [%d1], %r2;');
    const text = (n: string): string =>
      `.version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %a, %d; ld.param.u64 %a, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d, %r1, 4; add.s64 %d, %d, %a; add.s32 %r2, %r1, ${n}; st.global.b32 [%d], %r2; ret; }\n`;
    const found = async (ptx: string) => (await checkResult('auto', program, program, ptx, plan)).text;
    expect(await found('')).toMatch(/^\S*equal/);
    expect(await found(text('7'))).toMatch(/^\S*equal/);
    expect(await found(text('8'))).toMatch(/^as written in PTX: \S*DIFFERENT/);
    expect(await found(text('x'))).toMatch(/WRONG\S*: the PTX that is written is no PTX: line 4: /);
  });
});
