import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Pool } from '../../src/analysis/registers/liveness.ts';
import { registersAllowed } from '../../src/analysis/registers/occupancy.ts';
import { pressureOf } from '../../src/analysis/registers/pressure.ts';
import { blockTime, type Times } from '../../src/analysis/schedule/block-time.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { programOf, testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { OWN_PLACE } from '../support/random-kernel.ts';
import { generator } from '../support/random-loops.ts';
import { ssaKernel } from '../support/random-memory.ts';
import { runPass } from '../support/run-pass.ts';
import { often, runs } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const isa = testIsa();
const { backend } = (await planWith({ sm: 'sm_90' })).plan!;
const times: Times = {
  costs: { alu: 2, fma: 2 },
  latencies: { alu: 4, fma: 4, global: 193, shared: 29, const: 27, generic: 193, local: 30 },
};
const UP = { direction: 'up', 'least-latency': 26, 'least-gain': 8 };
const DOWN = { direction: 'down' };

interface Applied {
  readonly fn: Fn;
  readonly remarks: readonly string[];
}
function apply(fn: Fn, params: Record<string, unknown>, knobs = {}, program = programOf(fn)): Applied {
  const ctx = { ...testContext(fn, { params, knobs, facts: { ...times, limits: {} } }), program };
  return {
    fn: runPass('move-instructions', fn, ctx),
    remarks: ctx.remarks.map((r) => `${r.kind} ${r.name}`),
  };
}

const peaks = (fn: Fn): number[] => fn.blocks.map((_, b) => pressureOf(fn).inBlock(b, Pool.R));
const multiset = (fn: Fn): string[] =>
  fn.blocks.map((b) =>
    b.ins
      .map((x) => x.op.name)
      .sort()
      .join(' '),
  );

/** Applies it, with what holds of every result, and counts what was said. */
function check(fn: Fn, params: Record<string, unknown>, counts: Map<string, number>): Fn {
  const { fn: out, remarks } = apply(fn, params);
  for (const r of remarks) counts.set(r, (counts.get(r) ?? 0) + 1);
  const text = `${JSON.stringify(params)}\n${printFn(fn)}\n${printFn(out)}`;
  expect(verifyFn(out, undefined, { controlLast: true }).map(verifyMessage), text).toEqual([]);
  expect(verifySsa(out).map(verifyMessage), text).toEqual([]);
  expect(multiset(out), text).toEqual(multiset(fn));
  if (printFn(out) === printFn(fn)) expect(out === fn, text).toBe(true);
  const most = Number(params['max-pressure'] ?? Number.POSITIVE_INFINITY);
  const [was, now] = [peaks(fn), peaks(out)];
  for (let b = 0; b < was.length; b++) {
    if (params.direction === 'down') expect(now[b], text).toBeLessThanOrEqual(was[b]);
    else {
      expect(now[b], text).toBeLessThanOrEqual(Math.max(was[b], most));
      expect(blockTime(out.blocks[b], times).alone, text).toBeLessThanOrEqual(
        blockTime(fn.blocks[b], times).alone,
      );
    }
  }
  counts.set('applied', (counts.get('applied') ?? 0) + 1);
  if (apply(out, params).fn !== out) counts.set('again', (counts.get('again') ?? 0) + 1);
  return out;
}

const WAYS: readonly Record<string, unknown>[] = [
  UP,
  { ...UP, 'max-pressure': 12 },
  { ...UP, 'least-latency': 100, 'max-pressure': 16 },
  { ...DOWN, 'max-pressure': 0 },
  { ...DOWN, 'max-pressure': 9 },
];
const counts = new Map<string, number>();

/** Long blocks of loads, stores and sums at a few places of each thread's own, in a loop of three turns. */
function crowded(seed: number): Fn {
  const below = generator(seed);
  const pick = <T>(all: readonly T[]): T => all[below(all.length)];
  let reg = 300;
  const lines = ['BB0:', ...OWN_PLACE].map((s) =>
    s.replace('IMAD R22, R23, R24, R22', 'IMAD R25, R23, R24, R22').replace(' R22, 64', ' R25, 64'),
  );
  lines.push(
    'SHL R26, R25, 4',
    'MOV R30, 1',
    'ISETP.LT P31, R25, 7',
    'BB1:',
    'MOVPHI R32, {BB0: R30, BB1: R33}',
  );
  const values = ['R25', 'R30', 'R32'];
  const places = ['RD200'];
  for (let i = 10 + below(40); i > 0; i--) {
    const [r, rd] = [`R${reg++}`, `RD${reg++}`];
    const [a, b] = [pick(values), pick(values)];
    const at = `[${pick(places)}+${4 * below(4)}]`;
    const shared = `[R26+${4 * below(4)}]`;
    const guard = below(6) === 0 ? `${pick(['@P31', '@!P31'])} ` : '';
    const otherwise = guard === '' ? '' : ` else ${a}`;
    const kind = below(16);
    if (kind < 4) lines.push(`${guard}LDG ${r}${otherwise}, ${at}`);
    else if (kind < 6) lines.push(`${guard}STG ${at}, ${a}`);
    else if (kind === 6) lines.push(`LDS ${r}, ${shared}`);
    else if (kind === 7) lines.push(`STS ${shared}, ${a}`);
    else if (kind === 8) lines.push('BAR.SYNC 0');
    else if (kind === 9) lines.push(`LDG.NC ${r}, [RD204+${4096 + 4 * below(8)}]`);
    else if (kind < 12) lines.push(`LOP3 ${r}, ${a}, 12, RZ, 0xc0`, `IMAD_WIDE.U32 ${rd}, ${r}, 1, RD200`);
    else lines.push(`${guard}IADD3 ${r}${otherwise}, ${a}, ${b}, RZ`);
    if (kind >= 10 && kind < 12) places.push(rd);
    else if (![4, 5, 7, 8].includes(kind)) values.push(r);
  }
  lines.push(
    'IADD3 R33, R32, 1, RZ',
    'ISETP.LT P34, R33, 4',
    '@P34 BRA BB1',
    'BB2:',
    `STG [RD200+32], ${pick(values)}`,
    'EXIT',
  );
  return parseFn(
    `.entry k\n  .param u64 p size 8 align 8 at 0 reg RD204\n  .regs 1000\n{\n${lines.join('\n')}\n}`,
    isa,
  );
}

describe('movement of instructions', () => {
  it('preserves threads that load, store and synchronize', () => {
    for (let seed = 0; seed < runs(150); seed++) {
      const fn = crowded(seed);
      expect(verifySsa(fn).map(verifyMessage), printFn(fn)).toEqual([]);
      const out = check(fn, WAYS[seed % WAYS.length], counts);
      if (out === fn) continue;
      const options = { grid: [1, 1, 1], block: [8, 1, 1], budget: 20_000, seeds: [1] } as const;
      const { differences } = judgeKernel(programOf(fn), programOf(out), 'k', 0x160, options);
      expect(differences, `${printFn(fn)}\n${printFn(out)}`).toEqual([]);
    }
  });

  it('keeps what kernels do that read and write many places', () => {
    const one = { grid: [1, 1, 1], block: [1, 1, 1], budget: 3000, seeds: [1] } as const;
    for (let seed = 0; seed < runs(60); seed++) {
      const program = ssaKernel(seed);
      const [fn] = program.functions;
      if (verifySsa(fn).length > 0) continue;
      const params = WAYS[seed % WAYS.length];
      const { fn: out } = apply(fn, params, {}, program);
      const { differences } = judgeKernel(program, { ...program, functions: [out] }, fn.name, 0x160, one);
      expect(differences, `${printFn(fn)}\n${printFn(out)}`).toEqual([]);
    }
  });

  it('preserves threads with arbitrary control flow', () => {
    fc.assert(
      fc.property(randomFn({ most: 10, defined: true }), fc.constantFrom(...WAYS), (f, params) => {
        const fn = constructSsa(f, isa);
        const out = check(fn, params, counts);
        expect(sameBehaviour(fn, out), `${printFn(fn)}\n${printFn(out)}`).toBeNull();
      }),
      { numRuns: runs(150), seed: 67 },
    );
  });

  it('did everything often enough, and was nearly always done', () => {
    for (const what of [
      'passed raised',
      'passed lowered',
      'missed held',
      'missed gain',
      'missed not-shorter',
    ])
      expect([what, (counts.get(what) ?? 0) > often(15)], JSON.stringify([...counts])).toEqual([what, true]);
    expect(counts.get('missed pressure') ?? 0).toBeGreaterThan(often(3));
    // What one move makes room for, another may use.
    expect(counts.get('again') ?? 0, JSON.stringify([...counts])).toBeLessThan(0.02 * counts.get('applied')!);
  });
});

describe('the policy of a block', () => {
  const text = `.entry k
{
BB0:
  LDG R1, [RD8]
  IADD3 R2, R1, R1, RZ
  LDG R3, [RD8+4]
  STG [RD9], R3
BB1:
  MOVPHI R4, {BB0: R2, BB2: R5}
  LDG R6, [RD8+8]
  IADD3 R7, R6, R6, RZ
  LDG R10, [RD8+12]
  STG [RD9+4], R10
BB2:
  LDG R11, [RD8+8]
  IADD3 R12, R11, R7, RZ
  LDG R13, [RD8+12]
  STG [RD9+4], R13
  IADD3 R5, R4, R12, RZ
  ISETP.LT P14, R5, R15
  @P14 BRA BB1
BB3:
  EXIT
}`;
  const changed = (knobs: Record<string, number>): number[] => {
    const fn = parseFn(text, isa);
    const { fn: out } = apply(fn, UP, knobs);
    return out.blocks.flatMap((b, i) => (b === fn.blocks[i] ? [] : [i]));
  };
  it('is everywhere, in innermost loops, or nowhere', () => {
    expect(changed({})).toEqual([0, 1, 2]);
    expect(changed({ Knob381: 0 })).toEqual([0, 1, 2]);
    expect(changed({ Knob381: 1 })).toEqual([1, 2]);
    expect(changed({ Knob381: 2 })).toEqual([]);
    expect(changed({ Knob381: 3 })).toEqual([]);
  });
  it('counts rewrites, any number of which is right', () => {
    const fn = parseFn(text, isa);
    const made = (left: number): Fn => {
      const ctx = testContext(fn, { params: UP, facts: { ...times, limits: {} }, rewrites: { left } });
      return runPass('move-instructions', fn, ctx);
    };
    expect(made(0)).toBe(fn);
    expect(made(1).blocks.map((b, i) => b === fn.blocks[i])).toEqual([false, true, true, true]);
    expect(printFn(made(3))).toBe(printFn(apply(fn, UP).fn));
  });
});

describe('registers that directives allow', () => {
  const limits = backend.facts.limits as Record<string, unknown>;
  it.each([
    ['', 255],
    ['.maxnreg 40', 40],
    ['.maxntid 256|.minnctapersm 4', 64],
    ['.maxntid 256|.minnctapersm 8|.maxnreg 40', 32],
  ])('%s', (directives, most) => {
    const fn = parseFn('.entry k\n{\nBB0:\n  EXIT\n}', isa);
    const attrs = { ...fn.attrs, directives: directives.split('|') };
    expect(registersAllowed(limits, { ...fn, attrs })).toBe(most);
  });
});
