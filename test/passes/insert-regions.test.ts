import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { barrierFaults } from '../../src/analysis/synchronization/barrier-use.ts';
import { convergenceRegionsOf } from '../../src/analysis/synchronization/convergence-regions.ts';
import { ptxTable } from '../../src/cli/optimize/emit.ts';
import { reg } from '../../src/ir/operand.ts';
import type { Fn, Instr, Program } from '../../src/ir/program.ts';
import { parseFn, parseProgram } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { branchDivergenceOf } from '../../src/lab/branch-divergence.ts';
import { insertRegions } from '../../src/passes/synchronization/insert-regions.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { expectNone } from '../support/expect-none.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';
import { BASE, kernel, run } from '../support/sim-kernel.ts';
import { often, runs } from '../support/size.ts';
import { shipped } from '../support/specs.ts';

/** Nested ifs and loops; the same with early exits; or arbitrary branches, forward and some backward. */
type Shape = 'nested' | 'with exits' | 'tangled';

/** Lanes hash the numbers of the blocks that they pass into R5; R6 bounds the number of iterations. */
function randomBody(below: (n: number) => number, kind: Shape): string {
  const lines: string[] = [];
  let next = 2;
  const block = (id: number): void =>
    void lines.push(`BB${id}:`, `IMAD R5, R5, ${2 * id + 3}, ${17 * id + 1}`);
  const choose = (p: number): void =>
    void lines.push(`LOP3 R7, R5, ${2 ** below(12)}, RZ, 192`, `ISETP.NE P${p}, R7, RZ`);
  return kind === 'tangled' ? tangled() : nested();

  function nested(): string {
    lines.push('IMAD R5, R2, 7919, 13', 'MOV R6, 6', 'BRA BB1');
    const part = (depth: number): void => {
      for (let n = 1 + below(3); n > 0; n--) {
        const [head, other, end] = [next++, next++, next++];
        const what = depth === 0 ? 0 : below(kind === 'nested' ? 5 : 6);
        block(head);
        if (what === 0) {
          lines.push(`BRA BB${end}`, `BB${other}:`, `BRA BB${end}`);
        } else if (what < 4) {
          if (below(4) === 0) lines.push('ISETP.GT P10, R6, 3');
          else choose(10);
          lines.push(`@P10 BRA BB${other}`);
          part(depth - 1);
          lines.push(`BRA BB${end}`, `BB${other}:`);
          if (below(2) === 0) part(depth - 1);
          lines.push(`BRA BB${end}`);
        } else if (what === 4) {
          lines.push(`BB${other}:`);
          part(depth - 1);
          choose(11);
          lines.push(
            'IADD3 R6, R6, -1',
            'ISETP.LE.OR P11, R6, RZ, P11',
            `@!P11 BRA BB${other}`,
            `BRA BB${end}`,
          );
        } else {
          choose(12);
          lines.push(`@P12 BRA BB${other}`, `BRA BB${end}`, `BB${other}:`, 'STG [RD3], R5', 'EXIT');
        }
        block(end);
      }
    };
    block(1);
    part(3);
    return [...lines, 'STG [RD3], R5', 'EXIT'].join('\n');
  }

  function tangled(): string {
    lines.push('IMAD R5, R2, 7919, 13', 'MOV R6, 9', 'BRA BB1');
    const n = 4 + below(9);
    for (let b = 1; b < n; b++) {
      block(b);
      choose(10);
      const to = b + 1 + below(Math.min(4, n - b));
      if (below(4) === 0) {
        lines.push('IADD3 R6, R6, -1', 'ISETP.GT.AND P10, R6, RZ, P10', `@P10 BRA BB${1 + below(b)}`);
      } else if (below(5) > 0) lines.push(`@P10 BRA BB${to}`);
      else if (below(3) === 0) lines.push('@P10 STG [RD3], R5', '@P10 EXIT');
    }
    block(n);
    return [...lines, 'STG [RD3], R5', 'EXIT'].join('\n');
  }
}

const context = (fn: Fn, most = 12) =>
  testContext(fn, { knobs: { ExpandSyncInstLate: true }, facts: { 'limits.convergence-barriers': most } });
const withRegions = (p: Program, most = 12): Program => ({
  ...p,
  functions: p.functions.map((fn) => insertRegions(fn, context(fn, most))),
});
const program = (seed: number, kind: Shape): Program => {
  let s = seed;
  const below = (n: number): number => {
    s = (Math.imul(s, 1103515245) + 12345) >>> 0;
    return Math.floor((s / 2 ** 32) * n);
  };
  return after('split-control-flow', kernel(randomBody(below, kind)));
};

/** Warp instructions but those of the control unit, among which are the barriers themselves. */
const work = (r: ReturnType<typeof run>): number =>
  Object.entries(r.counters!.byUnit).reduce((sum, [unit, n]) => sum + (unit === 'control' ? 0 : n.warp), 0);

const after = (pass: string, p: Program): Program => ({
  ...p,
  functions: p.functions.map((fn) => runPass(pass, fn, testContext(fn))),
});

const seeds = fc.integer({ min: 1, max: 2 ** 31 });

describe('regions agree with lanes that meet at post-dominators', () => {
  for (const kind of ['nested', 'with exits', 'tangled'] as const)
    test(kind, () => {
      let apart = 0;
      let fewer = 0;
      fc.assert(
        fc.property(seeds, fc.boolean(), (seed, ssa) => {
          const read = program(seed, kind);
          const p = ssa ? after('generate-mov-phi', read) : read;
          const [fn] = p.functions;
          const q = withRegions(p);
          expectNone(verifyFn(q.functions[0], q, { controlLast: true }));
          if (ssa) expectNone(verifySsa(q.functions[0]));
          expect(barrierFaults(q.functions[0])).toEqual([]);
          const [a, b] = [run(p), run(q)];
          expect(b.error).toBe(null);
          expect(b.values).toEqual(a.values);
          expect(insertRegions(q.functions[0], context(q.functions[0]))).toBe(q.functions[0]);
          const { regions, without, depth } = convergenceRegionsOf(fn);
          if (regions.length > 0) apart++;
          if (kind === 'nested') {
            // What meets at one place there meets there here, at the same time.
            expect(without).toEqual([]);
            if (!ssa) expect(work(b)).toBe(work(a));
            expect(depth).toBe(branchDivergenceOf(fn).depth);
            expect(regions.flatMap((r) => r.branches).sort((x, y) => x - y)).toEqual(
              branchDivergenceOf(fn).points,
            );
          } else if (!ssa && without.length === 0) expect(work(b)).toBeLessThanOrEqual(work(a));
          if (work(b) < work(a)) fewer++;
        }),
        { numRuns: runs(80) },
      );
      expect(apart).toBeGreaterThan(often(40));
      if (kind === 'with exits') expect(fewer).toBeGreaterThan(often(5));
    });

  test('with fewer registers than levels, lanes reconverge later and compute the same', () => {
    let later = 0;
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 2 }), (seed, most) => {
        const p = program(seed, 'nested');
        const q = withRegions(p, most);
        expect(barrierFaults(q.functions[0])).toEqual([]);
        const [a, b] = [run(p), run(q)];
        expect(b.values).toEqual(a.values);
        expect(work(b)).toBeGreaterThanOrEqual(work(a));
        if (work(b) > work(a)) later++;
      }),
      { numRuns: runs(60) },
    );
    expect(later).toBeGreaterThan(often(5));
  });
});

describe('wrong regions', () => {
  /** Every program that comes of `q` by changing one convergence barrier. */
  const mutants = (q: Fn): { readonly what: string; readonly fn: Fn }[] => {
    const uses = q.blocks.flatMap((b) => b.ins.filter((x) => x.op.primitive === 'convergence'));
    const registers = [...new Set(uses.flatMap((x) => x.dst))];
    const changed = (ins: Instr, to: readonly Instr[]): Fn => ({
      ...q,
      blocks: q.blocks.map((b) => ({ ...b, ins: b.ins.flatMap((x) => (x === ins ? to : [x])) })),
    });
    return uses.flatMap((x) => [
      { what: x.dst.length > 0 ? 'no set' : 'no wait', fn: changed(x, []) },
      ...registers
        .filter((r) => r !== (x.dst[0] ?? x.src[0].reg))
        .map((r) => ({
          what: 'other register',
          fn: changed(x, [x.dst.length > 0 ? { ...x, dst: [r] } : { ...x, src: [reg(r)] }]),
        })),
    ]);
  };

  test('are found in the text and, where it matters, by running them; none hangs', () => {
    const seen = { found: 0, unset: 0, taken: 0, deadlock: 0, longer: 0, same: 0 };
    fc.assert(
      fc.property(seeds, (seed) => {
        const q = withRegions(program(seed, 'nested'));
        const right = run(q);
        for (const { what, fn } of mutants(q.functions[0]).slice(0, 12)) {
          const faults = barrierFaults(fn);
          if (what !== 'no wait') expect(faults.length).toBeGreaterThan(0);
          if (faults.length > 0) seen.found++;
          const r = run({ ...q, functions: [fn] });
          expect(r.status).not.toBe('budget');
          if (r.error === null) {
            expect(r.values).toEqual(right.values);
            if (work(r) > work(right)) seen.longer++;
            else seen.same++;
          } else if (r.error.includes('that was not set')) seen.unset++;
          else if (r.error.includes('has not been waited for')) seen.taken++;
          else {
            expect(r.error).toMatch(/^deadlock .*BSYNC/);
            seen.deadlock++;
          }
        }
      }),
      { numRuns: runs(40) },
    );
    for (const n of Object.values(seen)) expect(n).toBeGreaterThan(0);
  });

  test('lanes that wait for each other at two barriers are named', () => {
    const p = kernel(`ISETP.LT P5, R2, 16
LOP3 R6, R2, 1, RZ, 192
ISETP.EQ P7, R6, RZ
BSSY B8, BB4
BSSY B9, BB4
@P5 BRA BB2
BB1:
BSYNC B8
BRA BB4
BB2:
BSYNC B9
BB4:
STG [RD3], R2
EXIT`);
    expect(run(p).error).toBe(
      "deadlock in block (0, 0, 0) of k: lanes 0-15 of warp 0 wait at 'BSYNC B9' in k for lanes 16-31; lanes 16-31 of warp 0 wait at 'BSYNC B8' in k for lanes 0-15",
    );
  });

  test('a barrier that was not set, and one that is set again while others wait at it', () => {
    expect(run(kernel('BSYNC B8\nEXIT')).error).toMatch(/^waits at a convergence barrier that was not set/);
    const again = kernel(`MOV R5, R2
BRA BB1
BB1:
BSSY B8, BB2
IADD3 R5, R5, 8
ISETP.LT P6, R5, 24
@P6 BRA BB1
BB2:
BSYNC B8
STG [RD3], R5
EXIT`);
    expect(run(again).error).toMatch(/^sets a convergence barrier that has not been waited for/);
    expect(barrierFaults(again.functions[0]).map((e) => e.rule)).toEqual(['barrier-taken']);
  });

  test('a return out of a region, and the rules in words', () => {
    const { program } = parseProgram(
      '.program "t" version 9.0 target sm_80 address 64\n.func f\n{\nBB0:\nS2R.TID.X R2\nISETP.EQ P3, R2, RZ\nBSSY B4, BB2\n@P3 BRA BB2\nBB1:\nRET\nBB2:\nBSYNC B4\nBSYNC B4\nRET\n}\n',
      testIsa(),
    );
    expect(barrierFaults(program.functions[0]).map(verifyMessage)).toEqual([
      "f, BB1[0]: barrier-kept: 'RET' returns from a region of B4",
      "f, BB2[1]: barrier-free: 'BSYNC B4' waits on B4, which may not be set",
    ]);
  });
});

describe('uses of many barrier registers', () => {
  /** Regions one after the other, each of its own register. */
  const many = (n: number, wait = (b: number): string => `BSYNC B${b}`): Fn => {
    const lines = ['BB0:', 'MOV R1, 1', 'BRA BB1'];
    for (let k = 0; k < n; k++) {
      const [at, p, b] = [3 * k + 1, 10 + 2 * k, 11 + 2 * k];
      lines.push(`BB${at}:`, `ISETP.EQ P${p}, R1, ${k}`, `BSSY B${b}, BB${at + 2}`, `@P${p} BRA BB${at + 2}`);
      lines.push(`BB${at + 1}:`, 'STG [RD2], R1', `BB${at + 2}:`, wait(b), `BRA BB${at + 3}`);
    }
    return parseFn(`${lines.join('\n')}\nBB${3 * n + 1}:\nEXIT`, testIsa());
  };

  test('each is told apart', () => {
    const twice = (b: number): string => (b === 91 ? `BSYNC B${b}\nBSYNC B${b}` : `BSYNC B${b}`);
    expect(barrierFaults(many(70))).toEqual([]);
    expect(barrierFaults(many(70, twice)).map((e) => [e.rule, e.block, e.index])).toEqual([
      ['barrier-free', 123, 1],
    ]);
    const other = (b: number): string => `BSYNC B${b === 91 ? 151 : b}`;
    expect(new Set(barrierFaults(many(71, other)).map((e) => e.rule))).toEqual(new Set(['barrier-free']));
  });

  test('takes no time that grows with their square', () => {
    expect(barrierFaults(many(8000))).toEqual([]);
  }, 60_000);
});

describe('regions as the hardware runs them', () => {
  const counted = (body: string) => {
    const r = run(kernel(body), 32, { length: 64 });
    expect(r.error).toBe(null);
    return r;
  };
  const half = (sync: boolean, arm: string): string => `ISETP.LT P5, R2, 16
${sync ? 'BSSY B8, BB2' : 'BSSY B8, BB3'}
@P5 BRA BB2
BB1:
${arm}
BB2:
${sync ? 'BSYNC B8' : ''}
IADD3 R6, R2, 1
STG [RD3], R6
BB3:
EXIT`;

  test('lanes reconverge at a BSYNC, and nowhere else', () => {
    expect(work(counted(half(true, 'IADD3 R2, R2, 5')))).toBe(
      work(counted(half(false, 'IADD3 R2, R2, 5'))) - 2,
    );
  });

  test('no lane waits for one that has exited', () => {
    const r = counted(half(true, 'EXIT'));
    expect(r.values.slice(0, 32)).toEqual(Array.from({ length: 32 }, (_, l) => (l < 16 ? l + 1 : 0)));
  });

  test('a waiting lane continues if the others wait for its writes, or loop forever', () => {
    // Half of the lanes wait in a loop for a value that the others store behind the region.
    const r = counted(`ISETP.LT P5, R2, 16
BSSY B8, BB3
@P5 BRA BB3
BB1:
LDG.VOLATILE R6, [RD1+0x80]
ISETP.EQ P7, R6, RZ
@P7 BRA BB1
BB3:
BSYNC B8
MOV R9, 7
@P5 STG [RD1+0x80], R9
STG [RD3], R9
EXIT`);
    expect(r.values.slice(0, 33)).toEqual(Array.from({ length: 33 }, () => 7));
    // The lanes of one arm meet those behind the region.
    const s = counted(`ISETP.LT P5, R2, 16
BSSY B8, BB3
@P5 BRA BB3
BB1:
WARPSYNC -1
BB3:
BSYNC B8
@P5 WARPSYNC -1
STG [RD3], R2
EXIT`);
    expect(s.values.slice(0, 32)).toEqual(Array.from({ length: 32 }, (_, l) => l));
  });
});

test('a region deeper than there are registers is left out, and said', () => {
  const fn = program(3, 'nested').functions[0];
  const ctx = context(fn, 1);
  insertRegions(fn, ctx);
  const { regions } = convergenceRegionsOf(fn);
  const deep = regions.filter((r) => r.level >= 1).length;
  expect(deep).toBeGreaterThan(0);
  const missed = ctx.remarks.filter((r) => r.kind === 'missed').map((r) => r.message);
  expect(missed.length).toBe(deep);
  expect(missed[0]).toMatch(/^lanes diverge at BB\d+: \d+ regions are around it, as many as registers$/);
});

describe('a switch whose lanes choose differently', () => {
  const arms = (n: number): string =>
    Array.from({ length: n }, (_, c) => `BB${100 + c}:\nIADD3 R6, R6, ${c + 5}\nBRA BB99\n`).join('');
  const rest = 'BB99:\nSTG [RD3], R6\nEXIT';
  const cascade = (n: number): string =>
    `MOV R6, RZ\nBRA BB1\n${Array.from({ length: n }, (_, c) => `BB${c + 1}:\nISETP.EQ P${10 + c}, R2, ${c}\n@P${10 + c} BRA BB${100 + c}\n`).join('')}BB${n + 1}:\nBRA BB99\n${arms(n)}${rest}`;
  const tree = (n: number): string => {
    let next = 1;
    const node = (from: number, to: number): string => {
      const id = next++;
      if (to - from === 1)
        return `BB${id}:\nISETP.EQ P${40 + id}, R2, ${from}\n@P${40 + id} BRA BB${100 + from}\nBB${id + 50}:\nBRA BB99\n`;
      const middle = (from + to) >> 1;
      const lower = node(from, middle);
      const upper = next;
      return `BB${id}:\nISETP.GE P${40 + id}, R2, ${middle}\n@P${40 + id} BRA BB${upper}\n${lower}${node(middle, to)}`;
    };
    return `MOV R6, RZ\nBRA BB1\n${node(0, n)}${arms(n)}${rest}`;
  };

  // Seeds 000 and 003 count N, log N and 1 places where one lane may part from another, and as many entries of the stack.
  test.each([
    ['a cascade', cascade(8), 8],
    ['a tree', tree(8), 15],
  ])('%s diverges at each comparison, and needs one barrier', (_, body, points) => {
    const p = after('split-control-flow', kernel(body));
    const [fn] = p.functions;
    const { regions, depth } = convergenceRegionsOf(fn);
    expect([regions.length, depth, regions[0].branches.length]).toEqual([1, 1, points]);
    const q = withRegions(p);
    const [a, b] = [run(p), run(q)];
    expect(b.values).toEqual(a.values);
    expect(work(b)).toBe(work(a));
  });
});

test('PTX has neither the instructions nor their registers', () => {
  const p = program(3, 'nested');
  const table = ptxTable(shipped);
  const written = (x: Program): string => emitPtx(x, { table, paramBase: BASE, module: null }).text;
  expect(withRegions(p).functions[0]).not.toBe(p.functions[0]);
  expect(written(withRegions(p))).not.toMatch(/%b\d|%b</);
});
