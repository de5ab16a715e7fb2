import { describe, expect, it, vi } from 'vitest';
import { coldBlocksOf } from '../src/analysis/cold-blocks.ts';
import { frequencyOf } from '../src/analysis/frequency.ts';
import { memorySsaOf } from '../src/analysis/memory-ssa.ts';
import type { Fn, Program } from '../src/ir/program.ts';
import { parseFn } from '../src/ir/text.ts';
import { hoistInvariants } from '../src/passes/hoist-invariants.ts';
import { placeBlocks } from '../src/passes/place-blocks.ts';
import { testContext } from './support/context.ts';
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

/** A nest of counted loops around `inner`, which may read R18 and R6. */
function nest(depth: number, inner: string): Fn {
  const down = Array.from(
    { length: depth },
    (_, k) => `BB${2 * k + 1}:
  MOVPHI R${100 + 4 * k}, {BB${Math.max(0, 2 * k - 1)}: R17, BB${2 * (2 * depth - k)}: R${101 + 4 * k}}`,
  );
  const up = Array.from({ length: depth }, (_, k) => depth - 1 - k).map(
    (k) => `BB${2 * (2 * depth - k)}:
  IADD3 R${101 + 4 * k}, R${100 + 4 * k}, 1, RZ
  ISETP.LT P${102 + 4 * k}, R${101 + 4 * k}, R18
  @P${102 + 4 * k} BRA BB${2 * k + 1}`,
  );
  return parseFn(['BB0:', '  MOV R17, 0', ...down, inner, ...up, 'BB99999:', '  EXIT'].join('\n'), isa);
}

describe('hoisting of invariants', () => {
  it('asks a bounded number of loops about what each of them has to leave', () => {
    const fn = nest(100, '  IMAD R50, R18, R18, RZ\n  STS [R6], R50');
    const ctx = testContext(fn, { params: { 'max-pressure': 0 } });
    expect(hoistInvariants(fn, ctx)).toBe(fn);
    const said = ctx.remarks.filter((r) => r.name === 'pressure');
    expect(said.length).toBe(32);
    expect(ctx.remarks.filter((r) => r.name === 'nest').map((r) => r.message)).toEqual([
      'IMAD R50, R18, R18: 32 loops around it had to leave it',
    ]);
  });
});

/** How often an entry was put into a map. */
function entriesMade(work: () => void): number {
  const spy = vi.spyOn(Map.prototype, 'set');
  try {
    work();
    return spy.mock.calls.length;
  } finally {
    spy.mockRestore();
  }
}

describe('placing of blocks', () => {
  it('looks at a block for itself and for the loop that it leads, not for each loop around', () => {
    const cost = (depth: number): number => {
      const fn = nest(depth, '  STS [R6], R18');
      frequencyOf(fn);
      coldBlocksOf(fn);
      return entriesMade(() => placeBlocks(fn, testContext(fn, { params: { chains: true } })));
    };
    expect(cost(200)).toBeLessThan(2.2 * cost(100));
  });
});

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
