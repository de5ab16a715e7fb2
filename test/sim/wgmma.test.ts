import { describe, expect, test } from 'vitest';
import { numberToHalf } from '../../src/isa/floats.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type Launch, type LaunchParam, runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from '../support/isa.ts';
import { BASE } from '../support/sim-kernel.ts';

/*
 * Asynchronous warpgroup products in launches, compared with a plain sum over three loops. Layouts are written here as in PTX ISA 9.0,
 * 9.7.15.5: fragments by row and column of each element, matrices in shared memory as shapes with strides.
 */

const isa = testIsa();

type Factor = 'f16' | 'bf16' | 'tf32' | 'e4m3' | 'e5m2' | 's8' | 'u8' | 'b1';
const BITS: Readonly<Record<Factor, number>> = {
  ...{ f16: 16, bf16: 16, tf32: 32, e4m3: 8, e5m2: 8, s8: 8, u8: 8, b1: 1 },
};
type Sum = 'f16' | 'f32' | 's32';

interface Case {
  readonly td: Sum;
  readonly ta: Factor;
  readonly tb: Factor;
  readonly n: number;
  /** Whether the first factor stands in registers. */
  readonly registers?: boolean;
  /** Whether the elements of several rows stand side by side. */
  readonly across?: readonly [a: boolean, b: boolean];
  /** Bytes in which chunks change their places: 16 where they do not. */
  readonly swizzle?: readonly [a: number, b: number];
  /** Which 32 bytes of a swizzled row are meant. */
  readonly step?: number;
  /** Rows of 128 bytes by which patterns begin later. */
  readonly base?: number;
  readonly signs?: readonly [a: number, b: number];
  readonly adds?: boolean;
  readonly saturates?: boolean;
}

const float32 = new Float32Array(1);
const word32 = new Uint32Array(float32.buffer);

/** Bits of a small whole number in a format with so many bits of exponent and of fraction. */
function small(x: number, exponent: number, fraction: number): number {
  if (x === 0) return 0;
  const e = Math.floor(Math.log2(Math.abs(x)));
  const bias = 2 ** (exponent - 1) - 1;
  const f = (Math.abs(x) / 2 ** e - 1) * 2 ** fraction;
  return ((x < 0 ? 1 : 0) << (exponent + fraction)) | ((e + bias) << fraction) | f;
}

function bitsOf(x: number, type: Factor | Sum): number {
  switch (type) {
    case 'f16':
      return numberToHalf(x, 'f16');
    case 'bf16':
      return small(x, 8, 7);
    case 'e4m3':
      return small(x, 4, 3);
    case 'e5m2':
      return small(x, 5, 2);
    case 'tf32':
    case 'f32':
      float32[0] = x;
      return word32[0];
    default:
      return x;
  }
}

/** Small numbers that every type holds, so that all sums are exact. */
function value(type: Factor | Sum, i: number): number {
  const x = ((i * 37 + (i >> 3) * 11) % 13) - 6;
  if (type === 'b1') return x & 1;
  if (type === 'u8') return x + 200;
  return type === 'e5m2' ? Math.trunc(x / 2) : x;
}

/** A shape with strides: where the element with a number stands, the first dimension running fastest. */
function placeIn(shape: readonly number[], strides: readonly number[], i: number): number {
  let at = 0;
  let rest = i;
  shape.forEach((size, k) => {
    const last = k === shape.length - 1;
    at += (last ? rest : rest % size) * strides[k];
    rest = Math.floor(rest / size);
  });
  return at;
}

/** A matrix in shared memory: bytes of its strides, and where its elements stand. */
interface Layout {
  readonly leading: number;
  readonly stride: number;
  /** Offset in elements, without swizzling. */
  readonly at: (row: number, k: number) => number;
}

function layoutOf(bits: number, rows: number, across: boolean, swizzle: number): Layout {
  const t = 128 / bits;
  const wide = swizzle / 16;
  const elements = (bytes: number): number => (8 * bytes) / bits;
  if (!across) {
    if (wide === 1) {
      const [leading, stride] = [16 * rows + 128, 128];
      const [l, s] = [elements(leading), elements(stride)];
      return { leading, stride, at: (r, k) => placeIn([8, 0], [t, s], r) + placeIn([t, 0], [1, l], k) };
    }
    const stride = 8 * swizzle;
    const s = elements(stride);
    return {
      leading: 16,
      stride,
      at: (r, k) => placeIn([8, 0], [wide * t, s], r) + placeIn([t, 0], [1, t], k),
    };
  }
  const [leading, stride] = wide === 1 ? [16 * rows + 128, 128] : [16 * swizzle, 8 * swizzle];
  const [l, s] = [elements(leading), elements(stride)];
  const [rowStrides, sumStrides] =
    wide === 1
      ? [
          [1, t, s],
          [t, l],
        ]
      : [
          [1, t, l],
          [wide * t, s],
        ];
  return {
    leading,
    stride,
    at: (r, k) => placeIn([t, wide, 0], rowStrides, r) + placeIn([8, 0], sumStrides, k),
  };
}

/** Swizzle<b, 4, 3>: bits 4 to 4 + b - 1 of an address are turned over where the bits three above are set. */
function swizzled(address: number, swizzle: number): number {
  let out = address;
  for (let b = 0; 16 << b < swizzle; b++) if ((address >> (7 + b)) & 1) out ^= 1 << (4 + b);
  return out;
}

const NUMBERS: Readonly<Record<number, bigint>> = { 16: 0n, 128: 1n, 64: 2n, 32: 3n };

function descriptor(start: number, l: Layout, swizzle: number, base: number): bigint {
  const encode = (x: number): bigint => BigInt((x & 0x3ffff) >> 4);
  return (
    encode(start) |
    (encode(l.leading) << 16n) |
    (encode(l.stride) << 32n) |
    (BigInt(base) << 49n) |
    (NUMBERS[swizzle] << 62n)
  );
}

const SHARED = 49152;
const SECOND = 16384;

/** Writes a matrix to an image of shared memory. @returns its descriptor */
function put(
  image: Uint8Array,
  start: number,
  rows: number,
  k: number,
  type: Factor,
  c: { readonly across: boolean; readonly swizzle: number; readonly step: number; readonly base: number },
  element: (row: number, k: number) => number,
): bigint {
  const bits = BITS[type];
  const l = layoutOf(bits, rows, c.across, c.swizzle);
  const pattern = start + 128 * c.base;
  for (let r = 0; r < rows; r++)
    for (let j = 0; j < k; j++) {
      const bit = l.at(r, j) * bits;
      const at = pattern + swizzled((bit >> 3) + 32 * c.step, c.swizzle);
      const v = bitsOf(element(r, j), type);
      for (let b = 0; b < Math.max(1, bits >> 3); b++)
        image[at + b] |= bits === 1 ? v << (bit & 7) : (v >> (8 * b)) & 0xff;
    }
  return descriptor(pattern + 32 * c.step, l, c.swizzle, c.base);
}

const buffer = (bytes: Uint8Array): LaunchParam => ({
  kind: 'buffer',
  type: 's32',
  length: bytes.length / 4,
  bytes,
  expect: null,
  tolerance: 0,
});

/** A kernel that fills shared memory and the registers of each thread, does `body`, and stores the sums. */
function kernelOf(sums: number, type: Sum, body: string): string {
  const t = type === 'f32' ? 'f32' : 'b32';
  const every = (n: number, f: (i: number) => string): string =>
    Array.from({ length: n }, (_, i) => f(i)).join('\n');
  return `.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 registers, .param .u64 da, .param .u64 db, .param .u32 scale)
{
.reg .${t} %d<${sums}>; .reg .b32 %a<4>; .reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .pred %p<4>;
.shared .align 1024 .b8 tile[${SHARED}];
ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [registers];
ld.param.u64 %rd3, [da]; ld.param.u64 %rd4, [db]; ld.param.u32 %r1, [scale];
setp.ne.s32 %p1, %r1, 0;
mov.u32 %r2, %tid.x;
shl.b32 %r3, %r2, 2;
mov.u32 %r5, tile;
copy:
cvt.u64.u32 %rd5, %r3;
add.s64 %rd5, %rd1, %rd5;
ld.global.b32 %r4, [%rd5];
add.s32 %r6, %r5, %r3;
st.shared.b32 [%r6], %r4;
add.s32 %r3, %r3, 512;
setp.lt.s32 %p2, %r3, ${SHARED};
@%p2 bra copy;
mad.wide.u32 %rd2, %r2, ${4 * (sums + 4)}, %rd2;
${every(sums, (i) => `ld.global.${t} %d${i}, [%rd2+${4 * i}];`)}
${every(4, (i) => `ld.global.b32 %a${i}, [%rd2+${4 * (sums + i)}];`)}
fence.proxy.async;
bar.sync 0;
${body}
${every(sums, (i) => `st.global.${t} [%rd2+${4 * i}], %d${i};`)}
ret;
}
`;
}

function launched(text: string, params: LaunchParam[], threads = 128) {
  const { module, diagnostics } = parsePtx(text, 'm.ptx');
  expect(diagnostics).toEqual([]);
  const { program } = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_90a' });
  expect(program.skipped).toEqual([]);
  const launch: Launch = {
    name: 't',
    kernel: 'k',
    grid: [1, 1, 1],
    block: [threads, 1, 1],
    dynamicShared: 0,
    params,
  };
  return runLaunch(program, isa, launch, BASE, { counters: false, budget: 10_000_000 });
}

const scalar = (type: 'u32' | 'u64', value: bigint): LaunchParam =>
  ({ kind: 'scalar', type, value }) as LaunchParam;

const listOf = (n: number, name: string): string =>
  `{${Array.from({ length: n }, (_, i) => `%${name}${i}`).join(', ')}}`;

/** What a case multiplies, and how PTX says it. */
function setup(c: Case) {
  const k = 256 / BITS[c.ta];
  const [acrossA, acrossB] = c.across ?? [false, false];
  const [swizzleA, swizzleB] = c.swizzle ?? [16, 16];
  const [step, base] = [c.step ?? 0, c.base ?? 0];
  const [signA, signB] = c.signs ?? [1, 1];
  const adds = c.adds ?? true;
  const a = (r: number, j: number): number => value(c.ta, r * 19 + j * 3 + 1);
  const b = (r: number, j: number): number => value(c.tb, r * 5 + j * 23 + 2);
  const d = (r: number, col: number): number =>
    value(c.td, r * 7 + col * 29) + (c.saturates === true ? 2 ** 31 - 7 : 0);
  const image = new Uint8Array(SHARED);
  const da = put(image, 0, 64, k, c.ta, { across: acrossA, swizzle: swizzleA, step, base }, a);
  const db = put(image, SECOND, c.n, k, c.tb, { across: acrossB, swizzle: swizzleB, step, base }, b);
  const sums = c.td === 'f16' ? c.n / 4 : c.n / 2;
  const inRegisters = new Uint8Array(128 * 4 * (sums + 4));
  const words = new DataView(inRegisters.buffer);
  const or = (thread: number, register: number, bits: number, shift: number): void => {
    const at = 4 * (thread * (sums + 4) + register);
    words.setUint32(at, (words.getUint32(at, true) | (bits << shift)) >>> 0, true);
  };
  const places: { thread: number; i: number; row: number; column: number }[] = [];
  for (let thread = 0; thread < 128; thread++) {
    const [warp, g, t] = [thread >> 5, (thread & 31) >> 2, thread & 3];
    for (let i = 0; i < c.n / 2; i++) {
      const row = 16 * warp + g + (i % 4 < 2 ? 0 : 8);
      const column = 8 * Math.floor(i / 4) + 2 * t + (i % 2);
      places.push({ thread, i, row, column });
      const bits = bitsOf(d(row, column), c.td);
      if (c.td === 'f16') or(thread, i >> 1, bits, 16 * (i & 1));
      else or(thread, i, bits, 0);
    }
    // Elements of the first factor: those of a register are neighbours; the second register is 8 rows below, the third half a row on.
    const each = 32 / BITS[c.ta];
    for (let i = 0; i < 4 * each; i++) {
      const register = Math.floor(i / each);
      const row = 16 * warp + g + (register % 2 === 0 ? 0 : 8);
      const column = each * t + (i % each) + (register < 2 ? 0 : k / 2);
      const mask = BITS[c.ta] === 32 ? 0xffffffff : 2 ** BITS[c.ta] - 1;
      or(thread, sums + register, bitsOf(a(row, column), c.ta) & mask, BITS[c.ta] * (i % each));
    }
  }
  const expected = (row: number, column: number, times = 1): number => {
    let sum = 0;
    for (let j = 0; j < k; j++) sum += a(row, j) * b(column, j);
    const all = times * signA * signB * sum + (adds ? d(row, column) : 0);
    return c.saturates === true ? Math.min(all, 2 ** 31 - 1) : all;
  };
  const float = c.td !== 's32';
  const transposes = c.ta === 'f16' || c.ta === 'bf16';
  const immediates = [
    ...(float ? [signA, signB] : []),
    ...(transposes ? (c.registers === true ? [Number(acrossB)] : [Number(acrossA), Number(acrossB)]) : []),
  ];
  const types = `${c.td}.${c.ta}.${c.tb}${c.ta === 'b1' ? '.and.popc' : ''}`;
  const full = `m64n${c.n}k${k}${c.saturates === true ? '.satfinite' : ''}.${types}`;
  const first = c.registers === true ? listOf(4, 'a') : '%rd3';
  const product = (predicate: string): string =>
    `wgmma.mma_async.sync.aligned.${full} ${[listOf(sums, 'd'), first, '%rd4', predicate, ...immediates].join(', ')};`;
  const params = [
    buffer(image),
    buffer(inRegisters),
    scalar('u64', da),
    scalar('u64', db),
    scalar('u32', adds ? 1n : 0n),
  ];
  /** The sum that a thread was left with. */
  const found = (bytes: Uint8Array, thread: number, i: number): number => {
    const at = 4 * (thread * (sums + 4));
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    return c.td === 'f16' ? view.getUint16(at + 2 * i, true) : view.getUint32(at + 4 * i, true);
  };
  const plain = (x: number): number => (c.td === 's32' ? x >>> 0 : bitsOf(x, c.td));
  return { params, places, expected, product, sums, found, plain };
}

const FENCE = 'wgmma.fence.sync.aligned;';
const COMMIT = 'wgmma.commit_group.sync.aligned;';
const wait = (groups: number): string => `wgmma.wait_group.sync.aligned ${groups};`;

/** Runs a body and compares all sums with so many times the product. */
function check(c: Case, body: (product: (predicate: string) => string) => string, times = 1): void {
  const s = setup(c);
  const r = launched(kernelOf(s.sums, c.td, body(s.product)), s.params);
  expect(r.error).toBeNull();
  const out = r.buffers[1]!;
  const bytes = new Uint8Array(out.buffer, out.byteOffset, out.byteLength);
  const wrong = s.places.filter(
    ({ thread, i, row, column }) => s.found(bytes, thread, i) !== s.plain(s.expected(row, column, times)),
  );
  expect(wrong.slice(0, 3)).toEqual([]);
}

const once = (product: (predicate: string) => string): string =>
  [FENCE, product('%p1'), COMMIT, wait(0)].join('\n');

const TYPES: readonly (readonly [Sum, Factor, Factor])[] = [
  ...(['f16', 'f32'] as const).map((td): [Sum, Factor, Factor] => [td, 'f16', 'f16']),
  ['f32', 'bf16', 'bf16'],
  ['f32', 'tf32', 'tf32'],
  ...(['f16', 'f32'] as const).flatMap((td) =>
    (['e4m3', 'e5m2'] as const).flatMap((ta) =>
      (['e4m3', 'e5m2'] as const).map((tb): [Sum, Factor, Factor] => [td, ta, tb]),
    ),
  ),
  ...(['s8', 'u8'] as const).flatMap((ta) =>
    (['s8', 'u8'] as const).map((tb): [Sum, Factor, Factor] => ['s32', ta, tb]),
  ),
  ['s32', 'b1', 'b1'],
];

describe('products of a warpgroup', () => {
  test.each(TYPES)('%s of %s and %s, by descriptors and from registers', (td, ta, tb) => {
    for (const registers of [false, true]) for (const n of [8, 96]) check({ td, ta, tb, n, registers }, once);
  });

  const PLACES = [16, 32, 64, 128];
  test.each(PLACES.flatMap((a) => PLACES.map((b) => [a, b] as const)))(
    'layouts of %i and %i bytes',
    (a, b) => {
      for (const across of [
        [false, false],
        [true, false],
        [false, true],
        [true, true],
      ] as const)
        check({ td: 'f32', ta: 'bf16', tb: 'bf16', n: 128, across, swizzle: [a, b] }, once);
    },
  );

  test.each([1, 2, 3])('the part of a row that begins at chunk 2 x %i', (step) => {
    const wide = step < 2 ? 64 : 128;
    check({ td: 'f32', ta: 'f16', tb: 'f16', n: 64, swizzle: [wide, 128], step }, once);
    check({ td: 's32', ta: 's8', tb: 's8', n: 64, swizzle: [wide, 128], step }, once);
  });

  test.each([1, 3, 6])('patterns that begin %i rows late', (base) => {
    check({ td: 'f32', ta: 'f16', tb: 'f16', n: 64, swizzle: [128, 64], base }, once);
    check({ td: 'f32', ta: 'f16', tb: 'f16', n: 64, swizzle: [32, 128], base, across: [true, true] }, once);
  });

  test.each([8, 16, 24, 40, 104, 200, 248, 256])('%i columns', (n) => {
    check({ td: 'f32', ta: 'f16', tb: 'f16', n, swizzle: [128, 128] }, once);
  });

  test.each([
    [1, 1],
    [-1, 1],
    [1, -1],
    [-1, -1],
  ] as const)('factors times %i and %i', (a, b) => {
    check({ td: 'f16', ta: 'e4m3', tb: 'e5m2', n: 16, signs: [a, b] }, once);
    check({ td: 'f32', ta: 'f16', tb: 'f16', n: 16, signs: [a, b], registers: true, adds: false }, once);
  });

  test('old sums count where the predicate says so', () => {
    const c: Case = { td: 'f32', ta: 'f16', tb: 'f16', n: 32 };
    check({ ...c, adds: false }, once);
    check({ ...c, adds: false }, (p) => [FENCE, p('0'), COMMIT, wait(0)].join('\n'));
    check({ ...c, adds: true }, (p) => [FENCE, p('1'), COMMIT, wait(0)].join('\n'));
    const not = (p: (predicate: string) => string): string =>
      ['setp.eq.s32 %p3, %r1, 0;', FENCE, p('!%p3'), COMMIT, wait(0)].join('\n');
    check({ ...c, adds: true }, not);
    check({ ...c, adds: false }, not);
  });

  test('whole numbers wrap or stay within their limits', () => {
    check({ td: 's32', ta: 'u8', tb: 'u8', n: 8, saturates: true }, once);
    check({ td: 's32', ta: 's8', tb: 'u8', n: 8, registers: true }, once);
  });

  test('products add up without a wait between them', () => {
    check(
      { td: 'f32', ta: 'f16', tb: 'f16', n: 32 },
      (p) => [FENCE, p('%p1'), p('1'), COMMIT, p('1'), COMMIT, wait(1), wait(0)].join('\n'),
      3,
    );
  });
});

/** Sums of a case after a body that breaks a rule, as bytes; null where the launch fails, with the message. */
function sumsAfter(body: (product: (predicate: string) => string) => string, threads = 128) {
  const c: Case = { td: 'f32', ta: 'f16', tb: 'f16', n: 16, registers: true };
  const s = setup(c);
  const r = launched(kernelOf(s.sums, c.td, body(s.product)), s.params, threads);
  const out = r.buffers[1];
  const bytes = out == null ? null : new Uint8Array(out.buffer, out.byteOffset, out.byteLength);
  const right =
    bytes !== null &&
    s.places.every(
      ({ thread, i, row, column }) => s.found(bytes, thread, i) === s.plain(s.expected(row, column)),
    );
  return { error: r.error, right };
}

describe('what PTX leaves undefined shows', () => {
  test('the body that all others change is right', () => {
    expect(sumsAfter(once)).toEqual({ error: null, right: true });
  });
  test.each<[string, (p: (predicate: string) => string) => string]>([
    ['sums that are read before the wait', (p) => [FENCE, p('%p1'), COMMIT].join('\n')],
    ['a group that is not waited for', (p) => [FENCE, p('%p1'), COMMIT, wait(1)].join('\n')],
    ['a product of no group', (p) => [FENCE, p('%p1'), wait(0)].join('\n')],
    ['old sums that no fence orders', (p) => [p('%p1'), COMMIT, wait(0)].join('\n')],
    [
      'a sum that gets its value behind the fence',
      (p) =>
        [
          '.reg .f32 %old; mov.f32 %old, %d0; mov.f32 %d0, 0f00000000;',
          ...[FENCE, 'mov.f32 %d0, %old;', p('%p1'), COMMIT, wait(0)],
        ].join('\n'),
    ],
    [
      'a factor written before the wait',
      (p) => [FENCE, p('%p1'), COMMIT, 'mov.b32 %a0, 0;', wait(0)].join('\n'),
    ],
    [
      'shared memory written before the wait',
      (p) => [FENCE, p('%p1'), COMMIT, 'st.shared.b32 [%r5+16384], %r2;', wait(0)].join('\n'),
    ],
  ])('%s', (_, body) => {
    expect(sumsAfter(body)).toMatchObject({ error: null, right: false });
  });

  test('a warpgroup is four warps, which all come', () => {
    expect(sumsAfter(once, 96).error).toMatch(/needs four warps/);
    const some = (p: (predicate: string) => string): string =>
      ['setp.ge.u32 %p2, %r2, 96;', '@%p2 bra out;', once(p), 'out:'].join('\n');
    expect(sumsAfter(some).error).toMatch(/deadlock.*wgmma\.wait_group/s);
  });

  test('all threads have one descriptor', () => {
    const own =
      (thread: string) =>
      (p: (predicate: string) => string): string =>
        [`${thread};`, 'cvt.u64.u32 %rd6, %r8;', 'add.s64 %rd4, %rd4, %rd6;', once(p)].join('\n');
    expect(sumsAfter(own('and.b32 %r8, %r2, 31')).error).toMatch(
      /lanes of a warp have different operands for a product/,
    );
    expect(sumsAfter(own('shr.u32 %r8, %r2, 5')).error).toMatch(
      /warps of a warpgroup execute different products/,
    );
  });
});
