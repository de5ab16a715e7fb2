import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkPtx } from '../../src/ptx/check.ts';
import { parsePtx } from '../../src/ptx/parse.ts';

const module = (line: string): string => `.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
 .reg .pred %p<3>;
 .reg .b16 %h<3>;
 .reg .b32 %r<4>;
 .reg .b64 %rd<4>;
 .reg .u32 %u<2>;
 .reg .f32 %f<3>;
 .reg .f64 %d<3>; .reg .v2 .f32 %v<2>;
 ${line}
 ret;
}
`;
const faults = (line: string): string[] => {
  const { module: m, diagnostics } = parsePtx(module(line), 'k.ptx');
  return [...diagnostics, ...checkPtx(m)].map(
    (d) => `${d.line}:${d.column} ${d.message} ${d.notes?.join(' ')}`,
  );
};

/** Wrong lines, and what is said of each; ptxas refuses them all. */
const WRONG: readonly (readonly [string, RegExp])[] = [
  ['add.s33 %r1, %r2, %r1;', /^13:2 'add' has no modifier '.s33' did you mean 's32'/],
  ['add.s32 %r1, %r2;', /'add' takes 3 operands, found 2/],
  ['selp.b32 %r1, %r2, %r1;', /'selp' takes 4 operands, found 3/],
  ['add.s32 %r1, %r2, %r1, %r1;', /'add' takes 3 operands, found 4/],
  ['setp.lq.s32 %p1, %r1, 0;', /'setp' has no modifier '.lq'/],
  ['setp.s32 %p1, %r1, 0;', /'setp.s32' needs one of .eq, .ne/],
  ['mul.s32 %r1, %r1, %r1;', /'mul.s32' needs one of .hi, .lo, .wide/],
  ['mad.lo.f32 %f1, %f1, %f1, %f1;', /'.lo' of 'mad' does not go with '.f32'/],
  ['add.rn.s32 %r1, %r1, %r1;', /'.rn' of 'add' does not go with '.s32'/],
  ['fma.f32 %f1, %f1, %f1, %f1;', /'fma.f32' needs one of .rn, .rz, .rm, .rp/],
  ['div.f32 %f1, %f1, %f1;', /'div.f32' needs one of .approx, .full/],
  ['sin.f32 %f1, %f1;', /'sin.f32' needs .approx/],
  ['add.s32 %rd1, %r1, %r1;', /^13:10 '%rd1' is .b64, but 'add' takes 32 bits/],
  ['add.f32 %f1, %f1, %u1;', /'%u1' is .u32, but 'add' takes 32 bits of .f32/],
  ['mul.wide.s32 %r1, %r1, %r1;', /'%r1' is .b32, but 'mul' takes 64 bits/],
  ['shfl.sync.idx.b32 %rd1, %r2, 0, 31, -1;', /'%rd1' is .b64, but 'shfl' takes 32 bits/],
  ['atom.global.add.u32 %rd1, [%rd2], %r1;', /'%rd1' is .b64, but 'atom' takes 32 bits/],
  ['cvt.u64.u32 %r1, %r2;', /'%r1' is .b32, but 'cvt' takes at least 64 bits/],
  ['vote.sync.any.pred %r1, %p1, -1;', /'%r1' is .b32, but 'vote' takes a predicate/],
  ['match.any.sync.b64 %r1, %r2, -1;', /'%r2' is .b32, but 'match' takes 64 bits/],
  ['redux.sync.add.s32 %rd1, %r1, -1;', /'%rd1' is .b64, but 'redux' takes 32 bits/],
  ['cvta.to.global.u64 %rd1, %r2;', /'%r2' is .b32, but 'cvta' takes 64 bits/],
  ['add.f32 %v1, %f1, %f1;', /'%v1' is a vector, but 'add' takes one value there '%v1.x' is its first/],
  ['st.global.u32 [%p1], %r1;', /'%p1' is .pred, which is not an address/],
  ['shl.b32 %r1, %r1, %p1;', /'%p1' is .pred, but 'shl' takes 32 bits/],
  ['setp.eq.f64 %p1, %d1, %f1;', /'%f1' is .f32, but 'setp' takes 64 bits/],
  ['selp.f32 %f1, %f1, %f1, %r1;', /'%r1' is .b32, but 'selp' takes a predicate/],
  ['ld.global.u64 %r1, [%rd1];', /'%r1' is .b32, but 'ld' takes at least 64 bits/],
  ['ld.global.v3.u32 {%r0,%r1,%r2}, [%rd1];', /'ld' has no modifier '.v3' did you mean/],
  ['and.u32 %r1, %r1, 1;', /'and' has no modifier '.u32' did you mean 'b32'/],
  ['add %r1, %r1, 1;', /'add' needs a type it is one of .u16/],
  ['cvt.f32.s32 %f1, %r1;', /'cvt.f32.s32' needs one of .rn/],
  ['cvt.s32.f32 %r1, %f1;', /'cvt.s32.f32' needs one of .rni/],
  ['cvt.f32.f64 %f1, %d1;', /'cvt.f32.f64' needs one of .rn/],
  ['cvt.u32 %r1, %r1;', /'cvt' needs two types/],
  ['cvt.u32.u99 %r1, %r1;', /'cvt' has no modifier '.u99'/],
  ['atom.global.ad.u32 %r1, [%rd1], 1;', /'atom' has no modifier '.ad' did you mean/],
  ['exit %r1;', /'exit' takes 0 operands, found 1/],
];
const RIGHT =
  `add.s32 %r1, %r2, -1; add.f32 %f1, %f1, %r1; ld.global.u8 %rd1, [%rd1]; and.b32 %r1, %r1, %f1; mov.f32 %f1, %r1;
setp.eq.and.s32 %p1|%p2, %r1, 7, !%p2; mad.wide.u32 %rd1, %r1, %r1, %rd2; cvt.rn.f32.u64 %f1, %rd1; cvt.f64.f32 %d1, %f1;
cvt.rzi.sat.s16.f32 %h1, %f1; cvt.u64.u8 %rd1, %h1; shr.s64 %rd1, %rd1, %r1; max.NaN.f32 %f1, %f1, %f2; div.full.ftz.f32 %f1, %f1, %f2;
ld.global.nc.L1::evict_last.v4.u32 {%r0,%r1,%r2,%r3}, [%rd1]; atom.shared.cta.cas.b64 %rd1, [%rd2], %rd1, 0; popc.b64 %r1, %rd1;
cvt.rn.bf16x2.f32 %r1, %f1, %f2; cvt.rna.tf32.f32 %r1, %f1; mov.b64 {%r1, %r2}, %rd1; mov.u32 %r1, %tid.x; sub.cc.u32 %r1, %r1, 1;
lop3.b32 %r1, %r1, %r2, %r3, 0x80; bfind.shiftamt.s64 %r1, %rd1; mul.rn.f64 %d1, %d1, %d2; st.shared.v2.f32 [%r1], {%f1, %f2};`
    .split(';')
    .map((l) => l.trim())
    .filter((l) => l !== '')
    .map((l) => `${l};`);

describe('instructions against their signatures', () => {
  it.each(WRONG)('%s', (line, said) => {
    expect(faults(line)).toEqual([expect.stringMatching(said)]);
  });
  it.each(RIGHT)('%s', (line) => {
    expect(faults(line)).toEqual([]);
  });
});

describe('a file of nothing', () => {
  const said = (text: string) => parsePtx(text, 'k.ptx').diagnostics.map((d) => d.message);
  it('is no PTX, with or without comments; an open comment is one error', () => {
    expect(said('')).toEqual(['the file is empty']);
    expect(said(' \n')).toEqual(['the file is empty']);
    expect(said('// nothing\n')).toEqual(["a PTX file must begin with '.version'"]);
    expect(said('/* open')).toEqual([expect.stringContaining('not closed')]);
  });
});

const dir = mkdtempSync(join(tmpdir(), 'orrery-ptx-'));
afterAll(() => rmSync(dir, { recursive: true }));
const ptxas = (lines: readonly string[]) => {
  const file = join(dir, 'k.ptx');
  writeFileSync(file, module(lines.join('\n')));
  return spawnSync('ptxas', ['-arch=sm_90', file, '-o', join(dir, 'k.cubin')], { encoding: 'utf8' });
};

describe.skipIf(spawnSync('ptxas', ['--version']).status !== 0)('ptxas says the same', () => {
  it('takes every right line', () => {
    expect(ptxas(RIGHT).stderr).toBe('');
  });
  it('refuses every wrong line', () => {
    // It stops at the first line that it cannot read, so that each stands alone.
    expect(WRONG.filter(([line]) => ptxas([line]).status === 0).map(([line]) => line)).toEqual([]);
  });
});
