import { describe, expect, it } from 'vitest';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { runPtx } from '../support/run-ptx.ts';

/** A function that indexes its parameter by address, writes to it, reads it by name, and returns its result by address. */
const PICK = `.func (.param .align 8 .b8 out[12]) pick(.param .align 8 .b8 s[16], .param .b32 i, .param .b16 h)
{ .reg .b64 %d<5>; .reg .b32 %r<9>; .reg .pred %p; .reg .b16 %h;
  mov.b64 %d1, s; ld.param.b32 %r1, [i]; shl.b32 %r1, %r1, 2; cvt.u64.u32 %d2, %r1; add.s64 %d1, %d1, %d2;
  ld.local.b32 %r2, [%d1]; ld.param.b32 %r3, [%d1]; add.s32 %r2, %r2, %r3;
  st.local.b32 [%d1], 77; cvta.local.u64 %d3, %d1; st.u16 [%d3+2], 1;
  ld.param.b32 %r4, [s+8];
  mov.b64 %d4, out; st.local.b32 [%d4+4], %r4;
  ld.param.b16 %h, [h]; cvt.u32.u16 %r5, %h; st.param.b32 [out+8], %r5;
  setp.eq.s32 %p, %r1, 0; mov.b32 %r6, -5; @%p st.param.b32 [out], %r6; @%p ret;
  st.local.b32 [%d4], %r2; ret; }`;
const CALL = `{ .param .align 8 .b8 ps[16]; .param .b32 pi; .param .b16 ph; .param .align 8 .b8 po[12];
  st.param.v2.b32 [ps], {%i0, %i1}; st.param.v2.b32 [ps+8], {%i2, %i3}; st.param.b32 [pi], %i4;
  cvt.u16.u32 %h0, %i5; st.param.b16 [ph], %h0;
  call (po), pick, (ps, pi, ph);
  ld.param.b32 %o0, [po]; ld.param.b32 %o1, [po+4]; ld.param.b32 %o2, [po+8]; }`;

describe('a parameter of a device function whose address is taken', () => {
  const rows = Array.from({ length: 40 }, (_, k) => [10 + k, 20 + k, 30 + k, 40 + k, k & 3, 0x10000 + k]);
  it('lies in local memory, where it is read and written by address and by name (PTX ISA 9.0, mov)', () => {
    const got = runPtx(CALL, rows, 3, PICK);
    const want = rows.map(([a, b, c, d, i, h]) => {
      const s = [a, b, c, d];
      const sum = 2 * s[i];
      s[i] = 77 | (1 << 16);
      return [i === 0 ? -5 : sum, s[2], h & 0xffff];
    });
    expect(got).toEqual(want);
  });

  it('is copied for each call: the caller keeps what it passed', () => {
    const twice = CALL.replace(
      'ld.param.b32 %o0, [po];',
      'ld.param.b32 %r0, [po]; call (po), pick, (ps, pi, ph); ld.param.b32 %o0, [po]; sub.s32 %o0, %o0, %r0;',
    );
    expect(runPtx(twice, rows, 3, PICK).map(([same]) => same)).toEqual(rows.map(() => 0));
  });

  it.skipIf(!hasPtxas('ptx-param-address.test.ts'))('is what ptxas takes', () => {
    const text = `.version 9.0\n.target sm_90\n.address_size 64\n${PICK}\n`;
    expect(ptxas(text).errors).toBe('');
    // Nobody takes the address of the parameter of a call.
    const bad = `${text}.func g() { .reg .b64 %d; .param .b32 q; mov.b64 %d, q; ret; }`;
    expect(ptxas(bad).errors).toContain("Illegal to take address of parameter 'q'");
  });
});
