import type { Decoded } from '../decode.ts';
import { lowest } from '../masks.ts';
import type { Frame } from '../state.ts';
import { atomic32 } from './atomic-value.ts';

import { mod, opnd, type Primitive, predOf, setPred } from './primitive.ts';

/**
 * Shuffle by PTX's rules (PTX ISA 9.0, 9.7.9 shfl). PTX leaves a value read from a non-participating lane undefined; here it is the run's
 * `undefined` value (default 0), so that no result depends on leftover register contents.
 */
export const shuffle: Primitive = (m, _w, f, d, mask) => {
  const mode = mod(d, 'mode');
  const i = f.regs.i32;
  const pd = opnd(f, d, 0);
  const pp = opnd(f, d, 1);
  const pa = opnd(f, d, 2);
  const pb = opnd(f, d, 3);
  const pc = opnd(f, d, 4);
  const old = m.scratch;
  old.fill(m.opts.undefined ?? 0);
  for (let r = mask; r !== 0; r &= r - 1) old[lowest(r)] = i[pa + lowest(r)];
  let ok = 0;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const b = i[pb + l] & 31;
    const c = i[pc + l];
    const seg = (c >> 8) & 31;
    const max = (l & seg) | (c & 31 & ~seg);
    const min = l & seg;
    let j: number;
    let good: boolean;
    switch (mode) {
      case 'UP':
        j = l - b;
        good = j >= max;
        break;
      case 'DOWN':
        j = l + b;
        good = j <= max;
        break;
      case 'BFLY':
        j = l ^ b;
        good = j <= max;
        break;
      default:
        j = min | (b & ~seg);
        good = j <= max;
    }
    if (!good) j = l;
    else ok |= 1 << l;
    if (pd >= 0) i[pd + l] = old[j & 31];
  }
  setPred(f, pp, ok, mask);
};

/** Member lanes of a warp-wide operation that execute it: the mask operand of the lowest lane, reduced to `mask`. */
function members(f: Frame, d: Decoded, src: number, mask: number): number {
  const at = opnd(f, d, d.ins.dst.length + src);
  return f.regs.i32[at + lowest(mask)] & mask;
}

/** VOTE (PTX ISA 9.0, vote.sync). */
export const vote: Primitive = (_m, _w, f, d, mask) => {
  const who = members(f, d, 1, mask);
  const yes = predOf(f, d, 0) & who;
  const mode = mod(d, 'mode');
  const answer = mode === 'ANY' ? yes !== 0 : mode === 'ALL' ? yes === who : yes === who || yes === 0;
  setPred(f, opnd(f, d, 1), answer ? -1 : 0, mask);
  const to = opnd(f, d, 0);
  if (to >= 0) for (let r = mask; r !== 0; r &= r - 1) f.regs.i32[to + lowest(r)] = yes;
};

/** ACTIVEMASK: the lanes that execute the instruction together. */
export const activemask: Primitive = (_m, _w, f, d, mask) => {
  const to = opnd(f, d, 0);
  for (let r = mask; r !== 0; r &= r - 1) f.regs.i32[to + lowest(r)] = mask;
};

/** MATCH: finds the member lanes with the same value. */
export const match: Primitive = (_m, _w, f, d, mask) => {
  const who = members(f, d, 1, mask);
  const wide = mod(d, 'size') === '64';
  const i = f.regs.i32;
  const ps = opnd(f, d, 2);
  const key = (l: number) => (wide ? `${i[ps + 2 * l]},${i[ps + 2 * l + 1]}` : String(i[ps + l]));
  const groups = new Map<string, number>();
  for (let r = who; r !== 0; r &= r - 1)
    groups.set(key(lowest(r)), (groups.get(key(lowest(r))) ?? 0) | (r & -r));
  const all = groups.size === 1;
  const to = opnd(f, d, 0);
  const keys = new Map<number, string>();
  for (let r = mask; r !== 0; r &= r - 1) keys.set(lowest(r), key(lowest(r)));
  for (const [l, k] of keys)
    if (to >= 0) i[to + l] = mod(d, 'mode') === 'ANY' ? (groups.get(k) ?? 0) : all ? who : 0;
  setPred(f, opnd(f, d, 1), all ? -1 : 0, mask);
};

/** REDUX: reduces the values of all member lanes to one. */
export const redux: Primitive = (_m, _w, f, d, mask) => {
  const who = members(f, d, 1, mask);
  const op = mod(d, 'op');
  const type = mod(d, 'type');
  const i = f.regs.i32;
  const ps = opnd(f, d, 1);
  let v: number | null = null;
  for (let r = who; r !== 0; r &= r - 1) {
    const x = i[ps + lowest(r)];
    v = v === null ? x : atomic32(op, type, v, x, 0);
  }
  const to = opnd(f, d, 0);
  for (let r = mask; r !== 0; r &= r - 1) i[to + lowest(r)] = v ?? 0;
};

/** REDUX_F32: the minimum or maximum over all member lanes; +0 is greater than -0 (PTX ISA 9.0, redux.sync). */
export const reduxFloat: Primitive = (_m, _w, f, d, mask) => {
  const who = members(f, d, 1, mask);
  const least = mod(d, 'op') === 'MIN';
  const magnitudes = mod(d, 'abs') === 'ABS';
  const i = f.regs.i32;
  const ps = opnd(f, d, 1);
  let best: number | null = null;
  let nan = false;
  for (let r = who; r !== 0; r &= r - 1) {
    const bits = magnitudes ? i[ps + lowest(r)] & 0x7fffffff : i[ps + lowest(r)];
    if ((bits & 0x7fffffff) > 0x7f800000) nan = true;
    // Maps sign and magnitude to an integer in the order of the floats (except NaN), with -0 below +0.
    else if (best === null || (least ? inOrder(bits) < inOrder(best) : inOrder(bits) > inOrder(best)))
      best = bits;
  }
  const v = best === null || (nan && mod(d, 'nan') === 'NAN') ? CANONICAL_NAN : best;
  const to = opnd(f, d, 0);
  for (let r = mask; r !== 0; r &= r - 1) i[to + lowest(r)] = v;
};

const CANONICAL_NAN = 0x7fffffff;
const inOrder = (bits: number): number => (bits < 0 ? bits ^ 0x7fffffff : bits);

/** ELECT: elects one member lane, here the lowest. */
export const elect: Primitive = (_m, _w, f, d, mask) => {
  const who = members(f, d, 0, mask);
  const leader = lowest(who);
  const to = opnd(f, d, 0);
  if (to >= 0) for (let r = mask; r !== 0; r &= r - 1) f.regs.i32[to + lowest(r)] = leader;
  setPred(f, opnd(f, d, 1), 1 << leader, mask);
};
