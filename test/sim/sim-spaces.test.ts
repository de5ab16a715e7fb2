import { describe, expect, it } from 'vitest';
import { compare, planOf, readPtx, simulate } from '../../src/core.ts';
import { runPtx } from '../support/run-ptx.ts';
import { shipped } from '../support/specs.ts';

const view = new DataView(new ArrayBuffer(4));
const number = (b: number): number => {
  view.setInt32(0, b);
  return view.getFloat32(0);
};
const bits = (x: number): number => {
  view.setFloat32(0, x);
  return view.getInt32(0);
};
const isSubnormal = (b: number): boolean => (b & 0x7f800000) === 0 && (b & 0x7fffff) !== 0;
const flush = (b: number): number => (isSubnormal(b) ? b & (1 << 31) : b);

describe('atom.add.f32 and red.add.f32', () => {
  const SMALLEST = 0x00800000;
  const patterns = [
    0,
    1 << 31,
    1,
    0x007fffff,
    0x807fffff,
    SMALLEST,
    SMALLEST + 1,
    SMALLEST | (1 << 31),
    0x00ffffff,
  ];
  patterns.push(bits(1), bits(-1.5), bits(3e38), 0x7f800000);
  const rows = patterns.flatMap((a) => patterns.map((b) => [a | 0, b | 0]));
  const plain = (a: number, b: number): number => bits(Math.fround(number(a) + number(b)));
  /** What the PTX ISA says of global memory (9.0, atom): subnormal inputs and results become zeros of their signs. */
  const inGlobal = (a: number, b: number): number => flush(plain(flush(a), flush(b)));

  it.each([
    ['st.global.b32 [%in], %i0; atom.global.add.f32 %o0, [%in], %i1; ld.global.b32 %o1, [%in];', inGlobal],
    ['st.global.b32 [%in], %i0; atom.add.f32 %o0, [%in], %i1; ld.global.b32 %o1, [%in];', inGlobal],
    [
      'st.global.b32 [%in], %i0; red.global.add.f32 [%in], %i1; mov.b32 %o0, %i0; ld.global.b32 %o1, [%in];',
      inGlobal,
    ],
    [
      'st.global.b32 [%in], %i0; red.add.f32 [%in], %i1; mov.b32 %o0, %i0; ld.global.b32 %o1, [%in];',
      inGlobal,
    ],
    ['st.shared.b32 [%r0], %i0; atom.shared.add.f32 %o0, [%r0], %i1; ld.shared.b32 %o1, [%r0];', plain],
    ['st.shared.b32 [%r0], %i0; atom.add.f32 %o0, [%d0], %i1; ld.shared.b32 %o1, [%r0];', plain],
    [
      'st.shared.b32 [%r0], %i0; red.shared.add.f32 [%r0], %i1; mov.b32 %o0, %i0; ld.shared.b32 %o1, [%r0];',
      plain,
    ],
  ])('%s', (body, want) => {
    const got = runPtx(
      `.shared .b32 s[32]; mov.b32 %r0, s; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; add.s32 %r0, %r0, %r1;
cvt.u64.u32 %d0, %r0; cvta.shared.u64 %d0, %d0; ${body}`,
      rows,
      2,
    );
    // The old value comes back as it was.
    expect(got).toEqual(rows.map(([a, b]) => [a, want(a, b) | 0]));
  });

  it('keeps other operations on the bits of subnormals', () => {
    const got = runPtx(
      'st.global.b32 [%in], %i0; atom.global.exch.b32 %o0, [%in], %i1; ld.global.b32 %o1, [%in];',
      rows,
      2,
    );
    expect(got).toEqual(rows);
  });
});

describe('isspacep', () => {
  // Generic addresses of variables of each space, of a parameter, and of heap memory; the window of parameters lies in
  // the global one, and that of constants does not (PTX ISA 9.0, 6.4.1.1 and isspacep; ptxas excludes only that window).
  const WHERE: Readonly<Record<string, readonly string[]>> = {
    'mov.b64 %d0, c; cvta.const.u64 %d0, %d0;': ['const'],
    'mov.b64 %d0, c+60; cvta.const.u64 %d0, %d0;': ['const'],
    'mov.b64 %d0, g; cvta.global.u64 %d0, %d0;': ['global'],
    'mov.b64 %d0, s; cvta.shared.u64 %d0, %d0;': ['shared'],
    'mov.b64 %d0, l; cvta.local.u64 %d0, %d0;': ['local'],
    'mov.b64 %d0, pin; cvta.param.u64 %d0, %d0;': ['global', 'param'],
    'mov.b64 %d0, %in;': ['global'],
  };
  it.each(Object.keys(WHERE))('%s', (address) => {
    const asked = ['const', 'global', 'shared', 'local', 'param'];
    const ask = asked.map((x, k) => `isspacep.${x} %p0, %d0; selp.b32 %o${k}, 1, 0, %p0;`).join('\n');
    const before =
      '.const .align 4 .b32 c[16] = {1, 2};\n.global .b32 g;\n.const .b32 c2;\n.shared .b32 s;\n';
    const [got] = runPtx(`.local .b32 l;\n${address}\n${ask}`, [[0]], 5, before);
    expect(asked.filter((_, k) => got[k] === 1)).toEqual(WHERE[address]);
  });
});

describe('the window of kernel parameters', () => {
  // What a kernel is given in `.param` is only read (PTX ISA 9.0, 5.1.6.1), and ends with its last parameter.
  const plan = planOf(shipped, { sm: 'sm_80', level: 3 });
  const kernel = (body: string) =>
    readPtx(
      `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b64 %p, %a, %v; .reg .b32 %w;
  ld.param.u64 %p, [p];
  mov.b64 %a, p; cvta.param.u64 %a, %a;
  ${body}
  st.global.u64 [%p], %v;
  ret;
}
`,
      plan,
    ).program;
  const ends = (body: string) => {
    const buffer = { kind: 'buffer' as const, name: 'p', bytes: new Uint8Array(8), expect: null };
    const launch = { kernel: 'k', grid: [1, 1, 1] as const, block: [1, 1, 1] as const, params: [buffer] };
    return simulate(kernel(body), plan, launch as never).error ?? '';
  };
  it('is read', () => expect(ends('ld.u64 %v, [%a];')).toBe(''));
  it('is not written', () =>
    expect(ends('ld.u64 %v, [%a]; st.u64 [%a], %v;')).toContain(
      'belongs to a kernel parameter, which is read-only',
    ));
  it('has an end', () =>
    expect(ends('ld.u64 %v, [%a+70000];')).toContain('lies past the end of the kernel parameters'));

  it('keeps addresses past its end apart where every address exists', () => {
    const load = 'ld.u64 %v, [%a+70004];';
    const store = 'mov.u32 %w, 7; st.u32 [%a+70000], %w;';
    expect(compare(kernel(store + load), kernel(load + store), 'k', plan).differences).toEqual([]);
    expect(compare(kernel(store + load), kernel(load), 'k', plan).same).toBe(false);
  });
});
