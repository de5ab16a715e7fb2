import { lowest } from '../masks.ts';
import { LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW } from '../memory.ts';

import { mod, opnd, type Primitive, setPred } from './primitive.ts';

const WINDOW: Readonly<Record<string, number>> = {
  GLOBAL: 0,
  CONST: 0,
  SHARED: SHARED_WINDOW,
  CLUSTER: SHARED_WINDOW,
  LOCAL: LOCAL_WINDOW,
  PARAM: PARAM_WINDOW,
};

/** CVTA: an address between its own space and the generic one. */
export const cvta: Primitive = (m, _w, f, d, mask) => {
  const space = mod(d, 'space');
  const to = mod(d, 'to') === 'TO';
  const window = WINDOW[space] / 4294967296;
  const i = f.regs.i32;
  const [pd, ps] = [opnd(f, d, 0), opnd(f, d, 1)];
  // A thread's local addresses start at its frame.
  const base = space === 'LOCAL' ? f.localBase : 0;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const lo = i[ps + 2 * l];
    const hi = i[ps + 2 * l + 1];
    const sum = to ? (lo >>> 0) - base : (lo >>> 0) + base;
    i[pd + 2 * l] = sum | 0;
    i[pd + 2 * l + 1] = (hi + Math.floor(sum / 4294967296) + (to ? -window : window)) | 0;
  }
  void m;
};

/** QSPC: is a generic address one of a space? */
export const qspc: Primitive = (_m, _w, f, d, mask) => {
  const space = mod(d, 'space');
  const i = f.regs.i32;
  const ps = opnd(f, d, 1);
  let bits = 0;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const a = (i[ps + 2 * l + 1] >>> 0) * 4294967296 + (i[ps + 2 * l] >>> 0);
    const is =
      a < SHARED_WINDOW ? 'GLOBAL' : a < LOCAL_WINDOW ? 'SHARED' : a < PARAM_WINDOW ? 'LOCAL' : 'PARAM';
    if (is === space || (space === 'CLUSTER' && is === 'SHARED')) bits |= 1 << l;
  }
  setPred(f, opnd(f, d, 0), bits, mask);
};
