import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { attempt, outcome } from '../../src/debug/attempt.ts';
import { bisect, type Finding } from '../../src/debug/bisect.ts';
import { GOOD, type Judge, openWorlds, openWorldsAsLongAs, type Subject } from '../../src/debug/judge.ts';
import { fewest } from '../../src/debug/parts.ts';
import { isSame, read, reduceProgram, sizeOf, stillFails, undefinedIn } from '../../src/debug/reduce.ts';
import { reducePlan } from '../../src/debug/reduce-plan.ts';
import { boundary } from '../../src/debug/search.ts';
import { withBlocks } from '../../src/ir/edit.ts';
import { printInstr, printProgram } from '../../src/ir/text.ts';
import { type PassEntry, passes } from '../../src/passes/registry.ts';
import { readPtx } from '../../src/read.ts';
import { makePlan, withFiles } from '../../src/spec/node.ts';
import type { PlanRequest } from '../../src/spec/resolve.ts';
import { runs } from '../support/size.ts';
import { passNames, plain, shipped, testFolder } from '../support/specs.ts';

/* Finding the cause of a wrong result, and reducing it, with rules and passes that are wrong on purpose. */

const folder = testFolder();
const WRONG = folder.write(
  'wrong.yaml',
  `kind: rules
group: wrong
rules:
  - id: fine
    title: a + ~a = -1
    match: |
      LOP3 $n, $a, _, _, 0x0f
      IADD3 $d, $a, $n, 0
    rewrite: MOV $d, -1
    source: two's complement
  - id: off-by-one
    title: x + 1 = x + 2
    match: IADD3 $d, $x, 1, 0
    rewrite: IADD3 $d, $x, 2, 0
    source: nobody
`,
);
const request: PlanRequest = { ...plain, order: 'binary' };
const wrong: PlanRequest = { ...request, rules: [WRONG] };
const planOf = async (r: PlanRequest) => (await makePlan(r, passNames, shipped)).plan!;
const [good, bad] = [await planOf(request), await planOf(wrong)];
const NEVER = { stopped: () => false };

const subjectOf = (text: string, plan = bad): Subject => {
  const { program, module } = readPtx(text, plan, 'k.ptx');
  return { program, module, plan };
};
const kernel = (name: string): string =>
  readFileSync(new URL(`../kernels/${name}/${name}.sm_80.ptx`, import.meta.url), 'utf8');

/** A kernel of some lines, of which the one with `+ 1` is turned wrong. */
const SMALL = `.version 8.0
.target sm_80
.address_size 64
.visible .entry other(.param .u64 p)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  st.global.u32 [%rd1], %r2;
  ret;
}
.visible .entry k(.param .u64 p, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<4>;
  .reg .b32 %r<9>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  mul.lo.s32 %r4, %r3, %r1;
  add.s32 %r5, %r4, 1;
  xor.b32 %r6, %r5, %r2;
  st.global.u32 [%rd3], %r6;
DONE:
  ret;
}
`;

const broken = new Map<string, PassEntry>();
/** Puts a pass in the place of a registered one until the test is over. */
function breakPass(name: string, change: (old: PassEntry & { pass: NonNullable<unknown> }) => object): void {
  const old = passes.get(name)!;
  broken.set(name, old);
  (passes as Map<string, PassEntry>).set(name, { ...old, ...change(old as never) } as PassEntry);
}
afterEach(() => {
  for (const [name, old] of broken) (passes as Map<string, PassEntry>).set(name, old);
  broken.clear();
});

describe('boundary', () => {
  it('finds good and bad neighbours, in turn the first ones', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('good', 'bad', 'unclear'), { maxLength: 40 }),
        async (middle) => {
          const states = ['good', ...middle, 'bad'];
          const verdict = { state: 'bad', kind: '', text: '' } as const;
          let asked = 0;
          const ask = async (i: number) => {
            asked++;
            return { ...verdict, state: states[i] as 'good' };
          };
          const last = states.length - 1;
          const b = await boundary(0, last, verdict, ask);
          expect([states[b.good], states[b.bad]]).toEqual(['good', 'bad']);
          expect(states.slice(b.good + 1, b.bad).every((s) => s === 'unclear')).toBe(true);
          if (!states.includes('unclear')) expect(asked).toBeLessThanOrEqual(Math.ceil(Math.log2(last + 1)));
          const first = await boundary(0, last, verdict, ask, true);
          expect(first.bad).toBe(states.indexOf('bad'));
        },
      ),
      { seed: 3, numRuns: runs(200) },
    );
  });
});

describe('fewest', () => {
  it('leaves what is needed and nothing that can be spared by itself', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(60), { maxLength: 60 }),
        fc.uniqueArray(fc.nat(60), { maxLength: 5 }),
        async (parts, wanted) => {
          const needed = parts.filter((p) => wanted.includes(p));
          const holds = async (kept: readonly number[]) => needed.every((n) => kept.includes(n));
          expect(await fewest(parts, holds, NEVER)).toEqual(needed);
        },
      ),
      { seed: 5, numRuns: runs(200) },
    );
  });

  it('keeps the best so far where it is stopped', async () => {
    let asked = 0;
    const holds = async (kept: readonly number[]) => {
      asked++;
      return kept.includes(3);
    };
    const all = Array.from({ length: 64 }, (_, i) => i);
    const kept = await fewest(all, holds, { stopped: () => asked >= 4 });
    expect(kept).toContain(3);
    expect(kept.length).toBeGreaterThan(1);
    expect(kept.length).toBeLessThan(64);
    expect(asked).toBe(4);
  });
});

describe('bisect', () => {
  it('names phase, function, rule and line of a wrong rule', async () => {
    const f = (await bisect(subjectOf(SMALL), openWorlds)) as Finding;
    expect(f).toMatchObject({
      failure: { kind: 'memory differs' },
      phase: { id: 'GeneralOptimizeEarly' },
      fn: 'k',
      rewrite: {
        name: 'off-by-one',
        rule: { id: 'off-by-one', file: expect.stringContaining('wrong.yaml'), place: 1 },
      },
    });
    const { program } = subjectOf(SMALL);
    const line = program.locs[f.rewrite!.ins!.loc].line;
    expect(SMALL.split('\n')[line - 1]).toContain('add.s32 %r5, %r4, 1');
    expect(printInstr(f.rewrite!.ins!)).toMatch(/IADD3 \S+, \S+, 1/);
    // Without the rewrite the function still has the sum, with it the wrong one.
    const text = (fn: Finding['before']) =>
      fn!.blocks.flatMap((b) => b.ins.map((x) => printInstr(x))).join('\n');
    expect(text(f.before)).toMatch(/, 1$/m);
    expect(text(f.after)).toMatch(/IADD3 \S+, \S+, 2$/m);
  });

  it.each(['divmod', 'crc', 'device-functions'])('finds it in %s, by halves and in turn', async (name) => {
    const s = subjectOf(kernel(name));
    for (const inTurn of [false, true]) {
      const f = (await bisect(s, openWorlds, { inTurn })) as Finding;
      expect(f.rewrite?.rule?.id).toBe('off-by-one');
      // The pair is what it says: with one rewrite less the run is good.
      const { number } = f.rewrite!;
      const limit = { phase: f.phase.id, fn: f.fn, count: number - 1 };
      const without = attempt(s, { until: f.phase.id, rewriteLimit: limit });
      expect(without.records.at(-1)!.rewrites!.next!.name).toBe('off-by-one');
    }
  });

  it('says where there is nothing to find', async () => {
    expect(await bisect(subjectOf(SMALL, good), openWorlds)).toMatchObject({ why: 'good' });
    const never: Judge = { what: 'no', judge: () => ({ state: 'bad', kind: 'no', text: 'no' }) };
    expect(await bisect(subjectOf(SMALL), never)).toMatchObject({ why: 'input' });
    const dunno: Judge = { what: '?', judge: () => ({ state: 'unclear', kind: '', text: '?' }) };
    expect(await bisect(subjectOf(SMALL), dunno)).toMatchObject({ why: 'unclear' });
  });

  it('names phases between which it cannot tell', async () => {
    const { program, plan } = subjectOf(SMALL);
    const snapshots = attempt({ program, plan, module: null }).records.map((r) => r.program);
    const judge: Judge = {
      what: 'half blind',
      judge: (_, after) =>
        after === program
          ? GOOD
          : { state: after === snapshots.at(-1) ? 'bad' : 'unclear', kind: 'x', text: 'x' },
    };
    const same: Subject = { program, plan, module: null };
    // The judge knows the very snapshots, so both runs have to give the same ones: it looks at their text.
    const byText: Judge = {
      what: 'half blind',
      judge: (s, after) =>
        judge.judge(
          s,
          after === program
            ? program
            : (snapshots.findLast((p) => printProgram(p) === printProgram(after)) ?? after),
        ),
    };
    const f = (await bisect(same, byText)) as Finding;
    expect(f.unclear.length).toBeGreaterThan(0);
    expect(f.rewrite).toBeNull();
  });

  it('finds the rewrite at which a pass throws', async () => {
    let seen = 0;
    breakPass('gvn-cse', () => ({
      pass: (fn: never, ctx: { mayRewrite: (n: string) => boolean }) => {
        for (seen = 1; seen <= 5; seen++) {
          if (!ctx.mayRewrite(`step-${seen}`)) return fn;
          if (seen === 3) throw new Error('no value for R12');
        }
        return fn;
      },
    }));
    const f = (await bisect(subjectOf(kernel('crc'), good), openWorlds)) as Finding;
    expect(f).toMatchObject({
      thrown: true,
      failure: {
        kind: 'internal fault: no value for R# ',
        text: expect.stringContaining('in phase GvnCse, function'),
      },
      phase: { id: 'GvnCse' },
      rewrite: { number: 3, name: 'step-3', rule: null },
    });
  });

  it('finds the phase that leaves what the verifier refuses', async () => {
    breakPass('hoist-invariants', () => ({
      pass: (fn: Parameters<typeof withBlocks>[0]) =>
        fn.name === 'k' ? withBlocks(fn, fn.blocks.slice(0, -1)) : fn,
    }));
    const f = (await bisect(subjectOf(SMALL, good), openWorlds)) as Finding;
    expect(f).toMatchObject({
      thrown: true,
      failure: { kind: expect.stringMatching(/^invalid program/) },
      phase: { id: expect.stringContaining('OriHoistInvariants') },
      fn: 'k',
      rewrite: null,
    });
  });
});

describe('reduce', () => {
  it('leaves a few instructions of a kernel, which fail in the same way', async () => {
    for (const name of runs(1) > 1 ? ['divmod', 'float-special'] : ['divmod']) {
      const s = subjectOf(kernel(name));
      const failure = await outcome(s, openWorlds, true);
      const judge = await openWorldsAsLongAs(s, attempt(s).last);
      const failing = { judge, failure };
      const p = await reducePlan(
        s,
        await withFiles(shipped, wrong).then(({ specs }) => ({ specs, request: wrong })),
        failing,
        NEVER,
      );
      const own = p.plan.phases.filter((x) => x.steps.length > 0 && !x.required).map((x) => x.id);
      expect([name, own]).toEqual([name, ['GeneralOptimizeEarly']]);
      expect(p.request.rules).toEqual([WRONG]);
      const r = await reduceProgram({ ...s, plan: p.plan }, failing, NEVER);
      expect(r.size).toBeLessThan(16);
      const again = read(r.text, p.plan, true)!;
      expect(isSame(await outcome(again, openWorlds, false), failure)).toBe(true);
      expect(again.program.functions).toHaveLength(1);
    }
  });

  it('takes away settings that do not matter', async () => {
    const request = { ...wrong, set: ['OptBudget=100', 'ContractProducts=true'] };
    const plan = await planOf(request);
    const s = subjectOf(SMALL, plan);
    const failure = await outcome(s, openWorlds, true);
    const { specs } = await withFiles(shipped, request);
    const p = await reducePlan(s, { specs, request }, { judge: openWorlds, failure }, NEVER);
    expect([p.request.set, p.request.rules]).toEqual([[], [WRONG]]);
  });

  it('always gives a program that fails, is good by itself and reads nothing undefined', async () => {
    const lines = SMALL.split('\n');
    const at = lines.findIndex((l) => l.includes('xor.b32'));
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.constantFrom(
            '  add.s32 %r7, %r3, 5;',
            '  add.s32 %r3, %r4, %r2;',
            '  @%p1 add.s32 %r7, %r2, 1;',
            '  mul.lo.s32 %r5, %r5, 3;',
            '  st.global.u32 [%rd3+4], %r5;',
            '  setp.lt.s32 %p1, %r5, 7;',
          ),
          { maxLength: 6 },
        ),
        fc.nat(40),
        async (more, tests) => {
          const s = subjectOf([...lines.slice(0, at), ...more, ...lines.slice(at)].join('\n'));
          const failure = await outcome(s, openWorlds, true);
          fc.pre(failure.state === 'bad');
          const undef = undefinedIn(s.program);
          let left = tests;
          const failing = { judge: openWorlds, failure, before: async () => void left-- };
          // Stopped anywhere, too.
          const r = await reduceProgram(s, failing, { stopped: () => left <= 0 });
          const again = read(r.text, bad, true)!;
          expect(await stillFails(again, { judge: openWorlds, failure }, undef)).toBe(true);
          expect(sizeOf(again)).toBeLessThanOrEqual(sizeOf(s));
        },
      ),
      { seed: 11, numRuns: runs(15) },
    );
  });

  it('keeps Ori text Ori text', async () => {
    const { program } = subjectOf(SMALL);
    const s = read(printProgram(program), bad, false)!;
    const failure = await outcome(s, openWorlds, true);
    const r = await reduceProgram(s, { judge: openWorlds, failure }, NEVER);
    expect(r.size).toBeLessThan(10);
    expect(r.text).toContain('IADD3');
    expect(await outcome(read(r.text, bad, false)!, openWorlds, false)).toMatchObject({ kind: failure.kind });
  });

  it('does not slip to another failure', async () => {
    // A smaller program for which the pass throws something else is not what is looked for.
    breakPass('gvn-cse', (old) => ({
      pass: (fn: { blocks: { ins: unknown[] }[] }, ctx: never) => {
        const size = fn.blocks.reduce((n, b) => n + b.ins.length, 0);
        if (size < 3) throw new Error('too small');
        if (fn.blocks.length > 1) throw new Error('more than one block');
        return (old as unknown as { pass: (f: unknown, c: never) => unknown }).pass(fn, ctx);
      },
    }));
    const s = subjectOf(SMALL, good);
    const failure = await outcome(s, openWorlds, true);
    expect(failure.kind).toContain('more than one block');
    const r = await reduceProgram(s, { judge: openWorlds, failure }, NEVER);
    expect(await outcome(read(r.text, good, true)!, openWorlds, true)).toMatchObject({ kind: failure.kind });
    expect(r.size).toBeGreaterThanOrEqual(3);
  });
});
