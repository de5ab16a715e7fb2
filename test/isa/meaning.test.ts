import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Mod, type Opcode, slotWidth, withMods } from '../../src/ir/opcode.ts';
import { buildIsa } from '../../src/isa/build.ts';
import { compileLane, type LaneRegs } from '../../src/isa/lanes.ts';
import { BUILTINS } from '../../src/isa/lang/builtins.ts';
import { checkMeaning } from '../../src/isa/lang/check.ts';
import { floatTypeOf, isConstantSlot } from '../../src/isa/meaning.ts';
import { evalBig } from '../../src/isa/reference.ts';
import { testIsa } from '../support/isa.ts';
import { modChoices, operandValue, Random } from '../support/meaning.ts';

/** Number of specialisations tried for an opcode with few modifiers, each on 32 lanes of values. */
const ROUNDS = 24;
const isa = testIsa();
const opcodes = isa.opcodes.filter((o) => o.means !== null);

const regs = (words: number): LaneRegs => {
  const b = new ArrayBuffer(words * 4);
  return {
    i32: new Int32Array(b),
    f32: new Float32Array(b),
    f64: new Float64Array(b),
    p: new Int32Array(32),
  };
};

/** Register places for values of the given widths, 64 words each (predicates: one word), from `start`. */
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
    const v = sw.map((w, i) => (consts[i] !== null ? BigInt(consts[i]) : operandValue(rnd, w)));
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
  it.each(opcodes.map((op) => [op.name, op] as const))('%s', (_name, op) => {
    const rnd = new Random(op.name);
    const choices = modChoices(op);
    const rounds = Math.max(1, Math.ceil(ROUNDS / choices.length));
    for (const mods of choices)
      for (let k = 0; k < rounds; k++) compare(op, mods, rnd, k % 3 === 2 ? rnd.next() : -1);
  });

  it('a destination may stand on the place of a source', () => {
    const op = isa.byName.get('IADDX')!;
    const r = regs(64 * 4);
    r.p[0] = -1;
    r.i32.fill(-1, 0, 64);
    const fn = compileLane({ op, mods: 0, srcMods: [0, 0, 0], wanted: 3, consts: [null, null, null] });
    fn(r, Int32Array.of(0, 1, 0, 32, 0), 0, -1);
    expect([r.i32[0], r.i32[31], r.p[1]]).toEqual([-1, -1, -1]);
  });

  it('an unwanted destination has no place', () => {
    const op = isa.byName.get('UNPAIR')!;
    const r = regs(64 * 4);
    r.i32[64] = 7;
    r.i32[65] = 9;
    compileLane({ op, mods: 0, srcMods: [0], wanted: 2, consts: [null] })(r, Int32Array.of(-1, 0, 64), 0, 1);
    expect([r.i32[0], r.i32[1]]).toEqual([9, 0]);
  });
});

/** Bits of f32 and f64 numbers. */
const f32 = (x: number): bigint => BigInt(new Uint32Array(Float32Array.of(x).buffer)[0]);
const f64 = (x: number): bigint => new BigUint64Array(Float64Array.of(x).buffer)[0];
const NAN32 = 0x7fc00000n;
const NAN64 = 0x7ff8000000000000n;
const big = (x: number | bigint): bigint => BigInt.asUintN(64, BigInt(x));

/** Answers worked out by hand from PTX ISA 9.0, or measured (folded by ptxas 13.0.88). */
const KNOWN: readonly [string, string[], (number | bigint)[], (number | bigint)[]][] = [
  ['IADD3', [], [0xffffffff, 1, 5], [5]],
  ['IADDX', [], [0xffffffff, 0, 1], [0, 1]],
  ['IADDX', ['64'], [2n ** 63n, 2n ** 63n, 0], [0, 1]],
  ['IMAD', ['HI', 'S32'], [-2, 3, 0], [0xffffffff]],
  ['IMAD', ['HI', 'U32'], [0xfffffffe, 3, 1], [3]],
  ['IMAD', ['HI', 'U64'], [-1, -1, 0], [2n ** 64n - 2n]],
  ['IMAD_WIDE', ['S32'], [-2, 3, 1], [2n ** 64n - 5n]],
  ['IDIV', ['S32'], [-7, 2], [0xfffffffd]],
  ['IDIV', ['S32'], [5, 0], [0xffffffff]],
  ['IDIV', ['S32'], [0x80000000, -1], [0x80000000]],
  ['IREM', ['S32'], [-7, 2], [0xffffffff]],
  ['IREM', ['U32'], [5, 0], [0xffffffff]],
  ['SHL', [], [1, 32], [0]],
  ['SHR', ['S32'], [0x80000000, 100], [0xffffffff]],
  ['SHF', ['L', 'CLAMP'], [0x89abcdef, 40, 0x01234567], [0x89abcdef]],
  ['SHF', ['L', 'W'], [0x89abcdef, 40, 0x01234567], [0x23456789]],
  ['SHF', ['R', 'W'], [0x89abcdef, 8, 0x01234567], [0x6789abcd]],
  ['BMSK', ['CLAMP'], [4, 8], [0xff0]],
  ['BMSK', ['CLAMP'], [4, 40], [0xfffffff0]],
  ['SGXT', ['S32'], [0x180, 8], [0xffffff80]],
  ['BFE', ['S32'], [0x00000f00, 8, 4], [0xffffffff]],
  ['BFE', ['U32'], [0x00000f00, 4, 8], [0xf0]],
  ['BFE', ['S32'], [0x80000000, 31, 8], [0xffffffff]],
  ['BFE', ['S32'], [0x80000000, 40, 8], [0xffffffff]],
  ['BFE', ['S32'], [-1, 3, 0], [0]],
  ['BFI', [], [0xff, 0, 28, 8], [0xf0000000]],
  ['BFI', [], [0xff, 0x1234, 32, 8], [0x1234]],
  ['FLO', ['S32'], [-1], [0xffffffff]],
  ['FLO', ['S32'], [-256], [7]],
  ['FLO', ['U32', 'SH'], [1], [31]],
  ['FLO', ['U64'], [2n ** 40n], [40]],
  ['POPC', ['64'], [-1], [64]],
  ['BREV', [], [1], [0x80000000]],
  ['IDP', ['4A', 'SA', 'UB'], [0x01ff0203, 0x02030405, 10], [10 + 3 * 5 + 2 * 4 - 3 + 2]],
  ['IDP', ['2A_HI', 'SA', 'SB'], [0xffff0002, 0x03ff0000, 0], [-5]],
  ['LOP3', [], [0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0xe8], [0xe8e8e8e8]],
  ['PLOP3', [], [1, 0, 1, 0x20], [1]],
  ['PRMT', [], [0x33221100, 0x0765, 0x77665544], [0x00776655]],
  ['PRMT', [], [0x80, 0x8880, 0], [0xffffff80]],
  ['PRMT', ['B4E'], [0x33221100, 0, 0x77665544], [0x55667700]],
  ['PRMT', ['ECL'], [0x33221100, 1, 0x77665544], [0x33221111]],
  ['ISETP', ['LT', 'U32'], [1, -1, 1], [1, 0]],
  ['ISETP', ['LT', 'S32'], [1, -1, 1], [0, 1]],
  ['ISETP', ['GE', 'S64', 'XOR'], [-1, 1, 1], [1, 0]],
  ['I2I', ['dt=S8', 'st=S32', 'SAT'], [300], [127]],
  ['I2I', ['dt=U8', 'st=S32', 'SAT'], [-3], [0]],
  ['I2I', ['dt=S64', 'st=S8'], [0x80], [2n ** 64n - 128n]],
  ['I2I', ['dt=S32', 'st=U64', 'SAT'], [2n ** 63n], [0x7fffffff]],
  ['FADD', [], [f32(1), f32(2 ** -24)], [f32(1)]],
  ['FADD', ['RP'], [f32(1), f32(2 ** -24)], [f32(1 + 2 ** -23)]],
  ['FADD', ['RM'], [f32(1), f32(-1)], [0x80000000]],
  ['FADD', ['SAT'], [0x80000000, 0x80000000], [0]],
  ['FADD', ['SAT'], [NAN32, 0], [0]],
  ['FADD', [], [0x7f800000, 0xff800000], [0x7fffffff]],
  ['FADD', ['FTZ'], [0x807fffff, 0x807fffff], [0x80000000]],
  // (1 + 2^-12)^2 - (1 + 2^-11) keeps the last bit of the product.
  ['FFMA', [], [f32(1 + 2 ** -12), f32(1 + 2 ** -12), f32(-1 - 2 ** -11)], [f32(2 ** -24)]],
  ['DFMA', [], [f64(1 + 2 ** -30), f64(1 + 2 ** -30), f64(-1 - 2 ** -29)], [f64(2 ** -60)]],
  ['FMNMX', ['MIN'], [0, 0x80000000], [0x80000000]],
  ['FMNMX', ['MAX'], [0x80000000, 0], [0]],
  ['FMNMX', ['MIN'], [NAN32, f32(3)], [f32(3)]],
  ['FMNMX', ['MIN', 'NAN'], [NAN32, f32(3)], [0x7fffffff]],
  ['FMNMX', ['MAX', 'XORSIGN'], [f32(-3), f32(2)], [f32(-3)]],
  ['FSETP', ['NE'], [NAN32, f32(1), 1], [0, 1]],
  ['FSETP', ['NEU'], [NAN32, f32(1), 1], [1, 0]],
  ['FSETP', ['EQ'], [0, 0x80000000, 1], [1, 0]],
  ['DSETP', ['NAN', 'OR'], [NAN64, 0, 0], [1, 0]],
  ['FRND', ['RN'], [f32(2.5)], [f32(2)]],
  ['FRND', ['RP'], [f32(-0.5)], [0x80000000]],
  ['F2I', ['dt=S32', 'st=F32', 'RZ'], [NAN32], [0]],
  ['F2I', ['dt=S32', 'st=F64', 'RZ'], [NAN64], [0x80000000]],
  ['F2I', ['dt=U64', 'st=F32', 'RZ'], [NAN32], [2n ** 63n]],
  ['F2I', ['dt=U32', 'st=F32', 'RN'], [f32(-1)], [0]],
  ['F2I', ['dt=S32', 'st=F32', 'RN'], [f32(3e9)], [0x7fffffff]],
  ['F2I', ['dt=S8', 'st=F32', 'RM'], [f32(-2.5)], [0xfffffffd]],
  ['F2I', ['dt=S64', 'st=F64', 'RZ'], [f64(-(2 ** 52) - 0.5)], [2n ** 64n - 2n ** 52n]],
  ['I2F', ['dt=F32', 'st=U32', 'RN'], [0xffffff7f], [f32(4294967040)]],
  ['I2F', ['dt=F32', 'st=S64', 'RZ'], [2n ** 62n - 1n], [f32(2 ** 62 - 2 ** 38)]],
  ['I2F', ['dt=F64', 'st=U64', 'RP'], [2n ** 53n + 1n], [f64(2 ** 53 + 2)]],
  ['F2F', ['dt=TF32', 'st=F32', 'RNA'], [0x3f801000], [0x3f802000]],
  ['F2F', ['dt=TF32', 'st=F32', 'RN'], [0x3f801000], [0x3f800000]],
  ['F2F', ['dt=F16', 'st=F32'], [f32(65520)], [0x7c00]],
  ['F2F', ['dt=F16', 'st=F32', 'RZ'], [f32(65520)], [0x7bff]],
  ['F2F', ['dt=F16', 'st=F64'], [f64(2 ** -25 + 2 ** -70)], [1]],
  ['F2F', ['dt=F32', 'st=F16'], [0xffff0001], [f32(2 ** -24)]],
  ['F2F', ['dt=BF16', 'st=F32', 'RELU'], [f32(-2)], [0]],
  ['F2FP', [], [f32(1), f32(-2)], [0x3c00c000]],
  ['HADD2', [], [0x3c003c00, 0x40000001], [0x42003c00]],
  ['HFMA2', ['BF16', 'RELU'], [0x3f803f80, 0xbf803f80, 0], [0x00003f80]],
  ['HSETP2', ['LT', 'PACKED'], [0x40003c00, 0x3c004000, 1], [1, 0]],
  ['HSET2', ['LT', 'PACKED'], [0x40003c00, 0x3c004000, 1], [0xffff]],
  ['HSET2', ['GE', 'PACKED', 'BF', 'bool=XOR'], [0x40003c00, 0x3c004000, 1], [0x00003c00]],
  ['HSET2', ['EQ', 'BF16', 'BF'], [0x3f803f80, 0x3f803f80, 1], [0x3f80]],
  ['FDIV', ['APPROX'], [f32(2), 0x7e800001], [0]],
  ['FDIV', ['RN'], [f32(1), f32(3)], [0x3eaaaaab]],
  ['FRCP', ['RM'], [f32(3)], [0x3eaaaaaa]],
  ['FSQRT', ['RP'], [f32(2)], [0x3fb504f4]],
  ['DDIV', ['RZ'], [f64(1), f64(3)], [0x3fd5555555555555n]],
  ['DSQRT', [], [f64(-1)], [0xfff8000000000000n]],
  ['DADD', ['RZ'], [f64(Number.MAX_VALUE), f64(Number.MAX_VALUE)], [f64(Number.MAX_VALUE)]],
  ['MUFU', ['RCP'], [1], [0x7f800000]],
  ['MUFU', ['RSQ'], [f32(-1)], [0x7fffffff]],
  ['MUFU', ['LG2'], [1], [f32(-149)]],
  ['MUFU', ['EX2', 'FTZ'], [f32(-140)], [0]],
  ['MUFU_D', ['RCP'], [f64(3) + 0xffffffffn], [0x3fd5555500000000n]],
];

describe('known answers', () => {
  it.each(KNOWN)('%s %s of %s', (name, modifiers, srcs, want) => {
    const op = isa.byName.get(name)!;
    const mods = withMods(op, 0, ...modifiers);
    const got = evalBig(op, mods, srcs.map(big));
    const widths = op.dsts.map((d) => slotWidth(op, mods, d));
    expect(got).toEqual(want.map((v, i) => BigInt.asUintN(widths[i], BigInt(v))));
  });

  it('source modifiers act on signs of floats, on values of integers, on bits', () => {
    const ev = (name: string, srcs: bigint[], srcMods: number[], ...m: string[]) => {
      const op = isa.byName.get(name)!;
      return evalBig(op, withMods(op, 0, ...m), srcs, srcMods)[0];
    };
    expect(ev('FADD', [f32(-3), f32(1)], [Mod.Abs | Mod.Neg, 0])).toBe(f32(-2));
    expect(ev('IADD3', [3n, 10n, 0n], [Mod.Neg, 0, 0])).toBe(7n);
    expect(ev('IADDX', [3n, 10n, 1n], [Mod.Not, 0, 0])).toBe(7n);
    expect(ev('HADD2', [0x3c00bc00n, 0n], [Mod.Neg, 0])).toBe(0xbc003c00n);
    expect(ev('F2F', [0x0000bc00n], [Mod.Abs], 'dt=F32', 'st=F16')).toBe(f32(1));
    expect(ev('SEL', [1n, 2n, 1n], [0, 0, Mod.Not])).toBe(2n);
  });

  it('optional sources left out take their defaults', () => {
    expect(evalBig(isa.byName.get('IMAD')!, 0, [6n, 7n])).toEqual([42n]);
    expect(evalBig(isa.byName.get('ISETP')!, 0, [6n, 6n])).toEqual([1n, 0n]);
    expect(evalBig(isa.byName.get('IADDX')!, 0, [6n, 6n])).toEqual([12n, 0n]);
  });

  it('says how each source is read', () => {
    const type = (name: string, src: number, ...m: string[]) => {
      const op = isa.byName.get(name)!;
      return floatTypeOf(op, withMods(op, 0, ...m), src);
    };
    expect([type('FFMA', 2), type('DMUL', 0), type('HMUL2', 1, 'BF16'), type('F2I', 0, 'st=F16')]).toEqual([
      'f32',
      'f64',
      'bf16x2',
      'f16',
    ]);
    expect([type('IADD3', 0), type('SEL', 0), type('LDG', 0)]).toEqual([null, null, null]);
  });
});

describe('the description of the language', () => {
  it('names every function with its parameters, and no other', () => {
    const text = readFileSync(new URL('../../pipelines/isa/README.md', import.meta.url), 'utf8');
    const rows = text.split('\n').filter((l) => l.startsWith('| `'));
    const named = new Set<string>();
    for (const row of rows) {
      const words = [...row.split('|')[1].matchAll(/`(\w*)(?:\((.*?)\))?`/g)];
      words.forEach(([, name, params], i) => {
        const list = params ?? words.slice(i).find(([, , p]) => p !== undefined)![2];
        if (name === '') return;
        named.add(name);
        expect(BUILTINS.get(name)?.names.join(', '), name).toBe(list);
      });
    }
    expect([...named].sort()).toEqual([...BUILTINS.keys()].sort());
  });
});

describe('faults in a meaning', () => {
  const faults = (
    means: string,
    form = 'd:r32, p:p? = a:x32, b:x64, n:imm',
    modifiers = { mode: ['ONE', 'TWO'] },
  ) => {
    const spec = { title: 't', form, modifiers, props: [], unit: 'alu', means };
    const { isa: one, diagnostics } = buildIsa([
      { file: 'my.yaml', data: { kind: 'isa', opcodes: { OP: spec } } },
    ]);
    expect(diagnostics).toEqual([]);
    return checkMeaning(one.opcodes[0], 'my.yaml').map((d) => `${d.message} | ${d.notes?.join(' / ')}`);
  };
  it('finds none in the shipped instruction set', () => {
    expect(opcodes.flatMap((op) => checkMeaning(op, ''))).toEqual([]);
  });
  it.each([
    ['d = aa\np = true', "unknown name 'aa'", "did you mean 'a'?"],
    ['d = a', "no value for destination 'p'", ''],
    ['d = a\np = a', "'p' has 1 bits, the expression 32", 'in line 2 of its meaning'],
    ['d = a + b\np = true', 'operands of 32 and 64 bits', 'zext, sext, trunc'],
    ['d = zxt(a, 32)\np = true', "unknown function 'zxt'", "'zext'"],
    ['d = trunc(b)\np = true', 'trunc(x, width) got 1 arguments', ''],
    ['d = a @ 1\np = true', "unexpected character '@'", '  d = a @ 1 /         ^'],
    ['d = (a + 1\np = true', "expected ')'", ''],
    ['d = a +\np = true', 'expected an expression, found the end of the line', ''],
    ['d = 5000000000\np = true', '5000000000 does not fit 32 bits', ''],
    ['d = mode == THREE ? a : a\np = true', "'THREE' is not a value of the modifier mode", 'one of ONE, TWO'],
    ['d = mode == TWO ? b : a\np = true', "'d' has 32 bits, the expression 64", 'for mode = TWO'],
    ['a = 1\nd = a\np = true', "'a' is an operand or a modifier", ''],
    ['x = a\nx = a\nd = x\np = true', "'x' is assigned twice", ''],
    ['d = fadd(a, a, RN)\np = true', 'no argument is a float', 'fin(operand, type)'],
    ['d = fadd(fin(a, F32), fin(b, F64), RN)\np = true', 'a float of another type', 'f32'],
    ['d = fadd(fin(a, F32), fin(a, F32), RQ)\np = true', "unknown name 'RQ'", ''],
    ['d = extract(a, 40, 9)\np = true', 'bits 40 to 9 of a value of 32 bits', ''],
    ['d = zext(shl(true, a), 32)\np = true', 'a value of one bit', 'zext gives it more'],
    ['d = resize(b, 40)\np = true', '40 bits: widths are 1 to 32, and 64', ''],
    [`d = ${'('.repeat(300)}a${')'.repeat(300)}\np = true`, 'nested too deeply', ''],
    [`d = a${' + a'.repeat(3000)}\np = true`, 'longer than 2000 tokens', ''],
  ])('%s', (means, message, note) => {
    const found = faults(means);
    expect(found.length).toBe(1);
    expect(found[0]).toContain(message);
    expect(found[0]).toContain(note);
  });
});
