import { describe, expect, it } from 'vitest';
import { Random } from '../support/meaning.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { runPtx, writtenPtx } from '../support/run-ptx.ts';

/*
 * Packed f32, sums of halves and f32, minima of three, and the search and test instructions on words, compared with their definition in
 * the PTX ISA 9.0 (9.7.1, 9.7.3, 9.7.5, 9.7.8).
 */

const SM = 'sm_100';
const rnd = new Random('wide floats');
const view = new DataView(new ArrayBuffer(4));
const float = (bits: number): number => {
  view.setInt32(0, bits);
  return view.getFloat32(0);
};
const bitsOf = (v: number): number => {
  view.setFloat32(0, v);
  return Number.isNaN(v) ? 0x7fffffff : view.getInt32(0);
};
const flushed = (bits: number): number => ((bits & 0x7f800000) === 0 ? bits & 0x80000000 : bits);

/** Bit patterns of all kinds: numbers near one, subnormals, infinities, NaN, zeros. */
const SPECIAL = [
  0,
  0x80000000 | 0,
  1,
  0x807fffff | 0,
  0x7f800000,
  0xff800000 | 0,
  0x7fc00000,
  0x3f800000,
  0xbf800000 | 0,
  0x00800000,
];
const word = (k: number): number =>
  k % 3 === 0 ? SPECIAL[(rnd.next() >>> 0) % SPECIAL.length] : (rnd.next() & 0x80ffffff) | 0x3f000000;
const rows = Array.from({ length: 96 }, (_, k) => [0, 1, 2, 3, 4, 5].map((j) => word(k + j)));
const LOAD = 'mov.b64 %d0, {%i0, %i1}; mov.b64 %d1, {%i2, %i3}; mov.b64 %d2, {%i4, %i5};';
const STORE = 'mov.b64 {%o0, %o1}, %d3;';

describe('pairs of f32', () => {
  // The sum and the product of two f32 are exact enough in f64 that one more rounding to f32 is the only one that counts (
  // 53 >= 2 * 24 + 2).
  const two: Readonly<Record<string, (a: number, b: number) => number>> = {
    add: (a, b) => a + b,
    sub: (a, b) => a - b,
    mul: (a, b) => a * b,
  };
  it.each(Object.keys(two).flatMap((op) => [`${op}.f32x2`, `${op}.rn.f32x2`, `${op}.rn.ftz.f32x2`]))(
    '%s',
    (name) => {
      const f = two[name.split('.')[0]];
      const z = (bits: number) => (name.includes('ftz') ? flushed(bits) : bits);
      const got = runPtx(`${LOAD} ${name} %d3, %d0, %d1; ${STORE}`, rows, 2, '', SM);
      const want = rows.map((r) => [0, 1].map((k) => z(bitsOf(f(float(z(r[k])), float(z(r[k + 2])))))));
      expect(got).toEqual(want);
    },
  );

  it('fma.rn.f32x2: one rounding', () => {
    // Small integers and powers of two, where f64 holds a * b + c exactly.
    const exact = Array.from({ length: 64 }, () =>
      [0, 1, 2, 3, 4, 5].map(() => bitsOf((rnd.next() >> 12) * 2 ** (rnd.next() & 3))),
    );
    const got = runPtx(`${LOAD} fma.rn.f32x2 %d3, %d0, %d1, %d2; ${STORE}`, exact, 2, '', SM);
    expect(got).toEqual(
      exact.map((r) => [0, 1].map((k) => bitsOf(float(r[k]) * float(r[k + 2]) + float(r[k + 4])))),
    );
  });
});

describe('halves and f32', () => {
  // An f16 of 5 exponent and 10 fraction bits; a bf16 is the upper half of an f32.
  const half = (h: number): number => {
    const [sign, e, m] = [h & 0x8000 ? -1 : 1, (h >> 10) & 31, h & 1023];
    return (
      sign * (e === 31 ? (m === 0 ? Infinity : NaN) : e === 0 ? m * 2 ** -24 : (1 + m / 1024) * 2 ** (e - 15))
    );
  };
  const types: Readonly<Record<string, (h: number) => number>> = { f16: half, bf16: (h) => float(h << 16) };
  const inputs = rows.map(([a, b, c], k) => [k % 4 === 0 ? a : rnd.next(), k % 5 === 0 ? b : rnd.next(), c]);
  const AS = 'cvt.u16.u32 %h0, %i0; cvt.u16.u32 %h1, %i1;';

  it.each(['f16', 'bf16'])('%s', (type) => {
    const h = types[type];
    const sat = (v: number) => (v > 0 ? Math.min(v, 1) : 0);
    const body = [
      `add.f32.${type} %o0, %h0, %i2;`,
      `sub.rn.f32.${type} %o1, %h0, %i2;`,
      `add.sat.f32.${type} %o2, %h0, %i2;`,
    ].join('\n');
    const got = runPtx(`${AS} ${body}`, inputs, 3, '', SM);
    expect(got).toEqual(
      inputs.map(([a, , c]) => {
        const [x, z] = [h(a & 0xffff), float(c)];
        return [bitsOf(x + z), bitsOf(x - z), bitsOf(sat(Math.fround(x + z)))];
      }),
    );
  });

  it.each(['f16', 'bf16'])('fma of %s', (type) => {
    const h = types[type];
    // Products of halves have at most 22 bits: with c a product, or zero, f64 holds the sum.
    const got = runPtx(`${AS} fma.rn.f32.${type} %o0, %h0, %h1, 0f00000000;`, inputs, 1, '', SM);
    expect(got).toEqual(inputs.map(([a, b]) => [bitsOf(h(a & 0xffff) * h(b & 0xffff) + 0)]));
    const one = runPtx(
      `${AS} fma.rz.f32.${type} %o0, %h0, 1.0, 0f00000000;`
        .replace('%h0, 1.0', '%h0, %h2')
        .replace(AS, `${AS} mov.b16 %h2, ${type === 'f16' ? '0x3c00' : '0x3f80'};`),
      inputs,
      1,
      '',
      SM,
    );
    expect(one).toEqual(inputs.map(([a]) => [bitsOf(h(a & 0xffff) + 0)]));
  });
});

describe('minimum and maximum of three', () => {
  // A NaN loses against numbers, or wins with .NaN; -0 is less than +0.
  const less = (a: number, b: number): boolean => a < b || (a === b && Object.is(a, -0) && Object.is(b, 0));
  const best = (list: readonly number[], op: string, nan: boolean): number => {
    const numbers = list.filter((v) => !Number.isNaN(v));
    if (numbers.length === 0 || (nan && numbers.length < list.length)) return NaN;
    return numbers.reduce((x, y) => (less(y, x) === (op === 'min') ? y : x));
  };
  const names = ['min', 'max'].flatMap((op) =>
    ['', '.NaN', '.abs', '.ftz', '.ftz.NaN.abs'].map((m) => `${op}${m}.f32`),
  );
  it.each(names)('%s', (name) => {
    const got = runPtx(`${name} %o0, %i0, %i1, %i2;`, rows, 1, '', SM);
    const read = (bits: number): number => {
      const v = float(name.includes('ftz') ? flushed(bits) : bits);
      return name.includes('abs') ? Math.abs(v) : v;
    };
    expect(got).toEqual(
      rows.map((r) => [bitsOf(best(r.slice(0, 3).map(read), name.slice(0, 3), name.includes('NaN')))]),
    );
  });
});

describe('fns', () => {
  const search = (mask: number, base: number, offset: number): number => {
    const bit = (p: number): boolean => ((mask >>> p) & 1) === 1;
    if (offset === 0) return base >= 0 && base < 32 && bit(base) ? base : -1;
    let count = Math.abs(offset) - 1;
    for (let p = base; p >= 0 && p < 32; p += Math.sign(offset)) if (bit(p) && count-- === 0) return p;
    return -1;
  };
  it('finds the n-th bit set, up or down', () => {
    const some = [0, -1, 0xaaaaaaaa | 0, 0x80000001 | 0, 1, 0x7fffffff];
    const cases = Array.from({ length: 608 }, (_, k) => [
      k % 3 === 0 ? some[k % some.length] : rnd.next() | 0,
      k < 32 ? k : rnd.next() & (k % 16 === 0 ? 63 : 31),
      k % 7 === 0 ? 0 : k % 31 === 0 ? rnd.next() | 0 : ((rnd.next() & 31) - 16) | 0,
    ]);
    // The examples of the PTX ISA, with what it says.
    const told = [
      [0xaaaaaaaa | 0, 3, 1, 3],
      [0xaaaaaaaa | 0, 3, -1, 3],
      [0xaaaaaaaa | 0, 2, 1, 3],
      [0xaaaaaaaa | 0, 2, -1, 1],
    ];
    const all = [...told.map((t) => t.slice(0, 3)), ...cases];
    const got = runPtx('fns.b32 %o0, %i0, %i1, %i2;', all);
    expect(got.slice(0, told.length).map(([x]) => x)).toEqual(told.map((t) => t[3]));
    expect(got).toEqual(all.map(([m, b, o]) => [search(m, b, o)]));
  });
});

describe('lop3 with a predicate', () => {
  it.each(['and', 'or'])('.%s', (bool) => {
    const words = Array.from({ length: 64 }, (_, k) =>
      [0, 1, 2].map(() => (k % 2 === 0 ? rnd.next() & 3 : rnd.next() | 0)),
    );
    const body = [
      'setp.lt.s32 %p0, %i0, 2;',
      `lop3.${bool}.b32 %o0|%p1, %i0, %i1, %i2, 0x80, %p0;`,
      `lop3.${bool}.b32 _|%p2, %i0, %i1, %i2, 0x14, !%p0;`,
      // Results that are sources.
      `mov.b32 %r0, %i0; lop3.${bool}.b32 %r0|%p0, %r0, %i1, %i2, 0x96, %p0;`,
      'selp.b32 %o1, 1, 0, %p1; selp.b32 %o2, 1, 0, %p2; selp.b32 %o3, 1, 0, %p0; mov.b32 %o4, %r0;',
    ].join('\n');
    const both = (x: boolean, y: boolean): number => ((bool === 'and' ? x && y : x || y) ? 1 : 0);
    expect(runPtx(body, words, 5)).toEqual(
      words.map(([a, b, c]) => {
        const p = a < 2;
        const exactlyTwo = (~a & b & c) | (a & ~b & c & 0);
        const second = (~a & b & c & 0) | ((a & ~b & ~c) | (~a & b & ~c) | (a & b & c & 0));
        void exactlyTwo;
        void second;
        return [
          a & b & c,
          both((a & b & c) !== 0, p),
          both(table(0x14, a, b, c) !== 0, !p),
          both((a ^ b ^ c) !== 0, p),
          a ^ b ^ c,
        ];
      }),
    );
  });
});

/** Bit 4x + 2y + z of the table for each bit of the words. */
function table(lut: number, a: number, b: number, c: number): number {
  let out = 0;
  for (let k = 0; k < 32; k++) {
    const at = 4 * ((a >>> k) & 1) + 2 * ((b >>> k) & 1) + ((c >>> k) & 1);
    out |= ((lut >> at) & 1) << k;
  }
  return out;
}

describe('what is written', () => {
  const lines = [
    'add.rz.ftz.f32x2 %d3, %d0, %d1;',
    'sub.f32x2 %d3, %d3, %d1;',
    'mul.rp.f32x2 %d3, %d3, %d1;',
    'fma.rm.ftz.f32x2 %d3, %d3, %d1, %d2;',
    'min.NaN.f32 %o2, %i0, %i1, %i2;',
    'max.ftz.abs.f32 %o3, %i0, %i1, %i2;',
    'add.sat.f32.f16 %o4, %h0, %i1;',
    'sub.rz.f32.bf16 %o5, %h0, %i1;',
    'fma.rn.sat.f32.bf16 %o6, %h0, %h1, %i1;',
    'fns.b32 %o7, %i0, %i1, %i2;',
  ];
  const text = () =>
    writtenPtx(
      `${LOAD} cvt.u16.u32 %h0, %i0; cvt.u16.u32 %h1, %i1; ${lines.join('\n')} ${STORE}`,
      6,
      8,
      '',
      SM,
    ).text;

  it('is the instruction that was read', () => {
    for (const l of lines) expect(text()).toContain(`${l.split(' ')[0]} `);
  });
  it.skipIf(!hasPtxas('ptx-wide-float.test.ts'))('ptxas takes it', () => {
    expect(ptxas(text(), SM).errors).toBe('');
  });
});
