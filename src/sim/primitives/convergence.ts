import { lowest } from '../masks.ts';
import { mod, opnd, type Primitive } from './primitive.ts';

/** BMOV_FROM and BMOV_TO: move a convergence barrier to or from a word register; each lane has its own copy. */
export const barrierWord: Primitive = (_m, _w, f, d, mask) => {
  const { p, i32 } = f.regs;
  const [to, from] = [opnd(f, d, 0), opnd(f, d, 1)];
  const out = d.ins.op.dsts[0].bank !== 'b';
  const clears = out && mod(d, 'clear') === 'CLEAR';
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    if (!out) p[to + l] = i32[from + l];
    else {
      i32[to + l] = p[from + l];
      if (clears) p[from + l] = 0;
    }
  }
};
