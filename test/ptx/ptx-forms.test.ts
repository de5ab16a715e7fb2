import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkPtx } from '../../src/ptx/check.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { someOf } from '../support/ptxas.ts';

/*
 * Forms beyond plain arithmetic, as written by hand and by compilers: named registers, address forms, vectors, matrices, textures,
 * surfaces, copies. ptxas 13.0 decides which are valid, and the last test asks it again.
 */
const body = (line: string, target: string): string => `.version 9.0
.target ${target}
.address_size 64
.global .u32 gv; .shared .align 16 .u32 sv[64]; .const .u32 cv; .global .texref tx; .global .surfref su;
.visible .entry k(.param .u64 a)
{
 .reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<8>; .reg .b128 %q<4>; .reg .f32 %f<36>; .reg .f64 %d<8>;
 .reg .f16x2 %hx<4>; .reg .u32 %u<4>; .reg .u32 u, w; .reg .f32 f; .reg .pred p; .reg .v4 .u32 v4; .reg .v2 .f32 %v<2>;
 ${line}
$L: ret;
}
`;

const faults = (line: string, target: string): string[] => {
  const { module, diagnostics } = parsePtx(body(line, target), 'k.ptx');
  return [...diagnostics, ...checkPtx(module)].filter((d) => d.severity === 'error').map((d) => d.message);
};

const F4 = '{%f1,%f2,%f3,%f4}';
const R4 = '{%r1,%r2,%r3,%r4}';
const R8 = '{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}';
const F8 = '{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}';
const F16_MMA = 'mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32';
const TO_SHARED = 'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes';
const TENSOR = 'cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes';

const RIGHT: Readonly<Record<string, readonly string[]>> = {
  sm_80: [
    'add.u32 u, w, 1;',
    'mov.v4.u32 v4, {u,w,u,w};',
    'mov.v4.u32 {%r1,w,u,w}, v4;',
    'mov.v4.u32 v4, %tid;',
    'ld.global.v4.u32 v4, [%rd1];',
    'ld.global.u32 %r1, [%rd1+-8];',
    'ld.local.u32 %r1, [8];',
    'mov.b64 {%r1, %f1}, %rd1;',
    'max.u32 %hx1, %r1, %hx2;',
    'isspacep.global %p1, %r1;',
    `${F16_MMA} ${F4}, {%r1,%r2}, {%r3}, ${F4};`,
    `${F16_MMA} {%f1,_,%f3,%f4}, {%hx1,%hx2}, {%r3}, ${F4};`,
    `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 ${F4}, ${R4}, {%r3,%r4}, ${F4};`,
    `mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 ${R4}, ${R4}, {%r5,%r6}, ${R4};`,
    'mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2}, {%d3}, {%d4}, {%d1,%d2};',
    `mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ${F4}, {%r1,%r2}, {%r3,%r4}, ${F4}, %r5, 3;`,
    'ldmatrix.sync.aligned.x2.m8n8.trans.shared.b16 {%r1,%r2}, [sv];',
    `wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 ${R8}, [%r1], 16;`,
    `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 ${F8}, ${R8}, ${R8}, ${R4};`,
    `tex.1d.v4.f32.s32 ${F4}, [tx, %r1];`,
    // Coordinates as older PTX has them.
    `tex.1d.v4.f32.f32 ${F4}, [tx, ${F4}];`,
    `tex.2d.v4.f32.f32 ${F4}, [tx, ${F4}];`,
    `tex.1d.v4.f32.f32 ${F4}, [tx, {%f1,%f2}];`,
    `tex.2d.v4.f32.f32 ${F4}|%p1, [%rd1, {%f1,%f2}], {%r1,%r2}, %f3;`,
    `tex.level.a2d.v4.f32.f32 ${F4}, [%rd1, {%r1,%f2,%f3,%f4}], %f3;`,
    `tex.grad.2d.v4.f32.f32 ${F4}, [%rd1, %rd2, {%f1,%f2}], {%f1,%f2}, {%f1,%f2};`,
    'tex.2d.v4.u32.f32 {%r1,_,_,_}, [%rd1, %v1];',
    `tld4.r.2d.v4.f32.f32 ${F4}, [%rd1, {%f1,%f2}], %f1;`,
    'suld.b.2d.v2.b32.clamp {%r1,%r2}, [su, {%r1,%r2}];',
    'sust.p.1d.b32.trap [su, {%r1}], {%r1};',
    'sured.b.min.1d.s64.trap [su, {%r1}], %rd1;',
    'vadd4.u32.u32.u32.sat %r1.b3210, %r2.b7654, %r3, %r4;',
    'vset.u32.u32.eq.add %r1, %r2, 5, %r4;',
    'createpolicy.fractional.L2::evict_last.b64 %rd1, 0.5;',
  ],
  sm_90a: [
    'mov.pred p, %is_explicit_cluster;',
    `wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 ${F8}, %rd1, %rd2, p, 1, -1, 0, 1;`,
    `wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 ${F8}, ${R4}, %rd2, 1, 1, 1, 0;`,
    'setmaxnreg.inc.sync.aligned.u32 40;',
    `${TO_SHARED} [sv], [gv], 16, [sv];`,
    `${TO_SHARED}.multicast::cluster.L2::cache_hint [sv], [%rd1], %r1, [sv], %h1, %rd2;`,
    `${TENSOR} [sv], [%rd1, {%r1, 5}], [sv];`,
    'st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [sv], {%r1,%r2}, [sv];',
    `multimem.ld_reduce.global.add.acc::f32.v4.f16x2 ${R4}, [%rd1];`,
    'cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;',
  ],
  sm_100a: [
    'cvt.rz.ue8m0x2.f32 %h1, %f1, %f2;',
    `mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e4m3.e5m2.f32 ${F4}, ${R4}, {%r1,%r2}, ${F4};`,
    `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,_,%f3,_}, {%r1,0,%r2,%r3}, {%r1,%r2}, {%f1,0.,%f3,0.};`,
    'red.async.relaxed.global.gpu.add.u32 [%rd1], %r1;',
    'st.bulk.weak [%r1], 64, 0;',
    // CUTLASS writes them so.
    `mma.sync.aligned.m16n8k32.sp::ordered_metadata.row.col.f32.f16.f16.f32 ${F4}, ${R4}, ${R4}, ${F4}, {%r1}, 0x0;`,
    `mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 ${F4}, ${R4}, ${R4}, ${F4}, %r1, 0x0;`,
    'ld.global.L1::evict_last.L2::cache_hint.v4.b64 {%rd1,%rd2,%rd3,%rd4}, [%rd5], %rd6;',
    `st.global.L2::cache_hint.v8.f32 [%rd5], ${F8}, %rd6;`,
    `tcgen05.ld.sync.aligned.16x128b.x2.b32 ${R4}, [%r9];`,
    `tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, ${R4}, %p1, 3;`,
    'tcgen05.mma.cta_group::2.kind::mxf4.block_scale.scale_vec::2X [%r1], [%r2], %rd2, %r2, [%r3], [%r4], %p1;',
    `clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 ${R4}, %q1;`,
  ],
  sm_103a: ['tcgen05.ld.red.sync.aligned.32x32b.x2.f32.max.abs {%f1,%f2}, %f3, [%r1];'],
};

const WRONG: Readonly<Record<string, readonly (readonly [line: string, said: string])[]>> = {
  sm_80: [
    ['add.u32 u, f, 1;', "'f' is .f32, but 'add' takes 32 bits of .u32 there"],
    ['add.f32 f, u, f;', "'u' is .u32, but 'add' takes 32 bits of .f32 there"],
    ['add.f16x2 %hx1, u, %r1;', "'u' is .u32, but 'add' takes 32 bits of .f16x2 there"],
    ['ld.global.v2.u32 v4, [%rd1];', "'ld.global.v2.u32' takes a vector of 2 there, not 'v4'"],
    ['ld.global.u32 u, [%q1];', "'%q1' is .b128, which is not an address"],
    ['ld.u32 %r1, [8];', 'an address in generic space is a register or a variable, not a number'],
    ['ld.shared.u32 %r1, [sv-8];', "an offset cannot be subtracted from 'sv'"],
    ['mov.u64 %rd1, gv-4;', "an offset cannot be subtracted from 'gv'"],
    ['st.param.u64 [a], %rd1;', "'a' is an input parameter and cannot be written"],
    [
      'mov.b64 {%u1, %f1}, %rd1;',
      "'%f1' is .f32: registers of one vector of 'mov' have one size, and types that go together",
    ],
    ['bra $L+4;', "'bra' takes a label"],
    ['shfl.sync.up.b32 _|%p1, %r2, 1, 0, -1;', "'shfl.sync.up.b32' takes a register there, not '_'"],
    ['bar.sync.warp %r1;', "'.warp' of 'bar' does not go with '.sync'"],
    ['{ .reg .bf16 x; }', "'.bf16' is a type of instructions, not of variables"],
    ['{ .reg .v4 .u64 x; }', "'x' is a vector of more than 128 bits"],
    ['{ .reg .v2 .pred x; }', "'x' is a vector of predicates, which PTX does not have"],
    ['{ .reg .u32 x[4]; }', "'x' is an array, which cannot be a register"],
    [`${F16_MMA} ${F4}, {%r1,%r2}, %r3, ${F4};`, `'${F16_MMA}' takes 1 in braces there, not '%r3'`],
    [`${F16_MMA} {%f1,%f2}, {%r1,%r2}, {%r3}, ${F4};`, `'${F16_MMA}' takes 4 in braces there, found 2`],
    [`${F16_MMA} ${F4}, {%r1,%r2}, {%u3}, ${F4};`, "'%u3' is .u32, but 'mma' takes 32 bits of .f16x2 there"],
    [
      `mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32 ${F4}, {%r1,%r2}, {%r3}, ${F4};`,
      "'.row' of 'mma' does not go with '.f32.f16.f16.f32'",
    ],
    [
      'ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2}, [sv];',
      "'ldmatrix.sync.aligned.m8n8.x4.shared.b16' takes 4 in braces there, found 2",
    ],
    [
      'ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [sv];',
      "'ldmatrix.sync.aligned.m8n8.x1.shared.b16' takes 1 in braces there, not '%r1'",
    ],
    [
      `wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32 ${R8}, {%r1,%r2}, {%r3,%r4}, ${R8};`,
      "'.u8' of 'wmma' does not go with '.s32.s8'",
    ],
    [
      `tex.2d.v4.f32.f32 ${F4}, [%rd1, {%f1,%f2,%f3}];`,
      "'tex.2d.v4.f32.f32' takes 2 in braces there, found 3",
    ],
    [`tex.3d.v4.f32.f32 ${F4}, [%rd1, {%f1,%f2}];`, "'tex.3d.v4.f32.f32' takes 4 in braces there, found 2"],
    [`tex.a1d.v4.f32.f32 ${F4}, [%rd1, {%f1,%f2}];`, "'%f1' is .f32, but 'tex' takes 32 bits of .u32 there"],
    [
      `tex.2d.v4.f32.f32 {%f1,%f2}, [%rd1, {%f1,%f2}];`,
      "'tex.2d.v4.f32.f32' takes a vector of 4, found 2 in braces",
    ],
    [
      `tex.1d.v4.f32.s32 ${F4}, [su, {%r1}];`,
      "'tex.1d.v4.f32.s32' takes a variable of type .texref or a register of 64 bits there",
    ],
    [
      'suld.b.2d.b32.trap %r1, [%r1, {%r1,%r2}];',
      "'suld.b.2d.b32.trap' takes a variable of type .surfref or a register of 64 bits there",
    ],
    ['suld.b.1d.b32 %r1, [su, {%r1}];', "'suld.b32' needs one of .trap, .clamp, .zero"],
    ['vadd4.u32.u32.u32 %r1, 5, %r3, %r4;', "'vadd4.u32.u32.u32' takes a register there, not 5"],
    ['vadd4.s32.s32.s32.sat.add %r1, %r2, %r3, %r4;', "'.add' of 'vadd4' does not go with '.s32.s32.s32'"],
    ['vadd.u32.u32.u32 %r1.b0, %r2, %r3;', "'%r1' has no part '.b0' in 'vadd'"],
    ['discard.global.L2 [%rd1], 64;', "64 in 'discard.global.L2' is not one of 128"],
    ['prefetch.global.L1 [%r1];', "'%r1' has 32 bits, but addresses in .global have 64"],
    [
      'cp.async.ca.shared.global [gv], [%rd1], 4;',
      "'gv' is .global, but 'cp.async.ca.shared.global' accesses .shared",
    ],
    ['cp.async.ca.global.shared [sv], [%rd1], 4;', "'.shared' of 'cp' does not go with '.async.ca.global'"],
  ],
  sm_90a: [
    [
      'mov.u32 %r1, %is_explicit_cluster;',
      "'%is_explicit_cluster' is a predicate, but 'mov' takes 32 bits there",
    ],
    [
      `wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 ${F4}, %rd1, %rd2, p, 1, 1, 0, 1;`,
      "'wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16' takes 8 in braces there, found 4",
    ],
    ['setmaxnreg.inc.sync.aligned.u32 28;', "28 in 'setmaxnreg.inc.sync.aligned.u32' is not a multiple of 8"],
    [`${TO_SHARED} [sv], [gv], 17, [sv];`, `17 in '${TO_SHARED}' is not a multiple of 16`],
    [`${TO_SHARED} [sv], [gv], 16, [gv];`, `'gv' is .global, but '${TO_SHARED}' accesses .shared`],
    [`${TO_SHARED} [sv], [gv], 16;`, "'cp' takes 4 operands, found 3"],
    [`${TENSOR} [sv], [%rd1, {%r1}], [sv];`, `'${TENSOR}' takes 2 in braces there, found 1`],
    [`${TENSOR} [sv], [%rd1], [sv];`, `an address of '${TENSOR}' has 1 parts after its base, found 0`],
    ['multimem.st.global.f32 [%r1], %f1;', "'%r1' has 32 bits, but addresses in .global have 64"],
    ['cvt.rn.satfinite.e4m3x2.f32 %r1, %f1, %f2;', "'%r1' is .b32, but 'cvt' takes 16 bits there"],
  ],
  sm_100a: [
    [
      `mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e5m2.f32 ${F4}, ${R4}, {%r1,%r2}, ${F4};`,
      "'mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e5m2.f32' needs a target from sm_120a on",
    ],
    [
      `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ${F4}, ${R4}, {%r1,%r2}, {%f1,0,%f3,0};`,
      "'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32' takes no integer constant",
    ],
    ['red.async.mmio.relaxed.global.gpu.add.u32 [%rd1], %r1;', "'.mmio' of 'red' does not go with '.u32'"],
    [
      `mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 ${F4}, ${R4}, ${R4}, ${F4}, {%r1,%r2}, 0x0;`,
      "'mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32' takes one value, found 2 in braces",
    ],
    [
      `tcgen05.ld.sync.aligned.16x128b.x4.b32 ${R4}, [%r9];`,
      "'tcgen05.ld.sync.aligned.16x128b.x4.b32' takes 8 in braces there, found 4",
    ],
    [
      `tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r2, ${R4}, %p1;`,
      "'tcgen05.mma.cta_group::2.kind::f16' takes 8 in braces there, found 4",
    ],
    [
      'tcgen05.alloc.cta_group::1.sync.aligned.b32 [sv], %rd1;',
      "'%rd1' is .b64, but 'tcgen05' takes 32 bits there",
    ],
  ],
};

describe('forms that ptxas takes are taken', () => {
  for (const [target, lines] of Object.entries(RIGHT))
    it.each(lines)(`${target}: %s`, (line) => expect(faults(line, target)).toEqual([]));
});

describe('forms that ptxas refuses are refused', () => {
  for (const [target, lines] of Object.entries(WRONG))
    it.each(lines)(`${target}: %s`, (line, said) => expect(faults(line, target)).toEqual([said]));
});

const dir = mkdtempSync(join(tmpdir(), 'orrery-forms-'));
afterAll(() => rmSync(dir, { recursive: true }));

describe.skipIf(spawnSync('ptxas', ['--version']).status !== 0)('ptxas (needs ptxas)', () => {
  const taken = (line: string, target: string): boolean => {
    const file = join(dir, 'k.ptx');
    writeFileSync(file, body(line, target));
    const args = ['-O0', `-arch=${target}`, file, '-o', join(dir, 'k.cubin')];
    return spawnSync('ptxas', args, { timeout: 60_000 }).status === 0;
  };
  it('says the same of each', () => {
    for (const [target, lines] of Object.entries(RIGHT))
      for (const line of someOf(lines))
        expect([target, line, taken(line, target)]).toEqual([target, line, true]);
    for (const [target, lines] of Object.entries(WRONG))
      for (const [line] of someOf(lines))
        expect([target, line, taken(line, target)]).toEqual([target, line, false]);
  }, 240_000);
});
