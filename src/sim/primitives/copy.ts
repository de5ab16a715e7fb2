import { regWidth } from '../../ir/operand.ts';
import { lowest } from '../masks.ts';
import { opnd, type Primitive, predOf, setPred } from './primitive.ts';

/** Copies a register or constant to a register; used for functions in SSA form. */
export const copy: Primitive = (_m, _w, f, d, mask) => {
  const to = opnd(f, d, 0);
  const from = opnd(f, d, 1);
  const width = regWidth(d.ins.dst[0]);
  if (width === 1) return setPred(f, to, predOf(f, d, 0), mask);
  const words = width === 64 ? 2 : 1;
  const { i32 } = f.regs;
  for (let r = mask; r !== 0; r &= r - 1)
    for (let k = 0, l = words * lowest(r); k < words; k++) i32[to + l + k] = i32[from + l + k];
};
