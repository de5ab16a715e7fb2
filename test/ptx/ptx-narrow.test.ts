import { describe, expect, it } from 'vitest';
import { Random } from '../support/meaning.ts';
import { runPtx, writtenPtx } from '../support/run-ptx.ts';

/** Value of an 8-bit float by definition of its format: exponent bits, significand bits, and bias. */
function value(byte: number, format: string): number {
  const [mant, bias] = format === 'e4m3' ? [3, 7] : [2, 15];
  const sign = byte & 0x80 ? -1 : 1;
  const e = (byte & 0x7f) >> mant;
  const m = byte & ((1 << mant) - 1);
  if (format === 'e4m3' && (byte & 0x7f) === 0x7f) return Number.NaN;
  if (format === 'e5m2' && e === 31) return m === 0 ? sign * Infinity : Number.NaN;
  return sign * (e === 0 ? m * 2 ** (1 - bias - mant) : (2 ** mant + m) * 2 ** (e - bias - mant));
}

const view = new DataView(new ArrayBuffer(4));
const bits = (x: number): number => {
  view.setFloat32(0, x);
  return view.getInt32(0);
};
const number = (b: number): number => {
  view.setInt32(0, b);
  return view.getFloat32(0);
};

/** The nearest bit pattern by exhaustive search: ties to even, saturating. */
function nearest(x: number, format: string, relu: boolean): number {
  if (Number.isNaN(x)) return 0x7f;
  if (relu && (x < 0 || Object.is(x, -0))) return 0;
  const sign = x < 0 || Object.is(x, -0) ? 0x80 : 0;
  const most = format === 'e4m3' ? 0x7e : 0x7b;
  if (Math.abs(x) >= value(most, format)) return sign | most;
  let best = 0;
  for (let b = 0; b < 0x7f; b++) {
    const v = value(b, format);
    if (!Number.isFinite(v)) continue;
    const d = Math.abs(v - Math.abs(x));
    const before = Math.abs(value(best, format) - Math.abs(x));
    if (d < before || (d === before && (b & 1) === 0)) best = b;
  }
  return sign | best;
}

/** Numbers around every value and every midpoint of a format, special values, and patterns by chance. */
function interesting(format: string): number[] {
  const out = [0, -0, Infinity, -Infinity, Number.NaN, number(-1), 1e-40, -1e-40, 3e38].map(bits);
  for (let b = 0; b < 0x7f; b++) {
    const v = value(b, format);
    const w = value(b + 1, format);
    for (const x of [v, (v + w) / 2])
      if (Number.isFinite(x))
        for (const near of [-1, 0, 1]) out.push(bits(x) + near, (bits(x) + near) | (1 << 31));
  }
  const rnd = new Random(format);
  for (let k = 0; k < 200; k++) out.push(rnd.next() | 0);
  return out;
}

describe.each(['e4m3', 'e5m2'])('conversion to and from %s', (format) => {
  it.each([false, true])('gives the nearest value of f32 (relu: %s)', (relu) => {
    const xs = interesting(format);
    const rows = xs.map((x, i) => [x, xs[(i * 7 + 3) % xs.length]]);
    const name = `cvt.rn.satfinite${relu ? '.relu' : ''}.${format}x2.f32`;
    const got = runPtx(`${name} %h0, %i0, %i1; cvt.u32.u16 %o0, %h0;`, rows);
    rows.forEach(([a, b], i) => {
      const want = (nearest(number(a), format, relu) << 8) | nearest(number(b), format, relu);
      if (got[i][0] !== want)
        throw new Error(
          `${number(a)}, ${number(b)}: 0x${got[i][0].toString(16)}, expected 0x${want.toString(16)}`,
        );
    });
  });

  it('reads every pattern back, and packs what it read', () => {
    const rows = Array.from({ length: 256 }, (_, b) => [b | ((255 - b) << 8)]);
    const got = runPtx(
      `cvt.u16.u32 %h0, %i0; cvt.rn.f16x2.${format}x2 %r0, %h0;
mov.b32 {%h1, %h2}, %r0; cvt.f32.f16 %o0, %h1; cvt.f32.f16 %o1, %h2;
cvt.rn.satfinite.${format}x2.f16x2 %h3, %r0; cvt.u32.u16 %o2, %h3;
cvt.rn.relu.f16x2.${format}x2 %r1, %h0; mov.b32 {%h1, %h2}, %r1; cvt.f32.f16 %o3, %h1;`,
      rows,
      4,
    );
    got.forEach(([low, high, again, relu], b) => {
      const [x, y] = [value(b, format), value(255 - b, format)];
      expect([number(low), number(high)]).toEqual([x, y]);
      expect(again).toBe((nearest(y, format, false) << 8) | nearest(x, format, false));
      expect(number(relu)).toBe(x < 0 || Object.is(x, -0) ? 0 : x);
    });
  });
});

describe('cvt.pack', () => {
  const rnd = new Random('pack');
  const rows = Array.from({ length: 64 }, () => [0, 1, 2].map(() => (rnd.next() | 0) >> (rnd.next() & 31)));
  it.each([2, 4, 8, 16].flatMap((n) => [[`s${n}`, n] as const, [`u${n}`, n] as const]))(
    'clamps to %s and keeps c above',
    (type, n) => {
      const clamp = (x: number) => {
        const [low, high] = type[0] === 's' ? [-(2 ** (n - 1)), 2 ** (n - 1) - 1] : [0, 2 ** n - 1];
        return Math.min(Math.max(x, low), high) & (2 ** n - 1);
      };
      const got = runPtx(
        n === 16
          ? `cvt.pack.sat.${type}.s32 %o0, %i0, %i1;`
          : `cvt.pack.sat.${type}.s32.b32 %o0, %i0, %i1, %i2;`,
        rows,
      );
      const above = (c: number) => (n === 16 ? 0 : c << (2 * n));
      expect(got.map(([d]) => d)).toEqual(rows.map(([a, b, c]) => above(c) | (clamp(a) << n) | clamp(b)));
    },
  );
});

describe('set on pairs of halves', () => {
  const halves = [0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0x7e01, 0x0001, 0x4000];
  const num = [0, 0, 1, -1, Infinity, Number.NaN, 2 ** -24, 2];
  const relation: Record<string, (a: number, b: number) => boolean> = {
    eq: (a, b) => a === b,
    ne: (a, b) => a < b || a > b,
    lt: (a, b) => a < b,
    le: (a, b) => a <= b,
    gt: (a, b) => a > b,
    ge: (a, b) => a >= b,
    num: (a, b) => a === a && b === b,
    nan: (a, b) => a !== a || b !== b,
  };
  for (const r of ['eq', 'ne', 'lt', 'le', 'gt', 'ge'])
    relation[`${r}u`] = (a, b) => relation.nan(a, b) || relation[r](a, b);
  const rows: number[][] = [];
  const pairs: number[][] = [];
  for (let i = 0; i < 8; i++)
    for (let j = 0; j < 8; j++) {
      const [k, l] = [(i + 3) & 7, (j * 5 + 1) & 7];
      rows.push([halves[i] | (halves[k] << 16), halves[j] | (halves[l] << 16)]);
      pairs.push([i, j, k, l]);
    }
  it.each(Object.keys(relation))('%s gives a mask or a one in each half', (r) => {
    const got = runPtx(
      `setp.lt.u32 %p1, %i0, %i1; set.${r}.u32.f16x2 %o0, %i0, %i1; set.${r}.s32.f16x2 %o1, %i0, %i1;
set.${r}.xor.u32.f16x2 %o2, %i0, %i1, !%p1; set.${r}.f16x2.f16x2 %o3, %i0, %i1;`,
      rows,
      4,
    );
    got.forEach(([u, s, x, f], at) => {
      const [i, j, k, l] = pairs[at];
      const [lo, hi] = [relation[r](num[i], num[j]), relation[r](num[k], num[l])];
      const c = !(rows[at][0] >>> 0 < rows[at][1] >>> 0);
      const both = (a: boolean, b: boolean, one: number) => (a ? one : 0) | (b ? one << 16 : 0);
      expect([u, s, x, f]).toEqual([
        both(lo, hi, 0xffff),
        both(lo, hi, 0xffff),
        both(lo !== c, hi !== c, 0xffff),
        both(lo, hi, 0x3c00),
      ]);
    });
  });
  it.each(Object.keys(relation))('%s gives a mask or a one of 16 bits for two halves', (r) => {
    const got = runPtx(
      `setp.lt.u32 %p1, %i0, %i1; mov.b32 {%h0, %h1}, %i0; mov.b32 {%h2, %h3}, %i1;
set.${r}.f16.f16 %h4, %h0, %h2; set.${r}.or.u16.f16 %h5, %h1, %h3, %p1; set.${r}.ftz.f16.f16 %h6, %h0, %h2; set.${r}.s32.f16 %o3, %h1, %h3;
cvt.u32.u16 %o0, %h4; cvt.u32.u16 %o1, %h5; cvt.u32.u16 %o2, %h6;`,
      rows,
      4,
    );
    const flushed = num.map((x) => (x === 2 ** -24 ? 0 : x));
    got.forEach((values, at) => {
      const [i, j, k, l] = pairs[at];
      const c = rows[at][0] >>> 0 < rows[at][1] >>> 0;
      expect(values).toEqual([
        relation[r](num[i], num[j]) ? 0x3c00 : 0,
        relation[r](num[k], num[l]) || c ? 0xffff : 0,
        relation[r](flushed[i], flushed[j]) ? 0x3c00 : 0,
        relation[r](num[k], num[l]) ? -1 : 0,
      ]);
    });
  });

  it('stays one instruction', () => {
    const { text } = writtenPtx(
      'mov.b32 {%h0, %h1}, %i0; set.eq.f16.f16 %h2, %h0, %h1; cvt.u32.u16 %o0, %h2;',
      1,
      1,
    );
    expect(text).toMatch(/set\.eq\.f16\.f16/);
    expect(text).not.toMatch(/setp|selp/);
  });
});

describe('parts of a word', () => {
  it('are its bytes, the low ones first (PTX ISA 9.0, mov)', () => {
    const rows = [[0x04030201], [0x80ff7f00 | 0], [0x12345678]];
    const got = runPtx(
      `{ .reg .b8 %b<4>; .reg .b32 %w; mov.b32 {%b0, %b1, %b2, %b3}, %i0; mov.b32 %o4, {%b3, %b2, %b1, %b0};
mov.b32 %w, %i0; mov.b32 {_, %b1, %b2, _}, %w; cvt.u32.u8 %o5, %b1; cvt.u32.u8 %o6, %b2;
cvt.u32.u8 %o0, %b0; cvt.u32.u8 %o1, %b1; cvt.u32.u8 %o2, %b2; cvt.u32.u8 %o3, %b3; }`,
      rows,
      7,
    );
    const byte = (w: number, k: number): number => (w >>> (8 * k)) & 255;
    expect(got).toEqual(
      rows.map(([w]) => [
        ...[0, 1, 2, 3].map((k) => byte(w, k)),
        [0, 1, 2, 3].reduce((r, k) => r | (byte(w, k) << (24 - 8 * k)), 0),
        byte(w, 1),
        byte(w, 2),
      ]),
    );
  });
});

describe('vector registers', () => {
  it('are read and written whole and by part, and passed to functions', () => {
    const before = `.func (.reg .v2 .u32 out) swap(.reg .v2 .u32 v) { .reg .v2 .u32 t; mov.u32 t.x, v.y; mov.u32 t.y, v.x;
mov.v2.u32 out, t; ret; }`;
    const got = runPtx(
      `{ .reg .v4 .b32 v; .reg .v2 .u32 w; .reg .v4 .u16 s; .reg .b64 both;
ld.global.v4.u32 v, [%in]; mov.v4.b32 v, {v.w, v.x, v.y, v.b};
st.global.v4.b32 [%in], v; ld.global.u32 %o0, [%in]; ld.global.u32 %o1, [%in+12];
mov.v2.u32 w, {v.r, v.g}; call (w), swap, (w); mov.u32 %o2, w.x; mov.b64 both, w; cvt.u32.u64 %o3, both;
ld.global.v4.u8 s, [%in+4]; mov.v4.u16 s, {s.y, s.z, s.w, s.x}; cvt.u32.u16 %o4, s.w; mov.u32 %o5, %o4+3; }`,
      [[0x01020304, 0x11121314, 0x21222324, 0x31323334]],
      6,
      before,
    );
    expect(got).toEqual([[0x31323334, 0x21222324, 0x01020304, 0x01020304, 0x04, 0x07]]);
  });
});
