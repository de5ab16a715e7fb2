import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type Launch, runLaunch } from '../../src/sim/launch.ts';
import { loadShipped } from '../../src/spec/node.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';
import { planWith } from '../support/specs.ts';

/* Programs that were once miscompiled. The expected results follow from the PTX ISA alone, and are written by hand. */

const isa = testIsa();
const BASE = 0x160;
const table = new PtxTable((await loadShipped()).ptx!.data as unknown as PtxDoc);

interface Case {
  /** Where each result comes from. */
  readonly why: string;
  readonly ptx: string;
  readonly threads: number;
  /** The words of the only buffer, which is the first parameter. */
  readonly expected: readonly number[];
  readonly scalars?: readonly bigint[];
}

const lanes = (n: number, of: (lane: number) => number): number[] =>
  Array.from({ length: n }, (_, k) => of(k));

const CASES: Readonly<Record<string, Case>> = {
  'a vector of which only the second part is read': {
    why: 'nobody has written a[3]; b holds i',
    ptx: `.visible .entry k(.param .u64 out, .param .u64 i) {
.local .align 16 .b8 a[64]; .local .align 16 .b8 b[16];
.reg .b64 %rd<8>; .reg .b32 %r<8>;
ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [i];
mov.u64 %rd2, a; mad.wide.u32 %rd3, %r1, 4, %rd2;
st.local.u32 [a+12], 5;
st.local.u32 [%rd3], 7;
st.local.u32 [b], %r1;
ld.local.v2.u32 {%r2, %r3}, [a+8];
ld.local.u32 %r4, [b];
st.global.u32 [%rd1], %r3;
st.global.u32 [%rd1+4], %r4;
ret; }`,
    threads: 1,
    expected: [5, 1],
    scalars: [1n],
  },
  'a pointer that went through a function, and a kernel parameter that is added to it': {
    why: 'q + 4 is buf + 4, where the second store writes',
    ptx: `.func (.param .b64 r) id(.param .b64 p) { .reg .b64 %rd; ld.param.u64 %rd, [p]; st.param.b64 [r], %rd; ret; }
.visible .entry k(.param .u64 out, .param .u64 n) {
.local .align 16 .b8 buf[64];
.reg .b64 %rd<10>; .reg .b32 %r<10>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [n];
mov.u64 %rd3, buf; cvta.local.u64 %rd4, %rd3;
{ .param .b64 a; .param .b64 q; st.param.b64 [a], %rd4; call.uni (q), id, (a); ld.param.b64 %rd5, [q]; }
st.local.u32 [buf+4], 7;
add.s64 %rd6, %rd5, %rd2;
st.u32 [%rd6], 9;
ld.local.u32 %r3, [buf+4];
st.global.u32 [%rd1], %r3;
ret; }`,
    threads: 1,
    expected: [9],
    scalars: [4n],
  },
  'one number in shared and in local memory': {
    why: 'each thread reads 100 of its neighbour in shared memory, and 7 of its own in local memory',
    ptx: `.extern .shared .align 4 .b8 dyn[];
.visible .entry k(.param .u64 out) {
.local .align 4 .b8 l[256];
.reg .b32 %r<9>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x; mov.u32 %r7, l;
shl.b32 %r2, %r1, 2; add.u32 %r2, %r2, %r7;
st.shared.u32 [%r2], 100;
st.local.u32 [%r2], 7;
bar.sync 0;
xor.b32 %r3, %r2, 4;
ld.shared.u32 %r4, [%r3];
ld.local.u32 %r5, [%r2];
add.u32 %r6, %r4, %r5;
mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r6;
ret; }`,
    threads: 32,
    expected: lanes(32, () => 107),
  },
  'shared memory by its own and by generic addresses': {
    why: 'a conversion to a generic address and back names the same place',
    ptx: `.visible .entry k(.param .u64 out) {
.shared .align 4 .b8 s[64];
.reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [out];
mov.u64 %rd2, s; cvta.shared.u64 %rd3, %rd2;
st.shared.u32 [%rd2], 5;
st.u32 [%rd3+4], 6;
cvta.to.shared.u64 %rd4, %rd3;
ld.shared.u32 %r1, [%rd4+4];
ld.u32 %r2, [%rd3];
st.global.u32 [%rd1], %r1;
st.global.u32 [%rd1+4], %r2;
ret; }`,
    threads: 1,
    expected: [6, 5],
  },
  'a guard that the instruction writes': {
    why: 'n is 6: the word becomes 6 & 12 = 4, and the guard whether that is not 0 and false holds',
    ptx: `.visible .entry k(.param .u64 out, .param .u64 n) {
.reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<3>;
ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [n];
mov.u32 %r3, 5;
setp.eq.u32 %p1, %r1, 6; setp.ne.u32 %p2, %r1, %r1;
@%p1 lop3.and.b32 %r3|%p1, %r1, 12, -1, 0x80, %p2;
st.global.u32 [%rd1], %r3;
selp.u32 %r4, 1, 0, %p1;
st.global.u32 [%rd1+4], %r4;
ret; }`,
    threads: 1,
    expected: [4, 0],
    scalars: [6n],
  },
  'a predicate that one way negates': {
    why: 'below 16 p1 is not p0, false: tid & 7; from 16 on true: tid & 3. Case n is 100 + n',
    ptx: `.visible .entry k(.param .u64 pout) {
.reg .b64 %out, %aw; .reg .b32 %r<9>; .reg .pred %p<8>;
ld.param.u64 %out, [pout];
mov.u32 %r0, %tid.x; mul.wide.u32 %aw, %r0, 4; add.s64 %out, %out, %aw;
setp.lt.u32 %p0, %r0, 16;
not.pred %p1, %p0;
@%p0 bra L;
st.global.u32 [%out], %r0;
st.global.u32 [%out], 1;
setp.eq.u32 %p1, %r0, %r0;
L: and.b32 %r2, %r0, 3; and.b32 %r3, %r0, 7;
selp.b32 %r4, %r2, %r3, %p1;
mov.u32 %r5, 7;
${lanes(8, (k) => k)
  .map((k) => `setp.eq.s32 %p5, %r4, ${k}; @%p5 bra C${k};`)
  .join('\n')}
bra E;
${lanes(8, (k) => k)
  .map((k) => `C${k}: mov.u32 %r5, ${100 + k}; bra E;`)
  .join('\n')}
E: st.global.u32 [%out], %r5;
ret; }`,
    threads: 32,
    expected: lanes(32, (k) => 100 + (k < 16 ? k & 7 : k & 3)),
  },
  'a vote whose result only half of the lanes read': {
    why: 'lanes 0 to 4 vote yes; a lane waits for all of the mask, wherever they vote (PTX ISA 9.0, vote.sync)',
    ptx: `.visible .entry k(.param .u64 pout) {
.reg .b64 %out, %a; .reg .b32 %t, %r<4>, %v; .reg .pred %p, %q;
ld.param.u64 %out, [pout];
mov.u32 %t, %tid.x; and.b32 %r1, %t, 1; setp.eq.u32 %p, %r1, 0; setp.lt.u32 %q, %t, 5;
mul.wide.u32 %a, %t, 4; add.s64 %out, %out, %a;
mov.u32 %v, 7;
@%p bra L0;
vote.sync.ballot.b32 %r2, %q, -1;
bra L1;
L0: vote.sync.ballot.b32 %r2, %q, -1;
mov.u32 %v, %r2;
L1: st.global.u32 [%out], %v;
ret; }`,
    threads: 32,
    expected: lanes(32, (k) => (k % 2 === 0 ? 31 : 7)),
  },
  'a shuffle of which half of the lanes read nothing': {
    why: 'each lane gets the number of its neighbour, and odd lanes store 7',
    ptx: `.visible .entry k(.param .u64 pout) {
.reg .b64 %out, %a; .reg .b32 %t, %r<4>, %v; .reg .pred %p;
ld.param.u64 %out, [pout];
mov.u32 %t, %tid.x; and.b32 %r1, %t, 1; setp.eq.u32 %p, %r1, 0;
mul.wide.u32 %a, %t, 4; add.s64 %out, %out, %a;
mov.u32 %v, 7;
@%p bra L0;
shfl.sync.bfly.b32 %r2, %t, 1, 31, -1;
bra L1;
L0: shfl.sync.bfly.b32 %r2, %t, 1, 31, -1;
mov.u32 %v, %r2;
L1: st.global.u32 [%out], %v;
ret; }`,
    threads: 32,
    expected: lanes(32, (k) => (k % 2 === 0 ? k + 1 : 7)),
  },
  'an array parameter without a size': {
    why: '30 + 12 (PTX ISA 9.0, .func: the last parameter may be an array without a size)',
    ptx: `.func (.param .b32 rv) fv (.param .b32 n, .param .align 8 .b8 va[]) {
.reg .b32 %r<4>; .reg .b64 %d;
ld.param.u32 %r1, [va]; ld.param.u64 %d, [va+8]; cvt.u32.u64 %r2, %d; add.u32 %r1, %r1, %r2;
st.param.b32 [rv], %r1; ret; }
.visible .entry k(.param .u64 p) {
.reg .b64 %a; .reg .b32 %r<4>;
ld.param.u64 %a, [p];
{ .param .b32 n; .param .align 8 .b8 va[16]; .param .b32 r;
st.param.b32 [n], 2; st.param.b32 [va], 30; st.param.b64 [va+8], 12;
call (r), fv, (n, va); ld.param.b32 %r1, [r]; }
st.global.u32 [%a], %r1;
ret; }`,
    threads: 1,
    expected: [42],
  },
  'a result that nobody takes': {
    why: 'what f returns goes nowhere',
    ptx: `.func (.param .b32 rv) f(.param .b32 x) { .reg .b32 %r; ld.param.b32 %r, [x]; st.param.b32 [rv], %r; ret; }
.visible .entry k(.param .u64 p) {
.reg .b64 %a; ld.param.u64 %a, [p];
{ .param .b32 x; st.param.b32 [x], 1; call (_), f, (x); }
st.global.u32 [%a], 3;
ret; }`,
    threads: 1,
    expected: [3],
  },
  'offsets beyond 32 bits': {
    why: '2^32 + 8 - 2^32 and 2^31 - 2^31, in 64 bits',
    ptx: `.visible .entry k(.param .u64 p) {
.reg .b64 %a<4>; ld.param.u64 %a1, [p];
sub.s64 %a2, %a1, 4294967296; sub.s64 %a3, %a1, 2147483648;
st.global.u32 [%a2+4294967304], 5;
st.global.u32 [%a3+2147483648], 6;
ret; }`,
    threads: 1,
    expected: [6, 0, 5],
  },
  'single precision where double is expected': {
    why: 'the 32 bits are the low ones of the double, as ptxas 13.0.88 takes them; 1.5 in a variable of 32 bits is 0x3fc00000',
    ptx: `.const .b32 c = 1.5;
.visible .entry k(.param .u64 p) {
.reg .b64 %a; .reg .f64 %d; .reg .b32 %r;
ld.param.u64 %a, [p];
mov.f64 %d, 0f3fc00001;
st.global.f64 [%a], %d;
ld.const.b32 %r, [c];
st.global.b32 [%a+8], %r;
ret; }`,
    threads: 1,
    expected: [0x3fc00001, 0, 0x3fc00000],
  },
  'targets of a jump as a range, and a thread number by its colour': {
    why: 'thread 0 goes to L0, the others to L1',
    ptx: `.visible .entry k(.param .u64 p) {
.reg .b64 %a, %w; .reg .b32 %t, %i;
ld.param.u64 %a, [p]; mov.u32 %t, %tid.r; mul.wide.u32 %w, %t, 4; add.s64 %a, %a, %w; min.u32 %i, %t, 1;
ts: .branchtargets L<2>;
brx.idx %i, ts;
L0: st.global.u32 [%a], 1; ret;
L1: st.global.u32 [%a], 2; ret; }`,
    threads: 3,
    expected: [1, 2, 2],
  },
  'a reduction over half of the block': {
    why: 'warps 0 and 1 reduce before warps 2 and 3, who get another result, and write 77 between two barriers of all',
    ptx: `.shared .align 4 .u32 s[2];
.visible .entry k(.param .u64 pout) {
.reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .pred %p<4>;
ld.param.u64 %rd1, [pout]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;
setp.lt.u32 %p1, %r1, 32;
barrier.cta.red.popc.aligned.u32 %r2, 1, 64, %p1;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra A;
barrier.cta.sync.aligned 0;
barrier.cta.sync.aligned 0;
bra J;
A: barrier.cta.sync.aligned 0;
st.shared.u32 [s], 77;
barrier.cta.sync.aligned 0;
J: ld.shared.u32 %r4, [s];
st.global.u32 [%rd2], %r4; ret; }`,
    threads: 128,
    expected: lanes(128, () => 77),
  },
  'a product by a number, and one by a parameter that has this place': {
    why: 'tid * 360 and tid * n; n stands at 0x160 + 8 = 360 of the constant bank',
    ptx: `.visible .entry k(.param .u64 pout, .param .u64 n) {
.reg .b64 %rd<9>; .reg .b32 %r<9>;
ld.param.u64 %rd1, [pout]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd2, %rd1, %rd2;
ld.global.u64 %rd3, [%rd2];
mul.wide.u32 %rd4, %r1, 360;
mad.wide.u32 %rd5, %r1, %r2, %rd3;
st.global.u32 [%rd2], %rd4;
st.global.u32 [%rd2+4], %rd5;
ret; }`,
    threads: 4,
    expected: [0, 0, 360, 5, 720, 10, 1080, 15],
    scalars: [5n],
  },
  'variables and parameters whose names begin as those of registers': {
    why: 'the second store is to the same place as the first; f adds 1',
    ptx: `.func (.param .b32 %r1) %f(.param .b32 %r2) { .reg .b32 a; ld.param.b32 a, [%r2]; add.s32 a, a, 1; st.param.b32 [%r1], a; ret; }
.visible .entry k(.param .u64 out, .param .u64 n) {
.local .u32 %L[4];
.reg .u32 %r<5>; .reg .u64 %a, %o;
ld.param.u64 %o, [out]; ld.param.u32 %r1, [n];
mov.u64 %a, %L; st.local.u32 [%L+4], 5; st.local.u32 [%a+4], %r1; ld.local.u32 %r2, [%L+4];
st.global.u32 [%o], %r2;
{ .param .b32 %q; .param .b32 %s; st.param.b32 [%q], %r2; call (%s), %f, (%q); ld.param.b32 %r3, [%s]; }
st.global.u32 [%o+4], %r3; ret; }`,
    threads: 1,
    expected: [8, 9],
    scalars: [8n],
  },
  'names that registers, labels and tables have too': {
    why: '7 + 5 + 6',
    ptx: `.global .u32 %r1 = 7; .global .u32 $ts0 = 5; .global .u32 $BB2 = 6; .global .u32 %rd0 = 1;
.visible .entry k(.param .u64 %rd1) {
.reg .b64 a; .reg .b32 b<6>; .reg .pred q;
ld.param.u64 a, [%rd1]; mov.u32 b1, %tid.x; and.b32 b2, b1, 3;
T: .branchtargets A, B, C, A; brx.idx b2, T;
A: ld.global.u32 b3, [%r1]; bra C;
B: ld.global.u32 b3, [%rd0];
C: ld.global.u32 b4, [$ts0]; ld.global.u32 b5, [$BB2]; add.s32 b3, b3, b4; add.s32 b3, b3, b5;
setp.lt.u32 q, b1, 5; @q bra D; st.global.u32 [a+4], b1;
D: st.global.u32 [a], b3; ret; }`,
    threads: 1,
    expected: [18],
  },
  'a name that an inner scope uses for something else': {
    why: 'the variable of the module is 70, the array of the scope holds 3',
    ptx: `.const .align 4 .u32 buf = 70;
.visible .entry k(.param .u64 pout, .param .u64 n) {
.reg .b64 %rd<20>; .reg .b32 %r<40>;
ld.param.u64 %rd1, [pout]; ld.param.u32 %r30, [n];
{ .local .align 4 .b32 buf[4]; mov.u64 %rd6, buf; shl.b32 %r7, %r30, 2; cvt.u64.u32 %rd7, %r7; add.s64 %rd6, %rd6, %rd7;
st.local.u32 [%rd6], 3; ld.local.u32 %r5, [buf]; }
mov.u64 %rd5, buf; ld.const.u32 %r2, [%rd5]; add.s32 %r2, %r2, %r5;
st.global.u32 [%rd1], %r2;
ret; }`,
    threads: 1,
    expected: [73],
    scalars: [0n],
  },
};

/** Those that only inlining got wrong. */
const INLINED: Readonly<Record<string, Case>> = {
  'a variable of the module that has the name of a parameter of the caller': {
    why: '1 + 70',
    ptx: `.global .align 4 .u32 n = 70;
.func (.param .b32 r) f(.param .b32 x) { .reg .b32 %r, %q; .reg .b64 %a; ld.param.b32 %r, [x]; mov.u64 %a, n; ld.global.u32 %q, [%a];
add.s32 %r, %r, %q; st.param.b32 [r], %r; ret; }
.visible .entry k(.param .u64 pout, .param .u64 n) {
.reg .b64 %rd<4>; .reg .b32 %r<4>;
ld.param.u64 %rd1, [pout];
{ .param .b32 q; .param .b32 a; st.param.b32 [a], 1; call.uni (q), f, (a); ld.param.b32 %r1, [q]; }
st.global.u32 [%rd1], %r1; ret; }`,
    threads: 1,
    expected: [71],
    scalars: [5n],
  },
  'a negative argument': {
    why: 'tid - 1',
    ptx: `.func (.reg .b32 a) f(.reg .b32 x, .reg .b32 z) { add.s32 a, x, z; ret; }
.visible .entry k(.param .u64 pout) {
.reg .b64 %rd<4>; .reg .b32 %r<4>;
ld.param.u64 %rd1, [pout]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;
call (%r2), f, (%r1, -1); st.global.u32 [%rd2], %r2; ret; }`,
    threads: 3,
    expected: [-1, 0, 1],
  },
};

const lowered = (text: string): Program => {
  const { module, diagnostics } = parsePtx(
    `.version 9.0\n.target sm_80\n.address_size 64\n${text}\n`,
    'k.ptx',
  );
  expect(diagnostics).toEqual([]);
  const r = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_80' });
  expect(r.diagnostics).toEqual([]);
  return r.program;
};

function results(program: Program, { threads, expected, scalars = [] }: Case): readonly number[] {
  const bytes = new Uint8Array(4 * expected.length);
  const launch: Launch = {
    name: 'k',
    kernel: 'k',
    grid: [1, 1, 1],
    block: [threads, 1, 1],
    dynamicShared: 256,
    params: [
      { kind: 'buffer', type: 's32', length: expected.length, bytes, expect: null, tolerance: 0 },
      ...scalars.map((value) => ({ kind: 'scalar', type: 'u64', value }) as const),
    ],
  };
  const r = runLaunch(program, isa, launch, BASE, { budget: 100_000 });
  expect(r.error).toBe(null);
  const out = r.buffers[0]!;
  return [...new Int32Array(out.buffer, out.byteOffset, expected.length)];
}

const PLANS: readonly { level: number; order: string }[] = [
  { level: 1, order: 'binary' },
  { level: 2, order: 'binary' },
  { level: 3, order: 'binary' },
  { level: 5, order: 'binary' },
  { level: 3, order: 'seed' },
];

describe('what came out wrong once', () => {
  const check = async (c: Case, recipes: readonly string[] = []): Promise<void> => {
    const program = lowered(c.ptx);
    expect(results(program, c)).toEqual(c.expected);
    for (const { level, order } of PLANS) {
      const plan = (await planWith({ sm: 'sm_80', level, order, recipes })).plan!;
      const { records, last } = runPipeline(program, plan, { verify: true });
      // Each phase too, since that is how the one that is wrong is found.
      for (const r of records)
        if (r.functionsChanged > 0)
          expect([level, order, r.phase.id, ...results(r.program, c)]).toEqual([
            level,
            order,
            r.phase.id,
            ...c.expected,
          ]);
      const { text } = emitPtx(last, { table, paramBase: BASE, module: null });
      expect([level, order, ...results(lowered(text.replace(/^[\s\S]*?address_size 64\n/, '')), c)]).toEqual([
        level,
        order,
        ...c.expected,
      ]);
    }
  };
  it.each(Object.entries(CASES))('%s', (_, c) => check(c));
  it.each(Object.entries(INLINED))('inlined: %s', (_, c) => check(c, ['inline']));

  it('a function that another module may replace may do anything', async () => {
    const plan = (await planWith({ sm: 'sm_80', level: 3 })).plan!;
    const loads = (linkage: string): number => {
      const program = lowered(`${linkage} .func f(.param .b64 p) { ret; }
.visible .entry k(.param .u64 out, .param .u64 n) {
.reg .b64 %rd<10>; .reg .b32 %r<10>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [n];
st.global.u32 [%rd1], 4;
{ .param .b64 a; st.param.b64 [a], %rd2; call.uni f, (a); }
ld.global.u32 %r2, [%rd1];
st.global.u32 [%rd1+4], %r2;
ret; }`);
      const { last } = runPipeline(program, plan, {});
      const kernel = last.functions.find((f) => f.name === 'k')!;
      return kernel.blocks.flatMap((b) => b.ins).filter((x) => x.op.name === 'LDG').length;
    };
    expect([loads('.weak'), loads('.visible')]).toEqual([1, 0]);
  });

  it('constants by flow negate what a phi negates', () => {
    const fn = parseFn(
      `BB0:
PLOP3 P23, PT, PT, PT, 0xf0
ISETP.GE P21, R25, 6
@P21 BRA BB1
BB4:
STG [RD28+0x100], R25
BB1:
PMOVPHI P38, {BB0: !P23, BB4: !P23}
@P38 BRA BB6
BB5:
STG [RD28], 5
EXIT
BB6:
STG [RD28], 7
EXIT`,
      isa,
    );
    const text = printFn(runPass('conditional-constants', fn, testContext(fn)));
    expect([text.includes('STG [RD28], 5'), text.includes('STG [RD28], 7')]).toEqual([true, false]);
  });

  it('a device function that some lanes leave early has no region that they leave', async () => {
    const program = lowered(`.func fv(.param .b32 fa, .param .b64 fd) {
.reg .b32 %r<4>; .reg .b64 %d; .reg .pred %p<4>;
ld.param.u32 %r0, [fa]; ld.param.u64 %d, [fd];
setp.lt.s32 %p0, %r0, 5; setp.eq.s32 %p1, %r0, 9;
@%p0 bra L;
st.global.u32 [%d], %r0; st.global.u32 [%d+4], %r0;
@%p1 ret;
L: ret; }
.visible .entry k(.param .u64 pout) {
.reg .b64 %out, %aw; .reg .b32 %r2;
ld.param.u64 %out, [pout]; mov.u32 %r2, %tid.x; mul.wide.u32 %aw, %r2, 8; add.s64 %out, %out, %aw;
{ .param .b32 pa; .param .b64 pd; st.param.b32 [pa], %r2; st.param.b64 [pd], %out; call.uni fv, (pa, pd); }
exit; }`);
    const plan = (await planWith({ sm: 'sm_80', level: 3, set: ['ExpandSyncInstLate'] })).plan!;
    const { last } = runPipeline(program, plan, { verify: true });
    const c = { why: '', ptx: '', threads: 32, expected: lanes(64, (k) => (k >= 10 ? k >> 1 : 0)) };
    expect(results(last, c)).toEqual(c.expected);
  });
});
