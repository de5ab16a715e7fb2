import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { halfToNumber, numberToHalf } from '../../src/isa/floats.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type Launch, type LaunchParam, runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from '../support/isa.ts';
import { BASE } from '../support/sim-kernel.ts';

const isa = testIsa();

const buffer = (bytes: Uint8Array): LaunchParam => ({
  kind: 'buffer',
  type: 's32',
  length: bytes.length / 4,
  bytes,
  expect: null,
  tolerance: 0,
});

function launched(text: string, kernel: string, params: LaunchParam[], threads = 32) {
  const { module, diagnostics } = parsePtx(text, 'm.ptx');
  expect(diagnostics).toEqual([]);
  const { program } = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_80' });
  expect(program.skipped).toEqual([]);
  const launch: Launch = {
    name: 't',
    kernel,
    grid: [1, 1, 1],
    block: [threads, 1, 1],
    dynamicShared: 0,
    params,
  };
  return runLaunch(program, isa, launch, BASE, { counters: false, budget: 100_000 });
}

/** Every lane loads words of its own, carries `ptx` out on %r0, %r1, ..., or %d0, ..., and stores what `out` names. */
function perLane(
  ptx: string,
  words: number,
  wide: boolean,
  results: readonly string[],
  data: Uint8Array,
): Uint8Array {
  const size = wide ? 8 : 4;
  const loads = Array.from(
    { length: words },
    (_, k) => `ld.global.b${8 * size} ${wide ? '%d' : '%r'}${k}, [%rd1+${size * k}];`,
  );
  const stores = results.map((r, k) => `st.global.b${8 * size} [%rd1+${size * (words + k)}], ${r};`);
  const stride = size * (words + results.length);
  const text = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b32 %r<40>; .reg .b64 %rd<4>; .reg .b64 %d<40>; .reg .b32 %t;
.shared .align 16 .b8 tile[1024];
ld.param.u64 %rd1, [p];
mov.u32 %t, %tid.x;
mad.wide.u32 %rd1, %t, ${stride}, %rd1;
${loads.join('\n')}
${ptx}
${stores.join('\n')}
ret;
}
`;
  const bytes = new Uint8Array(32 * stride);
  const perThread = data.length / 32;
  for (let l = 0; l < 32; l++) bytes.set(data.subarray(l * perThread, (l + 1) * perThread), l * stride);
  const r = launched(text, 'k', [buffer(bytes)]);
  expect(r.error).toBeNull();
  const out = new Uint8Array(r.buffers[0]!.buffer, r.buffers[0]!.byteOffset, bytes.length);
  const part = new Uint8Array(32 * size * results.length);
  for (let l = 0; l < 32; l++)
    part.set(out.subarray(l * stride + size * words, (l + 1) * stride), l * size * results.length);
  return part;
}

/** Small numbers, so that every sum is exact. */
const number = (i: number): number => ((i * 37) % 19) - 9;

/**
 * Layouts as the figures of PTX ISA 9.0, 9.7.14.5, say them: row and column of element i of a lane, with g = lane / 4 and t = lane % 4.
 */
type Layout = (i: number, g: number, t: number) => readonly [row: number, column: number];
const BITS = {
  ...{ f16: 16, bf16: 16, tf32: 32, e4m3: 8, e5m2: 8, f64: 64, f32: 32 },
  ...{ s8: 8, u8: 8, s4: 4, b1: 1, s32: 32 },
} as const;
type Type = keyof typeof BITS;
interface Form {
  readonly name: string;
  readonly m: number;
  readonly k: number;
  readonly type: Exclude<Type, 'f32' | 's32'>;
  readonly sum: 'f32' | 'f16' | 's32' | 'f64';
  /** Elements of a lane in A, B and C. */
  readonly counts: readonly [number, number, number];
  readonly a: Layout;
  readonly b: Layout;
  readonly c: Layout;
  /** What is added up of two elements; their product if it is missing. */
  readonly of?: (a: number, b: number) => number;
}

const sums16: Layout = (i, g, t) => [i < 2 ? g : g + 8, t * 2 + (i & 1)];
const FORMS: readonly Form[] = [
  ...(['f16', 'bf16'] as const).map(
    (type): Form => ({
      name: `m16n8k16.row.col.f32.${type}.${type}.f32`,
      m: 16,
      k: 16,
      type,
      sum: 'f32',
      counts: [8, 4, 4],
      a: (i, g, t) => [i % 4 < 2 ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)],
      b: (i, g, t) => [t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g],
      c: sums16,
    }),
  ),
  {
    name: 'm16n8k8.row.col.f16.f16.f16.f16',
    m: 16,
    k: 8,
    type: 'f16',
    sum: 'f16',
    counts: [4, 2, 4],
    a: (i, g, t) => [i < 2 ? g : g + 8, t * 2 + (i & 1)],
    b: (i, g, t) => [t * 2 + (i & 1), g],
    c: sums16,
  },
  {
    name: 'm16n8k8.row.col.f32.tf32.tf32.f32',
    m: 16,
    k: 8,
    type: 'tf32',
    sum: 'f32',
    counts: [4, 2, 4],
    a: (i, g, t) => [i === 0 || i === 2 ? g : g + 8, i < 2 ? t : t + 4],
    b: (i, g, t) => [i === 0 ? t : t + 4, g],
    c: sums16,
  },
  ...(['s8', 'u8', 'e4m3', 'e5m2'] as const).map(
    (type): Form => ({
      name: `m16n8k32.row.col.${type[0] === 'e' ? 'f32' : 's32'}.${type}.${type}.${type[0] === 'e' ? 'f32' : 's32'}`,
      m: 16,
      k: 32,
      type,
      sum: type[0] === 'e' ? 'f32' : 's32',
      counts: [16, 8, 4],
      a: (i, g, t) => [i < 4 || (i >= 8 && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)],
      b: (i, g, t) => [t * 4 + (i & 3) + (i < 4 ? 0 : 16), g],
      c: sums16,
    }),
  ),
  ...(['s32.s8.s8.s32', 'f32.e4m3.e4m3.f32', 'f16.e5m2.e5m2.f16'] as const).map((types): Form => {
    const [sum, type] = types.split('.') as [Form['sum'], Form['type']];
    return {
      name: `m16n8k16.row.col.${types}`,
      m: 16,
      k: 16,
      type,
      sum,
      counts: [8, 4, 4],
      a: (i, g, t) => [i < 4 ? g : g + 8, t * 4 + (i & 3)],
      b: (i, g, t) => [t * 4 + i, g],
      c: sums16,
    };
  }),
  {
    name: 'm16n8k64.row.col.s32.s4.s4.s32',
    m: 16,
    k: 64,
    type: 's4',
    sum: 's32',
    counts: [32, 16, 4],
    a: (i, g, t) => [i < 8 || (i >= 16 && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32)],
    b: (i, g, t) => [t * 8 + (i & 7) + (i < 8 ? 0 : 32), g],
    c: sums16,
  },
  ...(['and', 'xor'] as const).flatMap((how): Form[] => {
    const of = (a: number, b: number): number => (how === 'and' ? a & b : a ^ b);
    return [
      {
        name: `m8n8k128.row.col.s32.b1.b1.s32.${how}.popc`,
        m: 8,
        k: 128,
        type: 'b1',
        sum: 's32',
        counts: [32, 32, 2],
        a: (i, g, t) => [g, t * 32 + i],
        b: (i, g, t) => [t * 32 + i, g],
        c: (i, g, t) => [g, t * 2 + i],
        of,
      },
      {
        name: `m16n8k128.row.col.s32.b1.b1.s32.${how}.popc`,
        m: 16,
        k: 128,
        type: 'b1',
        sum: 's32',
        counts: [64, 32, 4],
        a: (i, g, t) => [i < 32 ? g : g + 8, t * 32 + (i & 31)],
        b: (i, g, t) => [t * 32 + i, g],
        c: sums16,
        of,
      },
      {
        name: `m16n8k256.row.col.s32.b1.b1.s32.${how}.popc`,
        m: 16,
        k: 256,
        type: 'b1',
        sum: 's32',
        counts: [128, 64, 4],
        a: (i, g, t) => [i < 32 || (i >= 64 && i < 96) ? g : g + 8, t * 32 + (i & 31) + (i < 64 ? 0 : 128)],
        b: (i, g, t) => [t * 32 + (i & 31) + (i < 32 ? 0 : 128), g],
        c: sums16,
        of,
      },
    ];
  }),
  {
    name: 'm8n8k16.row.col.satfinite.s32.s8.s8.s32',
    m: 8,
    k: 16,
    type: 's8',
    sum: 's32',
    counts: [4, 4, 2],
    a: (i, g, t) => [g, t * 4 + i],
    b: (i, g, t) => [t * 4 + i, g],
    c: (i, g, t) => [g, t * 2 + i],
  },
  {
    name: 'm8n8k4.row.col.f64.f64.f64.f64',
    m: 8,
    k: 4,
    type: 'f64',
    sum: 'f64',
    counts: [1, 1, 2],
    a: (_i, g, t) => [g, t],
    b: (_i, g, t) => [t, g],
    c: (i, g, t) => [g, t * 2 + i],
  },
];

/** A value that every element of a type can hold. */
function small(type: Type, i: number): number {
  const n = number(i);
  if (type === 'u8') return n & 15;
  if (type === 'b1') return n & 1;
  // With two bits of fraction there is no 9, and 4-bit integers end at 7.
  return type === 'e5m2' || type === 's4' ? n % 6 : n;
}

/** Value of an 8-bit float, from the definition of its format: bits of exponent, of fraction, and bias. */
function f8(byte: number, type: 'e4m3' | 'e5m2'): number {
  const [fraction, bias] = type === 'e4m3' ? [3, 7] : [2, 15];
  const e = (byte & 0x7f) >> fraction;
  const m = byte & (2 ** fraction - 1);
  return (
    (byte > 127 ? -1 : 1) *
    (e === 0 ? m * 2 ** (1 - bias - fraction) : (2 ** fraction + m) * 2 ** (e - bias - fraction))
  );
}

/** Writes an element at a place in bits. */
function write(v: DataView, place: number, type: Type, x: number): void {
  const at = place >> 3;
  if (type === 'f16' || type === 'bf16') v.setUint16(at, numberToHalf(x, type), true);
  else if (type === 'e4m3' || type === 'e5m2') {
    const byte = Array.from({ length: 256 }, (_, k) => k).find((k) => f8(k, type) === x);
    v.setUint8(at, byte!);
  } else if (type === 'tf32' || type === 'f32') v.setFloat32(at, x, true);
  else if (type === 'f64') v.setFloat64(at, x, true);
  else if (type === 's32') v.setInt32(at, x, true);
  else {
    const bits = BITS[type];
    v.setUint8(at, v.getUint8(at) | ((x & (2 ** bits - 1)) << (place & 7)));
  }
}

function read(v: DataView, at: number, type: Form['sum']): number {
  if (type === 'f16') return halfToNumber(v.getUint16(at, true), type);
  if (type === 'f64') return v.getFloat64(at, true);
  return type === 's32' ? v.getInt32(at, true) : v.getFloat32(at, true);
}

describe('mma', () => {
  it.each(FORMS.map((f) => [f.name, f] as const))('%s', (name, form) => {
    const A = (row: number, column: number) => small(form.type, row * 64 + column);
    const B = (row: number, column: number) => small(form.type, 7 + row * 64 + column);
    const C = (row: number, column: number) => number(3 + row * 8 + column);
    const of = form.of ?? ((a: number, b: number) => a * b);
    const types = [form.type, form.type, form.sum] as const;
    const sizes = types.map((t) => BITS[t]);
    const perThread = form.counts.reduce((n, c, k) => n + c * sizes[k], 0);
    const data = new Uint8Array((32 * perThread) / 8);
    const view = new DataView(data.buffer);
    for (let l = 0; l < 32; l++) {
      let at = l * perThread;
      const [g, t] = [l >> 2, l & 3];
      for (const [k, matrix] of [A, B, C].entries())
        for (let i = 0; i < form.counts[k]; i++, at += sizes[k])
          write(view, at, types[k], matrix(...[form.a, form.b, form.c][k](i, g, t)));
    }
    const wide = form.type === 'f64';
    const size = wide ? 8 : 4;
    const regs = form.counts.map((n, k) => (n * sizes[k]) / (8 * size));
    let next = 0;
    const group = (n: number): string => {
      const names = Array.from({ length: n }, () => `${wide ? '%d' : '%r'}${next++}`);
      return `{${names.join(', ')}}`;
    };
    const [a, b, c] = regs.map(group);
    const d = group(regs[2]);
    const words = regs.reduce((x, y) => x + y);
    const out = perLane(
      `mma.sync.aligned.${name} ${d}, ${a}, ${b}, ${c};`,
      words,
      wide,
      d.slice(1, -1).split(', '),
      data,
    );
    const result = new DataView(out.buffer);
    for (let l = 0; l < 32; l++)
      for (let i = 0; i < form.counts[2]; i++) {
        const [row, column] = form.c(i, l >> 2, l & 3);
        let want = C(row, column);
        for (let j = 0; j < form.k; j++) want += of(A(row, j), B(j, column));
        const got = read(result, ((l * form.counts[2] + i) * sizes[2]) / 8, form.sum);
        expect(got, `lane ${l}, element ${i}`).toBe(want);
      }
  });
});

it('mma takes constants in place of registers', () => {
  const data = new Uint8Array(32 * 32);
  const v = new DataView(data.buffer);
  for (let i = 0; i < 32 * 16; i++) v.setUint16(2 * i, numberToHalf(number(i), 'f16'), true);
  const mma = (d: string, a: string, c: string): string =>
    `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {${d}}, {${a}}, {%r4, %r5}, {${c}};`;
  const ptx = `mov.b32 %r30, 0x3f800000; mov.b32 %r31, 0; mov.b32 %r32, 0x3c004000;
${mma('%r10, %r11, %r12, %r13', '%r0, 0x3c004000, %r2, 0', '%r6, 0f3F800000, 0f00000000, %r7')}
${mma('%r14, %r15, %r16, %r17', '%r0, %r32, %r2, %r31', '%r6, %r30, %r31, %r7')}`;
  const names = Array.from({ length: 8 }, (_, k) => `%r${10 + k}`);
  const out = new Int32Array(perLane(ptx, 8, false, names, data).buffer);
  for (let l = 0; l < 32; l++) expect(out.slice(8 * l, 8 * l + 4)).toEqual(out.slice(8 * l + 4, 8 * l + 8));
  expect(new Set(out).size).toBeGreaterThan(20);
});

describe('fragments in shared memory', () => {
  const tile = Array.from({ length: 8 }, (_, k) => `st.shared.b32 [%r20+${4 * k}], %r${k};`).join('\n');
  // Lane l fills row l of 16 halves: half (l, j) is 64 l + j.
  const rows = (): Uint8Array => {
    const data = new Uint8Array(32 * 32);
    const v = new DataView(data.buffer);
    for (let l = 0; l < 32; l++) for (let j = 0; j < 16; j++) v.setUint16(l * 32 + 2 * j, 64 * l + j, true);
    return data;
  };
  const begin = `mov.u32 %r21, tile;\nmad.lo.u32 %r20, %t, 32, %r21;\n${tile}\nbar.warp.sync -1;`;
  const halves = (b: Uint8Array) => new Uint16Array(b.buffer);

  it.each([false, true])('ldmatrix, transposed: %s', (trans) => {
    const load = `ldmatrix.sync.aligned.m8n8.x4${trans ? '.trans' : ''}.shared.b16 {%r10, %r11, %r12, %r13}, [%r20+16];`;
    const out = halves(perLane(`${begin}\n${load}`, 8, false, ['%r10', '%r11', '%r12', '%r13'], rows()));
    for (let l = 0; l < 32; l++)
      for (let matrix = 0; matrix < 4; matrix++)
        for (let j = 0; j < 2; j++) {
          const [row, column] = [l >> 2, 2 * (l & 3) + j];
          const [r, c] = trans ? [column, row] : [row, column];
          expect(out[l * 8 + matrix * 2 + j]).toBe(64 * (8 * matrix + r) + 8 + c);
        }
  });

  it('stmatrix takes back what ldmatrix took apart', () => {
    const ptx = `${begin}
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r10, %r11}, [%r20];
bar.warp.sync -1;
and.b32 %r22, %t, 15;
mad.lo.u32 %r22, %r22, 32, %r21;
stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r22], {%r10, %r11};
bar.warp.sync -1;
ld.shared.b32 %r12, [%r20];`;
    const out = halves(perLane(ptx.replaceAll('sm_80', 'sm_90'), 8, false, ['%r12'], rows()));
    // Row l begins with column l of the matrix that it lies in.
    for (let l = 0; l < 16; l++)
      for (let j = 0; j < 2; j++) expect(out[l * 2 + j]).toBe(64 * ((l & 8) + j) + (l & 7));
  });

  it('movmatrix transposes', () => {
    const ptx = `${begin}
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r20];
ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r11}, [%r20];
movmatrix.sync.aligned.m8n8.trans.b16 %r12, %r10;`;
    const out = new Uint32Array(perLane(ptx, 8, false, ['%r11', '%r12'], rows()).buffer);
    for (let l = 0; l < 32; l++) expect(out[2 * l + 1]).toBe(out[2 * l]);
  });
});

it('a kernel of ldmatrix and mma multiplies', () => {
  const text = readFileSync(new URL('../foreign/tensor-tile.sm_80.ptx', import.meta.url), 'utf8');
  const steps = 3;
  const left = (s: number, row: number, k: number) => number(s * 5 + row * 16 + k);
  const right = (s: number, row: number, k: number) => number(s * 11 + row * 16 + k + 2);
  const halves = (count: number, f: (i: number) => number): Uint8Array =>
    new Uint8Array(Uint16Array.from({ length: count }, (_, i) => numberToHalf(f(i), 'f16')).buffer);
  const a = halves(steps * 256, (i) => left(i >> 8, (i >> 4) & 15, i & 15));
  const b = halves(steps * 128, (i) => right(i >> 7, (i >> 4) & 7, i & 15));
  const n: LaunchParam = { kind: 'scalar', type: 's32', value: steps };
  const r = launched(text, 'matrixSteps', [buffer(a), buffer(b), buffer(new Uint8Array(512)), n]);
  expect(r.error).toBeNull();
  const c = new Float32Array(r.buffers[2]!.buffer);
  for (let row = 0; row < 16; row++)
    for (let column = 0; column < 8; column++) {
      let want = 0;
      // The tile on the right is transposed in blocks of eight.
      for (let s = 0; s < steps; s++)
        for (let k = 0; k < 16; k++) want += left(s, row, k) * right(s, k & 7, (k & 8) + column);
      expect(c[row * 8 + column]).toBe(want);
    }
});

it('a kernel of wmma multiplies, with edges, a slope and a bias', () => {
  const text = readFileSync(new URL('../foreign/tensor-tile.sm_80.ptx', import.meta.url), 'utf8');
  const [n, depth] = [29, 40];
  const left = (row: number, k: number) => number(row * 40 + k);
  const right = (column: number, k: number) => number(column * 40 + k + 5);
  const halves = (f: (y: number, x: number) => number): Uint8Array =>
    new Uint8Array(
      Uint16Array.from({ length: n * depth }, (_, i) =>
        numberToHalf(f(Math.floor(i / depth), i % depth), 'f16'),
      ).buffer,
    );
  const bias = Float32Array.from({ length: n + 3 }, (_, i) => i / 4);
  const scalar = (value: number): LaunchParam => ({ kind: 'scalar', type: 's32', value });
  const r = launched(
    text,
    'tensorTile',
    [
      buffer(halves(left)),
      buffer(halves(right)),
      buffer(new Uint8Array(bias.buffer)),
      buffer(new Uint8Array(4 * n * n)),
      scalar(n),
      scalar(depth),
    ],
    128,
  );
  expect(r.error).toBeNull();
  const c = new Float32Array(r.buffers[3]!.buffer);
  for (let row = 0; row < n; row++)
    for (let column = 0; column < n; column++) {
      let sum = 0;
      for (let k = 0; k < depth; k++) sum += left(row, k) * right(column, k);
      expect(c[row * n + column]).toBe((sum > 0 ? sum : sum / 8) + bias[column]);
    }
});

/** Element of a matrix of small elements in memory, its low bits first; `at` in elements. */
const packed = (bytes: Uint8Array, at: number, bits: number, signed: boolean): number => {
  const v = (bytes[(at * bits) >> 3] >> ((at * bits) & 7)) & (2 ** bits - 1);
  return signed && v >= 2 ** (bits - 1) ? v - 2 ** bits : v;
};

it.each([
  ['s4', 4, 32, '', (x: number, y: number) => x * y],
  ['u4', 4, 32, '', (x: number, y: number) => x * y],
  ['b1', 1, 128, 'and.popc.', (x: number, y: number) => x & y],
  ['b1', 1, 128, 'xor.popc.', (x: number, y: number) => x ^ y],
])('wmma multiplies matrices of %s (%i bits, %i columns, %s)', (type, bits, k, way, combine) => {
  const shape = `m8n8k${k}`;
  // Rows of b stand apart by more than their length.
  const [strideA, strideB] = [k, 2 * k];
  const bytes = (n: number, seed: number) =>
    Uint8Array.from({ length: n }, (_, i) => (i * 89 + seed * 57 + (i >> 3)) & 0xff);
  const [a, b] = [bytes((8 * strideA * bits) / 8, 1), bytes((8 * strideB * bits) / 8, 2)];
  const old = Int32Array.from({ length: 64 }, (_, i) => i * 1000 - 30_000);
  const text = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc)
{
.reg .b32 %r<9>; .reg .b64 %d<4>;
ld.param.u64 %d1, [pa]; ld.param.u64 %d2, [pb]; ld.param.u64 %d3, [pc];
wmma.load.a.sync.aligned.${shape}.row.global.${type} {%r1}, [%d1], ${strideA};
wmma.load.b.sync.aligned.${shape}.col.global.${type} {%r2}, [%d2], ${strideB};
wmma.load.c.sync.aligned.${shape}.row.global.s32 {%r3, %r4}, [%d3], 8;
wmma.mma.${way}sync.aligned.${shape}.row.col.s32.${type}.${type}.s32 {%r5, %r6}, {%r1}, {%r2}, {%r3, %r4};
wmma.store.d.sync.aligned.${shape}.row.global.s32 [%d3], {%r5, %r6}, 8;
ret;
}
`;
  const r = launched(text, 'k', [buffer(a), buffer(b), buffer(new Uint8Array(old.slice().buffer))]);
  expect(r.error).toBeNull();
  const signed = type === 's4';
  expect([...new Int32Array(r.buffers[2]!.buffer)]).toEqual(
    [...old].map((was, at) => {
      const [row, column] = [at >> 3, at & 7];
      let sum = was;
      for (let j = 0; j < k; j++)
        sum += combine(
          packed(a, row * strideA + j, bits, signed),
          packed(b, column * strideB + j, bits, signed),
        );
      return sum;
    }),
  );
});

it('a part of a warp cannot', () => {
  const text = readFileSync(new URL('../foreign/tensor-tile.sm_80.ptx', import.meta.url), 'utf8');
  const n: LaunchParam = { kind: 'scalar', type: 's32', value: 1 };
  const some = () => buffer(new Uint8Array(4096));
  const r = launched(text, 'matrixSteps', [some(), some(), some(), n], 16);
  expect(r.error).toMatch(/the simulator cannot run 'ldmatrix\.\S+' for part of a warp/);
});
