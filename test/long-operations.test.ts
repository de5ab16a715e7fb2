import { describe, expect, it } from 'vitest';
import { optimize, readPtx } from '../src/core.ts';
import { printProgram } from '../src/ir/text.ts';
import { fma64 } from '../src/isa/floats.ts';
import { groupsOf } from '../src/spec/plan.ts';
import { runs } from './support/size.ts';
import { planWith } from './support/specs.ts';

/*
 * Expansions of long operations (rule groups bit-fields, long-first, long-floats, long-integers). A solver proves the first two. The
 * others rest on approximate reciprocals, of which the simulator's are better than the hardware's; so here the same steps are run on
 * numbers of JavaScript, with reciprocals as bad as the hardware's may be, against its exact quotients and roots. 40 times the usual
 * number of cases (ORRERY_TEST_SIZE=40) are 10 million for each operation on words.
 */

/** Whole numbers from 0 to below 2^32, the same in every run. */
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
});

const source = (body: string): string => `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 a, .param .u64 b)
{
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>;
ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b];
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
      const declared = '.local .align 4 .b8 c[4]; .reg .f64 %d<9>; .reg .b32';
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

  it('leaves one quotient where quotient and remainder go with one divisor', async () => {
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
      'long-first',
      'long-floats',
      'long-integers',
    ]);
  });
});
