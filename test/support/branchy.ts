/** A kernel with work for rules and for several rewrites of branches, in PTX for sm_80; its text and the names of its kernels. */
export const branchyPtx = (...names: readonly string[]): string => `.version 8.0
.target sm_80
.address_size 64
${names.map(kernel).join('\n')}`;

const kernel = (name: string): string => `.visible .entry ${name}(.param .u64 p)
{
.reg .pred %p<3>;
.reg .b32 %r<6>;
.reg .f32 %f<4>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
setp.gt.s32 %p1, %r1, 3;
setp.gt.s32 %p2, %r1, 7;
@%p1 bra $L1;
$L1:
add.s32 %r2, %r1, 0;
@%p2 bra $L2;
bra $L2;
$L2:
mul.lo.s32 %r3, %r2, 8;
@%p1 bra $L3;
bra $L4;
$L3:
bra $L5;
$L4:
add.s32 %r3, %r3, 5;
$L5:
mov.f32 %f1, 0f3F800000;
add.f32 %f2, %f1, %f1;
mov.b32 %r4, %f2;
add.s32 %r5, %r3, %r4;
st.global.u32 [%rd1], %r5;
ret;
}`;
