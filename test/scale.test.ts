import { describe, expect, it } from 'vitest';
import { memorySsaOf } from '../src/analysis/memory-ssa.ts';
import type { Fn, Program } from '../src/ir/program.ts';
import { parseFn } from '../src/ir/text.ts';
import { testIsa } from './support/isa.ts';

/* What phases cost grows with the size of a function, not with its square: work is counted, not timed. */
const isa = testIsa();

/** The function, and how often the instructions of its blocks have been asked for. */
function counted(fn: Fn): { readonly fn: Fn; readonly reads: () => number } {
  let reads = 0;
  const blocks = fn.blocks.map((b) => {
    const { ins } = b;
    return Object.defineProperty({ ...b }, 'ins', {
      enumerable: true,
      get: () => {
        reads++;
        return ins;
      },
    });
  });
  return { fn: { ...fn, blocks }, reads: () => reads };
}

describe('memory SSA', () => {
  it('looks for calls in a function once, however often it is asked for', () => {
    const { fn, reads } = counted(parseFn('BB0:\n  LDG R4, [RD5]\n  STG [RD5+8], R4\n  EXIT', isa));
    const program = { functions: [fn], variables: [] } as unknown as Program;
    const first = memorySsaOf(fn, program);
    const once = reads();
    for (let k = 0; k < 100; k++) expect(memorySsaOf(fn, program)).toBe(first);
    expect(reads()).toBe(once);
  });
});
