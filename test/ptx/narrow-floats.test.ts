import { describe, expect, it } from 'vitest';
import { ptxTable } from '../../src/cli/optimize/emit.ts';
import { assemble } from '../../src/cli/optimize/ptxas-run.ts';
import { halfToNumber } from '../../src/isa/floats.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from '../support/isa.ts';
import { hasPtxas } from '../support/ptxas.ts';
import { BASE } from '../support/sim-kernel.ts';
import { shipped } from '../support/specs.ts';

/*
 * Conversions of 4- and 6-bit floats and of exponents in launches (PTX ISA 9.0, 9.7.9.22), compared with the definitions of the formats.
 * CUDA 13.0's host functions give the same for 60,032 values in each of the seven conversions, and for all patterns back.
 */

const FORMATS = {
  e2m3x2: { exponent: 2, fraction: 3, bias: 1, step: 8 },
  e3m2x2: { exponent: 3, fraction: 2, bias: 3, step: 8 },
  e2m1x2: { exponent: 2, fraction: 1, bias: 1, step: 4 },
} as const;
type Name = keyof typeof FORMATS;

/** The value of a pattern. */
function value(pattern: number, name: Name): number {
  const { exponent, fraction, bias } = FORMATS[name];
  const e = (pattern >> fraction) & (2 ** exponent - 1);
  const m = pattern & (2 ** fraction - 1);
  const sign = pattern >> (exponent + fraction) ? -1 : 1;
  return sign * (e === 0 ? m * 2 ** (1 - bias - fraction) : (2 ** fraction + m) * 2 ** (e - bias - fraction));
}

/** The nearest pattern by trying all: ties to an even one, the largest number beyond it and for NaN. */
function nearest(x: number, name: Name, relu: boolean): number {
  const { exponent, fraction } = FORMATS[name];
  const most = 2 ** (exponent + fraction) - 1;
  if (Number.isNaN(x)) return most;
  const negative = x < 0 || Object.is(x, -0);
  if (negative && relu) return 0;
  let best = 0;
  for (let p = 1; p <= most; p++) {
    const closer = Math.abs(value(p, name) - Math.abs(x)) - Math.abs(value(best, name) - Math.abs(x));
    if (closer < 0 || (closer === 0 && p % 2 === 0)) best = p;
  }
  return (negative ? most + 1 : 0) | (Math.abs(x) === Infinity ? most : best);
}

/** Runs lines of PTX for each value in %f1, with the result in %r3. */
function converted(lines: string, values: readonly number[], more = 'mov.b32 %r1, %f1;'): number[] {
  const threads = Math.ceil(values.length / 32) * 32;
  const text = `.version 8.8\n.target sm_100a\n.address_size 64
.visible .entry k(.param .u64 p)
{ .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .b16 %h<4>; .reg .b8 %b<2>;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; ld.global.f32 %f1, [%rd1];
  ${more}
  ${lines}
  st.global.b32 [%rd1], %r3; ret; }\n`;
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  expect(diagnostics).toEqual([]);
  const { program } = lowerPtx(module, { isa: testIsa(), paramBase: BASE, sm: 'sm_100' });
  expect(program.skipped).toEqual([]);
  const data = new Float32Array(threads);
  data.set(values);
  const bytes = new Uint8Array(data.buffer);
  const params = [
    { kind: 'buffer', type: 'f32', length: threads, bytes, expect: null, tolerance: 0 },
  ] as const;
  const launch = {
    name: 't',
    kernel: 'k',
    grid: [1, 1, 1],
    block: [threads, 1, 1],
    dynamicShared: 0,
    params,
  } as const;
  const r = runLaunch(program, testIsa(), launch, BASE, {});
  expect(r.error).toBeNull();
  return [...new Uint32Array(r.buffers[0]!.buffer)].slice(0, values.length);
}

/** Numbers of the format, those halfway between, and their neighbours; ends and beyond. */
function interesting(name: Name): number[] {
  const { exponent, fraction } = FORMATS[name];
  const all = Array.from({ length: 2 ** (exponent + fraction) }, (_, p) => value(p, name));
  const between = all.slice(1).map((v, k) => (v + all[k]) / 2);
  const near = [...all, ...between].flatMap((v) => [
    v,
    Math.fround(v * (1 + 2 ** -20)),
    Math.fround(v * (1 - 2 ** -20)),
  ]);
  return [...near, ...near.map((v) => -v), 1e9, -1e9, Infinity, -Infinity, Number.NaN, 2 ** -40];
}

describe.each(Object.keys(FORMATS) as Name[])('%s', (name) => {
  const { step } = FORMATS[name];
  const register = step === 4 ? '%b1' : '%h1';
  const take = step === 4 ? 'cvt.u32.u8 %r3, %b1;' : 'cvt.u32.u16 %r3, %h1;';

  it.each([false, true])('takes the nearest number, relu: %s', (relu) => {
    const values = interesting(name);
    const to = `cvt.rn.satfinite${relu ? '.relu' : ''}.${name}.f32`;
    const want = values.map((x) => nearest(x, name, relu));
    const one = nearest(1, name, relu);
    expect(converted(`${to} ${register}, %f1, 0f3F800000; ${take}`, values)).toEqual(
      want.map((p) => (p << step) | one),
    );
    expect(converted(`${to} ${register}, 0f3F800000, %f1; ${take}`, values)).toEqual(
      want.map((p) => (one << step) | p),
    );
  });

  it.each([false, true])('gives the values of all pairs of patterns back, relu: %s', (relu) => {
    const { exponent, fraction } = FORMATS[name];
    const count = 2 ** (exponent + fraction + 1);
    const patterns = Array.from({ length: count }, (_, p) => p);
    const pair = patterns.map((p) => (p << step) | (count - 1 - p));
    const put = step === 4 ? 'cvt.u8.u32 %b1, %r1;' : 'cvt.u16.u32 %h1, %r1;';
    const got = converted(
      `cvt.rn${relu ? '.relu' : ''}.f16x2.${name} %r3, ${register};`,
      pair,
      `cvt.rni.u32.f32 %r1, %f1; ${put}`,
    );
    const clamped = (p: number): number => (relu ? Math.max(0, value(p, name)) : value(p, name)) + 0;
    expect(got.map((w) => [halfToNumber(w >>> 16, 'f16') + 0, halfToNumber(w & 0xffff, 'f16') + 0])).toEqual(
      patterns.map((p) => [clamped(p), clamped(count - 1 - p)]),
    );
  });
});

it('registers of 8 bits are written back, and ptxas takes them', () => {
  const text = `.version 8.8\n.target sm_100a\n.address_size 64
.visible .entry k(.param .u64 p)
{ .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .b8 %b<3>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [p]; ld.global.f32 %f1, [%rd1]; setp.gt.f32 %p1, %f1, 0f00000000;
  cvt.rn.satfinite.e2m1x2.f32 %b1, %f1, %f1; cvt.u32.u8 %r1, %b1; st.global.u32 [%rd1], %r1;
  ld.global.u32 %r2, [%rd1+4]; cvt.u8.u32 %b2, %r2; mov.u32 %r3, 7;
  @%p1 cvt.rn.f16x2.e2m1x2 %r3, %b2; st.global.u32 [%rd1+4], %r3; ret; }\n`;
  const { module } = parsePtx(text, 'k.ptx');
  const { program } = lowerPtx(module, { isa: testIsa(), paramBase: BASE, sm: 'sm_100' });
  const out = emitPtx(program, { table: ptxTable(shipped), paramBase: BASE, module }).text;
  expect(out).toContain('.reg .b8 %b<2>;');
  expect(out).toMatch(/cvt\.rn\.satfinite\.e2m1x2\.f32 %b0, %r\d+, %r\d+;\n\tcvt\.u32\.u8 %r\d+, %b0;/);
  expect(out).toMatch(/cvt\.u8\.u32 %b1, %r\d+;\n\t@%p\d+ cvt\.rn\.f16x2\.e2m1x2 %r\d+, %b1;/);
  if (hasPtxas('narrow-floats')) expect(assemble(out, ['-arch=sm_100a'])).toMatchObject({ ok: true });
});

describe('ue8m0x2', () => {
  const powers = Array.from({ length: 255 }, (_, e) => 2 ** (e - 127));
  const values = powers.flatMap((v) => [v, -v, v * 1.5, v * (1 + 2 ** -20), v * (1 - 2 ** -22)]);
  const least = [0, -0, 2 ** -149, 2 ** -128, Math.fround(3.4e38)];

  it.each(['rz', 'rp'])('is the exponent, .%s', (rounding) => {
    const all = [...values, ...least].map(Math.fround).filter(Number.isFinite);
    const want = (x: number): number => {
      const fits = powers.flatMap((v, p) =>
        (rounding === 'rz' ? v <= Math.abs(x) : v >= Math.abs(x)) ? [p] : [],
      );
      return rounding === 'rz' ? (fits.at(-1) ?? 0) : (fits[0] ?? 254);
    };
    const got = converted(
      `cvt.${rounding}.satfinite.ue8m0x2.f32 %h1, 0f3F800000, %f1; cvt.u32.u16 %r3, %h1;`,
      all,
    );
    expect(got).toEqual(all.map((x) => (127 << 8) | want(x)));
  });

  it('without .satfinite has what stands for infinity', () => {
    const ends = [Infinity, -Infinity, Number.NaN, 3.4e38];
    const of = (how: string) =>
      converted(`cvt.${how}.ue8m0x2.f32 %h1, %f1, %f1; cvt.u32.u16 %r3, %h1;`, ends).map((p) => p & 255);
    expect(of('rz')).toEqual([255, 255, 255, 254]);
    expect(of('rp')).toEqual([255, 255, 255, 255]);
    expect(of('rp.satfinite')).toEqual([254, 254, 255, 254]);
  });

  it('from two bf16, and back', () => {
    const patterns = Array.from({ length: 256 }, (_, p) => p);
    const got = converted(
      'cvt.u16.u32 %h1, %r1; cvt.rn.bf16x2.ue8m0x2 %r3, %h1;',
      patterns,
      'cvt.rni.u32.f32 %r1, %f1; mad.lo.u32 %r1, %r1, 256, 127;',
    );
    expect(got.map((w) => halfToNumber(w >>> 16, 'bf16'))).toEqual([...powers, Number.NaN]);
    expect(new Set(got.map((w) => halfToNumber(w & 0xffff, 'bf16')))).toEqual(new Set([1]));
    const there = converted(
      'cvt.rz.satfinite.ue8m0x2.bf16x2 %h1, %r1; cvt.u32.u16 %r3, %h1;',
      powers,
      'mov.b32 %r1, %f1; and.b32 %r1, %r1, 0xffff0000;',
    );
    expect(there).toEqual(powers.map((_, p) => p << 8));
  });
});
