import { imm, type Operand, RZ } from '../../ir/operand.ts';
import type { PtxInstr } from '../ast.ts';
import type { Handler } from './arith.ts';
import { type FnLower, NoForm } from './function.ts';

const F8: Readonly<Record<string, string>> = { e4m3x2: 'E4M3', e5m2x2: 'E5M2' };

/** Does a conversion make or read pairs of 8-bit floats? */
export const isEightBit = (i: PtxInstr): boolean => i.mods.some((m) => F8[m] !== undefined);

/**
 * `cvt` from and to pairs of 8-bit floats: `.f32, .f32` or `.f16x2` to a pair (always `.rn.satfinite`), and a pair to
 * `.f16x2` (PTX ISA 9.0, 9.7.9.22).
 */
export const eightBit: Handler = (f, i) => {
  const none = () => new NoForm();
  const [to, from] = i.mods.filter((m) => F8[m] !== undefined || m === 'f32' || m === 'f16x2');
  if (from === undefined || !i.mods.includes('rn')) throw none();
  const relu = i.mods.includes('relu') ? ['RELU'] : [];
  if (to === 'f16x2') {
    f.emit('F2FP_UNPACK8', [F8[from], ...relu], [f.dst(i.operands[0], 32).reg], [f.src(i.operands[1], 16)]);
    return;
  }
  if (F8[to] === undefined || F8[from] !== undefined || !i.mods.includes('satfinite')) throw none();
  let pair: Operand[];
  if (from === 'f32') {
    if (i.operands.length !== 3) throw none();
    pair = [f.src(i.operands[1], 32), f.src(i.operands[2], 32)];
  } else {
    const a = f.src(i.operands[1], 32);
    const single = (x: Operand) => f.value('F2F', ['dt=F32', 'st=F16'], [x]);
    pair = [single(f.value('SHR', ['U32'], [a, imm(16)])), single(a)];
  }
  f.emit('F2FP_PACK8', [F8[to], ...relu], [f.dst(i.operands[0], 16).reg], pair);
};

/** `cvt.pack`: b and a, clamped to a narrow integer type, at the bottom of d; above them the low bits of c. */
export const packIntegers: Handler = (f, i) => {
  const narrow = /^([us])(2|4|8|16)$/.exec(i.mods[2] ?? '');
  if (narrow === null || i.mods[1] !== 'sat' || i.mods[3] !== 's32') throw new NoForm();
  const bits = Number(narrow[2]);
  const low = narrow[1] === 's' ? -(2 ** (bits - 1)) : 0;
  const high = narrow[1] === 's' ? 2 ** (bits - 1) - 1 : 2 ** bits - 1;
  const clamped = (f: FnLower, at: number): Operand =>
    f.value(
      'IMNMX',
      ['MIN', 'S32'],
      [f.value('IMNMX', ['MAX', 'S32'], [f.src(i.operands[at], 32), imm(low)]), imm(high)],
    );
  const above = i.operands.length > 3 ? f.value('SHL', [], [f.src(i.operands[3], 32), imm(2 * bits)]) : RZ;
  const withB = f.value('BFI', [], [clamped(f, 2), above, imm(0), imm(bits)]);
  f.emit('BFI', [], [f.dst(i.operands[0], 32).reg], [clamped(f, 1), withB, imm(bits), imm(bits)]);
};
