import { lowest } from '../masks.ts';
import { SHARED_WINDOW } from '../memory.ts';
import type { Simulation } from '../simulation.ts';
import type { AsyncCopy, Warp } from '../state.ts';

import { addressOf, mod, opnd, type Primitive } from './primitive.ts';

/** Bytes charged for a copy in flight and for a group of copies: 104 and 56 were measured with Node.js 20. */
const COPY_BYTES = 128;
const GROUP_BYTES = 64;

const groupBytes = (copies: readonly AsyncCopy[]): number => GROUP_BYTES + COPY_BYTES * copies.length;

/** Bytes that a warp holds for its copies in flight. */
export const waitingBytes = (w: Warp): number =>
  w.groups.reduce((n, g) => n + groupBytes(g), COPY_BYTES * w.pending.length);

/**
 * Starts a copy from global to shared memory. It is performed when it is waited for, so that a missing wait shows; with `copies: 'early'`
 * at once.
 */
export const asyncCopy: Primitive = (m, w, f, d, mask) => {
  const size = Number(mod(d, 'size').slice(1));
  const pn = opnd(f, d, 2);
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const n = mod(d, 'zfill') === 'ZFILL' ? Math.min(size, f.regs.i32[pn + l] >>> 0) : size;
    const copy = { lane: l, to: addressOf(m, f, d, 0, l), from: addressOf(m, f, d, 1, l), size, n };
    m.watch?.copy(w, copy, false);
    if (m.opts.copies === 'early') complete(m, w, [copy]);
    else {
      m.hold(COPY_BYTES);
      w.pending.push(copy);
    }
  }
};

/** Performs copies now. */
function complete(m: Simulation, w: Warp, copies: readonly AsyncCopy[]): void {
  for (const c of copies) {
    m.lane = c.lane;
    const bytes = new Uint8Array(c.size);
    // A partial copy has a size that no aligned access has, so it is read byte by byte.
    const step = c.n === c.size ? c.size : 1;
    for (let from = 0; from < c.n; from += step) {
      const p = m.generic(w, c.lane, c.from + from, step, false);
      for (let k = 0; k < step; k++) bytes[from + k] = p.view.getUint8(p.at + k);
    }
    const q = w.block.shared.place(c.to >= SHARED_WINDOW ? c.to - SHARED_WINDOW : c.to, c.size, true);
    m.changes++;
    m.watch?.copy(w, c, true);
    for (let k = 0; k < c.size; k++) q.view.setUint8(q.at + k, bytes[k]);
  }
}

/** Completes every copy that a warp has started. */
export function completePending(m: Simulation, w: Warp): void {
  for (const g of w.groups.splice(0)) completeGroup(m, w, g);
  const rest = w.pending.splice(0);
  m.hold(-COPY_BYTES * rest.length);
  complete(m, w, rest);
}

function completeGroup(m: Simulation, w: Warp, copies: readonly AsyncCopy[]): void {
  m.hold(-groupBytes(copies));
  complete(m, w, copies);
}

/** Commits the copies started so far as a group. */
export const asyncCommit: Primitive = (m, w) => {
  m.hold(GROUP_BYTES);
  w.groups.push(w.pending.splice(0));
};

/** Waits until at most the given number of groups is pending, or for all copies. */
export const asyncWait: Primitive = (m, w, _f, d) => {
  if (mod(d, 'all') === 'ALL') {
    completePending(m, w);
    return;
  }
  while (w.groups.length > d.ins.src[0].lo) completeGroup(m, w, w.groups.shift()!);
};
