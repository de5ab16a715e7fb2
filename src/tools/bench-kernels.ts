/** PTX text of a kernel `k` with a given body. */
export const kernel = (body: string): string => `.version 9.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_p)
{
.reg .pred %p<2>;
.reg .b32 %r<5>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [k_p];
mov.u32 %r1, %tid.x;
mov.u32 %r2, 1;
mov.u32 %r3, 2;
mov.u32 %r4, 0;
${body}
st.global.u32 [%rd1], %r1;
st.global.u32 [%rd1+4], %r2;
st.global.u32 [%rd1+8], %r3;
st.global.u32 [%rd1+12], %r4;
ret;
}
`;

/** PTX text of a kernel of about n instructions without branches. */
export function straightKernel(n: number): string {
  const body: string[] = [];
  for (let i = 0; i < n; i++)
    body.push(
      [
        'add.s32 %r1, %r1, %r2;',
        'xor.b32 %r2, %r1, %r3;',
        'mad.lo.s32 %r3, %r1, %r2, %r3;',
        'shl.b32 %r4, %r3, 3;',
      ][i % 4],
    );
  return kernel(body.join('\n'));
}

/** PTX text of a kernel of about n instructions, of which one in four is a conditional branch. */
export function branchyKernel(n: number): string {
  const body: string[] = [];
  for (let i = 0; i < n / 4; i++)
    body.push(
      `setp.gt.s32 %p1, %r1, ${i};`,
      `@%p1 bra $L${i};`,
      `add.s32 %r1, %r1, ${i * 3};`,
      'xor.b32 %r2, %r2, %r1;',
      `$L${i}:`,
    );
  return kernel(body.join('\n'));
}
