import { describe, expect, it, vi } from 'vitest';
import { cfgOf } from '../../src/analysis/flow/cfg.ts';
import { coldBlocksOf } from '../../src/analysis/flow/cold-blocks.ts';
import { postDominatorsOf } from '../../src/analysis/flow/dominators.ts';
import { frequencyOf } from '../../src/analysis/flow/frequency.ts';
import { segmentsOf } from '../../src/analysis/flow/segments.ts';
import { staticFrequencyOf } from '../../src/analysis/flow/static-frequency.ts';
import { loopsOf } from '../../src/analysis/loops/loops.ts';
import { tripCountsOf } from '../../src/analysis/loops/trip-count.ts';
import { memorySsaOf } from '../../src/analysis/memory/memory-ssa.ts';
import { LiveWalker, livenessOf, Pool } from '../../src/analysis/registers/liveness.ts';
import { RematPlanner } from '../../src/analysis/registers/remat-plan.ts';
import type { RematLimits } from '../../src/analysis/registers/remat-ways.ts';
import { neededOf } from '../../src/analysis/values/faint-variables.ts';
import { Draft, edit } from '../../src/ir/draft/index.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { parseFn } from '../../src/ir/text.ts';
import { placeBlocks } from '../../src/passes/flow/place-blocks.ts';
import { hoistInvariants } from '../../src/passes/loops/hoist-invariants.ts';
import { moveInstructions } from '../../src/passes/registers/move-instructions.ts';
import { rematerialize } from '../../src/passes/registers/rematerialize.ts';
import { convertToUniform } from '../../src/passes/uniformity/convert-to-uniform.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { nestedLoops } from '../support/nested-loops.ts';
import { planWith } from '../support/specs.ts';

// The cost of phases grows linearly with the size of a function, not quadratically: work is counted, not timed.
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

describe('hoisting of invariants', () => {
  it('asks a bounded number of loops about what each of them has to leave', () => {
    const fn = nestedLoops(100, '  IMAD R50, R18, R18, RZ\n  STS [R6], R50');
    const ctx = testContext(fn, { params: { 'max-pressure': 0 } });
    expect(hoistInvariants(fn, ctx)).toBe(fn);
    const said = ctx.remarks.filter((r) => r.name === 'pressure');
    expect(said.length).toBe(32);
    expect(ctx.remarks.filter((r) => r.name === 'nest').map((r) => r.message)).toEqual([
      'IMAD R50, R18, R18: 32 loops around it could not hoist it',
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
      const fn = nestedLoops(depth, '  STS [R6], R18');
      frequencyOf(fn);
      coldBlocksOf(fn);
      return entriesMade(() => placeBlocks(fn, testContext(fn, { params: { chains: true } })));
    };
    expect(cost(200)).toBeLessThan(2.2 * cost(100));
  });
});

describe('rematerialization', () => {
  const limits: RematLimits = { pool: Pool.R, costOf: () => 4, mostCycles: 8, distance: 8, lookback: 8 };
  /** Values live through some blocks, each of which could be computed again at its use. */
  const through = (values: number, blocks: number): Fn => {
    const defined = Array.from({ length: values }, (_, k) => `  IADD3 R${100 + k}, R6, ${k + 1}, RZ`);
    const used = Array.from({ length: values }, (_, k) => `  STS [R6+${4 * k}], R${100 + k}`);
    const between = Array.from({ length: blocks }, (_, k) => `BB${k + 1}:\n  @P7 BRA BB9999\n`);
    return parseFn(`BB0:\n${[...defined, ...between].join('\n')}BB9999:\n${used.join('\n')}\n  EXIT`, isa);
  };

  it('gives up where values times blocks are too many, and plans nothing then', () => {
    edit(through(20, 20), (d) => {
      const fits = new RematPlanner(d, limits, 10);
      expect(fits.plan(10, 1e9)).not.toEqual([]);
      expect(fits.gaveUp).toBe(false);
      const large = new RematPlanner(d, limits, 10, 1000);
      expect(large.plan(10, 1e9)).toEqual([]);
      expect(large.gaveUp).toBe(true);
    });
  });
  it('says so, and has then looked at no more than its bound', () => {
    const fn = through(1200, 1200);
    const ctx = testContext(fn, {
      knobs: { RematEnable: 1, RematMaxRegCount: 20 },
      facts: { limits: { 'registers-per-sm': 65536, 'threads-per-sm': 2048, 'max-registers': 255 } },
      params: { 'max-cost': 1, 'max-cycles': 8, distance: 8, lookback: 8 },
    });
    expect(rematerialize(fn, ctx)).toBe(fn);
    expect(ctx.remarks.map((r) => r.name)).toEqual(['large']);
  });
});

describe('lowering of values', () => {
  const limits = { 'registers-per-sm': 65536, 'threads-per-sm': 2048, 'max-registers': 255 };
  /** Values of two operands that all share, read in the opposite order. */
  const reversed = (n: number): Fn => {
    const defined = Array.from({ length: n }, (_, k) => `  IMAD R${100 + k}, R6, ${k + 1}, R7`);
    const used = Array.from({ length: n }, (_, k) => `  STS [R6+${4 * k}], R${99 + n - k}`);
    return parseFn(`BB0:\n${defined.join('\n')}\n${used.join('\n')}\n  EXIT`, isa);
  };
  const lowered = (fn: Fn): readonly string[] => {
    const ctx = testContext(fn, { facts: { limits }, params: { direction: 'down', 'max-pressure': 20 } });
    moveInstructions(fn, ctx);
    return ctx.remarks.map((r) => r.name);
  };

  it('does not look at all readers of an operand again for each that moves', () => {
    const visits = (n: number): number => {
      const { eachUse } = Draft.prototype;
      let sum = 0;
      const spy = vi.spyOn(Draft.prototype, 'eachUse').mockImplementation(function (this: Draft, r, visit) {
        eachUse.call(this, r, (u) => {
          sum++;
          visit(u);
        });
      });
      expect(lowered(reversed(n)).filter((name) => name === 'lowered').length).toBeGreaterThan(n / 2);
      spy.mockRestore();
      return sum;
    };
    expect(visits(200)).toBeLessThan(2.2 * visits(100));
  });
  it('passes a bounded number of instructions for each of a block', () => {
    const said = lowered(reversed(1000));
    expect(said.filter((name) => name === 'bound').length).toBe(1);
    expect(said.filter((name) => name === 'lowered').length).toBeGreaterThan(400);
  });
});

/** Edges of the graph of a function that something looks at; loops and dominators are known before. */
function edgesSeen(fn: Fn, work: () => void): number {
  const g = cfgOf(fn);
  loopsOf(fn);
  postDominatorsOf(fn);
  let seen = 0;
  for (const field of ['succ', 'pred'] as const)
    Object.defineProperty(g, field, {
      value: new Proxy(g[field], {
        get: (edges, k) => {
          seen++;
          return edges[k as unknown as number];
        },
      }),
    });
  work();
  return seen;
}

describe('frequency', () => {
  it('of blocks looks at edges in proportion to their number, however deep loops nest', () => {
    const seen = (depth: number): number => {
      const fn = nestedLoops(depth, '  STS [R6], R18', '4');
      return edgesSeen(fn, () => {
        const { block } = staticFrequencyOf(fn);
        for (let k = 0; k < depth; k++) expect(block[k + 1] / block[k]).toBeCloseTo(4, 9);
      });
    };
    expect(seen(200)).toBeLessThan(2.2 * seen(100));
  });
  it('does not search the edge of a switch for each of its cases', () => {
    const seen = (cases: number): number => {
      const ids = Array.from({ length: cases }, (_, k) => `BB${k + 2}`);
      const each = ids.map((id) => `${id}:\n  STS [R6], R7\n  BRA BB1`);
      const fn = parseFn(
        `.entry k\n  .table T0 ${ids.join(' ')}\n{\nBB0:\n  MOV R1, RZ\nBB1:\n  BRX R7, T0\n${each.join('\n')}\nBB99999:\n  EXIT\n}`,
        isa,
      );
      return edgesSeen(fn, () => void staticFrequencyOf(fn));
    };
    expect(seen(200)).toBeLessThan(2.2 * seen(100));
  });
});

describe('conversion to uniform registers', () => {
  it('does not ask about each value that stays in each block through which it lives', async () => {
    const { backend } = (await planWith({ sm: 'sm_90' })).plan!;
    const asked = (n: number): number => {
      const defined = Array.from(
        { length: n },
        (_, k) => `  MOV R${100 + k}, c[0x0][0x${(352 + 4 * k).toString(16)}]`,
      );
      const between = Array.from({ length: n }, (_, k) => `BB${k + 1}:\n  @P7 BRA BB9999`);
      const used = Array.from({ length: n }, (_, k) => `  IADD3 R50, R6, R${100 + k}, RZ\n  STS [R6], R50`);
      const fn = parseFn(
        `.entry k\n{\nBB0:\n${[...defined, ...between].join('\n')}\nBB9999:\n${used.join('\n')}\n  EXIT\n}`,
        isa,
      );
      const spy = vi.spyOn(LiveWalker.prototype, 'isLive');
      const ctx = testContext(fn, { backend, knobs: { Knob862: 5 } });
      convertToUniform(fn, ctx);
      const { length } = spy.mock.calls;
      spy.mockRestore();
      expect(ctx.remarks.some((r) => r.name === 'uniform')).toBe(true);
      return length;
    };
    expect(asked(400)).toBeLessThan(2.5 * asked(200));
  });
});

describe('trip counts', () => {
  it('are unknown for a loop that can be left from more places than are worth looking at', () => {
    const loop = (ways: number): Fn => {
      const tests = Array.from({ length: ways }, (_, k) => `BB${k + 2}:\n  @P7 BRA BB9999`).join('\n');
      return parseFn(
        `BB0:\n  MOV R17, 0\nBB1:\n  MOVPHI R1, {BB0: R17, BB9998: R2}\n${tests}
BB9998:\n  IADD3 R2, R1, 1, RZ\n  ISETP.LT P3, R2, 4\n  @P3 BRA BB1\nBB9999:\n  EXIT`,
        isa,
      );
    };
    expect(tripCountsOf(loop(255)).of(0)).toMatchObject({ most: 3n, exact: null });
    expect(tripCountsOf(loop(256)).of(0)).toMatchObject({ most: null, exits: [] });
  });
});

describe('what is needed', () => {
  it('outside SSA walks up a nest for 32 registers at a time', () => {
    const depth = 256;
    const down = Array.from({ length: depth }, (_, k) => `BB${k}:\n  MOV R${100 + k}, R6`);
    const up = Array.from({ length: depth }, (_, k) => depth - 1 - k).map(
      (k) => `BB${depth + depth - k}:\n  IADD3 R${100 + k}, R${100 + k}, 1, RZ
  ISETP.LT P1, R${100 + k}, R18\n  @P1 BRA BB${k + 1}`,
    );
    const fn = parseFn([...down, `BB${depth}:\n  STS [R6], R18`, ...up, 'BB9999:\n  EXIT'].join('\n'), isa);
    livenessOf(fn);
    const seg = segmentsOf(fn);
    const { pred } = seg;
    let seen = 0;
    Object.defineProperty(seg, 'pred', {
      value: new Proxy(pred, { get: (edges, k) => (seen++, edges[k as unknown as number]) }),
    });
    const needed = neededOf(fn, (x) => x.op.name === 'STS' || x.op.name === 'BRA');
    expect(needed.filter((n) => n === 0).length).toBe(1);
    expect(seen).toBeLessThan(3 * (depth / 32) * pred.length);
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
