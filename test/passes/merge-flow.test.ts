import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cfgIsCurrent } from '../../src/analysis/flow/cfg.ts';
import { cloneBlocks, edit } from '../../src/ir/draft/index.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { type JudgeOptions, judgeKernel } from '../../src/judge/judge.ts';
import { splitControlFlow } from '../../src/passes/flow/split-control-flow.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { renameWebs } from '../../src/ssa/webs.ts';
import { programOf, testContext } from '../support/context.ts';
import { expectNone } from '../support/expect-none.ts';
import { testIsa } from '../support/isa.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomArms } from '../support/random-arms.ts';
import { randomFn } from '../support/random-fn.ts';
import { randomKernel } from '../support/random-kernel.ts';
import { runPass } from '../support/run-pass.ts';
import { often, runs } from '../support/size.ts';

const isa = testIsa();
const BUDGET = 'MergeEquivalentConditionalFlowBudget';

/** Number of each remark over all cases. */
type Counts = Map<string, number>;
const tally = (counts: Counts, ctx: ReturnType<typeof testContext>): void => {
  for (const r of ctx.remarks)
    counts.set(`${r.kind} ${r.name}`, (counts.get(`${r.kind} ${r.name}`) ?? 0) + 1);
};

/** Runs the pass, checks that the result is valid and done, and counts what was said. */
function apply(name: string, fn: Fn, counts: Counts, params: Record<string, unknown> = {}): Fn {
  const ctx = testContext(fn, { params });
  const out = runPass(name, fn, ctx);
  tally(counts, ctx);
  expectNone(verifyFn(out, undefined, { controlLast: true }).map(verifyMessage), out);
  const text = printFn(out);
  const faults: string[] = [];
  if (printFn(parseFn(text, isa)) !== text) faults.push('reads back as another function');
  if (!cfgIsCurrent(out)) faults.push('the graph is not that of the blocks');
  if (out !== fn && text === printFn(fn)) faults.push('another object for the same');
  if (runPass(name, out, testContext(out, { params })) !== out) faults.push('a second run changes it');
  expectNone(faults, fn, out);
  return out;
}

/** Blocks that several ways lead to get a copy for one of them: equal blocks with equal targets, the copies' registers renamed. */
const doubled = (fn: Fn, which: number): Fn => {
  const out = edit(
    fn,
    (d) => {
      const joins = d
        .layout()
        .filter((b) => b !== d.entryBlock && d.predecessors(b).length > 1 && d.first(b) >= 0);
      joins.forEach((b, i) => {
        if (((which >> (i % 8)) & 1) === 0) return;
        const from = d.predecessors(b)[0];
        const { blocks } = cloneBlocks(d, [b], d.lastBlock, false);
        d.redirect(from, b, blocks.get(b)!);
      });
    },
    isa,
  );
  return out;
};

const WARPS = { budget: 20_000, seeds: [1, 2] } as const;
const THREAD = { grid: [1, 1, 1], block: [1, 1, 1], budget: 3000, seeds: [1, 2] } as const;

function expectSameWorld(before: Fn, after: Fn, options: JudgeOptions): void {
  if (before === after) return;
  const { differences } = judgeKernel(programOf(before), programOf(after), before.name, 0x160, options);
  expectNone(differences, before, after);
}

describe.each(['tail-merging', 'equivalent-conditions'])('%s', (name) => {
  const counts: Counts = new Map();
  const params = { 'least-tail': 1, 'most-copied': 3 };

  it('keeps what a thread does, outside of SSA', () => {
    fc.assert(
      fc.property(randomFn({ most: 12 }), fc.nat(255), fc.boolean(), (f, which, webs) => {
        const copied = doubled(f, which);
        const fn = webs ? renameWebs(copied, isa).fn : copied;
        expectNone(sameBehaviour(f, fn));
        const out = apply(name, fn, counts, params);
        expectNone(sameBehaviour(fn, out), fn, out);
      }),
      { numRuns: runs(200), seed: 41 },
    );
  });

  it('keeps SSA, and what a thread does there', () => {
    fc.assert(
      fc.property(randomFn({ most: 12, defined: true }), fc.nat(255), (f, which) => {
        const fn = constructSsa(doubled(f, which), isa);
        const out = apply(name, fn, counts, params);
        expectNone(verifySsa(out).map(verifyMessage), fn, out);
        expectNone(sameBehaviour(fn, out), fn, out);
      }),
      { numRuns: runs(200), seed: 42 },
    );
  });

  it('keeps what warps do, votes and active lanes included', () => {
    fc.assert(
      fc.property(randomKernel, fc.nat(255), fc.boolean(), (f, which, inSsa) => {
        const cut = doubled(splitControlFlow(f, testContext(f)), which);
        const fn = inSsa ? constructSsa(cut, isa) : cut;
        const out = apply(name, fn, counts, params);
        expectSameWorld(fn, out, WARPS);
      }),
      { numRuns: runs(100), seed: 43 },
    );
  });

  it('keeps what a thread does where much is equal, in SSA and outside', () => {
    fc.assert(
      fc.property(randomArms('thread'), fc.boolean(), fc.boolean(), (f, inSsa, cleaned) => {
        const cut = splitControlFlow(f, testContext(f));
        const raw = inSsa ? constructSsa(cut, isa) : cut;
        const fn = inSsa && cleaned ? runPass('gvn-cse', raw, testContext(raw)) : raw;
        const out = apply(name, fn, counts, params);
        if (inSsa) expectNone(verifySsa(out).map(verifyMessage), fn, out);
        expectNone(sameBehaviour(f, out), fn, out);
      }),
      { numRuns: runs(150), seed: 45 },
    );
  });

  it('keeps what warps do where much is equal', () => {
    fc.assert(
      fc.property(randomArms('warps'), fc.boolean(), (f, inSsa) => {
        const cut = splitControlFlow(f, testContext(f));
        const fn = inSsa ? constructSsa(cut, isa) : cut;
        const own: Counts = new Map();
        const out = apply(name, fn, own, params);
        for (const [what, n] of own) counts.set(what, (counts.get(what) ?? 0) + n);
        // Ways that are known never to be taken no longer say where lanes meet: they may be together earlier than they were.
        expectSameWorld(fn, out, own.has('passed condition-decided') ? THREAD : WARPS);
      }),
      { numRuns: runs(180), seed: 46 },
    );
  });

  it('takes one unit of the budget for each rewrite, and every part of them is right', () => {
    fc.assert(
      fc.property(randomFn({ most: 10 }), fc.nat(255), fc.integer({ min: 0, max: 3 }), (f, which, limit) => {
        const fn = doubled(f, which);
        const ctx = testContext(fn, { knobs: { [BUDGET]: limit }, params });
        const out = runPass(name, fn, ctx);
        expectNone(verifyFn(out, undefined, { controlLast: true }));
        expectNone(sameBehaviour(fn, out));
        const made = ctx.remarks.filter((r) => r.kind === 'passed' && r.name !== 'unreachable-removed');
        expect(made.length).toBeLessThanOrEqual(limit);
      }),
      { numRuns: runs(100), seed: 44 },
    );
  });

  it('keeps what a thread reads and writes', () => {
    fc.assert(
      fc.property(randomArms('memory'), fc.boolean(), (f, inSsa) => {
        const cut = splitControlFlow(f, testContext(f));
        const fn = inSsa ? constructSsa(cut, isa) : cut;
        const out = apply(name, fn, counts, params);
        expectSameWorld(fn, out, THREAD);
      }),
      { numRuns: runs(100), seed: 50 },
    );
  });

  it('did all of it often enough for this to mean something', () => {
    const least: Readonly<Record<string, number>> =
      name === 'tail-merging'
        ? { 'passed tails-merged': 250, 'passed blocks-merged': 100 }
        : {
            'passed condition-decided': 100,
            'passed condition-threaded': 20,
            'passed condition-copied': 10,
            'missed divergent': 10,
          };
    for (const [what, n] of Object.entries(least))
      expect([what, (counts.get(what) ?? 0) >= often(n)]).toEqual([what, true]);
  });
});

describe('hoist-common', () => {
  const counts: Counts = new Map();
  const name = 'hoist-common';

  it('keeps SSA, and what a thread does', () => {
    fc.assert(
      fc.property(
        fc.oneof(randomArms('thread'), randomFn({ most: 12, defined: true })),
        fc.boolean(),
        (f, cleaned) => {
          const raw = constructSsa(splitControlFlow(f, testContext(f)), isa);
          const fn = cleaned ? runPass('gvn-cse', raw, testContext(raw)) : raw;
          const out = apply(name, fn, counts);
          expectNone(verifySsa(out).map(verifyMessage), fn, out);
          expectNone(sameBehaviour(f, out), fn, out);
        },
      ),
      { numRuns: runs(150), seed: 47 },
    );
  });

  it('keeps what warps do', () => {
    fc.assert(
      fc.property(fc.oneof(randomArms('warps'), randomKernel), (f) => {
        const fn = constructSsa(splitControlFlow(f, testContext(f)), isa);
        const out = apply(name, fn, counts);
        expectNone(verifySsa(out).map(verifyMessage), fn, out);
        expectSameWorld(fn, out, WARPS);
      }),
      { numRuns: runs(150), seed: 48 },
    );
  });

  it('keeps what a thread reads and writes', () => {
    const memory: Counts = new Map();
    fc.assert(
      fc.property(randomArms('memory'), (f) => {
        const fn = constructSsa(splitControlFlow(f, testContext(f)), isa);
        const out = apply(name, fn, memory);
        expectNone(verifySsa(out).map(verifyMessage), fn, out);
        expectSameWorld(fn, out, THREAD);
      }),
      { numRuns: runs(150), seed: 49 },
    );
    expect(memory.get('passed hoisted-common')).toBeGreaterThan(often(700));
  });

  it('did it often enough for this to mean something', () => {
    expect(counts.get('passed hoisted-common')).toBeGreaterThan(often(700));
  });

  const both = parseFn(
    `.entry k
{
BB0:
   @P1 BRA BB2
BB1:
       LDG R2, [RD3]
       IMAD R4, R2, R5, RZ
       ISETP.LT P10, R4, R5
       STG [RD3+4], R4
   @P10 STG [RD3+8], R2
       EXIT
BB2:
       LDG R6, [RD3]
       IMAD R7, R6, R5, RZ
       ISETP.LT P11, R7, R5
       STG [RD3+12], R7
   @P11 STG [RD3+16], R6
       EXIT
}`,
    isa,
  );
  const hoisted = (opts: Parameters<typeof testContext>[1]): [number, number] => {
    const ctx = testContext(both, opts);
    const out = runPass(name, both, ctx);
    if (ctx.remarks.length === 0) expect(out).toBe(both);
    const said = (kind: string): number => ctx.remarks.filter((r) => r.kind === kind).length;
    return [said('passed'), said('missed')];
  };

  it('takes no more than the knob allows', () => {
    expect(hoisted({})).toEqual([3, 0]);
    expect(hoisted({ knobs: { SpeculativeHoistCommonInsts: 2 } })).toEqual([2, 0]);
    expect(hoisted({ knobs: { SpeculativeHoistCommonInsts: 0 } })).toEqual([0, 0]);
  });

  it('stops where too many registers or predicates would be live, and says so', () => {
    // Five units live in either arm: RD3, R5 and what they compute.
    expect(hoisted({ params: { 'max-pressure': 6 } })[0]).toBe(1);
    expect(hoisted({ params: { 'max-pressure': 6 } })[1]).toBeGreaterThan(0);
    expect(hoisted({ params: { 'max-pressure': 7 } })[0]).toBe(3);
    expect(hoisted({ params: { 'max-predicates': 1 } })[0]).toBe(2);
  });
});

describe('the least tail', () => {
  const fn = parseFn(
    `BB0:
   @P1 BRA BB2
BB1:
       IADD3 R2, R2, 1
       STG [RD3], R2
       STG [RD3+4], R2
       EXIT
BB2:
       SHL R2, R2, 1
       STG [RD3], R2
       STG [RD3+4], R2
       EXIT`,
    isa,
  );
  it.each([
    [2, true],
    [3, false],
    [undefined, false],
  ])('of %s instructions', (least, shared) => {
    const ctx = testContext(fn, { params: least === undefined ? {} : { 'least-tail': least } });
    expect(runPass('tail-merging', fn, ctx) !== fn).toBe(shared);
  });
});

describe('a short arm', () => {
  const arm = (to: string, text: string): string => `@${text} BRA ${to}`;
  const fn = (second: string): Fn =>
    parseFn(
      `BB0:
   ${arm('BB2', 'P1')}
BB1:
   ${arm(second, 'P7')}
BB4:
       BRA BB5
BB2:
       STG [RD3], R2
       BRA BB5
BB3:
       STG [RD3], R2
BB5:
       EXIT`,
      isa,
    );
  it.each([
    [0, true],
    [1, true],
    [2, false],
  ])('of fewer than %s instructions stays', (least, shared) => {
    const f = fn('BB3');
    const ctx = testContext(f, { params: { 'least-arm': least } });
    expect(runPass('tail-merging', f, ctx) !== f).toBe(shared);
  });
});

describe('many blocks', () => {
  const N = 20_000;
  const timed = (name: string, text: string): Fn => {
    const fn = parseFn(text, isa);
    const start = performance.now();
    const out = runPass(name, fn, testContext(fn));
    expect(performance.now() - start).toBeLessThan(20_000);
    expectNone(verifyFn(out, undefined, { controlLast: true }));
    return out;
  };
  const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

  it('two equal chains become one from the end upwards', () => {
    const chain = (from: number): string[] =>
      count(N).flatMap((i) => [
        `BB${from + i}:`,
        `STG [RD3+${4 * i}], R2`,
        i + 1 < N ? `BRA BB${from + i + 1}` : 'EXIT',
      ]);
    const out = timed(
      'tail-merging',
      ['BB0:', `@P1 BRA BB${N + 1}`, ...chain(1), ...chain(N + 1)].join('\n'),
    );
    expect(out.blocks.length).toBe(N + 1);
  });

  it('a switch of equal arms becomes one arm', () => {
    const arms = count(N).flatMap((i) => [`BB${i + 1}:`, `MOV R${9 + i}, 5`, `STG [RD3], R${9 + i}`, 'EXIT']);
    const head = [
      `.entry k`,
      `  .table T0 ${count(N)
        .map((i) => `BB${i + 1}`)
        .join(' ')}`,
      '{',
      'BB0:',
      'BRX R1, T0',
    ];
    expect(timed('tail-merging', [...head, ...arms, '}'].join('\n')).blocks.length).toBe(2);
  });

  it('a chain of branches on one condition is gone past', () => {
    const ifs = count(N >> 2).flatMap((i) => [
      `BB${2 * i + 1}:`,
      `@P1 BRA BB${2 * i + 3}`,
      `BB${2 * i + 2}:`,
      `STG [RD3+${4 * i}], R2`,
    ]);
    const out = timed('equivalent-conditions', [...ifs, `BB${2 * (N >> 2) + 1}:`, 'EXIT'].join('\n'));
    expect(out.blocks.length).toBeLessThan((N >> 2) + 100);
  });

  it('long equal arms are hoisted', () => {
    const arm = (from: number): string[] =>
      count(N).map((i) => `IADD3 R${from + i}, R${i === 0 ? 2 : from + i - 1}, ${i}`);
    const text = [
      'BB0:',
      '@P1 BRA BB2',
      'BB1:',
      ...arm(10),
      `STG [RD3], R${N + 9}`,
      'EXIT',
      'BB2:',
      ...arm(N + 10),
      `STG [RD3+4], R${2 * N + 9}`,
      'EXIT',
    ].join('\n');
    expect(timed('hoist-common', text).blocks[0].ins.length).toBe(N + 1);
  });
});
