import { stackUse, topOf } from '../frames.ts';
import { lowest } from '../masks.ts';
import type { ForeignCall } from './foreign-operands.ts';

/** What an allocation is aligned to at least (PTX ISA 9.0, 9.7.17). */
const LEAST_ALIGNMENT = 8;

/**
 * Where allocations of a frame begin in an open world, behind its variables: far enough away that a variable which an optimizer
 * removes moves none of them.
 */
const OPEN_BEGIN = 1 << 24;
/** Bytes beyond which no stack of an open world grows. */
const OPEN_LIMIT = 2 ** 31;

/**
 * `alloca`, `stacksave` and `stackrestore` (PTX ISA 9.0, 9.7.17): memory behind the variables of a frame, for each lane its own,
 * until the function returns. The stack grows upwards here, so that `stacksave` gives the end of what is allocated, where a GPU
 * gives its beginning. It has a meaning in open worlds too, because what is stored there is read there.
 */
export function runStack(c: ForeignCall): void {
  const { m, w, f, d } = c;
  const begin = m.opts.open ? OPEN_BEGIN : f.code.localBytes;
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
        m.fault(`the stack is restored to 0x${top.toString(16)}, which is no earlier end of it`, d, w, lane);
      tops[lane] = top;
      continue;
    }
    const align = Math.max(LEAST_ALIGNMENT, c.given(2) ? Number(c.value(2, lane)) : 0);
    // Addresses count from the frame, whose own begin is a multiple of 16.
    const at = Math.ceil((f.localBase + tops[lane]) / align) * align - f.localBase;
    const top = at + Number(c.value(1, lane));
    const limit = m.opts.open ? OPEN_LIMIT : m.stackLimit;
    if (stackUse(f.localBase + top, f.depth) > limit)
      m.fault(`the stack of ${limit} bytes is full (--stack gives a launch more)`, d, w, lane);
    tops[lane] = top;
    c.give(0, lane, BigInt(at));
  }
  if (c.opcode === 'alloca') m.growLocals(w, c.mask, f.localBase + topOf(f, c.mask));
}
