import { describe, expect, it } from 'vitest';
import { Mod, type Opcode, slotWidth } from '../src/ir/opcode.ts';
import { isConstantSlot } from '../src/is./meaning.ts';
import { compileLane, type LaneRegs } from '../src/isa/lanes.ts';
import { evalBig } from '../src/isa/reference.ts';
import { testIsa } from './support/isa.ts';
import { modChoices, Random } from './support/meaning.ts';

const isa = testIsa();
const opcodes = isa.opcodes.filter((o) => o.means !== null);

/** Patterns where arithmetic goes wrong: limits of integers, shift counts, and of every float format. */
const WORDS = [
  0, 1, 2, 3, 5, 7, 8, 15, 16, 24, 30, 31, 32, 33, 63, 64, 65, 255, 256, 0x7f, 0x80, 0xff80, 0x7fff, 0x8000,
  0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x55555555, 0xaaaaaaaa,
  0x12345678, 0x5410, 0x7610, 0xfedcba98,
  // f32: one, halves, ties, limits, subnormals, infinities, NaNs
  0x3f800000, 0xbf800000, 0x3f000000, 0x40200000, 0xc0200000, 0x3fc00000, 0x7f7fffff, 0xff7fffff, 0x00800000,
  0x80800000, 0x007fffff, 0x807fffff, 0x00000001, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc01234, 0x7f800001,
  0x4b000001, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x5f800000, 0x34000000, 0x33800001, 0x7e800001,
  0x47800000, 0x477ff000, 0x33000000,
  // halves
  0x3c003c00, 0xbc000001, 0x7bff7bff, 0xfbff0400, 0x03ff83ff, 0x7c00fc00, 0x7e00fe01, 0x38003a00, 0x7f807f81,
  0x3f803f81, 0x80000000,
].map((x) => BigInt(x >>> 0));
const LONGS = [
  0x3ff0000000000000n,
  0xbff0000000000000n,
  0x3fe0000000000000n,
  0x4004000000000000n,
  0x7fefffffffffffffn,
  0xffefffffffffffffn,
  0x0010000000000000n,
  0x800fffffffffffffn,
  1n,
  0x8000000000000000n,
  0x7ff0000000000000n,
  0xfff0000000000000n,
  0x7ff8000000000000n,
  0xfff8000000001234n,
  0x7ff0000000000001n,
  0x41dfffffffc00000n,
  0x41e0000000000000n,
  0xc1e0000000200000n,
  0x43e0000000000000n,
  0x43f0000000000000n,
  0xc3e0000000000000n,
  0x4330000000000001n,
  0x36a0000000000000n,
  0x47efffffe0000000n,
  0x47effffff0000000n,
  0x380fffffffffffffn,
  0x3ca0000000000000n,
  0x0000000100000000n,
  0xffffffff00000000n,
  0x00000000ffffffffn,
  0x7fffffffffffffffn,
  0x8000000000000001n,
  0xffffffffffffffffn,
  0x0020000000000000n,
  0x001fffffffffffffn,
  0x3f50000000000001n,
];

function value(rnd: Random, width: number): bigint {
  if (width === 1) return BigInt(rnd.below(2));
  const pick = rnd.below(10);
  if (width === 32) {
    if (pick < 5) return WORDS[rnd.below(WORDS.length)];
    if (pick < 7) return BigInt((rnd.next() & 0x807fffff) | ((118 + rnd.below(20)) << 23)) & 0xffffffffn;
    return BigInt(rnd.next() >>> 0);
  }
  if (pick < 4) return LONGS[rnd.below(LONGS.length)];
  const hi = pick < 7 ? (rnd.next() & 0x800fffff) | ((1000 + rnd.below(50)) << 20) : rnd.next();
  if (pick === 9) return BigInt.asUintN(64, BigInt.asIntN(32, WORDS[rnd.below(WORDS.length)]));
  return (BigInt(hi >>> 0) << 32n) | BigInt(rnd.next() >>> 0);
}

const regs = (words: number): LaneRegs => {
  const b = new ArrayBuffer(words * 4);
  return {
    i32: new Int32Array(b),
    f32: new Float32Array(b),
    f64: new Float64Array(b),
    p: new Int32Array(32),
  };
};

/** Places for values of the given widths, each 64 words (predicates: one word), from `start`. */
function places(widths: readonly number[], start: number): number[] {
  return widths.map((w, i) => (w === 1 ? start + i : 64 * (start + i)));
}

function read(r: LaneRegs, place: number, width: number, lane: number): bigint {
  if (width === 1) return BigInt((r.p[place] >>> lane) & 1);
  if (width === 32) return BigInt(r.i32[place + lane] >>> 0);
  return (BigInt(r.i32[place + 2 * lane + 1] >>> 0) << 32n) | BigInt(r.i32[place + 2 * lane] >>> 0);
}

function write(r: LaneRegs, place: number, width: number, lane: number, v: bigint): void {
  if (width === 1) r.p[place] = (r.p[place] & ~(1 << lane)) | (Number(v) << lane);
  else if (width === 32) r.i32[place + lane] = Number(BigInt.asIntN(32, v));
  else {
    r.i32[place + 2 * lane] = Number(BigInt.asIntN(32, v));
    r.i32[place + 2 * lane + 1] = Number(BigInt.asIntN(32, v >> 32n));
  }
}

/** Runs one specialisation on 32 lanes of values and compares each with the reference. */
function compare(op: Opcode, mods: number, rnd: Random, mask: number): void {
  const dw = op.dsts.map((s) => slotWidth(op, mods, s));
  const sw = op.srcs.map((s) => slotWidth(op, mods, s));
  const srcMods = op.srcs.map((s) => rnd.next() & s.mods & (Mod.Neg | Mod.Abs | Mod.Not));
  const consts = op.srcs.map((s) => (isConstantSlot(s) ? rnd.below(op.name === 'LEA' ? 70 : 256) : null));
  const fn = compileLane({ op, mods, srcMods, wanted: (1 << dw.length) - 1, consts });
  const o = Int32Array.from([...places(dw, 0), ...places(sw, dw.length)]);
  const r = regs(64 * (dw.length + sw.length));
  for (let i = 0; i < r.i32.length; i++) r.i32[i] = 0x5eed0000 + i;
  const srcs: bigint[][] = [];
  for (let lane = 0; lane < 32; lane++) {
    const v = sw.map((w, i) => (consts[i] !== null ? BigInt(consts[i]) : value(rnd, w)));
    for (const [i, x] of v.entries()) write(r, o[dw.length + i], sw[i], lane, x);
    srcs.push(v);
  }
  const before = dw.map((w, d) => srcs.map((_, lane) => read(r, o[d], w, lane)));
  fn(r, o, 0, mask);
  for (let lane = 0; lane < 32; lane++) {
    const active = ((mask >>> lane) & 1) === 1;
    const want = active ? evalBig(op, mods, srcs[lane], srcMods) : before.map((b) => b[lane]);
    dw.forEach((w, d) => {
      const got = read(r, o[d], w, lane);
      if (got !== want[d])
        throw new Error(
          `${op.name} mods ${describeMods(op, mods)} srcMods ${srcMods} consts ${consts} of ` +
            `${srcs[lane].map((x) => `0x${x.toString(16)}`).join(', ')}: ${op.dsts[d].name} is 0x${got.toString(16)}, ` +
            `reference 0x${want[d].toString(16)}${active ? '' : ' (inactive lane)'}`,
        );
    });
  }
}

const describeMods = (op: Opcode, mods: number): string =>
  op.groups.map((g) => `${g.name}=${g.values[(mods >>> g.shift) & g.mask].name}`).join(' ');

describe('generated lane code equals the exact reference', () => {
  for (const op of opcodes)
    it(op.name, () => {
      const rnd = new Random(op.name);
      const choices = modChoices(op);
      const rounds = Math.max(1, Math.ceil((Number(process.env.ROUNDS) || 24) / choices.length));
      const errors: string[] = [];
      for (const mods of choices)
        for (let k = 0; k < rounds; k++)
          try {
            compare(op, mods, rnd, k % 3 === 2 ? rnd.next() : -1);
          } catch (e) {
            errors.push(String(e));
          }
      if (errors.length > 0) throw new Error(`${errors.length}: ${errors.slice(0, 4).join('\n')}`);
      expect(choices.length).toBeGreaterThan(0);
    });
});
