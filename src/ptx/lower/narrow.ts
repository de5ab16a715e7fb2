import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr } from '../ast.ts';
import type { Handler } from './handler.ts';

const F8: Readonly<Record<string, string>> = { e4m3x2: 'E4M3', e5m2x2: 'E5M2' };

/** Does a conversion have pairs of 8-bit floats as source or result? */
export const isEightBit = (i: PtxInstr): boolean => i.mods.some((m) => F8[m] !== undefined);

/** Handler for `cvt` of two f32 to a pair of 8-bit floats (always `.rn.satfinite`), and of a pair to f16x2 (PTX ISA 9.0, 9.7.9.22). */
export const eightBit: Handler = (f, i) => {
  const none = () => new Unsupported();
  const [to, from] = i.mods.filter((m) => F8[m] !== undefined || m === 'f32' || m === 'f16x2');
  if (from === undefined || !i.mods.includes('rn')) throw none();
  const relu = i.mods.includes('relu') ? ['RELU'] : [];
  if (to === 'f16x2') {
    f.emit('F2FP_UNPACK8', [F8[from], ...relu], [f.dst(i.operands[0], 32).reg], [f.src(i.operands[1], 16)]);
    return;
  }
  if (F8[to] === undefined || F8[from] !== undefined || !i.mods.includes('satfinite')) throw none();
  if (from !== 'f32' || i.operands.length !== 3) throw none();
  const pair = [f.src(i.operands[1], 32), f.src(i.operands[2], 32)];
  f.emit('F2FP_PACK8', [F8[to], ...relu], [f.dst(i.operands[0], 16).reg], pair);
};
