import { describe, expect, it } from 'vitest';
import { Random } from '../support/meaning.ts';
import { folded, hasPtxas, machineCode, type OneResult } from '../support/ptxas.ts';
import { runPtx, writtenPtx } from '../support/run-ptx.ts';

const rnd = new Random('integer corners');
/** Words of all magnitudes, and the extremes. */
const words = (n: number): number[] => {
  const out = [0, 1, -1, 0x7fffffff, -0x80000000, 0x7fffff, 0x800000, -0x800000, 0xffffff];
  while (out.length < n) out.push((rnd.next() | 0) >> (rnd.next() & 31));
  return out;
};
const withPtxas = hasPtxas('ptx-integer-corners.test.ts');

describe('mad24.hi.sat', () => {
  const [a, b, c] = [words(96), words(96), words(96)];
  // 24 bits of each factor are signed; the upper 32 of the 48 bits of the product are added (PTX ISA 9.0, mad24).
  const high = (x: number, y: number): bigint =>
    (BigInt.asIntN(24, BigInt(x)) * BigInt.asIntN(24, BigInt(y))) >> 16n;
  const exact = (x: number, y: number, z: number): bigint => BigInt.asIntN(32, high(x, y)) + BigInt(z);
  const clamp = (v: bigint): number =>
    Number(v > 0x7fffffffn ? 0x7fffffffn : v < -0x80000000n ? -0x80000000n : v);
  const rows = a.map((x, i) => [
    x,
    b[(i * 5 + 2) % 96],
    i % 3 === 0 ? (i % 2 === 0 ? 0x7fffffff - i : i - 0x80000000) : c[(i * 7 + 3) % 96],
  ]);

  it('clamps the sum, and mad24.hi wraps it', () => {
    const got = runPtx('mad24.hi.sat.s32 %o0, %i0, %i1, %i2; mad24.hi.s32 %o1, %i0, %i1, %i2;', rows, 2);
    expect(got).toEqual(
      rows.map(([x, y, z]) => [clamp(exact(x, y, z)), Number(BigInt.asIntN(32, exact(x, y, z)))]),
    );
    expect(
      rows.filter(([x, y, z]) => exact(x, y, z) !== BigInt(clamp(exact(x, y, z)))).length,
    ).toBeGreaterThan(5);
  });

  it.skipIf(!withPtxas)('gives what ptxas folds', () => {
    const cases = rows.map(([x, y, z]) => ({ ptx: `mad24.hi.sat.s32 %r1, ${x}, ${y}, ${z};`, wide: false }));
    const constants = folded(cases);
    const known = rows.flatMap((_, i) => (constants[i] === null ? [] : [i]));
    expect(known.length).toBeGreaterThan(rows.length / 2);
    expect(known.map((i) => Number(BigInt.asIntN(32, constants[i]!)))).toEqual(
      known.map((i) => clamp(exact(rows[i][0], rows[i][1], rows[i][2]))),
    );
  });
});

describe('sums that saturate', () => {
  const [a, b, c] = [words(96), words(96), words(96)];
  const rows = a.flatMap((x, i) => [
    [x, b[(i * 5 + 2) % 96], c[(i * 7 + 3) % 96]],
    [x, x > 0 ? 0x7fffffff - (i % 9) : (i % 9) - 0x80000000, x > 0 ? 0x7fffffff - i : i - 0x80000000],
  ]);
  const clamp = (v: bigint): number =>
    Number(v > 0x7fffffffn ? 0x7fffffffn : v < -0x80000000n ? -0x80000000n : v);
  it('clamp to a word (PTX ISA 9.0, add, sub, mad)', () => {
    const got = runPtx(
      'add.sat.s32 %o0, %i0, %i1; sub.sat.s32 %o1, %i0, %i1; mad.hi.sat.s32 %o2, %i0, %i1, %i2;',
      rows,
      3,
    );
    expect(got).toEqual(
      rows.map(([x, y, z]) => [
        clamp(BigInt(x) + BigInt(y)),
        clamp(BigInt(x) - BigInt(y)),
        clamp(((BigInt(x) * BigInt(y)) >> 32n) + BigInt(z)),
      ]),
    );
  });
});

describe('szext.clamp', () => {
  it('extends from the low n bits: all of them from 32 on, none for 0 (PTX ISA 9.0, szext)', () => {
    const rows = [0, 1, 5, 8, 31, 32, 33, 255, -1].flatMap((n) => words(12).map((x) => [x, n]));
    const got = runPtx('szext.clamp.s32 %o0, %i0, %i1; szext.clamp.u32 %o1, %i0, %i1;', rows, 2);
    const low = (x: number, n: number): bigint => BigInt.asUintN(Math.min(n >>> 0, 32), BigInt(x));
    expect(got).toEqual(
      rows.map(([x, n]) => [
        Number(BigInt.asIntN(Math.min(n >>> 0, 32), BigInt(x))),
        Number(BigInt.asIntN(32, low(x, n))),
      ]),
    );
  });
});

describe('what is one instruction of PTX and of Ori', () => {
  it.each([
    'add.sat.s32 %o0, %i0, %i1;',
    'sub.sat.s32 %o0, %i0, %i1;',
    'mad.hi.sat.s32 %o0, %i0, %i1, %i2;',
    'mad24.hi.sat.s32 %o0, %i0, %i1, %i2;',
    'szext.clamp.s32 %o0, %i0, %i1;',
    'szext.clamp.u32 %o0, %i0, %i1;',
    'cvt.pack.sat.u16.s32 %o0, %i0, %i1;',
    ...['s8', 'u8', 's4', 'u4', 's2', 'u2'].map((t) => `cvt.pack.sat.${t}.s32.b32 %o0, %i0, %i1, %i2;`),
    'cvt.rn.satfinite.e4m3x2.f16x2 %h1, %i0; mov.b32 %o0, {%h1, %h1};',
    'cvt.rn.satfinite.relu.e5m2x2.f16x2 %h1, %i0; mov.b32 %o0, {%h1, %h1};',
  ])('is written back: %s', (line) => {
    const { program, text } = writtenPtx(line, 3, 1, '', 'sm_90');
    const name = line.split(' ')[0];
    expect(text).toContain(`\t${name} `);
    // It takes the inputs as they were loaded.
    const count = (body: string) =>
      writtenPtx(body, 3, 1, '', 'sm_90').program.functions[0].blocks[0].ins.length;
    const plain = /%h/.test(line) ? 'cvt.u16.u32 %h1, %i0; mov.b32 %o0, {%h1, %h1};' : 'mov.b32 %o0, %i0;';
    expect(program.functions[0].blocks[0].ins.length).toBe(count(plain));
  });
});

/** Instructions that write CC.CF or read it, with their carry: a difference is a + ~b + 1, and its carry "no borrow". */
const PRODUCERS: Readonly<Record<string, (a: bigint, b: bigint) => boolean>> = {
  'add.cc.u32 %r2, %i0, %i1;': (a, b) => a + b > 0xffffffffn,
  'sub.cc.u32 %r2, %i0, %i1;': (a, b) => a >= b,
  'mad.lo.cc.u32 %r2, %i0, 1, %i1;': (a, b) => a + b > 0xffffffffn,
  'add.cc.u32 %r2, -1, 1; subc.cc.u32 %r2, %i0, %i1;': (a, b) => a >= b,
  'sub.cc.u32 %r2, 0, 1; addc.cc.u32 %r2, %i0, %i1;': (a, b) => a + b > 0xffffffffn,
};
const CONSUMERS: Readonly<Record<string, (a: bigint, b: bigint, carry: bigint) => bigint>> = {
  'addc.u32 %o0, %i2, %i3;': (a, b, carry) => a + b + carry,
  'subc.u32 %o0, %i2, %i3;': (a, b, carry) => a + (b ^ 0xffffffffn) + carry,
};
const pairs = Object.keys(PRODUCERS).flatMap((p) => Object.keys(CONSUMERS).map((c) => [p, c] as const));

describe('the carry in CC.CF', () => {
  const rows = Array.from({ length: 64 }, (_, k) => {
    const [a, b, c, d] = [0, 1, 2, 3].map(() => rnd.next() >>> 0);
    return [a, k % 8 === 0 ? a : b, c, d];
  });
  const want = (p: string, c: string, row: readonly number[]): bigint => {
    const [i0, i1, i2, i3] = row.map((x) => BigInt(x >>> 0));
    return BigInt.asUintN(32, CONSUMERS[c](i2, i3, PRODUCERS[p](i0, i1) ? 1n : 0n));
  };

  it.each(pairs)('%s %s', (p, c) => {
    const got = runPtx(p + c, rows);
    expect(got.map(([x]) => BigInt(x >>> 0))).toEqual(rows.map((row) => want(p, c, row)));
  });

  it.skipIf(!withPtxas)('gives what ptxas folds', () => {
    const cases: (OneResult & { want: bigint })[] = [];
    for (const [p, c] of pairs)
      for (const row of rows.slice(0, 8)) {
        const ptx = `${p}${c}`.replace(/%i(\d)/g, (_, k) => String(row[Number(k)])).replaceAll('%o0', '%r1');
        cases.push({ ptx, wide: false, want: want(p, c, row) });
      }
    const constants = folded(cases);
    const wrong = cases.filter((k, i) => constants[i] !== null && constants[i] !== k.want);
    expect(wrong.map((k) => k.ptx)).toEqual([]);
    for (const [p, c] of pairs.slice(0, 4)) {
      const here = cases.filter(
        (k, i) => constants[i] !== null && k.ptx.startsWith(p.slice(0, 6)) && k.ptx.includes(c.slice(0, 5)),
      );
      expect({ p, c, folded: here.length > 0 }).toEqual({ p, c, folded: true });
    }
  });

  it.skipIf(!withPtxas).each(['sm_75', 'sm_90', 'sm_120'])(
    'is read by the same machine instruction after a sum and a difference (%s)',
    (sm) => {
      const load = 'ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%a];';
      const use = (first: string, then: string): string => {
        const [code] = machineCode(
          [{ ptx: `${load} ${first} %r2, %r3, %r4; ${then} %r1, %r5, %r6;`, wide: false }],
          sm,
        );
        // The last addition; 0x210 is IADD3.
        let last = '';
        for (let at = 0; at < code.byteLength; at += 16)
          if ((code.getBigUint64(at, true) & 0xfffn) === 0x210n)
            last = `${code.getBigUint64(at, true)} ${code.getBigUint64(at + 8, true) & 0xffffffffn}`;
        return last;
      };
      expect(use('add.cc.u32', 'addc.u32')).not.toBe('');
      for (const then of ['addc.u32', 'subc.u32'])
        expect(use('add.cc.u32', then)).toBe(use('sub.cc.u32', then));
      expect(use('add.cc.u32', 'addc.u32')).not.toBe(use('add.cc.u32', 'subc.u32'));
    },
  );
});
