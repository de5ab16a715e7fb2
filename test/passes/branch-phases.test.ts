import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { withFunction } from '../../src/ir/edit.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { type Check, nestedConditions, withoutCheck } from '../../src/passes/flow/nested-conditions.ts';
import type { Pass } from '../../src/passes/pass.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { hasWork } from '../../src/spec/phases.ts';
import type { Plan } from '../../src/spec/plan.ts';
import type { PlanRequest } from '../../src/spec/resolve.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { switchForms } from '../../src/tools/switch-forms.ts';
import { branchyPtx } from '../support/branchy.ts';
import { programOf, testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';
import { BASE } from '../support/sim-kernel.ts';
import { planWith, saysOf } from '../support/specs.ts';

const isa = testIsa();
const planOf = async (change: Partial<PlanRequest> = {}): Promise<Plan> =>
  (await planWith({ order: 'binary', ...change })).plan!;
const base = await planOf();
const PHASES = ['DoSwitchOptFirst', 'OriBranchOpt', 'DoSwitchOptSecond', 'OptimizeNestedCondBranches'];
const phase = (id: string) => base.phases.find((p) => p.id === id)!;

describe('the phases of branches and switches', () => {
  it('are no no-ops, so their gates decide', () => {
    expect(PHASES.map((id) => [phase(id).index, phase(id).noOp])).toEqual([
      [14, false],
      [15, false],
      [30, false],
      [38, false],
    ]);
  });

  it('run from level 2 on', async () => {
    const low = lowerPtx(parsePtx(branchyPtx('k'), 'x.ptx').module, {
      isa: base.isa,
      paramBase: 0x160,
      sm: 'sm_80',
    });
    for (const level of [0, 1, 2, 3]) {
      const { records } = runPipeline(low.program, await planOf({ level }));
      for (const id of PHASES.filter((x) => hasWork(phase(x)))) {
        const r = records.find((x) => x.phase.id === id)!;
        const says = level < 2 ? `level ${level} is not in 2..5` : 'ran';
        expect([id, r.outcome === 'ran' ? 'ran' : r.why]).toEqual([id, says]);
      }
    }
  });

  it('of the four, only phase 15 asks knobs 214 and 487', () => {
    const asks = (id: string) => [...phase(id).gate.unset, ...phase(id).gate.budget];
    expect(PHASES.map(asks)).toEqual([
      [],
      ['DisableMergeEquivalentConditionalFlow', 'GeneralOptimizationBudget'],
      [],
      [],
    ]);
  });
});

const DISTANCES = ['RegAllocAvoidBankConflictMacPenalty=3', 'RegAllocAvoidBankConflictMacWindowSize=3'];
it.each(DISTANCES)('%s is for phase 14, which does not read it', async (set) => {
  const says = await saysOf({ set: [set], order: 'binary' });
  expect(says).toMatch(/^warning: knob \w+ is set \(command-line\), but nothing reads it yet/);
});

describe('from nested branches to none', () => {
  const nested = parseFn(
    `.entry k\n{\nBB0:\n S2R.TID.X R1\n LOP3 R2, R1, 1, RZ, 192\n ISETP.EQ P3, R2, RZ\n @!P3 BRA BB4
BB1:\n LOP3 R4, R1, 2, RZ, 192\n ISETP.EQ P5, R4, RZ\n @!P5 BRA BB4\nBB3:\n IADD3 R6, R1, 7
BB4:\n MOVPHI R7, {BB0: R1, BB1: R1, BB3: R6}\n STG [RD9], R7\n EXIT\n}`,
    isa,
  );
  const after = (fn: Fn, ...ids: string[]): readonly string[] => {
    const phases = base.phases.filter((p) => ids.includes(p.id));
    const { last } = runPipeline(programOf(fn), { ...base, phases });
    return last.functions[0].blocks.flatMap((b) => b.ins.map((x) => x.op.name));
  };
  const count = (ops: readonly string[], op: string): number => ops.filter((x) => x === op).length;

  it('phase 38 leaves one branch, and then phase 63 none', () => {
    expect(count(after(nested, 'OptimizeNestedCondBranches'), 'BRA')).toBe(1);
    const both = after(nested, 'OptimizeNestedCondBranches', 'OriDoPredication');
    expect([count(both, 'BRA'), count(both, 'PLOP3')]).toEqual([0, 1]);
  });

  it('phase 31 replaces a short choice of values, and no store', () => {
    const choice = (arm: string): Fn =>
      parseFn(
        `.entry k\n{\nBB0:\n S2R.TID.X R1\n LOP3 R2, R1, 1, RZ, 192\n ISETP.EQ P3, R2, RZ\n @P3 BRA BB2
BB1:\n ${arm}\nBB2:\n MOVPHI R7, {BB0: R1, BB1: R8}\n STG [RD9], R7\n EXIT\n}`,
        isa,
      );
    const branches = (fn: Fn): number => count(after(fn, 'OriLinearReplacement'), 'BRA');
    expect(branches(choice('IADD3 R8, R1, 7'))).toBe(0);
    expect(branches(choice('IADD3 R8, R1, 7\n STG [RD9+8], R1'))).toBe(1);
  });
});

/** A row of comparisons of R1 with each value, each with a target of its own. */
function cascade(values: readonly number[]): Fn {
  const tests = values.map(
    (v, k) => `BB${k}:\n ISETP.EQ P${60 + k}, R1, ${v}\n @P${60 + k} BRA BB${200 + k}`,
  );
  const ends = values.map((_, k) => `BB${200 + k}:\n STG [RD50], ${k}\n EXIT`);
  return parseFn(
    `.entry k\n{\n${tests.join('\n')}\nBB${values.length}:\n STG [RD50], 99\n EXIT\n${ends.join('\n')}\n}`,
    isa,
  );
}

describe('the strategy for a switch', () => {
  const step = phase('DoSwitchOptSecond').steps[0];
  const shipped = step.kind === 'pass' ? step.params : {};
  const rewritten = (values: readonly number[], change: object): Fn => {
    const fn = cascade(values);
    return runPass('switch-opt', fn, testContext(fn, { params: { ...shipped, 'least-gain': 0, ...change } }));
  };
  /** Entries of the largest table, without the one for all values outside. */
  const entries = (fn: Fn): number => Math.max(0, ...fn.tables.map((t) => t.length - 1));
  const spread = (n: number, range: number): number[] =>
    Array.from({ length: n }, (_, k) => 5 + Math.round((k * (range - 1)) / (n - 1)));

  it('requires 4 cases and a density of 0.4, and allows 1,024 entries', () => {
    expect(shipped).toMatchObject({ 'cascade-cases': 4, 'table-density': 0.4, 'table-entries': 1024 });
    // A jump that costs nothing, so that the limits alone decide.
    const free = { 'table-cost': 0 };
    expect(entries(rewritten(spread(4, 4), free))).toBe(0);
    expect(entries(rewritten(spread(5, 5), free))).toBe(5);
    expect(entries(rewritten(spread(8, 20), free))).toBe(20);
    expect(entries(rewritten(spread(8, 21), free))).toBeLessThan(20);
    const sparse = { ...free, 'table-density': 0 };
    expect(entries(rewritten(spread(8, 1024), sparse))).toBe(1024);
    expect(entries(rewritten(spread(8, 1025), sparse))).toBeLessThan(1024);
  });

  it('looks up what lanes choose apart, and asks one by one where they agree', () => {
    const six = spread(6, 6);
    const costly = { 'table-cost': 8 };
    expect(entries(rewritten(six, { ...costly, lanes: 1 }))).toBe(0);
    expect(entries(rewritten(six, { ...costly, lanes: 32 }))).toBe(6);
  });

  it('has no table where its jump would take registers that cost warps', () => {
    expect(shipped).toMatchObject({ 'table-registers': 4 });
    const fn = cascade(spread(8, 8));
    const { backend } = base;
    const of = (maxnreg: number): [number, string[]] => {
      const kernel = { ...fn, attrs: { ...fn.attrs, directives: [`.maxnreg ${maxnreg}`] } };
      const ctx = testContext(kernel, { params: shipped, backend });
      return [entries(runPass('switch-opt', kernel, ctx)), ctx.remarks.map((r) => r.name)];
    };
    // The selector and an address are live.
    expect(of(3 + 4)).toEqual([8, ['switch-rewritten']]);
    const [size, names] = of(2 + 4);
    expect([size, names[0]]).toEqual([0, 'registers']);
    const plain = testContext(fn, { params: shipped, backend });
    expect(entries(runPass('switch-opt', fn, plain))).toBe(8);
  });

  /** Most branches on a way through a function. */
  const depthOf = (fn: Fn): number => {
    const depth = (id: number): number => {
      const at = fn.blocks.findIndex((b) => b.id === id);
      const { ins } = fn.blocks[at];
      const last = ins[ins.length - 1];
      if (last.op.name !== 'BRA') return 0;
      const ways = [depth(last.src[0].lo), ...(last.guard >= 0 ? [depth(fn.blocks[at + 1].id)] : [])];
      return Math.max(...ways) + (last.guard >= 0 ? 1 : 0);
    };
    return depth(0);
  };

  it('searches far values by halves', () => {
    for (const n of [5, 8, 13, 20, 31, 40]) {
      const out = rewritten(
        Array.from({ length: n }, (_, k) => k * k * 1000),
        { 'table-entries': 0, lanes: 1 },
      );
      expect([n, depthOf(out) <= 2 * Math.ceil(Math.log2(n + 1))]).toEqual([n, true]);
    }
  });

  it.each([41, 64, 100, 200])('divides more than 40 cases at the middle: %i', (n) => {
    const values = Array.from({ length: n }, (_, k) => k * 1000);
    expect(depthOf(rewritten(values, {}))).toBeLessThanOrEqual(Math.ceil(Math.log2(n)) + 3);
  });

  describe('with knob SwitchFormByCount', () => {
    const seeds = (values: readonly number[], knobs: object = {}): Fn => {
      const fn = cascade(values);
      const given = { params: shipped, knobs: { SwitchFormByCount: true, ...knobs }, backend: base.backend };
      return runPass('switch-opt', fn, testContext(fn, given));
    };
    const far = (n: number): number[] => Array.from({ length: n }, (_, k) => k * 1000);

    it.each([5, 6, 7, 8, 12, 15, 16, 31])('is a search tree of %i sparse cases', (n) => {
      const out = seeds(far(n));
      const ops = out.blocks.flatMap((b) => b.ins.map((x) => x.op.name));
      expect(out.tables).toEqual([]);
      // At most one test for less and one for equal on each level.
      expect(depthOf(out)).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(n + 1)));
      expect(ops.filter((op) => op === 'ISETP').length).toBeGreaterThan(n);
      // Without the knob, fewer than 15 stay the cascade that they are.
      const fn = cascade(far(n));
      const usual = runPass('switch-opt', fn, testContext(fn, { params: shipped, backend: base.backend }));
      expect([n, usual === fn]).toEqual([n, n < 15]);
    });

    it('is a table of dense ones, and a cascade of few', () => {
      expect(entries(seeds(spread(5, 5)))).toBe(5);
      expect(entries(seeds(spread(8, 20)))).toBe(20);
      expect(seeds(spread(8, 21)).tables).toEqual([]);
      const few = cascade(far(4));
      const given = { params: shipped, knobs: { SwitchFormByCount: true }, backend: base.backend };
      expect(runPass('switch-opt', few, testContext(few, given))).toBe(few);
    });

    it('is a search tree of any once SwitchOptBudget is spent', () => {
      expect(entries(seeds(spread(8, 8), { SwitchOptBudget: 8 }))).toBe(8);
      const spent = seeds(spread(8, 8), { SwitchOptBudget: 7 });
      expect(spent.tables).toEqual([]);
      expect(depthOf(spent)).toBeLessThanOrEqual(2 * 4);
    });
  });
});

describe('the table of two conditions', () => {
  /** Two branches: the first past the second, or both to one place, with the senses given. */
  const nested = (first: string, second: string, out: 'body' | 'end'): Fn =>
    parseFn(
      `.entry k\n{\nBB0:\n S2R.TID.X R1\n LOP3 R2, R1, 1, RZ, 192\n ISETP.EQ P3, R2, RZ\n @${first}P3 BRA BB2
BB1:\n LOP3 R4, R1, 2, RZ, 192\n ISETP.EQ P5, R4, RZ\n @${second}P5 BRA ${out === 'body' ? 'BB3' : 'BB2'}
${out === 'body' ? '' : 'BB3:\n STG [RD9], R1\n'}BB2:\n EXIT\n${out === 'body' ? 'BB3:\n STG [RD9], R1\n BRA BB2\n' : ''}}`,
      isa,
    );
  const table = (fn: Fn): number => {
    const all = fn.blocks.flatMap((b) => b.ins).filter((x) => x.op.name === 'PLOP3');
    expect(all.length).toBe(1);
    return all[0].src[3].lo;
  };
  const combined = (fn: Fn): Fn =>
    runPass('nested-conditions', fn, testContext(fn, { params: { 'max-loss': 8 } }));

  it.each([
    ['and', 0xc0, nested('!', '', 'body')],
    ['or', 0xfc, nested('', '', 'end')],
    ['nand', 0x3f, nested('!', '!', 'end')],
    ['nor', 0x03, nested('', '!', 'body')],
  ])('%s is one PLOP3 with %i', (_, value, fn) => {
    expect(table(combined(fn))).toBe(value);
    expect(combined(fn).blocks.length).toBe(fn.blocks.length - 1);
  });

  it('exclusive or reads the second condition on either side', () => {
    const fn = parseFn(
      `.entry k\n{\nBB0:\n S2R.TID.X R1\n LOP3 R2, R1, 1, RZ, 192\n ISETP.EQ P3, R2, RZ\n LOP3 R4, R1, 2, RZ, 192
 ISETP.EQ P5, R4, RZ\n @P3 BRA BB2\nBB1:\n @P5 BRA BB3\nBB5:\n BRA BB4\nBB2:\n @P5 BRA BB4\nBB3:\n STG [RD9], R1\nBB4:\n EXIT\n}`,
      isa,
    );
    const all = table(combined(fn));
    // Bit 4a + 2b + b says where control goes; past BB3 if both are equal.
    expect([0, 1].map((a) => [0, 1].map((b) => (all >> (4 * a + 3 * b)) & 1))).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });
});

describe('phase 38 as it ships', () => {
  const [step] = phase('OptimizeNestedCondBranches').steps;
  const params = step.kind === 'pass' ? step.params : {};
  /** A chain of conditions on values of which each lane has its own; all lead to one block where they do not hold. */
  const chain = (n: number, first: string): Fn => {
    const tests = Array.from(
      { length: n },
      (_, k) => `BB${k}:\n${k === 0 ? first : ''} LOP3 R${30 + k}, R1, ${1 << k}, RZ, 192
 ISETP.EQ P${40 + k}, R${30 + k}, RZ\n @P${40 + k} BRA BB90`,
    );
    return parseFn(
      `.entry k\n{\n${tests.join('\n')}\nBB80:\n STG [RD9], R1\nBB90:\n STG [RD9+8], R1\n EXIT\n}`,
      isa,
    );
  };
  const branches = (fn: Fn): number =>
    fn.blocks.flatMap((b) => b.ins).filter((x) => x.op.name === 'BRA').length;
  const { backend } = base;
  const run = (fn: Fn): Fn => runPass('nested-conditions', fn, testContext(fn, { params, backend }));

  it.each([2, 3, 4, 5, 6, 8, 16])('one branch is left of %i conditions on which lanes part', (n) => {
    const fn = chain(n, ' S2R.TID.X R1\n');
    const out = run(fn);
    expect([branches(fn), branches(out)]).toEqual([n, 1]);
    expect(out.blocks).toHaveLength(fn.blocks.length - (n - 1));
  });

  it('leaves branches on which all lanes agree', () => {
    const fn = chain(4, ' S2R.CTAID.X R1\n');
    expect(run(fn)).toBe(fn);
  });
});

describe('the constraints of nested conditions (seed 003): without each, results differ', () => {
  /**
   * `if (a) if (b) body` over the bits of the thread's index, with what a test adds.
   * @param outer where the first branch leads if `a` does not hold
   * @param end what comes where both ways meet
   */
  const nestOf = (inner: string, { outer = 'BB4', end = '' } = {}): Program => {
    const fn = parseFn(
      `.entry k\n  .param u64 p size 8 align 8 at 0\n{
BB0:\n LDC.B64 RD20, c[0x0][0x160]\n S2R.TID.X R1\n IMAD_WIDE.U32 RD9, R1, 64, RD20\n LOP3 R2, R1, 1, RZ, 192
 ISETP.EQ P3, R2, RZ\n @P3 BRA ${outer}
BB1:\n LOP3 R4, R1, 2, RZ, 192\n ${inner}\n @P5 BRA BB4
BB3:\n STG [RD9], R1
BB4:\n ${end}\n STG [RD9+8], R1\n EXIT
BB6:\n STG [RD9+12], R1\n EXIT\n}`,
      isa,
    );
    return programOf(fn);
  };
  const condition = 'ISETP.EQ P5, R4, RZ';
  const run = (pass: Pass, fn: Fn): Fn => pass(fn, testContext(fn, { params: { 'max-loss': 99 } }));
  const differences = (program: Program, out: Fn): number =>
    judgeKernel(program, withFunction(program, out), 'k', BASE, {
      grid: [1, 1, 1],
      block: [16, 1, 1],
      budget: 20_000,
      seeds: [1],
    }).differences.length;
  const wrong = (program: Program, out: Fn): boolean => {
    expect(out).not.toBe(program.functions[0]);
    return differences(program, out) > 0;
  };

  it('combines them where all hold', () => {
    const program = nestOf(condition);
    expect(wrong(program, run(nestedConditions, program.functions[0]))).toBe(false);
  });

  const checks: readonly (readonly [Check, string, Program])[] = [
    ['effects', '1: nothing but values between the branches', nestOf(`${condition}\n STG [RD9+4], R1`)],
    ['targets-differ', '3: a common target', nestOf(condition, { outer: 'BB6' })],
    [
      'values-differ',
      '2: what the meeting gets depends on the way',
      nestOf(condition, { end: 'MOVPHI R8, {BB0: R1, BB1: R2, BB3: R4}\n STG [RD9+16], R8' }),
    ],
  ];
  it.each(checks)('%s, constraint %s', (check, _, program) => {
    const [fn] = program.functions;
    expect(run(nestedConditions, fn)).toBe(fn);
    const ctx = testContext(fn, { params: { 'max-loss': 99 } });
    nestedConditions(fn, ctx);
    expect(ctx.remarks.map((r) => r.name)).toEqual([check]);
    expect(wrong(program, run(withoutCheck(check), fn))).toBe(true);
  });

  it.each([
    ['2: no value of the inner block lives on', 'MOV R2, 5', { end: 'STG [RD9+16], R2' }],
    ['4: the inner block leaves the outer condition alone', 'ISETP.EQ P3, R4, 2', {}],
  ])('SSA, constraint %s', (_, also, options) => {
    const program = nestOf(`${condition}\n ${also}`, options);
    const [fn] = program.functions;
    // The row requires SSA; without it, what moves overwrites what others read.
    expect(phase('OptimizeNestedCondBranches').requires).toContain('ssa');
    expect(wrong(program, run(nestedConditions, fn))).toBe(true);
    const inSsa = constructSsa(fn, isa);
    const out = run(nestedConditions, inSsa);
    expect(differences(program, out)).toBe(0);
  });

  it('5: one operation has three inputs', () => {
    const inner = (k: number) =>
      ` LOP3 R${30 + k}, R1, ${1 << k}, RZ, 192\n ISETP.EQ P${40 + k}, R${30 + k}, RZ`;
    const program = nestOf(
      `${[1, 2].map((k) => `${inner(k)}\n @P${40 + k} BRA BB4\nBB${10 + k}:`).join('\n')}\n ${inner(3)}\n PLOP3 P5, P43, PT, PT, 0xf0`,
    );
    const [fn] = program.functions;
    const out = run(nestedConditions, fn);
    expect(wrong(program, out)).toBe(false);
    const text = printFn(out);
    const logic = [...text.matchAll(/PLOP3 (P\d+), (P\d+), (P\d+), PT, (\d+)/g)];
    expect(logic).toHaveLength(3);
    // The two last steps as one operation: whatever its table, one of the four conditions has no input.
    const [[, first, a], [, second, b], [whole, last, c]] = logic;
    expect(text).toContain(`${second}, ${b}, ${first}, PT`);
    const results = Array.from({ length: 256 }, (_, table) =>
      differences(program, parseFn(text.replace(whole, `PLOP3 ${last}, ${c}, ${b}, ${a}, ${table}`), isa)),
    );
    expect(Math.min(...results)).toBeGreaterThan(0);
  });
});

it('the page about control flow has the forms of a switch as they are now', () => {
  const page = readFileSync(new URL('../../src/passes/CONTROL-FLOW.md', import.meta.url), 'utf8');
  const [table] = page.split('<!-- switches -->')[1].split('<!-- tables -->');
  expect(table.trim(), 'renew it: node dist/tools/control-flow-table.js').toBe(switchForms(isa));
});
