import { describe, expect, it } from 'vitest';
import { Random } from '../support/meaning.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { runPtx, writtenPtx } from '../support/run-ptx.ts';

/*
 * Register parameters and results of functions (PTX ISA 9.0, 7.1 and 9.7.12.5): several results, predicates, 16-bit values, vectors.
 */

const rnd = new Random('calls');
const rows = Array.from({ length: 64 }, () => [rnd.next() | 0, rnd.next() | 0]);

const SEVERAL = `.func (.reg .u32 sum, .reg .pred less, .reg .u64 product) both(.reg .u32 x, .reg .pred swap, .reg .u32 y)
{ .reg .u32 t; @swap bra S; sub.u32 sum, x, y; bra E; S: sub.u32 sum, y, x; E: setp.lt.u32 less, x, y; mul.wide.u32 product, x, y; ret; }`;
const CALL_SEVERAL = `setp.ne.s32 %p0, %i0, 0; and.b32 %r1, %i0, 1; setp.ne.u32 %p1, %r1, 0;
call (%o0, %p2, %d1), both, (%i0, %p1, %i1);
selp.b32 %o1, 1, 0, %p2; mov.b64 {%o2, %o3}, %d1;`;

const HALVES = `.func (.reg .u16 high, .reg .u32 word) halves(.reg .v2 .u16 v, .reg .u16 w)
{ .reg .b32 a, b; add.u16 high, v.y, w; cvt.u32.u16 a, v.x; cvt.u32.u16 b, w; mul.lo.u32 word, a, b; ret; }`;
const CALL_HALVES = `.reg .v2 .u16 pair; mov.b32 {%h0, %h1}, %i0; mov.v2.u16 pair, {%h0, %h1}; cvt.u16.u32 %h2, %i1;
call (%h3, %o1), halves, (pair, %h2); cvt.u32.u16 %o0, %h3;`;

const FLIP = `.func (.reg .pred no, .reg .u16 more) flip(.reg .pred yes, .reg .u16 x) { not.pred no, yes; add.u16 more, x, 1; ret; }`;
const callFlip = (guard: string) => `setp.lt.s32 %p0, %i0, 0; cvt.u16.u32 %h0, %i1; mov.u16 %h1, %h0;
@${guard}%p0 call (%p0, %h1), flip, (%p0, %h0); selp.b32 %o0, 1, 0, %p0; cvt.u32.u16 %o1, %h1;`;

const ONE = `.func (.param .b32 r) word(.param .b32 a) { .reg .b32 t; ld.param.u32 t, [a]; add.s32 t, t, 1; st.param.b32 [r], t; ret; }
.func (.param .b32 r) more(.param .b32 a) { .reg .b32 t; ld.param.u32 t, [a]; add.s32 t, t, 5; st.param.b32 [r], t; ret; }
.func (.param .b64 r) wide(.param .b64 a) { .reg .b64 t; ld.param.u64 t, [a]; shl.b64 t, t, 4; st.param.b64 [r], t; ret; }`;
/** One label in two scopes, and again in the outer one behind the inner. */
const CALL_LISTED = `.reg .b64 fn; .reg .b64 both; .reg .pred odd; .reg .b32 bit;
T: .calltargets word, more;
and.b32 bit, %i0, 1; setp.ne.u32 odd, bit, 0; .reg .b64 f, g; mov.u64 f, word; mov.u64 g, more; selp.b64 fn, g, f, odd;
{ T: .calltargets wide; .reg .b64 w; .param .b64 x; .param .b64 z; mov.u64 w, wide; mov.b64 both, {%i0, %i1}; st.param.b64 [x], both; call (z), w, (x), T; ld.param.b64 both, [z]; mov.b64 {%o1, %o2}, both; }
{ .param .b32 x; .param .b32 z; st.param.b32 [x], %i1; call (z), fn, (x), T; ld.param.b32 %o0, [z]; }`;

/** The list of the outer scope counts again behind the inner one. */
const JUMP_LISTED = `.reg .b32 at; and.b32 at, %i0, 1;
T: .branchtargets A, B;
{ T: .branchtargets C, D; brx.idx at, T; C: mov.u32 %o0, 10; bra E; D: mov.u32 %o0, 20; E: }
brx.idx at, T;
A: add.s32 %o0, %o0, 1; bra F; B: add.s32 %o0, %o0, 2; F:`;

describe('a list of labels or functions', () => {
  it('is that of the innermost scope (PTX ISA 9.0, 9.7.12.1)', () => {
    expect(runPtx(JUMP_LISTED, rows, 1)).toEqual(rows.map(([a]) => [a & 1 ? 22 : 11]));
    expect(runPtx(CALL_LISTED, rows, 3, ONE)).toEqual(
      rows.map(([a, b]) => {
        const wide = ((BigInt(b >>> 0) << 32n) | BigInt(a >>> 0)) << 4n;
        return [
          (b + (a & 1 ? 5 : 1)) | 0,
          Number(BigInt.asIntN(32, wide)),
          Number(BigInt.asIntN(32, wide >> 32n)),
        ];
      }),
    );
  });
});

describe('a call', () => {
  it('gives several results, a predicate among them', () => {
    const got = runPtx(CALL_SEVERAL, rows, 4, SEVERAL);
    expect(got).toEqual(
      rows.map(([a, b]) => {
        const [x, y] = [a >>> 0, b >>> 0];
        const product = BigInt(x) * BigInt(y);
        return [
          (a & 1 ? b - a : a - b) | 0,
          x < y ? 1 : 0,
          Number(BigInt.asIntN(32, product)),
          Number(BigInt.asIntN(32, product >> 32n)),
        ];
      }),
    );
  });

  it('takes and gives 16-bit registers, and vectors of them', () => {
    const got = runPtx(CALL_HALVES, rows, 2, HALVES);
    expect(got).toEqual(rows.map(([a, b]) => [((a >>> 16) + b) & 0xffff, Math.imul(a & 0xffff, b & 0xffff)]));
  });

  it('that gives its own guard gives 16-bit registers to the same threads', () => {
    for (const negated of [false, true])
      expect(runPtx(callFlip(negated ? '!' : ''), rows, 2, FLIP)).toEqual(
        rows.map(([a, b]) => {
          const called = a < 0 !== negated;
          return [a < 0 !== called ? 1 : 0, (b + (called ? 1 : 0)) & 0xffff];
        }),
      );
  });

  it.skipIf(!hasPtxas('ptx-calls.test.ts'))('is written so that ptxas takes it', () => {
    for (const [body, before, n] of [
      [CALL_SEVERAL, SEVERAL, 4],
      [CALL_HALVES, HALVES, 2],
      [callFlip('!'), FLIP, 2],
      [CALL_LISTED, ONE, 3],
      [JUMP_LISTED, '', 1],
    ] as const)
      expect(ptxas(writtenPtx(body, 2, n, before).text).errors).toBe('');
  });
});
