import { inOtherBlock } from '../clusters.ts';
import { lowest } from '../masks.ts';
import { FUNCTION_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW } from '../memory.ts';
import type { Simulation } from '../simulation.ts';

import { mod, opnd, type Primitive, setPred } from './primitive.ts';

const WINDOW: Readonly<Record<string, number>> = {
  GLOBAL: 0,
  CONST: 0,
  SHARED: SHARED_WINDOW,
  CLUSTER: SHARED_WINDOW,
  LOCAL: LOCAL_WINDOW,
  PARAM: PARAM_WINDOW,
};

/** CVTA: converts an address between its own space and the generic one. */
export const cvta: Primitive = (m, _w, f, d, mask) => {
  const space = mod(d, 'space');
  const to = mod(d, 'to') === 'TO';
  const window = WINDOW[space] / 4294967296;
  const i = f.regs.i32;
  const [pd, ps] = [opnd(f, d, 0), opnd(f, d, 1)];
  // A thread's local addresses are relative to its frame.
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

/** Space of a generic address. An address outside all windows, such as a function's, counts as global (PTX ISA 9.0, 6.4.1.1). */
function spaceOf(m: Simulation, a: number): string {
  if (a < SHARED_WINDOW) return a >= m.constants.from && a < m.constants.to ? 'CONST' : 'GLOBAL';
  if (a < LOCAL_WINDOW) return 'SHARED';
  if (a < PARAM_WINDOW) return 'LOCAL';
  return a < FUNCTION_WINDOW ? 'PARAM' : 'GLOBAL';
}

/**
 * QSPC: tests whether a generic address belongs to a space. The parameter window is part of the global one; .shared::cta is the executing
 * block's part of .shared::cluster (PTX ISA 9.0, isspacep, 5.1.3).
 */
export const qspc: Primitive = (m, w, f, d, mask) => {
  const space = mod(d, 'space');
  const i = f.regs.i32;
  const ps = opnd(f, d, 1);
  let bits = 0;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const a = (i[ps + 2 * l + 1] >>> 0) * 4294967296 + (i[ps + 2 * l] >>> 0);
    const is = spaceOf(m, a);
    const within =
      space === 'SHARED'
        ? is === 'SHARED' && !inOtherBlock(w.block, a)
        : is === space || (space === 'CLUSTER' && is === 'SHARED') || (space === 'GLOBAL' && is === 'PARAM');
    if (within) bits |= 1 << l;
  }
  setPred(f, opnd(f, d, 0), bits, mask);
};
