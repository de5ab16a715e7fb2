import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cfgIsCurrent } from '../../src/analysis/flow/cfg.ts';
import { loopsOf, preheader } from '../../src/analysis/loops/loops.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { type JudgeOptions, judgeKernel } from '../../src/judge/judge.ts';
import { splitControlFlow } from '../../src/passes/flow/split-control-flow.ts';
import type { KnobValue, Remark } from '../../src/passes/pass.ts';
import type { Plan, Step } from '../../src/spec/plan.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { programOf, testContext } from '../support/context.ts';
import { countedLoops } from '../support/counted-loops.ts';
import { expectNone } from '../support/expect-none.ts';
import { testIsa } from '../support/isa.ts';
import { kernelOf, runKernel } from '../support/kernel-set.ts';
import { loopRows } from '../support/loop-rows.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { randomKernel } from '../support/random-kernel.ts';
import { generator, randomLoops } from '../support/random-loops.ts';
import { runPass } from '../support/run-pass.ts';
import { allRuns, often, runs } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const isa = testIsa();

/** How often each remark was made over all cases. */
type Counts = Map<string, number>;

/** Runs the pass, checks that the result is valid and done, and counts what was said. */
function apply(
  name: string,
  fn: Fn,
  counts: Counts,
  params: Record<string, unknown> = {},
  knobs: Record<string, KnobValue> = {},
  hear: (r: Remark) => void = () => {},
): Fn {
  const ctx = testContext(fn, { params, knobs });
  const out = runPass(name, fn, ctx);
  ctx.remarks.forEach(hear);
  for (const r of ctx.remarks)
    counts.set(`${r.kind} ${r.name}`, (counts.get(`${r.kind} ${r.name}`) ?? 0) + 1);
  expectNone(verifyFn(out, undefined, { controlLast: true }).map(verifyMessage), fn, out);
  const text = printFn(out);
  const faults: string[] = [];
  if (printFn(parseFn(text, isa)) !== text) faults.push('reads back as another function');
  if (!cfgIsCurrent(out)) faults.push('the graph is not that of the blocks');
  if (out !== fn && text === printFn(fn)) faults.push('another object for the same');
  const again = runPass(name, out, testContext(out, { params, knobs }));
  if (again !== out) faults.push('a second run changes it');
  expectNone(faults, fn, out, again);
  return out;
}

const WARPS = { budget: 20_000, seeds: [1, 2] } as const;

function expectSameWorld(before: Fn, after: Fn, options: JudgeOptions): void {
  if (before === after) return;
  const { differences } = judgeKernel(programOf(before), programOf(after), before.name, 0x160, options);
  expectNone(differences, before, after);
}

describe('loop-simplification', () => {
  const name = 'loop-simplification';
  const counts: Counts = new Map();

  /** The form that the pass promises. */
  const expectForm = (fn: Fn): void => {
    const forest = loopsOf(fn);
    const tangled = forest.irreducible.flatMap((r) => r.blocks);
    const formless = forest.loops.filter(
      (l) => !tangled.includes(l.header) && (l.latches.length !== 1 || preheader(forest, l.id) < 0),
    );
    expectNone(formless, fn);
  };

  it('keeps what a thread does, and gives every loop the form', () => {
    fc.assert(
      fc.property(randomFn({ most: 14 }), (fn) => {
        const out = apply(name, fn, counts);
        expectForm(out);
        expectNone(sameBehaviour(fn, out), fn, out);
      }),
      { numRuns: runs(400), seed: 51 },
    );
  });

  it('leaves no cycle with several entries, and the form of what they become', () => {
    const tangled = (fn: Fn): number => loopsOf(fn).irreducible.length;
    let split = 0;
    fc.assert(
      fc.property(randomFn({ most: 14 }), (fn) => {
        const out = apply(name, fn, counts, {}, { SingleEntryLimit: 2000 });
        expectForm(out);
        expectNone(sameBehaviour(fn, out), fn, out);
        if (tangled(fn) > 0 && tangled(out) === 0) split++;
      }),
      { numRuns: runs(300), seed: 56 },
    );
    fc.assert(
      fc.property(randomKernel, (f) => {
        const fn = splitControlFlow(f, testContext(f));
        const out = apply(name, fn, counts, {}, { SingleEntryLimit: 2000 });
        expectForm(out);
        expectSameWorld(fn, out, WARPS);
        if (tangled(fn) > 0 && tangled(out) === 0) split++;
      }),
      { numRuns: runs(150), seed: 57 },
    );
    expect(split).toBeGreaterThan(often(30));
  });

  it('keeps SSA', () => {
    fc.assert(
      fc.property(randomFn({ most: 12, defined: true }), (f) => {
        const fn = constructSsa(f, isa);
        const out = apply(name, fn, new Map());
        if (fn.blocks.some((b) => b.ins[0]?.op.primitive === 'phi'))
          expectNone(verifySsa(out).map(verifyMessage), fn, out);
        expectForm(out);
        expectNone(sameBehaviour(fn, out), fn, out);
      }),
      { numRuns: runs(200), seed: 52 },
    );
  });

  it('keeps what warps do, votes and active lanes included', () => {
    fc.assert(
      fc.property(randomKernel, (f) => {
        const fn = splitControlFlow(f, testContext(f));
        const out = apply(name, fn, counts);
        expectForm(out);
        expectSameWorld(fn, out, WARPS);
      }),
      { numRuns: runs(150), seed: 53 },
    );
  });

  it('did it often enough for this to mean something', () => {
    for (const what of ['passed inverted', 'passed latches-merged', 'passed preheader-made'])
      expect([what, (counts.get(what) ?? 0) > often(60)]).toEqual([what, true]);
    for (const what of ['missed irreducible', 'missed not-inverted'])
      expect([what, (counts.get(what) ?? 0) > often(20)]).toEqual([what, true]);
  });
});

describe('loop-unrolling', () => {
  const name = 'loop-unrolling';
  const counts: Counts = new Map();
  /** Ways to unroll: in full and in part, by several factors, one without the other, and by the table of the reference. */
  const BOUND: readonly Record<string, KnobValue>[] = [
    {},
    { partial: false },
    { UnrollUnknownCount: 2 },
    { UnrollUnknownCount: 3, UnrollBudget: 60 },
    { UnrollUnknownCount: 8, UnrollBudget: 1000, Knob895: 1 },
    { UnrollFactorTable: true, UnrollFullInstLimit: 12, LoopUnrollUnknownMultiBlock: true, Knob895: 1 },
    { UnrollFactorTable: true, UnrollFullInstLimit: 1, UnrollBudget: 30, Knob895: 1 },
    {
      UnrollFactorTable: true,
      LoopUnrollUnknownMultiBlock: true,
      UnrollUnknownCount: 7,
      Knob895: 1,
    },
  ];
  /** How often loops were unrolled with iterations in front, with groups behind, and how often nests were. */
  const kinds: Counts = new Map();
  const count = (what: string): void => void kinds.set(what, (kinds.get(what) ?? 0) + 1);
  const unrolled = (fn: Fn, { partial = true, ...knobs }: Record<string, KnobValue>): Fn => {
    const nests = new Set(
      loopsOf(fn).loops.flatMap((l) => (l.children.length > 0 ? [fn.blocks[l.header].id] : [])),
    );
    return apply(name, fn, counts, { partial }, knobs, ({ message, block, kind }) => {
      if (kind !== 'passed') return;
      for (const what of ['in front', 'then']) if (message.includes(what)) count(what);
      if (nests.has(block) && message.includes('at once')) count('nests');
    });
  };
  const LANES = { grid: [1, 1, 1], block: [32, 1, 1], budget: 6000, seeds: [1, 2] } as const;

  it('keeps what kernels do whose loops count', () => {
    const below = generator(20261123);
    for (let n = 0; n < runs(240); n++) {
      const raw = parseFn(countedLoops(below, n % 3 === 0), isa);
      const fn = n % 2 === 0 ? runPass('loop-simplification', raw, testContext(raw)) : raw;
      const out = unrolled(fn, BOUND[n % BOUND.length]);
      if (out !== fn) expectSameWorld(fn, out, LANES);
    }
  });

  it('keeps what a thread does', () => {
    fc.assert(
      fc.property(randomFn({ most: 12 }), fc.constantFrom(...BOUND), (f, params) => {
        const fn = runPass('loop-simplification', f, testContext(f));
        const out = unrolled(fn, params);
        expectNone(sameBehaviour(fn, out), fn, out);
      }),
      { numRuns: runs(300), seed: 54 },
    );
  });

  it('keeps what nests with several exits do, derived values and all', () => {
    const below = generator(20261124);
    for (let n = 0; n < runs(200); n++) {
      // What is computed is stored now and then, so that it shows.
      let place = 0;
      const text = randomLoops(below).replace(
        /^([A-Z0-9_]+(?:\.\w+)* (R\d+),.*)$/gm,
        (all, line: string, r: string) =>
          line.startsWith('MOVPHI') || below(2) === 0 ? all : `${all}\nSTG [RD900+${4 * place++}], ${r}`,
      );
      const raw = leaveSsa(
        parseFn(text.replace('\n{', '\n  .param u64 q size 8 align 8 at 40 reg RD900\n{'), isa),
        isa,
      );
      const fn = runPass('loop-simplification', raw, testContext(raw));
      const out = unrolled(fn, BOUND[n % BOUND.length]);
      if (out !== fn) expectSameWorld(fn, out, LANES);
    }
  });

  it('keeps what warps do, votes and active lanes included', () => {
    fc.assert(
      fc.property(randomKernel, fc.constantFrom(...BOUND), (f, params) => {
        const cut = splitControlFlow(f, testContext(f));
        const fn = runPass('loop-simplification', cut, testContext(cut));
        const out = unrolled(fn, params);
        if (out !== fn) expectSameWorld(fn, out, WARPS);
      }),
      { numRuns: runs(100), seed: 55 },
    );
  });

  it('puts no more iterations together than the registers of a thread hold, forced or not', () => {
    // Two values are live through the loop, the counter and the bound; an iteration has four of its own.
    const fn = parseFn(
      `.entry k
  .param u32 n size 4 align 4 at 0 reg R9
{
BB0:
  MOV R1, 0
BB1:
  LDS R2, [R1]
  LDS R3, [R1+4]
  LDS R4, [R1+8]
  LDS R5, [R1+12]
  IADD3 R6, R2, R3, R4
  IADD3 R6, R6, R5
  STS [R1+64], R6
  IADD3 R1, R1, 1
  ISETP.LT P8, R1, R9
  @P8 BRA BB1
BB2:
  EXIT
}`,
      isa,
    );
    const said = (registers: number, params: object, knobs = {}) => {
      const facts = { limits: { 'max-registers': registers } };
      const ctx = testContext(fn, { params: { ...params }, knobs, facts });
      runPass(name, fn, ctx);
      return ctx.remarks.map((r) => `${r.kind} ${r.name}: ${r.message}`);
    };
    const iterations = 'passed unrolled-partly: the loop at BB1: 4 iterations of 10 instructions at once';
    expect(said(255, {})).toEqual([iterations]);
    expect(said(18, {})).toEqual([iterations]);
    expect(said(17, {})).toEqual([
      `${iterations.replace('4', '2')}: 4 at once may need 18 registers, more than 17`,
    ]);
    expect(said(18, { slack: 4 })).toEqual([
      `${iterations.replace('4', '2')}: 4 at once may need 18 registers, more than 14`,
    ]);
    expect(said(255, { 'max-pressure': 9 })).toEqual([
      'missed not-unrolled-pressure: the loop at BB1 is not unrolled: 2 at once may need 10 registers, more than 9',
    ]);
    expect(said(255, {}, { Knob429: 10 })).toEqual([
      'passed unrolled-partly: the loop at BB1: 32 iterations of 10 instructions at once: 64 at once may need 258 registers, more than 255',
    ]);
  });

  it('did it often enough for this to mean something', () => {
    for (const what of ['passed unrolled', 'passed unrolled-partly', 'missed not-unrolled-divergent'])
      expect([what, (counts.get(what) ?? 0) > often(10)]).toEqual([what, true]);
    // By the table: iterations in front of groups, and groups behind them.
    for (const what of ['in front', 'then', 'nests'])
      expect([what, (kinds.get(what) ?? 0) > often(10)]).toEqual([what, true]);
  });

  it.each(['md5', 'aes-table', 'gauss-solve', 'sobel', 'dot-double', 'string-search', 'iterative-quicksort'])(
    'leaves %s right after every phase where more is unrolled than by default',
    async (kernel) => {
      const set = ['Knob429=2', 'UnrollFullInstLimit=4000'];
      const { plan } = await planWith({ order: 'binary', set });
      const { program, launches } = await kernelOf(kernel);
      const { records } = runPipeline(program, plan!, { verify: true });
      const changed = records.filter((r) => r.blocksChanged > 0);
      const at = changed.findIndex((r) => r.phase.id === 'OriLoopUnrolling');
      expect(at).toBeGreaterThanOrEqual(0);
      for (const launch of launches)
        for (const r of changed.slice(at)) {
          const result = runKernel(r.program, launch, 5_000_000);
          expect([r.phase.id, result.status, result.mismatches[0]]).toEqual([r.phase.id, 'ok', undefined]);
        }
    },
  );
});

describe('address-recurrences', () => {
  const name = 'address-recurrences';
  const counts: Counts = new Map();
  /** Whatever it gains. */
  const ALWAYS = { 'least-gain': 0, 'step-cost': 0 };

  it('keeps what kernels do whose loops count, with addresses by their counters', () => {
    const below = generator(20261126);
    for (let n = 0; n < runs(120); n++) {
      let next = 500;
      const text = countedLoops(below, n % 3 === 0).replace(
        /^STG(\.B64)? \[RD6\+(\d+)\], (RD?\d+)$/gm,
        (all, _, at: string, value: string) => {
          const to = `RD${next++}`;
          const [type, by] = [below(2) === 0 ? 'S32' : 'U32', [4, 8, 12, -4][below(4)]];
          if (value.startsWith('RD')) return `${all}\nIADD3.64 ${to}, RD6, ${value}\nSTG [${to}+${at}], R1`;
          return `${all}\nIMAD_WIDE.${type} ${to}, ${value}, ${by}, RD6\nIADD3.64 RD${++next}, ${to}, ${8 * below(9)}\nSTG [RD${next++}+${at}], R1`;
        },
      );
      const raw = parseFn(text, isa);
      const fn = runPass('loop-simplification', raw, testContext(raw));
      const out = apply(name, fn, counts, ALWAYS);
      if (out !== fn)
        expectSameWorld(fn, out, { grid: [1, 1, 1], block: [32, 1, 1], budget: 6000, seeds: [1, 2] });
    }
    expect(counts.get('passed advanced')).toBeGreaterThan(often(20));
  });

  it('makes a loop longer only within its pressure', () => {
    const said = (params: object) => {
      const counts: Counts = new Map();
      apply(
        name,
        parseFn(
          `BB0:
  MOV R1, 0
BB1:
  IMAD_WIDE RD2, R1, 4, RD4
  STG [RD2], R1
  IADD3 R1, R1, 1
  ISETP.LT P6, R1, 40
  @P6 BRA BB1
BB2:
  EXIT`,
          isa,
        ),
        counts,
        { ...ALWAYS, ...params },
      );
      return [...counts.keys()];
    };
    expect(said({ 'max-pressure': 7 })).toEqual(['passed advanced']);
    expect(said({ 'max-pressure': 6 })).toEqual(['missed pressure']);
    expect(said({ 'step-cost': 2 })).toEqual([]);
    expect(said({ on: false })).toEqual([]);
  });

  it('is off in the shipped plan, and right where it is on', async () => {
    const { plan } = await planWith({ order: 'binary' });
    const row = plan!.phases.find((p) => p.id === 'OriStrengthReduce')!;
    const is = (s: Step): boolean => s.kind === 'pass' && s.pass === name;
    expect(row.steps.filter(is)).toMatchObject([{ params: { on: false } }]);
    const phases = plan!.phases.map((p) =>
      p === row ? { ...p, steps: p.steps.map((s) => (is(s) ? { ...s, params: ALWAYS } : s)) } : p,
    );
    for (const kernel of ['string-search', 'dot-double']) {
      const { program, launches } = await kernelOf(kernel);
      const { last, records } = runPipeline(program, { ...plan!, phases } as Plan, { verify: true });
      const said = records.flatMap((r) => r.remarks).filter((r) => r.name === 'advanced');
      expect(said.length, kernel).toBeGreaterThan(0);
      for (const launch of launches) {
        const result = runKernel(last, launch, 5_000_000);
        expect([kernel, result.status, result.mismatches[0]]).toEqual([kernel, 'ok', undefined]);
      }
    }
  });
});

describe('loop-fusion', () => {
  const name = 'loop-fusion';
  const counts: Counts = new Map();
  const params = { 'max-pairs': 1000, 'max-pressure': 100 };
  const shared: Program['variables'] = [
    {
      name: 's',
      space: 'shared',
      type: 'b8',
      size: 32768,
      align: 16,
      linkage: '',
      init: null,
      relocs: [],
      attrs: [],
    },
  ];

  it('preserves sequences of loops that access nearby addresses', () => {
    const below = generator(20261126);
    for (let n = 0; n < allRuns(400); n++) {
      const fn = parseFn(loopRows(below), isa);
      expectNone(verifySsa(fn).map(verifyMessage), fn);
      const out = apply(name, fn, counts, params);
      if (out === fn) continue;
      expectNone(verifySsa(out).map(verifyMessage), fn, out);
      const [before, after] = [fn, out].map((f) => ({ ...programOf(f), variables: shared }));
      const options = { grid: [1, 1, 1], block: [32, 1, 1], budget: 20_000, seeds: [1, 2] } as const;
      expectNone(judgeKernel(before, after, fn.name, 0x160, options).differences, fn, out);
    }
  });

  it('did it often enough for this to mean something', () => {
    for (const what of ['passed fused', 'missed not-fused-memory', 'missed not-fused-scalar'])
      expect([what, (counts.get(what) ?? 0) > 30]).toEqual([what, true]);
    for (const what of ['missed not-fused-between', 'missed not-fused-count'])
      expect([what, (counts.get(what) ?? 0) > 10]).toEqual([what, true]);
  });
});
