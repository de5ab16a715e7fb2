import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as fast from '../../src/isa/floats.ts';
import { ROUNDINGS } from '../../src/isa/formats.ts';
import * as soft from '../../src/isa/softfloat.ts';
import { runs } from '../support/size.ts';

const { F16, BF16, F32, F64 } = soft;
const options = { seed: 20261121, numRuns: runs(1000) };

/** Doubles with close exponents, so that sums cancel and products and quotients stay in range, and occasional special values. */
const near = fc
  .oneof(
    {
      weight: 8,
      arbitrary: fc.tuple(fc.integer({ min: -60, max: 60 }), fc.bigInt(0n, (1n << 53n) - 1n), fc.boolean()),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(
        fc.integer({ min: -1074, max: 960 }),
        fc.bigInt(0n, (1n << 53n) - 1n),
        fc.boolean(),
      ),
    },
  )
  .map(([e, m, neg]) => (neg ? -1 : 1) * Number(m) * 2 ** Math.max(e, -1074));
const double = fc.oneof({ weight: 6, arbitrary: near }, { weight: 2, arbitrary: fc.double() });
const single = fc.oneof(
  { weight: 6, arbitrary: near.map(Math.fround) },
  { weight: 2, arbitrary: fc.float() },
);
const b64 = (x: number): bigint => soft.fromNumber(F64, x);
const b32 = (x: number): bigint => soft.fromNumber(F32, x);

describe('exact floating point equals the host where the host is correctly rounded', () => {
  it('f64 to nearest: sum, product, quotient, root', () => {
    fc.assert(
      fc.property(double, double, (a, b) => {
        expect(soft.bigAdd(F64, b64(a), b64(b), 'RN')).toBe(b64(a + b));
        expect(soft.bigFma(F64, b64(a), b64(b), null, 'RN')).toBe(b64(a * b));
        expect(soft.bigDiv(F64, b64(a), b64(b), 'RN')).toBe(b64(a / b));
        expect(soft.bigSqrt(F64, b64(a), 'RN')).toBe(b64(Math.sqrt(a)));
      }),
      options,
    );
  });

  it('f32 to nearest: sum, product, quotient, root, conversion', () => {
    fc.assert(
      fc.property(single, single, double, (a, b, d) => {
        expect(soft.bigAdd(F32, b32(a), b32(b), 'RN')).toBe(b32(Math.fround(a + b)));
        expect(soft.bigFma(F32, b32(a), b32(b), null, 'RN')).toBe(b32(Math.fround(a * b)));
        expect(soft.bigDiv(F32, b32(a), b32(b), 'RN')).toBe(b32(Math.fround(a / b)));
        expect(soft.bigSqrt(F32, b32(a), 'RN')).toBe(b32(Math.fround(Math.sqrt(a))));
        expect(soft.bigConvert(F32, F64, b64(d), 'RN')).toBe(b32(Math.fround(d)));
      }),
      options,
    );
  });

  it('integers', () => {
    fc.assert(
      fc.property(fc.bigInt(-(1n << 63n), (1n << 64n) - 1n), (v) => {
        expect(soft.bigFromInt(F64, v, 'RN')).toBe(b64(Number(v)));
      }),
      options,
    );
  });

  it('order', () => {
    fc.assert(
      fc.property(double, double, (a, b) => {
        const want = a < b ? -1 : a > b ? 1 : a === b ? 0 : null;
        expect(soft.bigCompare(F64, b64(a), b64(b))).toBe(want);
      }),
      options,
    );
  });
});

describe('rounding directions', () => {
  it('enclose the exact sum by neighbours', () => {
    fc.assert(
      fc.property(single, single, (a, b) => {
        fc.pre(Number.isFinite(a) && Number.isFinite(b));
        const at = (mode: string) => soft.toNumber(F32, soft.bigAdd(F32, b32(a), b32(b), mode));
        const [rn, rz, rm, rp] = ['RN', 'RZ', 'RM', 'RP'].map(at);
        expect(rm <= rp).toBe(true);
        expect([rm, rp]).toContain(rn);
        // An exact zero is negative downwards alone.
        if (a + b !== 0) expect(rz).toBe(a + b < 0 ? rp : rm);
        // The sum of two f32 in double errs by less than a neighbour of f32 is away.
        expect(rm <= a + b && a + b <= rp).toBe(true);
        const up = soft.toNumber(F32, nextUp(b32(rm)));
        expect(rp === rm || Object.is(rp, up) || rp === up).toBe(true);
      }),
      options,
    );
  });

  it('an exact zero is negative only downwards', () => {
    expect(soft.bigAdd(F64, b64(1), b64(-1), 'RM')).toBe(b64(-0));
    for (const mode of ['RN', 'RZ', 'RP']) expect(soft.bigAdd(F64, b64(1), b64(-1), mode)).toBe(0n);
    expect(soft.bigAdd(F64, b64(-0), b64(-0), 'RP')).toBe(b64(-0));
  });
});

/** Pattern of the next larger f32. */
const nextUp = (b: bigint): bigint => (b === 0x80000000n ? 1n : b >> 31n === 1n ? b - 1n : b + 1n);

describe('fast floating point equals exact floating point', () => {
  it('f64 fused multiply-add', () => {
    fc.assert(
      fc.property(double, double, double, (a, b, c) => {
        // A third operand near the negated product makes the cancellation that needs every bit.
        for (const z of [c, -a * b, -a * b * (1 + 2 ** -50), c * 2 ** -60])
          expect(b64(fast.fma64(a, b, z))).toBe(soft.bigFma(F64, b64(a), b64(b), b64(z), 'RN'));
      }),
      { ...options, numRuns: runs(2000) },
    );
  });

  it('f64 fused multiply-add of subnormals', () => {
    const tiny = fc.double({ min: -(2 ** -1000), max: 2 ** -1000, noNaN: true });
    const other = fc.oneof(tiny, double, fc.constantFrom(0, -0, 2 ** -1074, -(2 ** -1074), 2 ** -1022));
    fc.assert(
      fc.property(tiny, fc.oneof(tiny, double), other, (a, b, c) => {
        expect(b64(fast.fma64(a, b, c))).toBe(soft.bigFma(F64, b64(a), b64(b), b64(c), 'RN'));
      }),
      { ...options, numRuns: runs(1000) },
    );
  });

  it('f32 fused multiply-add, ties included', () => {
    fc.assert(
      fc.property(single, single, single, fc.integer({ min: 20, max: 60 }), (a, b, c, e) => {
        const tie = Math.fround(a) * 2 ** -24 * (1 + 2 ** -23);
        for (const [x, y, z] of [
          [a, b, c],
          [a, 1 + 2 ** -23, Math.fround(tie)],
          [a, b, Math.fround(a * b * 2 ** -e)],
          [a, b, Math.fround(-a * b)],
        ])
          expect(b32(fast.fma32(x, y, z))).toBe(soft.bigFma(F32, b32(x), b32(y), b32(z), 'RN'));
      }),
      { ...options, numRuns: runs(2000) },
    );
  });

  it('f64 in every direction', () => {
    fc.assert(
      fc.property(double, double, (a, b) => {
        for (const mode of ['RZ', 'RM', 'RP'] as const) {
          expect(b64(fast.add64(a, b, mode))).toBe(soft.bigAdd(F64, b64(a), b64(b), mode));
          expect(b64(fast.mul64(a, b, mode))).toBe(soft.bigFma(F64, b64(a), b64(b), null, mode));
          expect(b64(fast.div64(a, b, mode))).toBe(soft.bigDiv(F64, b64(a), b64(b), mode));
          expect(b64(fast.sqrt64(a, mode))).toBe(soft.bigSqrt(F64, b64(a), mode));
        }
      }),
      options,
    );
  });

  it('conversions of doubles to 32 and 16 bits', () => {
    fc.assert(
      fc.property(double, (x) => {
        for (const mode of ROUNDINGS) {
          expect(b32(fast.round32(x, mode))).toBe(soft.bigConvert(F32, F64, b64(x), mode));
          expect(BigInt(fast.roundF16(x, mode))).toBe(soft.bigConvert(F16, F64, b64(x), mode));
          expect(BigInt(fast.roundBF16(x, mode))).toBe(soft.bigConvert(BF16, F64, b64(x), mode));
        }
        expect(BigInt(fast.packF16(x))).toBe(soft.bigConvert(F16, F64, b64(x), 'RN'));
        expect(BigInt(fast.packBF16(x))).toBe(soft.bigConvert(BF16, F64, b64(x), 'RN'));
      }),
      options,
    );
  });

  it('every f16 pattern and every midpoint between two', () => {
    const bad: number[] = [];
    for (let b = 0; b < 0x7c00; b++)
      for (const s of [0, 0x8000]) {
        const x = fast.f16[b | s];
        const next = b === 0x7bff ? 65536 * (s === 0 ? 1 : -1) : fast.f16[(b + 1) | s];
        const even = (b & 1) === 0 ? b : b + 1;
        if (fast.packF16(x) !== (b | s) || fast.packF16((x + next) / 2) !== (even | s)) bad.push(b | s);
      }
    expect(bad).toEqual([]);
    expect(fast.f16[0x3c00]).toBe(1);
    expect(fast.f16[0x0001]).toBe(2 ** -24);
    expect(fast.f16[0xfbff]).toBe(-65504);
    expect(fast.f16[0x7e00]).toBe(NaN);
  });

  it('integral values', () => {
    for (const x of [0, -0, 0.5, -0.5, 1.5, 2.5, -2.5, 2 ** 52 - 0.5, 2 ** 53, -(2 ** 60), Infinity, NaN])
      expect(b64(fast.rint(x))).toBe(soft.bigIntegral(F64, b64(x), 'RN'));
  });
});
