import { describe, expect, it } from 'vitest';
import { optimize, readPtx, writePtx } from '../../src/core.ts';
import type { Program } from '../../src/ir/program.ts';
import { printProgram } from '../../src/ir/text.ts';
import { fma64 } from '../../src/isa/floats.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { groupsOf, type Plan } from '../../src/spec/plan.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { runs } from '../support/size.ts';
import { planWith, shipped } from '../support/specs.ts';

/*
 * Expansions of long operations (rule groups bit-fields, long-first, long-floats, long-doubles, long-integers). A solver proves the first
 * two. The others rely on approximate reciprocals, which are more accurate in the simulator than in hardware; so here the same steps are
 * run on JavaScript numbers, with reciprocals as inaccurate as the hardware's may be, and compared with exact quotients and roots. With 40
 * times the usual number of cases (ORRERY_TEST_SIZE=40), 10 million are tried for each operation on words, singles and doubles.
 */

/** Deterministic integers from 0 to below 2^32. */
function generator(seed: number): () => number {
  let s = seed;
  return () => {
    s = (s + 0x9e3779b9) | 0;
    let t = Math.imul(s ^ (s >>> 16), 0x21f0aaad);
    t = Math.imul(t ^ (t >>> 15), 0x735a2d97);
    return (t ^ (t >>> 15)) >>> 0;
  };
}

const bits = new DataView(new ArrayBuffer(8));
const single = (word: number): number => {
  bits.setUint32(0, word);
  return bits.getFloat32(0);
};
const wordOf = (x: number): number => {
  bits.setFloat32(0, x);
  return bits.getUint32(0);
};
/** The double with the same high word, and zeros below. */
const highWord = (x: number): number => {
  bits.setFloat64(0, x);
  bits.setUint32(4, 0);
  return bits.getFloat64(0);
};

/** PTX ISA 9.0, rcp.approx.ftz.f32: within 1 ulp. */
const reciprocal32 = (x: number, ulps: number): number => single(wordOf(Math.fround(1 / x)) + ulps);
/** PTX ISA 9.0, rcp.approx.ftz.f64: from the high word; taken to be right to 18 bits. */
const roughly = (exact: number, bad: number): number => highWord(exact * (1 + bad * 2 ** -18));

/** Numbers of few bits, of many, and near the ends. */
function word(next: () => number): number {
  const how = next() % 8;
  const x = next();
  if (how === 0) return x >>> (next() % 32);
  if (how === 1) return (1 << (next() % 32)) >>> 0;
  if (how === 2) return ((1 << (next() % 32)) - 1 - (x & 1)) >>> 0;
  return how === 3 ? (0xffffffff - (x & 3)) >>> 0 : x;
}

/** A single: any pattern of bits, those near 1, small whole numbers, and subnormal ones. */
function anySingle(next: () => number): number {
  const how = next() % 6;
  const x = next();
  if (how === 0) return single((x & 0x807fffff) >>> 0);
  if (how === 1) return (x & 1023) - 512;
  if (how === 2) return single(((x & 0x80ffffff) | 0x3f000000) >>> 0);
  return how === 3 ? [0, -0, Infinity, -Infinity, NaN, single(1), single(0x7f7fffff)][x % 7] : single(x);
}

/** A double from its words. */
const double = (top: number, bottom: number): number => {
  bits.setUint32(0, top >>> 0);
  bits.setUint32(4, bottom >>> 0);
  return bits.getFloat64(0);
};
const topOf = (x: number): number => {
  bits.setFloat64(0, x);
  return bits.getUint32(0);
};
const bottomOf = (x: number): number => {
  bits.setFloat64(0, x);
  return bits.getUint32(4);
};
/** A double whose pattern is that of x, and `units` at its low end and `above` at its high word more. */
const patternPlus = (x: number, units: number, above: number): number => {
  const bottom = bottomOf(x) + units;
  return double(topOf(x) + above + Math.floor(bottom / 2 ** 32), bottom);
};
/** The significand, from 1 to below 2, without the sign. */
const significand = (x: number): number => double((topOf(x) & 0xfffff) | 0x3ff00000, bottomOf(x));
const exponentField = (x: number): number => (topOf(x) >>> 20) & 0x7ff;
/** Zero, infinite or NaN, where subnormal numbers have been made normal. */
const isSpecial = (x: number): boolean => exponentField(x) === 0 || exponentField(x) === 2047;
const NORMAL = 2 ** -1022;

const SPECIALS = [
  ...[
    0,
    Infinity,
    2 ** -1074,
    3 * 2 ** -1074,
    NORMAL - 2 ** -1074,
    NORMAL,
    NORMAL + 2 ** -1074,
    Number.MAX_VALUE,
  ],
  ...[
    2 ** 1023,
    2 ** 1022,
    2 ** 511,
    2 ** 512,
    2 ** -537,
    2 ** -538,
    1,
    3,
    4 / 3,
    1.5,
    2,
    0.5,
    1 + 2 ** -52,
    1 - 2 ** -53,
    2 - 2 ** -52,
  ],
].flatMap((x) => [x, -x]);
SPECIALS.push(NaN, double(0x7ff00000, 1), double(0xfff12345, 6));

/** A double: any pattern, small whole numbers, those near powers of two, subnormal ones, those in the middle, special ones. */
function anyDouble(next: () => number): number {
  const how = next() % 8;
  const [x, y] = [next(), next()];
  if (how === 0) return double(x & 0x800fffff, x % 3 === 0 ? y >>> (x >>> 27) : y);
  if (how === 1) return (x & 4095) - 2048;
  if (how === 2) return patternPlus(double(x & 0xfff00000, 0), (y & 15) - 8 + (y & 16 ? 16 : 0), 0);
  if (how === 3) return double((x & 0x800fffff) | 0x3ff00000, y);
  if (how === 4) return double((x & 0x807fffff) | 0x3fc00000, y & 0xff000000);
  return how === 5 && x % 8 === 0 ? SPECIALS[y % SPECIALS.length] : double(x, y);
}

/** Operands whose quotient is a number halfway between others with few bits, or the nearest beside it, often subnormal. */
function nearMiddle(next: () => number): [number, number] {
  const size = 1 + (next() % 51);
  const middle = (next() * 2 ** 20 + (next() >>> 12)) % 2 ** size;
  const b = 1 + ((next() * 2 ** 20 + (next() >>> 12)) % 2 ** (52 - size));
  const a = (2 * middle + 1) * b + (next() % 3) - 1;
  const up = next() % 900;
  return next() % 4 === 0 ? [a, b] : [a * 2 ** -up, b * 2 ** (1075 - up - (next() % 2) * (next() % 60))];
}

/** x so that its product with b is c modulo 2^n; b is odd. (Newton's method for the inverse.) */
function factor(b: bigint, c: bigint, n: number): bigint {
  let y = b;
  for (let k = 3; k < n; k *= 2) y *= 2n - ((b * y) & MASK);
  return BigInt.asUintN(n, y * c);
}
const MASK = 2n ** 64n - 1n;

/**
 * Operands whose quotient, with 53 bits, is as near as can be to the middle between two doubles: with an odd number m of 54 bits,
 * m b = c modulo 2^53 and c small, so that (m b - c) / 2^53 is the numerator.
 */
function hardQuotient(next: () => number): [number, number] {
  const b = (BigInt(next()) << 20n) | BigInt(next() >>> 12) | 1n | (1n << 52n);
  const c = BigInt((next() % 64) * 2 + 1);
  const m = factor(b, c, 53) | (1n << 53n);
  const a = (m * b - c) >> 53n;
  const down = next() % 3 === 0 ? 2 ** -1000 : 1;
  return [Number(a) * down, Number(b) * (down === 1 ? 1 : 2 ** (next() % 60))];
}

/**
 * A number whose root is as near as can be to the middle between two doubles: 2^52 a = t (t + 1) - c or 2^53 a, by lifting t from its
 * lowest bit.
 */
function hardRoot(next: () => number): number {
  const c = BigInt(2 * ((next() % 512) - 256));
  let t = BigInt(next() & 1);
  for (let k = 0; k < 6; k++) t = BigInt.asUintN(64, t - (t * (t + 1n) - c) * factor(2n * t + 1n, 1n, 64));
  const t52 = BigInt.asUintN(52, t) | (1n << 52n);
  const t53 = BigInt.asUintN(53, t) | (1n << 52n);
  const x = (t52 * (t52 + 1n) - c) >> 52n;
  return x < 2n ** 53n ? Number(x) : 2 * Number((t53 * (t53 + 1n) - c) >> 53n);
}

const high = (a: number, b: number): number => Number((BigInt(a) * BigInt(b)) >> 32n);
/** The same without big integers. */
function highFast(a: number, b: number): number {
  const [al, ah, bl, bh] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const middle = ah * bl + Math.floor((al * bl) / 65536);
  return (ah * bh + Math.floor(middle / 65536) + Math.floor(((middle % 65536) + al * bh) / 65536)) >>> 0;
}

describe('the steps of', () => {
  it('divide-words give the quotient, however bad the reciprocal', () => {
    const next = generator(1);
    for (let n = 0; n < runs(250_000); n++) {
      const [a, b] = [word(next), word(next) || 1];
      const h = Math.fround(reciprocal32(Math.fround(b), (next() % 3) - 1) * single(0x4f7ffff8));
      const z = Math.min(Math.trunc(h), 0xffffffff);
      const y = (highFast(z, Math.imul(-b, z) >>> 0) + z) >>> 0;
      let q = highFast(a, y);
      let r = (a - Math.imul(q, b)) >>> 0;
      for (let k = 0; k < 2; k++)
        if (r >= b) {
          r = (r - b) >>> 0;
          q = (q + 1) >>> 0;
        }
      if (q !== Math.floor(a / b)) expect.fail(`${a} / ${b} is not ${q}`);
    }
    for (let n = 0; n < 1000; n++) {
      const [a, b] = [word(next), word(next)];
      expect(highFast(a, b)).toBe(high(a, b));
    }
  });

  it('divide-double-words give the quotient, however bad the reciprocal', () => {
    const next = generator(2);
    const mask = 2n ** 64n - 1n;
    const long = (): bigint => ((BigInt(word(next)) << 32n) | BigInt(word(next))) >> BigInt(next() % 64);
    for (let n = 0; n < runs(25_000); n++) {
      const [a, b] = [long(), long() || 1n];
      // The lowest bits only say that there are any, so that the number is a double and rounds to the right single.
      const f = Math.fround(Number(b >> 53n === 0n ? b : ((b >> 11n) | (b % 2048n === 0n ? 0n : 1n)) << 11n));
      const h = Math.fround(reciprocal32(f, (next() % 3) - 1) * single(0x5f7ffff8));
      let y = BigInt(Math.trunc(h));
      for (let k = 0; k < 2; k++) y = (((y * ((-b * y) & mask)) >> 64n) + y) & mask;
      let q = (a * y) >> 64n;
      let r = (a - q * b) & mask;
      for (let k = 0; k < 2; k++)
        if (r >= b) {
          r -= b;
          q++;
        }
      if (q !== a / b) expect.fail(`${a} / ${b} is not ${q}`);
    }
  });

  it('divide-singles give the quotient, however bad the reciprocal', () => {
    const next = generator(3);
    for (let n = 0; n < runs(250_000); n++) {
      const [x, y] = [anySingle(next), anySingle(next)];
      const g = roughly(1 / y, ((next() % 2001) - 1000) / 1000);
      const r = fma64(g, fma64(-y, g, 1), g);
      const q = x * r;
      const u = fma64(fma64(-y, q, x), r, q);
      const d = Math.fround(Math.abs(u) > 0 ? u : x * g);
      // A double holds twice the bits of a single and two more, so that rounding twice gives the same.
      if (!Object.is(d, Math.fround(x / y))) expect.fail(`${x} / ${y} is not ${d}`);
    }
  });

  it('root-of-single give the root, however bad the reciprocal', () => {
    const next = generator(4);
    for (let n = 0; n < runs(250_000); n++) {
      const x = anySingle(next);
      const g = roughly(1 / Math.sqrt(x), ((next() % 2001) - 1000) / 1000);
      const h = x * g;
      const k = g * 0.5;
      const e = fma64(-k, h, 0.5);
      const r = fma64(h, e, h);
      const u = fma64(fma64(-r, r, x), fma64(k, e, k), r);
      const d = Math.fround(u > 0 ? u : x < 0 ? g : x);
      if (!Object.is(d, Math.fround(Math.sqrt(x)))) expect.fail(`the root of ${x} is not ${d}`);
    }
  });

  /** The lines of rule divide-doubles; `bad` from -1 to 1 is how far the reciprocal is off. */
  function quotient(x: number, y: number, bad: number): number {
    const [px, py] = [Math.abs(x) < NORMAL, Math.abs(y) < NORMAL];
    const [xn, yn] = [px ? x * 2 ** 54 : x, py ? y * 2 ** 54 : y];
    const [m1, n] = [significand(xn), significand(yn)];
    const g = roughly(1 / (isSpecial(yn) ? yn : n), bad);
    const s = Math.abs(xn) * Math.abs(g);
    const r = fma64(g, fma64(-n, g, 1), g);
    const less = m1 < n;
    const m = less ? m1 + m1 : m1;
    const q0 = m * r;
    const q = fma64(fma64(-n, q0, m), r, q0);
    const e = exponentField(xn) - exponentField(yn) - (px ? 54 : 0) + (py ? 54 : 0) - (less ? 1 : 0);
    const tiny = -1022 - e > 0;
    const j = Math.min(Math.max(-1022 - e, 0), 54);
    const ch = tiny ? (j << 20) + 0x3ff00000 : 0;
    const w = q + double(ch, 0);
    const rest = fma64(-n, w - double(ch, 0), m);
    const half = n * double((j << 20) + 0x3ca00000, 0);
    const d1 = patternPlus(w, rest < -half ? -1 : rest > half ? 1 : 0, tiny ? -ch : e << 20);
    const d2 = topOf(d1) >= 0x7ff00000 ? Infinity : d1;
    const d3 = isSpecial(xn) || isSpecial(yn) ? s : d2;
    return double(topOf(d3) | ((topOf(xn) ^ topOf(yn)) & 0x80000000), bottomOf(d3));
  }

  it('divide-doubles give the quotient, however bad the reciprocal', () => {
    const next = generator(5);
    const check = (x: number, y: number): void => {
      const d = quotient(x, y, ((next() % 2001) - 1000) / 1000);
      if (!Object.is(d, x / y)) expect.fail(`${x} / ${y} is not ${d}`);
    };
    for (const x of SPECIALS) for (const y of SPECIALS) check(x, y);
    for (let n = 0; n < runs(250_000); n++) {
      if (n % 2 === 0) check(anyDouble(next), anyDouble(next));
      else check(...(n % 16 === 1 ? hardQuotient : nearMiddle)(next));
    }
  });

  /** The lines of rule root-of-double. */
  function root(x: number, bad: number): number {
    const p = x < NORMAL;
    const xn = p ? x * 2 ** 54 : x;
    const m = patternPlus(double((topOf(xn) & 0x1fffff) ^ 0x100000, bottomOf(xn)), 0, 0x3ff00000);
    const g = roughly(1 / Math.sqrt(m), bad);
    const h = m * g;
    const v = g * 0.5;
    const ge = fma64(-v, h, 0.5);
    const r = fma64(h, ge, h);
    const t = fma64(fma64(-r, r, m), fma64(v, ge, v), r);
    const rest = fma64(-t, t, m);
    const half = t * 2 ** -52;
    const e = (topOf(xn) >>> 20) + (p ? -1077 : -1023);
    const d1 = patternPlus(t, rest <= -half ? -1 : rest > half ? 1 : 0, (e >> 1) << 20);
    return x > 0 && x < Infinity ? d1 : x < 0 ? NaN : x;
  }

  it('root-of-double give the root, however bad the reciprocal', () => {
    const next = generator(6);
    const check = (x: number): void => {
      const d = root(x, ((next() % 2001) - 1000) / 1000);
      if (!Object.is(d, Math.sqrt(x))) expect.fail(`the root of ${x} is not ${d}`);
    };
    for (const x of SPECIALS) check(x);
    for (let n = 0; n < runs(250_000); n++) {
      const x = anyDouble(next);
      const t = significand(x);
      if (n % 16 === 1) check(hardRoot(next) * (n % 32 === 1 ? 1 : 2 ** -1020));
      else if (n % 4 === 3)
        check(patternPlus(fma64(t, t, t * 2 ** -52), (n % 3) - 1, 0) * 2 ** (next() % 60));
      else check(n % 4 === 2 ? (x >>> 6) ** 2 + (n % 3) - 1 : n % 8 === 0 ? x : Math.abs(x));
    }
  });
});

const source = (body: string): string => `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 a, .param .u64 b)
{
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;
ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b]; mov.b64 %d2, %rd2; mov.b64 %d3, %rd3;
cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
${body}
ret;
}
`;

/** The stages that run the recipes of all stages again. */
const LAST = ['LateExpansionUnsupportedOps2', 'LateExpansionUnsupportedOpsMid'];

describe('knob ExpandLongOperations', () => {
  const OPERATIONS: readonly (readonly [phase: string, ptx: string, gone: string, there: string])[] = [
    ['ConvertUnsupportedOps', 'bfe.s32 %r1, %r2, %r3, 7; st.u32 [%rd1], %r1;', 'BFE', 'SGXT'],
    ['ConvertUnsupportedOps', 'bfe.u64 %rd4, %rd2, %r3, %r2; st.u64 [%rd1], %rd4;', 'BFE', 'SHR.U64'],
    ['ConvertUnsupportedOps', 'bfi.b32 %r1, %r2, %r3, %r3, %r2; st.u32 [%rd1], %r1;', 'BFI', 'BMSK'],
    ['ConvertUnsupportedOps', 'bfi.b64 %rd4, %rd2, %rd3, %r3, %r2; st.u64 [%rd1], %rd4;', 'BFI', 'SHL.64'],
    ['MidExpansion', 'rem.u32 %r1, %r2, %r3; st.u32 [%rd1], %r1;', 'IREM', 'IDIV.U32'],
    ['MidExpansion', 'rem.s64 %rd4, %rd2, %rd3; st.u64 [%rd1], %rd4;', 'IREM', 'IDIV.U64'],
    ['MidExpansion', 'div.s32 %r1, %r2, %r3; st.u32 [%rd1], %r1;', 'IDIV ', 'IDIV.U32'],
    ['MidExpansion', 'rcp.rz.f32 %f1, %f2; st.f32 [%rd1], %f1;', 'FRCP', 'FDIV.RZ'],
    ['LateExpansion', 'div.rn.f32 %f1, %f2, %f3; st.f32 [%rd1], %f1;', 'FDIV', 'MUFU_D.RCP'],
    ['LateExpansion', 'sqrt.rn.ftz.f32 %f1, %f2; st.f32 [%rd1], %f1;', 'FSQRT', 'MUFU_D.RSQ'],
    ['MidExpansion', 'rcp.rn.f64 %d1, %d2; st.f64 [%rd1], %d1;', 'DRCP', 'DDIV'],
    ['LateExpansionUnsupportedOps', 'div.rn.f64 %d1, %d2, %d3; st.f64 [%rd1], %d1;', 'DDIV', 'MUFU_D.RCP'],
    ['LateExpansionUnsupportedOps', 'sqrt.rn.f64 %d1, %d2; st.f64 [%rd1], %d1;', 'DSQRT', 'MUFU_D.RSQ'],
    ['LateExpansionUnsupportedOps', 'div.u32 %r1, %r2, %r3; st.u32 [%rd1], %r1;', 'IDIV', 'MUFU.RCP'],
    ['LateExpansionUnsupportedOps', 'div.u64 %rd4, %rd2, %rd3; st.u64 [%rd1], %rd4;', 'IDIV', 'IMAD.HI.U64'],
  ];
  it.each(OPERATIONS)('%s: %s', async (phase, ptx, gone, there) => {
    const plan = (await planWith({ order: 'binary', set: ['ExpandLongOperations'] })).plan!;
    const { program } = readPtx(source(ptx), plan);
    const at = (id: string) => optimize(program, plan, { until: id });
    const own = plan.phases.findIndex((p) => p.id === phase);
    const before = printProgram(at(plan.phases[own - 1].id).last);
    const after = printProgram(at(phase).last);
    expect(before).toContain(gone);
    expect(before).not.toContain(there);
    expect(after).not.toContain(gone);
    expect(after).toContain(there);
    // Off, the operation is left to ptxas.
    const usual = (await planWith({ order: 'binary' })).plan!;
    expect(printProgram(optimize(program, usual).last)).toContain(gone);
  });

  // Made by rules of doubles, and by promotion to registers, behind the stage that expands it, and by no phase after that made simpler.
  const MADE: readonly (readonly [by: string, ptx: string, gone: string, there: string])[] = [
    [
      'LateArchOptimizeFirst',
      'cvt.f64.f32 %d1, %f2; cvt.f64.f32 %d2, %f3; div.rn.f64 %d3, %d1, %d2; cvt.rn.f32.f64 %f3, %d3; st.f32 [%rd1], %f3;',
      'FDIV',
      'MUFU_D.RCP',
    ],
    [
      'GeneralOptimizeMid',
      'st.local.u32 [c], %r2; ld.local.u8 %r3, [c+1]; st.u32 [%rd1], %r3; st.u32 [%rd1+4], %r2;',
      'BFE',
      'SGXT',
    ],
  ];
  it.each(
    MADE.flatMap((m) =>
      [
        ['sm_90', 'LateExpansionUnsupportedOpsMid'],
        ['sm_80', 'LateExpansionUnsupportedOps2'],
      ].map(([sm, phase]) => [sm, phase, ...m] as const),
    ),
  )('on %s, %s expands what %s made: %s', async (sm, phase, by, ptx, gone, there) => {
    const named = `NamedPhases=${by}+LateExpansionUnsupportedOpsMid`;
    const textAt = async (set: readonly string[], back: number): Promise<string> => {
      const plan = (await planWith({ order: 'binary', sm, set: [named, ...set] })).plan!;
      const declared = '.local .align 4 .b8 c[4]; .reg .b32';
      const { program } = readPtx(source(ptx).replace('.reg .b32', declared), plan);
      const at = plan.phases.findIndex((p) => p.id === phase);
      return printProgram(optimize(program, plan, { until: plan.phases[at - back].id }).last);
    };
    const before = await textAt(['ExpandLongOperations'], 1);
    expect(before).toContain(gone);
    expect(before).not.toContain(there);
    const after = await textAt(['ExpandLongOperations'], 0);
    expect(after).not.toContain(gone);
    expect(after).toContain(there);
    expect(await textAt([], 0)).toContain(gone);
  });

  it('leaves one quotient for a quotient and a remainder by the same divisor', async () => {
    const plan = (await planWith({ order: 'binary', knobSets: ['machine-operations'] })).plan!;
    const { program } = readPtx(
      source('div.u32 %r4, %r2, %r3; rem.u32 %r5, %r2, %r3; st.u32 [%rd1], %r4; st.u32 [%rd1+4], %r5;'),
      plan,
    );
    expect(printProgram(optimize(program, plan).last).match(/MUFU/g)).toHaveLength(1);
  });

  it('is the switch of the groups that these phases run, and of no other', async () => {
    const plan = (await planWith({ order: 'binary' })).plan!;
    const named = plan.phases.filter((p) => p.knobs.includes('ExpandLongOperations'));
    const groups = (late: boolean): string[] =>
      named.filter((p) => LAST.includes(p.id) === late).flatMap((p) => groupsOf(p));
    expect([...new Set(groups(true))].sort()).toEqual(groups(false).sort());
    expect(groups(false).sort()).toEqual([
      'bit-fields',
      'dot-products',
      'long-doubles',
      'long-first',
      'long-floats',
      'long-integers',
    ]);
  });
});

/** Quotients, reciprocals and roots of doubles, one row a thread. */
const DOUBLES = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pq)
{
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f64 %d<9>;
ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; ld.param.u64 %rd3, [pq];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
mul.wide.u32 %rd4, %r1, 8; add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4; mul.wide.u32 %rd4, %r1, 32; add.s64 %rd3, %rd3, %rd4;
ld.global.f64 %d1, [%rd1]; ld.global.f64 %d2, [%rd2];
div.rn.f64 %d3, %d1, %d2; rcp.rn.f64 %d4, %d2; sqrt.rn.f64 %d5, %d1; neg.f64 %d6, %d1; div.rn.f64 %d6, %d6, %d2;
st.global.f64 [%rd3], %d3; st.global.f64 [%rd3+8], %d4; st.global.f64 [%rd3+16], %d5; st.global.f64 [%rd3+24], %d6;
ret;
}
`;

describe('quotients and roots of doubles', () => {
  const THREADS = 128;
  function results(program: Program, plan: Plan, a: Float64Array, b: Float64Array): BigUint64Array {
    const buffer = (length: number, bytes: Uint8Array) =>
      ({ kind: 'buffer', type: 'f64', length, bytes, expect: null, tolerance: 0 }) as const;
    const launch = {
      name: 't',
      kernel: 'k',
      grid: [a.length / THREADS, 1, 1],
      block: [THREADS, 1, 1],
      dynamicShared: 0,
      params: [
        buffer(a.length, new Uint8Array(a.buffer)),
        buffer(a.length, new Uint8Array(b.buffer)),
        buffer(4 * a.length, new Uint8Array(32 * a.length)),
      ],
    } as const;
    const r = runLaunch(program, plan.isa, launch, Number(plan.backend.facts['param-base']), {});
    expect([r.status, r.error]).toEqual(['ok', null]);
    return new BigUint64Array(r.buffers[2]!.buffer);
  }

  const written = async (sm: string) => {
    const plan = (await planWith({ order: 'binary', sm, set: ['ExpandLongOperations'] })).plan!;
    const { program, module } = readPtx(DOUBLES, plan, 'k.ptx');
    const after = optimize(program, plan).last;
    return { plan, program, after, text: writePtx(after, plan, shipped, { module }).text };
  };

  it('are, when expanded, those of the host, in the simulator, and when written as PTX and read again', async () => {
    const { plan, program, after, text } = await written('sm_80');
    expect(printProgram(after)).not.toMatch(/\bD(DIV|RCP|SQRT)\b/);
    expect(text).not.toMatch(/\b(div|rcp|sqrt)\.rn\.f64/);
    const next = generator(7);
    const rows = SPECIALS.flatMap((x) => SPECIALS.map((y): [number, number] => [x, y]));
    const size = Math.ceil((rows.length + runs(4000)) / THREADS) * THREADS;
    while (rows.length < size)
      rows.push(
        [(): [number, number] => [anyDouble(next), anyDouble(next)], nearMiddle, hardQuotient][
          rows.length % 3
        ](next),
      );
    const [a, b] = [0, 1].map((k) => Float64Array.from(rows, (r) => r[k]));
    // Every NaN has the pattern that the meanings give, and the hardware.
    const want = new Float64Array(4 * size);
    rows.forEach(([x, y], i) => want.set([x / y, 1 / y, Math.sqrt(x), -x / y], 4 * i));
    const wanted = BigUint64Array.from(new BigUint64Array(want.buffer), (v, i) =>
      Number.isNaN(want[i]) ? 0xfff8000000000000n : v,
    );
    for (const p of [program, after, readPtx(text, plan, 'k.ptx').program]) {
      const got = results(p, plan, a, b);
      const wrong = got.findIndex((v, i) => v !== wanted[i]);
      if (wrong >= 0)
        expect.fail(`${rows[wrong >> 2].join(', ')}: result ${wrong & 3} is ${got[wrong].toString(16)}`);
    }
  });

  it.skipIf(!hasPtxas('long-operations.test.ts')).each(['sm_80', 'sm_90', 'sm_120'])(
    'are taken by ptxas as they are written for %s',
    async (sm) => {
      const { text } = await written(sm);
      expect(ptxas(text, sm)).toMatchObject({ cubin: expect.anything(), errors: '' });
    },
  );
});
