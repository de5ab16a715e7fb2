import { stackUse, topOf } from '../frames.ts';
import { lowest } from '../masks.ts';
import type { ForeignCall } from './foreign-operands.ts';

/** Minimum alignment of an allocation (PTX ISA 9.0, 9.7.17). */
const LEAST_ALIGNMENT = 8;

/**
 * Open-world allocations lie far from the variables of all frames, in a separate region for each call depth, so that removing a variable
 * moves none of them.
 */
const OPEN_BEGIN = 2 ** 28;
const OPEN_ROOM = 2 ** 16;

/**
 * `alloca`, `stacksave` and `stackrestore` (PTX ISA 9.0, 9.7.17): per-lane memory after the variables of a frame, until the function
 * returns. The simulated stack grows upwards: `stacksave` gives the end of the allocated memory, where a GPU gives its start. Open worlds
 * execute them too, since what a thread stores there it reads back.
 */
export function runStack(c: ForeignCall): void {
  const { m, w, f, d } = c;
  const { open } = m.opts;
  const room = OPEN_BEGIN + OPEN_ROOM * f.depth - f.localBase;
  const begin = open ? room : f.code.localBytes;
  const tops = (f.tops ??= new Float64Array(32).fill(begin));
  for (let r = c.mask; r !== 0; r &= r - 1) {
    const lane = lowest(r);
    m.lane = lane;
    if (c.opcode === 'stacksave') {
      c.give(0, lane, BigInt(tops[lane]));
      continue;
    }
    if (c.opcode === 'stackrestore') {
      const top = Number(c.value(0, lane));
      if (top < begin || top > tops[lane])
        m.fault(`the stack is restored to 0x${top.toString(16)}, which was not its top before`, d, w, lane);
      tops[lane] = top;
      continue;
    }
    const align = Math.max(LEAST_ALIGNMENT, c.given(2) ? Number(c.value(2, lane)) : 0);
    // Addresses are relative to the frame.
    const at = Math.ceil(tops[lane] / align) * align;
    const top = at + Number(c.value(1, lane));
    const full = open ? top > room + OPEN_ROOM : stackUse(f.localBase + top, f.depth) > m.stackLimit;
    if (full) m.fault(`the stack of ${m.stackLimit} bytes is full (--stack gives a launch more)`, d, w, lane);
    tops[lane] = top;
    c.give(0, lane, BigInt(at));
  }
  if (c.opcode === 'alloca' && !open) m.growLocals(w, c.mask, f.localBase + topOf(f, c.mask));
}
