import { describe, expect, it } from 'vitest';
import { withMods } from '../../src/ir/opcode.ts';
import { evalBig } from '../../src/isa/reference.ts';
import { testIsa } from '../support/isa.ts';
import { operandValue, Random } from '../support/meaning.ts';
import { folded, hasPtxas } from '../support/ptxas.ts';

/**
 * Compares the reference with ptxas: kernels store an operation on constants, which ptxas often folds; the stored constant is read from the
 * machine code and must equal the reference's.
 */
interface Case {
  readonly ptx: string;
  readonly wide: boolean;
  readonly want: bigint;
}

const isa = testIsa();
const rnd = new Random('fold');
const cases: Case[] = [];

/** Adds a case: `ptx` computes %r1 or %d1; the other arguments describe the same operation as an instruction. */
function add(ptx: string, name: string, modifiers: string[], srcs: bigint[], wide = false): void {
  const op = isa.byName.get(name)!;
  cases.push({ ptx, wide, want: evalBig(op, withMods(op, 0, ...modifiers), srcs)[0] });
}

const word = (): bigint => operandValue(rnd, 32);
const i32 = (v: bigint): string => String(BigInt.asIntN(32, v));
const i64 = (v: bigint): string => String(BigInt.asIntN(64, v));
const hex = (v: bigint, digits: number): string =>
  `0${digits === 8 ? 'f' : 'd'}${v.toString(16).padStart(digits, '0')}`;
/** A float that is no NaN: ptxas passes payloads of NaNs on where it folds, hardware and this project do not. */
function float(width: 32 | 64): bigint {
  for (;;) {
    const v = operandValue(rnd, width);
    const [mant, exp] = width === 32 ? [23n, 0xffn] : [52n, 0x7ffn];
    if (((v >> mant) & exp) !== exp || (v & ((1n << mant) - 1n)) === 0n) return v;
  }
}

for (let k = 0; k < 6; k++) {
  for (const t of ['s32', 'u32']) {
    const type = `type=${t.toUpperCase()}`;
    const [a, b] = [word(), word()];
    const [p, l] = [word() & 255n, word() & 255n];
    add(`bfe.${t} %r1, ${i32(a)}, ${p}, ${l};`, 'BFE', [type], [a, p, l]);
    add(`mul.hi.${t} %r1, ${i32(a)}, ${i32(b)};`, 'IMAD', ['HI', type], [a, b]);
    add(`mad.wide.${t} %d1, ${i32(a)}, ${i32(b)}, ${p};`, 'IMAD_WIDE', [type], [a, b, p], true);
    add(`bfind.${t} %r1, ${i32(a)};`, 'FLO', [type], [a]);
    add(`bfind.shiftamt.${t} %r1, ${i32(a)};`, 'FLO', [type, 'SH'], [a]);
    add(`shr.${t} %r1, ${i32(a)}, ${l};`, 'SHR', [type], [a, l]);
    add(`rem.${t} %r1, ${i32(a)}, 0;`, 'IREM', [type], [a, 0n]);
    for (const st of ['s32', 'u32'])
      for (const dt of ['s8', 'u8', 's16', 'u16'])
        add(
          `cvt.sat.${dt}.${st} %h1, ${i32(a)}; cvt.${dt[0]}32.${dt[0]}16 %r1, %h1;`,
          'I2I',
          [`dt=${dt.toUpperCase()}`, `st=${st.toUpperCase()}`, 'SAT'],
          [a],
        );
  }
  const [a, b, c] = [word(), word(), word()];
  const [p, l] = [word() & 255n, word() & 255n];
  add(`bfi.b32 %r1, ${i32(a)}, ${i32(b)}, ${p}, ${l};`, 'BFI', [], [a, b, p, l]);
  const x = operandValue(rnd, 64);
  add(`bfe.s64 %d1, ${i64(x)}, ${p}, ${l};`, 'BFE', ['type=S64'], [x, p, l], true);
  for (const d of ['l', 'r'])
    for (const [mode, m] of [
      ['wrap', 'W'],
      ['clamp', 'CLAMP'],
    ])
      add(`shf.${d}.${mode}.b32 %r1, ${i32(a)}, ${i32(b)}, ${p};`, 'SHF', [d.toUpperCase(), m], [a, p, b]);
  for (const s of ['s32', 'u32'])
    add(
      `dp4a.${s}.${s} %r1, ${i32(a)}, ${i32(b)}, ${i32(c)};`,
      'IDP',
      ['4A', `${s[0].toUpperCase()}A`, `${s[0].toUpperCase()}B`],
      [a, b, c],
    );

  const [f, g, d] = [float(32), float(32), float(64)];
  add(`add.f32 %r1, ${hex(f, 8)}, ${hex(g, 8)};`, 'FADD', [], [f, g]);
  add(`mul.f32 %r1, ${hex(f, 8)}, ${hex(g, 8)};`, 'FMUL', [], [f, g]);
  add(`min.f32 %r1, ${hex(f, 8)}, ${hex(g, 8)};`, 'FMNMX', ['MIN'], [f, g]);
  add(`max.f32 %r1, ${hex(f, 8)}, ${hex(g, 8)};`, 'FMNMX', ['MAX'], [f, g]);
  add(`cvt.rn.f32.f64 %r1, ${hex(d, 16)};`, 'F2F', ['dt=F32', 'st=F64'], [d]);
  add(`cvt.f64.f32 %d1, ${hex(f, 8)};`, 'F2F', ['dt=F64', 'st=F32'], [f], true);
  add(`cvt.rna.tf32.f32 %r1, ${hex(f, 8)};`, 'F2F', ['dt=TF32', 'st=F32', 'RNA'], [f]);
  add(`cvt.rn.f16x2.f32 %r1, ${hex(f, 8)}, ${hex(g, 8)};`, 'F2FP', [], [f, g]);
  for (const t of ['s32', 'u32', 's64', 'u64']) {
    const wide = t.endsWith('64');
    const r = wide ? '%d1' : '%r1';
    const dt = `dt=${t.toUpperCase()}`;
    for (const [i, m] of [
      ['rni', 'RN'],
      ['rzi', 'RZ'],
    ]) {
      for (const v of [f, 0x7fc00000n])
        add(`cvt.${i}.${t}.f32 ${r}, ${hex(v, 8)};`, 'F2I', [dt, 'st=F32', m], [v], wide);
      add(`cvt.${i}.${t}.f64 ${r}, ${hex(d, 16)};`, 'F2I', [dt, 'st=F64', m], [d], wide);
    }
  }
}

describe.skipIf(!hasPtxas('fold-oracle.test.ts'))('the reference gives what ptxas folds', () => {
  it(`in ${cases.length} kernels`, () => {
    const wrong: string[] = [];
    let count = 0;
    folded(cases).forEach((got, i) => {
      if (got === null) return;
      count++;
      const c = cases[i];
      if (got !== c.want)
        wrong.push(`${c.ptx} ptxas 0x${got.toString(16)}, reference 0x${c.want.toString(16)}`);
    });
    expect(wrong).toEqual([]);
    // Otherwise nothing was compared.
    expect(count).toBeGreaterThan(cases.length / 2);
  });
});
