import { describe, expect, it } from 'vitest';
import { checkOpen, checkResult, limitsOf } from '../../src/cli/check/checks.ts';
import type { Program } from '../../src/ir/program.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { blockOf } from '../../src/judge/worlds.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { readPtx } from '../../src/read.ts';
import { testIsa } from '../support/isa.ts';
import { planWith } from '../support/specs.ts';

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
  judgeKernel(of(before), of(after), 'k', BASE).differences;

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

  it('is what the kernel runs with first; other worlds have other blocks, if it may have them', () => {
    const body = (n: number) => `mov.u32 %r2, %ntid.x; sub.s32 %r2, %r2, ${n}; st.global.b32 [%d1], %r2;`;
    for (const directives of ['.maxntid 40', '.reqntid 40', '.maxntid 64 .minnctapersm 25']) {
      const constant = judgeKernel(
        of(body(40), directives),
        of('mov.b32 %r2, 0; st.global.b32 [%d1], %r2;', directives),
        'k',
        BASE,
      );
      if (directives.includes('.reqntid')) expect(constant).toMatchObject({ same: true, partial: false });
      else expect(constant.differences[0]).toMatch(/^blocks along y and z: /);
    }
  });
});

describe('a program without a kernel', () => {
  it('is not called equal', () => {
    const none: Program = { ...of(''), functions: [] };
    expect(checkOpen(none, none, plan).text).toMatch(/not checked.*: there is no kernel to run$/);
  });
});

describe('functions that no kernel calls', () => {
  const header = '.version 9.0\n.target sm_90\n.address_size 64\n';
  const gcd = (last: string, more = '') =>
    readPtx(
      `${header}.visible .func (.param .b32 r, .param .align 8 .b8 t[16]) gcd(.param .b32 a, .param .b16 b, .param .align 4 .b8 s[8])
{ .reg .b32 %r<9>; .reg .b16 %h<2>; .reg .b64 %d<3>; .reg .pred %p<3>;
  ld.param.u32 %r1, [a]; ld.param.u16 %h1, [b]; cvt.u32.u16 %r2, %h1; ld.param.u32 %r5, [s+4]; add.u32 %r1, %r1, %r5;
L: setp.eq.u32 %p1, %r2, 0; @%p1 bra D;
  rem.u32 %r3, %r1, %r2; mov.u32 %r1, %r2; mov.u32 %r2, %r3; bra L;
D: st.param.b32 [r], %r1; cvt.u64.u32 %d1, %r1; st.param.b64 [t], %d1; ${last} ret; }
${more}`,
      plan,
    ).program;
  const right = gcd('st.param.b64 [t+8], %d1;');

  it('are compared by what they return, each part of it', () => {
    expect(checkOpen(right, right, plan).text).toMatch(/^\S*equal\S*: 1 function left the same memory/);
    const wrong = checkOpen(right, gcd('add.s64 %d1, %d1, 1; st.param.b64 [t+8], %d1;'), plan);
    expect([wrong.ok, wrong.text]).toEqual([false, expect.stringMatching(/\n {2}gcd: .*byte 0x/)]);
  });

  it('and kernels, if there are both; a function that one calls is compared there', () => {
    const k =
      '.visible .entry k(.param .u64 p) { .reg .b64 %d<2>; ld.param.u64 %d1, [p]; st.global.b32 [%d1], 1; ret; }';
    const both = gcd('', k);
    expect(checkOpen(both, both, plan).text).toMatch(/1 kernel and 1 function left/);
  });
});

describe('a verdict', () => {
  it('names what never ran, and what was left out', () => {
    // No search finds a word whose hash is this one.
    const hidden =
      of(`mov.b32 %r2, %r1; mul.lo.u32 %r3, %r2, %r2; ${'xor.b32 %r3, %r3, 77; mul.hi.u32 %r2, %r3, %r3; add.u32 %r3, %r3, %r2; mul.lo.u32 %r3, %r3, %r3;'.repeat(4)}
      setp.ne.u32 %p1, %r3, 0x7f3a9155; @%p1 bra E;
      st.global.b32 [%d1], %r2;
      E:`);
    const found = checkOpen(hidden, hidden, plan);
    expect(found.ok).toBe(true);
    expect(found.text).toMatch(/^\S*equal where it ran, \d+ % of the blocks/);
    expect(found.text).toMatch(/\n {2}k: 1 block of \d+ never ran, at line \d+$/);
    expect(checkOpen(hidden, hidden, plan, { milliseconds: 0 }).text).toMatch(
      /1 not in all worlds: a limit came first/,
    );
    expect(checkOpen(hidden, hidden, plan, { bytes: 1 }).text).toMatch(/a limit came first/);
  });

  it.each(['20x', '10', '-1s', '0MB', ''])('has a limit that is a time or an amount, not "%s"', (limit) => {
    expect(() => limitsOf([limit])).toThrow('exit 1');
  });

  it('has limits of several units', () => {
    expect(limitsOf(['1.5s', '400MB'])).toEqual({ milliseconds: 1500, bytes: 400e6 });
    expect(limitsOf(['2min'])).toEqual({ milliseconds: 120_000 });
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
    expect(await found(text('x'))).toMatch(/WRONG\S*: the written PTX is invalid: line 4: /);
  });
});
