import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';
import { edge, Random } from '../support/ptx-text/generate/random.ts';
import { type Launch, type Outcome, run } from '../support/ptx-text/run/run.ts';
import { bitsOfNumber, numberOf } from '../support/ptx-text/table/float.ts';
import { product, quotient, root, sum } from '../support/ptx-text/values/arithmetic.ts';
import { decode, F32, F64, type Format, type Real, round } from '../support/ptx-text/values/floats.ts';
import { type } from '../support/ptx-text/values/types.ts';
import { runs } from '../support/size.ts';

/*
 * The interpreter of PTX text alone. Expected values are from the examples and rules of the PTX ISA, worked out by hand; floating-point
 * arithmetic is compared with the host's.
 */

const folder = join(ROOT, 'test', 'support', 'ptx-text');

it('shares nothing with Orrery', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(30);
  const imports = files.flatMap((f) =>
    [...readFileSync(join(folder, f), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((m) => ({
      f,
      from: m[1],
      inside: m[1].startsWith('.') && join(folder, f, '..', m[1]).startsWith(folder),
    })),
  );
  const others = imports.filter((i) => !i.inside).map((i) => `${i.f.split('/').at(-1)} ${i.from}`);
  // Only what reads launch files needs more than itself.
  expect(others.sort()).toEqual(['launch.ts node:fs', 'launch.ts node:path', 'launch.ts yaml']);
});

const HEAD = '.version 9.0\n.target sm_90\n.address_size 64\n';
const REGISTERS = `.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .f64 %g<9>; .reg .pred %p<9>;
.reg .b64 %out; .reg .b32 %tid; ld.param.u64 %out, [pout]; mov.u32 %tid, %tid.x;`;

/** A kernel of some threads whose only argument is a buffer of zeros. */
const kernel = (body: string, before = ''): string =>
  `${HEAD}${before}\n.visible .entry k(.param .u64 pout) {\n${REGISTERS}\n${body}\nret; }\n`;

const launch = (threads: number, bytes: number, blocks = 1): Launch => ({
  kernel: 'k',
  grid: [blocks, 1, 1],
  block: [threads, 1, 1],
  dynamicShared: 256,
  args: [{ kind: 'buffer', bytes: new Uint8Array(bytes) }],
});

const ended = (r: Outcome): Outcome & { status: 'ended' } => {
  expect(r.status === 'ended' ? '' : `${r.status}: ${r.why}`).toBe('');
  return r as Outcome & { status: 'ended' };
};

/** The words of the buffer afterwards. */
function words(body: string, threads = 1, count = threads, before = '', seed = 0): number[] {
  const r = ended(run(kernel(body, before), launch(threads, 4 * count), { seed }));
  return [...new Uint32Array(r.buffers[0]!.buffer)];
}

/** What an instruction leaves in %r0. */
const word = (text: string): number => words(`${text} st.global.b32 [%out], %r0;`)[0];
/** What it leaves in %p0, as 0 or 1. */
const predicate = (text: string): number => word(`${text} selp.u32 %r0, 1, 0, %p0;`);

/** Instructions with the word that they leave in %r0. Numbers by the examples and rules of the sections named. */
const WORDS: readonly (readonly [string, number])[] = [
  // 9.7.1: integers.
  ['add.sat.s32 %r0, 2147483647, 1;', 0x7fffffff],
  ['sub.sat.s32 %r0, -2147483647, 5;', 0x80000000],
  ['mul.hi.s32 %r0, -2, 3;', 0xffffffff],
  ['mul.hi.u32 %r0, 0xfffffffe, 3;', 2],
  ['mov.b16 %h1, 0xffff; mul.wide.s16 %r0, %h1, %h1;', 1],
  ['mov.b16 %h1, 0xffff; mul.wide.u16 %r0, %h1, %h1;', 0xfffe0001],
  ['mad.hi.sat.s32 %r0, 1073741824, 4, 2147483647;', 0x7fffffff],
  ['mul24.lo.s32 %r0, 0xff800000, 2;', 0xff000000],
  ['mul24.hi.u32 %r0, 0xffffff, 0xffffff;', 0xfffffe00],
  ['sad.s32 %r0, -5, 7, 100;', 112],
  ['sad.u32 %r0, 3, 0xfffffffe, 0;', 0xfffffffb],
  ['div.s32 %r0, -7, 2;', 0xfffffffd],
  ['rem.s32 %r0, -7, 2;', 0xffffffff],
  ['fns.b32 %r0, 0xaaaaaaaa, 3, 1;', 3],
  ['fns.b32 %r0, 0xaaaaaaaa, 3, -1;', 3],
  ['fns.b32 %r0, 0xaaaaaaaa, 2, 1;', 3],
  ['fns.b32 %r0, 0xaaaaaaaa, 2, -1;', 1],
  ['mov.b32 %r1, -1; bfind.s32 %r0, %r1;', 0xffffffff],
  ['mov.b32 %r1, 0x10; bfind.shiftamt.u32 %r0, %r1;', 27],
  ['bfe.s32 %r0, 0xf0, 4, 4;', 0xffffffff],
  ['bfe.s32 %r0, 0x80000000, 40, 3;', 0xffffffff],
  ['bfe.s32 %r0, 0x80000000, 3, 0;', 0],
  ['bfe.u32 %r0, 0x12345678, 8, 44;', 0x00123456],
  ['bfi.b32 %r0, 0xff, 0, 28, 8;', 0xf0000000],
  ['bfi.b32 %r0, 0xff, 0x77, 32, 8;', 0x77],
  ['szext.clamp.s32 %r0, 0x80, 8;', 0xffffff80],
  ['szext.wrap.u32 %r0, 0xffffffff, 0;', 0],
  ['szext.clamp.s32 %r0, 0x12345678, 40;', 0x12345678],
  ['bmsk.wrap.b32 %r0, 1, 2;', 6],
  ['bmsk.clamp.b32 %r0, 4, 40;', 0xfffffff0],
  ['mov.b32 %r1, 0x80ff01fe; dp4a.s32.u32 %r0, %r1, 0x01010101, 0;', 0xffffff7e],
  ['mov.b32 %r1, 0xffff0002; dp2a.hi.s32.u32 %r0, %r1, 0x05030000, 1;', 2],
  ['cvt.pack.sat.u8.s32.b32 %r0, 300, -4, 0x1234;', 0x1234ff00],
  ['cvt.pack.sat.s16.s32 %r0, 40000, -40000;', 0x7fff8000],
  ['min.relu.s32 %r0, -4, 7;', 0],
  ['mov.b32 %r1, 0x8000ffff; mov.b32 %r2, 0x00010001; min.s16x2 %r0, %r1, %r2;', 0x8000ffff],
  ['mov.b32 %r1, 0x8000ffff; mov.b32 %r2, 0x00010001; add.u16x2 %r0, %r1, %r2;', 0x80010000],
  // 9.7.2: carries.
  ['add.cc.u32 %r1, 0xffffffff, 1; addc.u32 %r0, 5, 5;', 11],
  ['sub.cc.u32 %r1, 0, 1; subc.u32 %r0, 5, 5;', 0xffffffff],
  ['mad.lo.cc.u32 %r1, 0x10000, 0x10000, 5; addc.u32 %r0, 0, 0;', 0],
  ['mad.hi.cc.u32 %r1, 0x80000000, 4, 0xffffffff; madc.lo.u32 %r0, 2, 3, 4;', 11],
  // 9.7.8: logic. The table of a & b & ~c is 0x40, that of (a & b | c) ^ a is 0x1a.
  ['lop3.b32 %r0, 0xff00, 0xf0f0, 0xcccc, 0x40;', 0x3000],
  ['lop3.b32 %r0, 0xff00, 0xf0f0, 0xcccc, 0x1a;', 0x03cc],
  ['shl.b32 %r0, 1, 32;', 0],
  ['shr.s32 %r0, 0x80000000, 99;', 0xffffffff],
  ['shf.l.clamp.b32 %r0, 0x11111111, 0x22222222, 40;', 0x11111111],
  ['shf.r.wrap.b32 %r0, 0x11111111, 0x22222222, 36;', 0x21111111],
  ['prmt.b32 %r0, 0x83828180, 0x87868584, 0x7e30;', 0x87ff8380],
  ['prmt.b32.b4e %r0, 0x03020100, 0x07060504, 1;', 0x06070001],
  ['prmt.b32.ecl %r0, 0x03020100, 0x07060504, 2;', 0x03020202],
  ['prmt.b32.ecr %r0, 0x03020100, 0x07060504, 2;', 0x02020100],
  ['prmt.b32.rc16 %r0, 0x03020100, 0x07060504, 3;', 0x03020302],
  ['mov.b32 %r1, 0x80000000; slct.b32.s32 %r0, 1, 2, %r1;', 2],
  ['mov.b32 %f1, 0x80000000; slct.b32.f32 %r0, 1, 2, %f1;', 1],
  ['cnot.b32 %r0, 0;', 1],
  // 9.7.6: comparisons.
  ['setp.lt.s32 %p1|%p0, 1, 2; selp.u32 %r0, 1, 0, %p0;', 0],
  ['setp.eq.u32 %p2, 1, 1; setp.lt.and.s32 %p1|%p0, 2, 1, %p2; selp.u32 %r0, 1, 0, %p0;', 1],
  ['set.lt.u32.s32 %r0, -1, 0;', 0xffffffff],
  ['set.lt.f32.u32 %f0, 1, 2; mov.b32 %r0, %f0;', 0x3f800000],
  // 9.7.9.21: conversions.
  ['mov.b32 %f1, 0x7fc00000; cvt.rzi.s32.f32 %r0, %f1;', 0],
  ['mov.b64 %d1, 0x7ff8000000000000; cvt.rzi.s32.f64 %r0, %d1;', 0x80000000],
  ['mov.f32 %f1, 0f40200000; cvt.rni.s32.f32 %r0, %f1;', 2],
  ['mov.f32 %f1, 0fc3480000; cvt.rzi.u8.f32 %r0, %f1;', 0],
  ['mov.f32 %f1, 0f43c80000; cvt.rzi.s8.f32 %r0, %f1;', 127],
  ['mov.b32 %r1, 0x180; cvt.s8.u32 %r0, %r1;', 0xffffff80],
  ['mov.b32 %r1, 0x180; cvt.sat.u8.u32 %r0, %r1;', 0xff],
  ['mov.b32 %r1, 16777217; cvt.rp.f32.s32 %f0, %r1; mov.b32 %r0, %f0;', 0x4b800001],
  ['mov.f32 %f1, 0f3f801000; mov.f32 %f2, 0fbf803000; cvt.rn.f16x2.f32 %r0, %f1, %f2;', 0x3c00bc02],
  [
    'mov.f32 %f1, 0f43e40000; mov.f32 %f2, 0fc3000000; cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r0, %h1;',
    0x7ef0,
  ],
  // 9.7.18: video.
  ['mov.b32 %r1, 0x80ff7f01; mov.b32 %r2, 0x7f017f01; vadd4.s32.s32.s32.sat %r0, %r1, %r2, 0;', 0xff007f02],
  ['mov.b32 %r1, 0x00ff0001; vsub.s32.u32.u32 %r0, %r1.b2, %r1.b0;', 254],
  ['mov.b32 %r1, 10; mov.b32 %r2, 0x55667788; vadd.u32.u32.u32 %r0.b1, %r1, %r1, %r2;', 0x55661488],
  ['mov.b32 %r1, 0xfffffffd; mov.b32 %r2, 2; vavrg2.s32.s32.s32 %r0, %r1, %r2, 0;', 0xffffffff],
];

/** Instructions with what they leave in %p0. */
const PREDICATES: readonly (readonly [string, number])[] = [
  ['mov.b32 %f1, 0; testp.normal.f32 %p0, %f1;', 1],
  ['mov.b32 %f1, 1; testp.subnormal.f32 %p0, %f1;', 1],
  ['mov.b32 %f1, 0x7fc00000; testp.finite.f32 %p0, %f1;', 0],
  ['mov.b32 %f1, 0x7fc00000; setp.ne.f32 %p0, %f1, %f1;', 0],
  ['mov.b32 %f1, 0x7fc00000; setp.neu.f32 %p0, %f1, %f1;', 1],
  ['mov.b32 %f1, 1; setp.eq.ftz.f32 %p0, %f1, 0f00000000;', 1],
  ['mov.b32 %r1, 0x3c007e00; mov.b32 %r2, 0x3c003c00; setp.eq.f16x2 %p1|%p0, %r1, %r2;', 1],
  ['setp.eq.u32 %p1, 1, 1; lop3.and.b32 %r1|%p0, 12, 3, 0, 0xc0, %p1;', 0],
  ['setp.eq.u32 %p1, 1, 1; lop3.or.b32 %r1|%p0, 12, 3, 0, 0xc0, %p1;', 1],
];

/** Floating-point instructions on %f1 and %f2 with the bits that they leave. */
const FLOATS: readonly (readonly [string, number, number, number])[] = [
  ['add.rm.f32 %f0, %f1, %f2;', 0x3f800000, 0xbf800000, 0x80000000],
  ['add.f32 %f0, %f1, %f2;', 0x3f800000, 0xbf800000, 0],
  ['add.rz.f32 %f0, %f1, %f2;', 0x7f7fffff, 0x7f7fffff, 0x7f7fffff],
  ['add.rp.f32 %f0, %f1, %f2;', 0x3f800000, 0x00000001, 0x3f800001],
  ['add.ftz.f32 %f0, %f1, %f2;', 0x00000001, 0x80000001, 0],
  ['mul.ftz.f32 %f0, %f1, %f2;', 0x00800000, 0x3f000000, 0],
  ['mul.f32 %f0, %f1, %f2;', 0x00800000, 0x3f000000, 0x00400000],
  ['mul.sat.f32 %f0, %f1, %f2;', 0x40000000, 0x40000000, 0x3f800000],
  ['add.sat.f32 %f0, %f1, %f2;', 0x7fc00000, 0x40000000, 0],
  ['min.f32 %f0, %f1, %f2;', 0x7fc00000, 0x40000000, 0x40000000],
  ['min.NaN.f32 %f0, %f1, %f2;', 0x7fc00000, 0x40000000, 0x7fffffff],
  ['min.f32 %f0, %f1, %f2;', 0, 0x80000000, 0x80000000],
  ['max.f32 %f0, %f1, %f2;', 0x80000000, 0, 0],
  ['max.xorsign.abs.f32 %f0, %f1, %f2;', 0xbf800000, 0x40000000, 0xc0000000],
  ['copysign.f32 %f0, %f1, %f2;', 0x80000000, 0x40000000, 0xc0000000],
  ['fma.rn.f32 %f0, %f1, %f1, %f2;', 0x3f800001, 0xbf800002, 0x28800000],
  ['div.rn.f32 %f0, %f1, %f2;', 0x3f800000, 0x40400000, 0x3eaaaaab],
  ['div.rz.f32 %f0, %f1, %f2;', 0x3f800000, 0x40400000, 0x3eaaaaaa],
  ['sqrt.rn.f32 %f0, %f1;', 0x40000000, 0, 0x3fb504f3],
  ['sqrt.rp.f32 %f0, %f1;', 0x40000000, 0, 0x3fb504f4],
  ['rcp.rn.f32 %f0, %f1;', 0x80000000, 0, 0xff800000],
];

describe('instructions', () => {
  it.each(WORDS)('%s', (text, expected) => expect(word(text)).toBe(expected));
  it.each(PREDICATES)('%s', (text, expected) => expect(predicate(text)).toBe(expected));
  it.each(FLOATS)('%s of 0x%s and 0x%s', (text, a, b, expected) =>
    expect(word(`mov.b32 %f1, ${a}; mov.b32 %f2, ${b}; ${text} mov.b32 %r0, %f0;`)).toBe(expected),
  );

  it('a guard keeps both results where it does not hold', () => {
    const text = (
      n: number,
    ): string => `mov.u32 %r0, 5; mov.u32 %r1, 6; setp.eq.u32 %p1, %r1, ${n}; setp.ne.u32 %p2, %r1, %r1;
@%p1 lop3.and.b32 %r0|%p1, %r1, 12, -1, 0x80, %p2;
st.global.u32 [%out], %r0; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%out+4], %r2;`;
    expect([words(text(6), 1, 2), words(text(7), 1, 2)]).toEqual([
      [4, 0],
      [5, 0],
    ]);
  });

  it.each([
    ['frobnicate.b32 %r0, %r1;', 'unsupported', /frobnicate/],
    ['add.frob.s32 %r0, %r1, %r2;', 'unsupported', /add with \.frob/],
    ['tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5}];', 'syntax', /expected/],
    ['cvt.rna.tf32.f32 %r0, %f0;', 'unsupported', /tf32/],
    ['add.s32 %r0, %r1;', 'syntax', /too few operands/],
    ['add.s32 %r0, %r1, %nothing;', 'syntax', /'%nothing' is not declared/],
    ['mov.u32 %r0, %d0; add.s64 %d0, %d0, %r1;', 'syntax', /'%r1' is narrower than \.s64/],
    ['trap;', 'fault', /a trap .*thread 0/],
    ['ld.global.u32 %r0, [%out+2];', 'fault', /no multiple of 4/],
    ['ld.global.u32 %r0, [%out+1024];', 'fault', /no 4 bytes of global memory/],
    ['L: bra L;', 'fault', /used up/],
    ['setp.eq.u32 %p0, %tid, 0; @%p0 vote.sync.any.pred %p1, %p0, 2;', 'fault', /leaves out the lane/],
  ])('%s is an answer of its own', (text, status, why) => {
    const r = run(kernel(text), launch(32, 128), { budget: 10_000 });
    expect(r).toMatchObject({ status, why: expect.stringMatching(why) });
  });
});

describe('what a kernel can say', () => {
  it('names within braces, ranges, constant expressions, line information', () => {
    const text = `.loc 1 17 0
{ .reg .b32 %r1; mov.u32 %r1, 3 * (4 + 0x10) - (1 << 2); st.global.u32 [%out], %r1; { .reg .b32 %r1; mov.u32 %r1, WARP_SZ; st.global.u32 [%out+4], %r1; } }
.pragma "nounroll";
mov.u32 %r1, ~0 & 0b101; st.global.u32 [%out+8], %r1;`;
    expect(words(text, 1, 3)).toEqual([56, 32, 5]);
  });

  it('variables with initial values, addresses of them, and generic pointers', () => {
    const before = `.const .align 4 .b8 c[8] = {1, 2, 3, 4, 5};
.global .u32 g[2] = {7, 8};
.global .u64 to = generic(g)+4;
.global .f32 f = 0.5;
.global .u8 b[2] = {0xFF(g), 0xFF00(258)};`;
    const text = `ld.const.u32 %r0, [c+4]; st.global.u32 [%out], %r0;
ld.global.u64 %d0, [to]; ld.u32 %r0, [%d0]; st.global.u32 [%out+4], %r0;
ld.global.u32 %r0, [f]; st.global.u32 [%out+8], %r0;
mov.u64 %d1, c; cvta.const.u64 %d1, %d1; ld.u8 %r0, [%d1+1]; st.global.u32 [%out+12], %r0;
ld.global.u8 %r0, [b+1]; st.global.u32 [%out+16], %r0;`;
    expect(words(text, 1, 5, before)).toEqual([5, 8, 0x3f000000, 2, 1]);
  });

  it('calls: parameters of every kind, recursion, pointers to functions', () => {
    const before = `.func (.param .b32 r) fact(.param .b32 n) { .reg .b32 %n, %m; .reg .pred %p;
ld.param.u32 %n, [n]; setp.le.u32 %p, %n, 1; mov.u32 %m, 1; @%p bra E; sub.u32 %m, %n, 1;
{ .param .b32 a; .param .b32 q; st.param.b32 [a], %m; call (q), fact, (a); ld.param.b32 %m, [q]; }
mul.lo.u32 %m, %m, %n;
E: st.param.b32 [r], %m; ret; }
.func (.reg .b32 x) inc(.reg .b32 y, .param .align 8 .b8 s[12]) { .reg .b32 %z; .reg .b64 %a; mov.u64 %a, s; ld.local.u32 %z, [%a+8]; add.u32 x, y, %z; ret; }`;
    const text = `{ .param .b32 a; .param .b32 q; st.param.b32 [a], 5; call.uni (q), fact, (a); ld.param.u32 %r0, [q]; st.global.u32 [%out], %r0; }
{ .param .align 8 .b8 s[12]; st.param.b32 [s+8], 30; call (%r1), inc, (%r0, s); st.global.u32 [%out+4], %r1; }
mov.u64 %d1, fact;
{ .param .b32 a; .param .b32 q; st.param.b32 [a], 4; proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (q), %d1, (a), proto; ld.param.u32 %r0, [q]; st.global.u32 [%out+8], %r0; }`;
    expect(words(text, 1, 3, before)).toEqual([120, 150, 24]);
  });

  it('jump tables', () => {
    const text = `ts: .branchtargets A, B<2>;
mul.wide.u32 %d0, %tid, 4; add.u64 %out, %out, %d0;
brx.idx %tid, ts;
A: st.global.u32 [%out], 10; ret;
B0: st.global.u32 [%out], 20; ret;
B1: st.global.u32 [%out], 30; ret;`;
    expect(words(text, 3)).toEqual([10, 20, 30]);
  });

  it('the same number is another place in another space', () => {
    const text = `.local .b8 lv[256];
mov.u32 %r1, lv; shl.b32 %r2, %tid, 2; add.u32 %r2, %r2, %r1;
st.shared.u32 [%r2], 100; st.local.u32 [%r2], 7; bar.sync 0;
xor.b32 %r3, %r2, 4; ld.shared.u32 %r4, [%r3]; ld.local.u32 %r5, [%r2]; add.u32 %r6, %r4, %r5;
mul.wide.u32 %d0, %tid, 4; add.u64 %out, %out, %d0; st.global.u32 [%out], %r6;`;
    const before = '.extern .shared .align 4 .b8 dyn[];';
    for (const seed of [0, 1, 2])
      expect(words(text, 32, 32, before, seed)).toEqual(Array.from({ length: 32 }, () => 107));
  });
});

const each = (of: (lane: number) => number): number[] => Array.from({ length: 32 }, (_, k) => of(k) >>> 0);
/** A word of every lane of a warp, which the text leaves in %r0. */
const lanes = (text: string, seed = 0): number[] =>
  words(
    `${text} mul.wide.u32 %d0, %tid, 4; add.u64 %out, %out, %d0; st.global.u32 [%out], %r0;`,
    32,
    32,
    '',
    seed,
  );

describe('lanes', () => {
  it.each([0, 1, 2, 3])('wait for each other wherever they are, with seed %i', (seed) => {
    expect(lanes('shfl.sync.up.b32 %r0, %tid, 1, 0, -1;', seed)).toEqual(each((k) => Math.max(0, k - 1)));
    expect(lanes('shfl.sync.down.b32 %r0, %tid, 2, 0x1807, -1;', seed)).toEqual(
      each((k) => ((k & 7) + 2 <= 7 ? k + 2 : k)),
    );
    expect(lanes('shfl.sync.bfly.b32 %r0, %tid, 3, 31, -1;', seed)).toEqual(each((k) => k ^ 3));
    expect(lanes('shfl.sync.idx.b32 %r0, %tid, 33, 0x1c1f, -1;', seed)).toEqual(each((k) => (k & 28) | 1));
    const parted = `and.b32 %r1, %tid, 1; setp.eq.u32 %p0, %r1, 0; setp.lt.u32 %p1, %tid, 5;
@%p0 bra L0; vote.sync.ballot.b32 %r0, %p1, -1; mov.u32 %r0, 7; bra L1;
L0: vote.sync.ballot.b32 %r0, %p1, -1;
L1:`;
    expect(lanes(parted, seed)).toEqual(each((k) => (k % 2 === 0 ? 31 : 7)));
    expect(lanes('and.b32 %r1, %tid, 3; match.any.sync.b32 %r0, %r1, -1;', seed)).toEqual(
      each((k) => 0x11111111 << (k & 3)),
    );
    expect(lanes('sub.s32 %r1, %tid, 9; redux.sync.min.s32 %r0, %r1, -1;', seed)).toEqual(each(() => -9));
    expect(lanes('setp.lt.u32 %p0, %tid, 11; bar.red.popc.u32 %r0, 1, %p0;', seed)).toEqual(each(() => 11));
    expect(
      lanes('elect.sync _|%p0, -1; vote.sync.ballot.b32 %r0, %p0, -1; popc.b32 %r0, %r0;', seed),
    ).toEqual(each(() => 1));
  });

  it('barriers of several warps, counted arrivals, and barriers in memory', () => {
    const text = `.shared .align 8 .b64 mb; .shared .b32 s[96];
setp.ne.u32 %p0, %tid, 0; @%p0 bra L; mbarrier.init.shared.b64 [mb], 96; L: bar.sync 0;
shl.b32 %r1, %tid, 2; mov.u32 %r2, s; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %tid;
mbarrier.arrive.shared.b64 %d1, [mb];
W: mbarrier.test_wait.shared.b64 %p1, [mb], %d1; @!%p1 bra W;
xor.b32 %r3, %tid, 32; setp.ge.u32 %p2, %tid, 64; @%p2 mov.u32 %r3, %tid; mad.lo.u32 %r3, %r3, 4, %r2;
ld.shared.u32 %r0, [%r3];
setp.lt.u32 %p3, %tid, 32; @%p3 bar.arrive 3, 96; @!%p3 bar.sync 3, 96;
mul.wide.u32 %d0, %tid, 4; add.u64 %out, %out, %d0; st.global.u32 [%out], %r0;`;
    for (const seed of [0, 1, 2])
      expect(words(text, 96, 96, '', seed)).toEqual(
        Array.from({ length: 96 }, (_, k) => (k < 64 ? k ^ 32 : k)),
      );
  });

  it('a race shows between seeds, and atomics are none', () => {
    const racy = 'ld.global.u32 %r0, [%out]; add.u32 %r0, %r0, 1; st.global.u32 [%out], %r0;';
    const seen = new Set([1, 2, 3, 4, 5, 6, 7].map((seed) => words(racy, 32, 1, '', seed)[0]));
    expect(seen.size).toBeGreaterThan(1);
    for (const seed of [1, 2, 3])
      expect(words('red.global.add.u32 [%out], 1;', 32, 1, '', seed)).toEqual([32]);
  });

  it('what is not specified differs between seeds 1 and 2 in every bit', () => {
    const of = (seed: number): number =>
      words('div.u32 %r0, %tid, 0; st.global.u32 [%out], %r0;', 1, 1, '', seed)[0];
    expect((of(1) ^ of(2)) >>> 0).toBe(0xffffffff);
  });

  it('a barrier that never completes is a fault', () => {
    const text = 'setp.lt.u32 %p0, %tid, 40; @%p0 bar.sync 0, 96;';
    expect(run(kernel(text), launch(96, 4))).toMatchObject({
      status: 'fault',
      why: expect.stringMatching(/wait forever.*bar/),
    });
  });
});

describe('arithmetic', () => {
  /** The host rounds to nearest: f64 by itself, f32 through f64, which is wide enough for one operation. */
  const bits = (f: Format, x: Real): bigint | null => (x.kind === 'finite' ? round(f, x, 'rn') : null);
  const OPERATIONS: readonly (readonly [
    string,
    (a: Real, b: Real) => Real,
    (a: number, b: number) => number,
  ])[] = [
    ['+', (a, b) => sum(a, b, 'rn'), (a, b) => a + b],
    ['*', product, (a, b) => a * b],
    ['/', quotient, (a, b) => a / b],
    ['root', (a) => root(a), (a) => Math.sqrt(a)],
  ];
  const hostBits = (f: Format, x: number): bigint => {
    const view = new DataView(new ArrayBuffer(8));
    if (f === F64) return bitsOfNumber(x);
    view.setFloat32(0, x);
    return BigInt(view.getUint32(0));
  };

  it.each([F32, F64])('$name agrees with the host', (f) => {
    const random = new Random(5);
    const t = type(f.name);
    let compared = 0;
    for (let n = 0; n < runs(3000); n++) {
      const [a, b] = [edge(random, t), edge(random, t)];
      for (const [name, exact, host] of OPERATIONS) {
        const x = exact(decode(f, a), decode(f, b));
        const mine = bits(f, x);
        const theirs = host(numberOf(f, a), numberOf(f, b));
        if (mine === null) {
          expect([name, a, b, Number.isFinite(theirs)]).toEqual([name, a, b, false]);
          continue;
        }
        compared++;
        expect([name, a, b, mine]).toEqual([name, a, b, hostBits(f, theirs)]);
      }
    }
    expect(compared).toBeGreaterThan(runs(5000));
  });
});
