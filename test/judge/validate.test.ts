import { afterAll, describe, expect, it } from 'vitest';
import { refutation } from '../../src/cli/check/proof.ts';
import { openSolver } from '../../src/cli/rules/solver.ts';
import { optimize, planOf, readPtx } from '../../src/core.ts';
import { hashText } from '../../src/ir/hash.ts';
import { LimitReached } from '../../src/ir/limit.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseProgram } from '../../src/ir/text.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { validateStep } from '../../src/validate/program.ts';
import { refuted } from '../../src/validate/refute.ts';
import { decidersBy } from '../../src/validate/solve.ts';
import { WorkBudget } from '../../src/validate/work-budget.ts';
import { testIsa } from '../support/isa.ts';
import { type Pair, pairsIn, SIDES } from '../support/judge-pairs.ts';
import { kernelNames, kernelOf } from '../support/kernel-set.ts';
import { allRuns } from '../support/size.ts';
import { shipped } from '../support/specs.ts';

/*
 * Translation validation proves nothing that is wrong, and most of what phases do. ORRERY_JUDGE_TABLE=1 validates all pairs of test/judge
 * and all test kernels, with a solver, and prints the numbers in src/validate/README.md.
 */
const whole = process.env['ORRERY_JUDGE_TABLE'] === '1';

const plans = new Map<string, Plan>();
function planFor(target: string): Plan {
  const sm = target.replace(/[af]$/, '');
  if (!plans.has(sm)) plans.set(sm, planOf(shipped, { sm, level: 3 }));
  return plans.get(sm)!;
}

const { solve, close } = openSolver(undefined);
afterAll(close);
const decider = decidersBy(solve);

const pairs = pairsIn(new URL('./pairs/', import.meta.url).pathname).toSorted((a, b) =>
  hashText(a.id) < hashText(b.id) ? -1 : 1,
);
const some = (of: readonly Pair[], usual: number): readonly Pair[] =>
  whole ? of : of.slice(0, allRuns(usual));

/** Why the second program of a pair is not proved to do the same; '' if it is. */
async function unproved(p: Pair): Promise<string> {
  const [before, after] = SIDES.map((s) => readPtx(p[s], planFor(p.target), p.id).program);
  const found = await validateStep(before, after, decider);
  return found.flatMap((f) => f.regions).find((r) => r.why !== '')?.why ?? '';
}

describe('translation validation', () => {
  it('proves no pair of which the second is wrong', async () => {
    const proved: string[] = [];
    for (const p of some(
      pairs.filter((x) => x.wrong),
      30,
    ))
      if ((await unproved(p)) === '') proved.push(`${p.kind}/${p.id}`);
    expect(proved).toEqual([]);
  });

  it('refutes wrong arithmetic of integers by a launch', async () => {
    // No loop, no float, and nothing that takes a second thread to show.
    const more =
      /\.f(16|32|64)|\bbar|barrier|shfl|vote|match|redux|atom|fence|volatile|relaxed|acquire|release|ctaid|call|tid\.[yz]/;
    const integers = pairs.filter(
      (p) =>
        p.wrong &&
        (whole ? ['values', 'control', 'addresses', 'local'] : ['values']).includes(p.kind) &&
        !more.test(p.before + p.after),
    );
    const left: string[] = [];
    let tried = 0;
    for (const p of some(integers, 12)) {
      const plan = planFor(p.target);
      const [before, after] = SIDES.map((s) => readPtx(p[s], plan, p.id).program);
      const found = await validateStep(before, after, decider, (...what) => refuted(...what, solve));
      if (found.some((f) => f.regions.length > 1)) continue;
      tried++;
      const shown = found.some(({ fn, regions }) =>
        regions.some(
          ({ inputs }) => inputs !== undefined && refutation('', before, after, fn, inputs, plan) !== null,
        ),
      );
      if (!shown) left.push(p.id);
    }
    if (whole) console.log(`${tried - left.length} of ${tried} refuted; not ${left.join(', ')}`);
    expect(left.length).toBeLessThanOrEqual(tried * (whole ? 0.4 : 0.2));
  });

  it('refutes no pair of which the second is right', async () => {
    const wrong: string[] = [];
    for (const p of some(
      pairs.filter((x) => !x.wrong),
      40,
    )) {
      const plan = planFor(p.target);
      const [before, after] = SIDES.map((s) => readPtx(p[s], plan, p.id).program);
      const found = await validateStep(before, after, decider, (...what) => refuted(...what, solve));
      for (const { fn, regions } of found)
        for (const { inputs } of regions)
          if (inputs !== undefined && refutation('', before, after, fn, inputs, plan) !== null)
            wrong.push(`${p.kind}/${p.id}`);
    }
    expect(wrong).toEqual([]);
  });

  it('proves pairs that look different', async () => {
    const right = some(
      pairs.filter((x) => !x.wrong),
      20,
    );
    let proved = 0;
    for (const p of right) if ((await unproved(p)) === '') proved++;
    if (whole) console.log(`${proved} of ${right.length} right pairs proved`);
    expect(proved).toBeGreaterThanOrEqual(right.length / 6);
  });

  it('proves most of what phases change', async () => {
    const counts = { regions: 0, proved: 0 };
    const names = whole ? kernelNames : ['saxpy', 'loops', 'nested-conditions', 'divmod'];
    const began = performance.now();
    for (const name of names) {
      const { program } = await kernelOf(name);
      const steps: [Program, Program][] = [];
      optimize(program, planFor('sm_80'), {
        onPhase: (r, before) => {
          if (r.program !== before) steps.push([before, r.program]);
        },
      });
      for (const [before, after] of steps)
        for (const f of await validateStep(before, after, whole ? decider : null)) {
          const changed = f.regions.filter((r) => r.changed || r.why !== '');
          counts.regions += changed.length;
          counts.proved += changed.filter((r) => r.why === '').length;
        }
    }
    const seconds = Math.round((performance.now() - began) / 1000);
    if (whole) console.log(`${counts.proved} of ${counts.regions} regions proved in ${seconds} s`);
    expect(counts.proved / counts.regions).toBeGreaterThan(0.8);
  }, 1_200_000);
});

/** Two versions of one kernel in Ori, which differ in the parts `<before|after>`. */
function versions(body: string): [Program, Program] {
  const text = (k: number): string => body.replace(/<([^<>|]*)\|([^<>|]*)>/g, (...m) => m[k + 1]);
  const read = (k: number): Program => {
    const { program, diagnostics } = parseProgram(`.entry k\n{\n${text(k)}\n}\n`, testIsa());
    expect(diagnostics).toEqual([]);
    return program;
  };
  return [read(0), read(1)];
}

const whyOf = async (body: string): Promise<string> => {
  const [a, b] = versions(body);
  return (await validateStep(a, b, decider)).flatMap((f) => f.regions).find((r) => r.why !== '')?.why ?? '';
};

describe('a region', () => {
  const start = `BB0:
       LDC.B64 RD1, c[0x0][0x160]
       LDC R2, c[0x0][0x168]
       S2R.TID.X R3
       IMAD_WIDE RD4, R3, 4, RD1\n`;

  it('may compute by equivalent arithmetic', async () => {
    const body = `${start}       <IADD3 R5, R2, R2|SHL R5, R2, 1>\n       STG [RD4], R5\n       EXIT`;
    expect(await whyOf(body)).toBe('');
    expect(await whyOf(body.replace('R2, 1>', 'R2, 2>'))).toMatch(
      /effect 1 of 1 has another operand: mul\(c\[0\]/,
    );
  });

  it('may branch, or do the same under predicates', async () => {
    const body = (after: string): string =>
      `${start}       ISETP.GT P6, R2, 5\n<  @P6 BRA BB2\nBB1:\n       STG [RD4], R3\nBB2:|${after}>\n       EXIT`;
    expect(await whyOf(body('  @!P6 STG [RD4], R3'))).toBe('');
    expect(await whyOf(body('  @P6 STG [RD4], R3'))).toMatch(/effect 1 of 1 has another condition/);
  });

  it('may load before a store to another place, and not before one to the same', async () => {
    const body = (store: string): string =>
      `${start}<|       LDG R7, [RD4]\n>       STG [${store}], R2\n<       LDG R7, [RD4]\n|>       STG [RD4+0x10], R7\n       EXIT`;
    expect(await whyOf(body('RD4+0x4'))).toBe('');
    expect(await whyOf(body('RD4'))).toMatch(/another operand/);
    // Shared memory is elsewhere, whatever the number of the address is.
    expect(await whyOf(body('RD4').replace('STG [RD4], R2', 'STS [R3], R2'))).toBe('');
  });

  it('may not lose a barrier, nor move a store across one', async () => {
    const body = (bar: string): string =>
      `${start}       STG [RD4], R2\n${bar}       STG [RD4+0x4], R3\n       EXIT`;
    expect(await whyOf(body('<       BAR.SYNC 0|>\n'))).toMatch(/effect/);
    const moved = `${start}<       STG [RD4], R2\n|>       BAR.SYNC 0\n<|       STG [RD4], R2\n>       EXIT`;
    expect(await whyOf(moved)).toMatch(/effect/);
  });

  it('may not read where nothing was read, nor with more alignment', async () => {
    const eager = `${start}       ISETP.GT P6, R2, 5\n<  @P6 |       >LDG R7, [RD4]\n  @P6 STG [RD4+0x4], R7\n       EXIT`;
    expect(await whyOf(eager)).toBe('a new access may fault');
    const wide = `${start}<
       LDG R7, [RD4]
       LDG R8, [RD4+0x4]
|
       LDG.V2 {R7, R8}, [RD4]
>
       STG [RD4], R8
       EXIT`;
    expect(await whyOf(wide)).toBe('an access may not be aligned');
  });

  it('may not hold in a uniform register what differs between lanes', async () => {
    const body = (source: string): string =>
      `${start}<
       IADD3 R9, ${source}, 1
       IADD3 R10, R9, R3
|
       IADD3 UR9, ${source}, 1
       IADD3 R10, UR9, R3
>
       STG [RD4], R10
       EXIT`;
    expect(await whyOf(body('R2'))).toBe('');
    expect(await whyOf(body('R3'))).toBe('a value may differ between the lanes of a warp');
  });
});

describe('what a proof must not overlook', () => {
  const start = `BB0:
       LDC.B64 RD1, c[0x0][0x160]
       LDC R2, c[0x0][0x168]
       S2R.TID.X R3
       IMAD_WIDE RD4, R3, 4, RD1\n`;

  it('is that lanes with other masks get other votes', async () => {
    const body = (mask: string): string =>
      `${start}       ISETP.GT P6, R2, R3
       VOTE.ANY R8, P7, P6, ${mask}
<
       IADD3 R9, R8, 1
       STG [RD4], R9
|
       MOV UR9, R8
       IADD3 R9, UR9, 1
       STG [RD4], R9
>
       EXIT`;
    expect(await whyOf(body('-1'))).toBe('');
    expect(await whyOf(body('R3'))).toBe('a value may differ between the lanes of a warp');
  });

  it('is that a uniform register is lost to lanes that are elsewhere', async () => {
    const body = `${start}       MOV UR7, R2
       IADD3 R9, R2, 5
       ISETP.GT P6, R3, 5
   @P6 BRA BB2
BB1:
<
       MOV UR8, 3
       IADD3 R9, UR8, 1
|
       MOV UR7, 3
       IADD3 R9, UR7, 1
>
BB2:
       STG [RD4], R9
       EXIT`;
    expect(await whyOf(body)).toBe('a value may differ between the lanes of a warp');
  });

  it('is that the size of a value is part of what it is loaded as', async () => {
    const body = (after: string): string =>
      `${start}       LDC.U8 R7, c[0x0][R3+0x170]\n       <LDC R8, c[0x0][R3+0x170]|${after}>\n       STG [RD4], R7\n       STG [RD4+0x4], R8\n       EXIT`;
    expect(await whyOf(body('LDC R8, c[0x0][R3+0x170]'))).toBe('');
    expect(await whyOf(body('LDC.U8 R8, c[0x0][R3+0x170]'))).toMatch(/another operand/);
  });

  it('is that a copy belongs to the group that is committed after it', async () => {
    const copy = `       LDGSTS.B4 [R3], [RD4]\n`;
    const body = `${start}<${copy}|>       LDGDEPBAR\n<|${copy}>       DEPBAR 0\n       LDS R7, [R3]\n       STG [RD4], R7\n       EXIT`;
    expect(await whyOf(body)).toMatch(/effect/);
  });
});

describe('a loop that lanes leave one by one', () => {
  const loop = (body: string, behind: string): string => `BB0:
       LDC.B64 RD1, c[0x0][0x160]
       S2R.TID.X R3
       IMAD_WIDE RD4, R3, 4, RD1
       MOV <R6|UR6>, RZ
BB1 "LOOP":
       IADD3 <R6|UR6>, <R6|UR6>, 1
${body}BB2:
${behind}       EXIT`;
  const round = `       ISETP.LT P4, <R6|UR6>, LIMIT
   @P4 BRA BB1\n`;

  it('leaves no uniform register behind', async () => {
    const behind = `       MOV R7, <R6|UR6>\n       STG [RD4], R7\n`;
    const same = round.replace('LIMIT', 'c[0x0][0x168]');
    expect(await whyOf(loop(same, behind))).toBe('');
    const apart = round.replace('LIMIT', 'R3');
    expect(await whyOf(loop(apart, behind))).toBe('a value may differ between the lanes of a warp');
    // What is not read behind the loop may be overwritten.
    expect(await whyOf(loop(apart, '       STG [RD4], 1\n'))).toBe('');
  });

  it('has one barrier for all of them', async () => {
    const body = (copy: string): string => `BB0:
       LDC.B64 RD1, c[0x0][0x160]
       S2R.TID.X R3
       MOV R6, RZ
       ISETP.LT P5, R3, 7
<|   @P5 BRA BB3
>BB1 "LOOP":
       STG [RD1], R3
       ${copy}
       IADD3 R6, R6, 1
       ISETP.LT P4, R6, 9
   @P4 BRA BB1
BB2:
       EXIT
<|BB3 "COPY":
       STG [RD1], R3
       ${copy}
       IADD3 R6, R6, 1
       ISETP.LT P4, R6, 9
   @P4 BRA BB3
BB4:
       EXIT
>`;
    expect(await whyOf(body('IADD3 R8, R6, 2'))).toBe('');
    expect(await whyOf(body('BAR.SYNC 0'))).toBe('a convergent operation is in two places');
  });
});

describe('a module', () => {
  const read = (text: string): Program => {
    const { program, diagnostics } = parseProgram(text, testIsa());
    expect(diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
    return program;
  };
  const whyAll = async (before: string, after: string): Promise<string[]> =>
    (await validateStep(read(before), read(after), null)).flatMap((f) => f.regions.map((r) => r.why));

  it('may not lose a kernel', async () => {
    const [a, b] = ['a', 'b'].map((k) => `.entry ${k}\n{\nBB0:\n       EXIT\n}\n`);
    expect(await whyAll(a + b, a)).toEqual(['', 'it was removed']);
  });

  it('may not shrink a variable of a function', async () => {
    const fn = (size: number): string =>
      `.entry k\n  .var local b8 a size ${size} align 4\n{\nBB0:\n       STL [a+0x20], 1\n       EXIT\n}\n`;
    expect(await whyAll(fn(64), fn(64))).toEqual(['']);
    expect(await whyAll(fn(64), fn(16))).toEqual(['the variable a changes']);
  });

  it('may not forget what a function stores for its caller', async () => {
    const fn = (store: string): string => `.func f (.reg u32 p R1)\n{\nBB0:\n${store}       RET\n}\n`;
    expect(await whyAll(fn('       STL [R1], 7\n'), fn(''))).toEqual([expect.stringMatching(/effects/)]);
  });
});

describe('a loop', () => {
  const loop = `BB0:
       LDC.B64 RD1, c[0x0][0x160]
       LDC R2, c[0x0][0x168]
       MOV R3, RZ
<|       SHL R6, R2, 2
>BB1 "LOOP":
<       SHL R6, R2, 2
|>       IADD3 R3, R3, <1|STEP>
       STG [RD1], R6
       ISETP.LT P4, R3, R2
   @P4 BRA BB1
BB2:
       EXIT`;

  it('may lose loop-invariant code', async () => {
    expect(await whyOf(loop.replace('STEP', '1'))).toBe('');
  });

  it('has the same trip count as before', async () => {
    expect(await whyOf(loop.replace('STEP', '2'))).toMatch(
      /a branch cannot be shown to go the same way: to LOOP before, to the exit after/,
    );
  });
});

describe('work has an end', () => {
  it.each([0, 1, 1_000, 10_000])(
    '%d steps prove what they suffice for, and leave the rest',
    async (steps) => {
      const { program } = await kernelOf('loops');
      const { last } = optimize(program, planFor('sm_80'));
      const found = await validateStep(program, last, null, null, new WorkBudget(steps));
      const all = found.flatMap((f) => f.regions);
      expect(all.length).toBeGreaterThan(0);
      expect(all.some((r) => r.why === 'it is too large')).toBe(true);
    },
  );

  it('a part of a budget is taken from it', () => {
    const whole = new WorkBudget(100);
    const part = whole.part(70);
    part.take(60);
    expect(() => part.take(10)).toThrow(LimitReached);
    expect([part.isEmpty, whole.isEmpty]).toEqual([true, false]);
    expect(() => whole.part(70).take(30)).toThrow(LimitReached);
    expect(whole.isEmpty).toBe(true);
  });
});
