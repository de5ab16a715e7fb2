import { describe, expect, it } from 'vitest';
import { withModsOf } from '../../src/ir/edit.ts';
import { isPredReg, Kind, NO_REG, regIndex } from '../../src/ir/operand.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { compileLane, type LaneFn, type LaneRegs } from '../../src/isa/lanes.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';
import { allRuns } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const isa = testIsa();
const backend = (await planWith({ sm: 'sm_50' })).plan!.backend;

/** Runs the block of a function in 32 lanes; register i is at place 32 * i, predicate i at place i. */
function compiled(fn: Fn): (r: LaneRegs) => void {
  const steps: [LaneFn, Int32Array][] = [];
  let constants = 0;
  const preset: [number, number, boolean][] = [];
  for (const x of fn.blocks[0].ins) {
    if (x.op.means === null) continue;
    const place = [...x.dst.map((d) => (d === NO_REG ? 0 : isPredReg(d) ? regIndex(d) : 32 * regIndex(d)))];
    x.src.forEach((o, k) => {
      if (o.kind === Kind.Reg) return place.push(isPredReg(o.reg) ? regIndex(o.reg) : 32 * regIndex(o.reg));
      const predicate = x.op.srcs[k].bank === 'p';
      const at = 2000 + constants++;
      preset.push([at, predicate ? -(o.lo & 1) : o.lo, predicate]);
      return place.push(predicate ? at : 32 * at);
    });
    const wanted = x.dst.reduce((m, d, i) => (d === NO_REG ? m : m | (1 << i)), 0);
    const consts = x.src.map((o, k) => (x.op.srcs[k].kinds === 1 << Kind.Imm ? o.lo : null));
    steps.push([
      compileLane({ op: x.op, mods: x.mods, srcMods: x.src.map((o) => o.mods), wanted, consts }),
      Int32Array.from(place),
    ]);
  }
  return (r) => {
    for (const [at, v, predicate] of preset)
      if (predicate) r.p[at] = v;
      else r.i32.fill(v, 32 * at, 32 * at + 32);
    for (const [f, o] of steps) f(r, o, 0, -1);
  };
}

function registers(): LaneRegs {
  const bytes = new ArrayBuffer(4 * 32 * 2200);
  return {
    i32: new Int32Array(bytes),
    f32: new Float32Array(bytes),
    f64: new Float64Array(bytes),
    p: new Int32Array(2200),
  };
}

/** Numbers of a fixed sequence (Marsaglia, xorshift, 2003). */
function sequence(seed: number): () => number {
  let x = seed;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return x;
  };
}

/** A half close to others: exponents of the middle, where sums and products meet, and few bits set at the ends. */
const close = (x: number): number =>
  (x & 0x8000) |
  ((((x >>> 16) % 14) + 8) << 10) |
  ((x & 1) === 0 ? x & 0x3ff : (x & 3) | (((x >>> 4) & 1) << 9));
const SPECIAL = [0, 0x8000, 1, 0x3ff, 0x400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3c00, 0xbc00, 0x3800];

const OPERATIONS = [
  'HADD2 R4, R1, R2',
  'HADD2.SAT R4, -R1, |R2|',
  'HMUL2 R4, R1, -R2',
  'HMUL2.SAT R4, R1, R2',
  'HFMA2 R4, R1, R2, R3',
  'HFMA2.SAT R4, -R1, R2, -R3',
  'HMNMX2.MIN R4, R1, -R2',
  'HMNMX2.MAX R4, |R1|, R2',
  'HSETP2.LT P5, P7, R1, R2, P6',
  'HSETP2.GEU.XOR.PACKED P5, P7, R1, |R2|, !P6',
  'HSETP2.NUM.OR.PACKED P5, P7, R1, -R2, P6',
  'HSET2.EQ.PACKED R4, R1, R2, P6',
  'HSET2.NE.OR.BF R4, R1, R2, P6',
];

/** Operands and results, in the order R1 to R4, for which two functions differ; after the first fault no more is tried. */
function differences(one: Fn, other: Fn, n: number): string[] {
  const [before, after] = [compiled(one), compiled(other)];
  const [a, b] = [registers(), registers()];
  const next = sequence(20261126);
  const predicates = one.blocks[0].ins[0].dst.filter(isPredReg).map(regIndex);
  const faults: string[] = [];
  for (; n > 0 && faults.length === 0; n--) {
    const half = (): number => {
      const x = next();
      if ((n & 1) === 0) return close(x);
      return x >>> 28 === 0 ? SPECIAL[(x & 0xfff) % SPECIAL.length] : x & 0xffff;
    };
    for (let r = 1; r <= 3; r++)
      for (let l = 0; l < 32; l++) a.i32[32 * r + l] = b.i32[32 * r + l] = (half() << 16) | half();
    a.p[6] = b.p[6] = next();
    before(a);
    after(b);
    for (let l = 0; l < 32; l++)
      if (a.i32[128 + l] !== b.i32[128 + l])
        faults.push([1, 2, 3, 4].map((r) => (a.i32[32 * r + l] >>> 0).toString(16)).join(' '));
    for (const p of predicates) if (a.p[p] !== b.p[p]) faults.push(`P${p}`);
  }
  return faults;
}

describe('half precision in single precision', () => {
  it.each(OPERATIONS)('gives every bit of %s', (text) => {
    const fn = parseFn(`.entry k\n{\nBB0:\n ${text}\n EXIT\n}`, isa);
    const out = runPass('promote-half', fn, testContext(fn, { backend }));
    expect(verifyFn(out)).toEqual([]);
    expect(out.blocks[0].ins.some((x) => x.op.unit === 'fp16')).toBe(false);
    expect(differences(fn, out, allRuns(2000))).toEqual([]);
  });

  it('would not, if a fused product and sum were rounded twice', () => {
    const fn = parseFn('.entry k\n{\nBB0:\n HFMA2 R4, R1, R2, R3\n EXIT\n}', isa);
    const out = runPass('promote-half', fn, testContext(fn, { backend }));
    const { ins } = out.blocks[0];
    const naive = ins.map((x) =>
      x.op.name === 'SEL'
        ? { ...x, src: [x.src[1], x.src[1], x.src[2]] }
        : x.op.name === 'FADD'
          ? withModsOf(x, 0)
          : x,
    );
    expect(
      differences(fn, { ...out, blocks: [{ ...out.blocks[0], ins: naive }] }, allRuns(2000)),
    ).not.toEqual([]);
  });
});
