import { describe, expect, it } from 'vitest';
import { Pool } from '../../src/analysis/registers/liveness.ts';
import { pressureOf } from '../../src/analysis/registers/pressure.ts';
import { planOf } from '../../src/core.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { gvnCse } from '../../src/passes/values/gvn-cse.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { kernelNames, kernelOf } from '../support/kernel-set.ts';
import { shipped } from '../support/specs.ts';

const isa = testIsa();

/** What is still redundant after value numbering under limits, and its remarks. */
function numbered(text: string, params: Record<string, number>): { text: string; missed: number } {
  const fn = parseFn(text, isa);
  const ctx = testContext(fn, { params });
  const out = gvnCse(fn, ctx);
  expect(verifySsa(out)).toEqual([]);
  return {
    text: printFn(out, { locs: false }),
    missed: ctx.remarks.filter((r) => r.kind === 'missed').length,
  };
}
const count = (text: string, word: string): number => text.split(word).length - 1;

/** R5 is computed, then four loads and RD2 are live at once, then the value of R5 is computed again. */
const far = `BB0:
  IADD3 R5, R3, R4, RZ
  STG [RD2], R5
  LDG R10, [RD2+4]
  LDG R11, [RD2+8]
  LDG R12, [RD2+12]
  LDG R13, [RD2+16]
  STG.V4 [RD2+32], {R10, R11, R12, R13}
  IADD3 R6, R4, R3, RZ
  STG [RD2+20], R6
  EXIT`;

describe('commoning under register limits', () => {
  it('keeps a value as long as the limit allows, else computes it again and says so', () => {
    const before = pressureOf(parseFn(far, isa)).most[Pool.R];
    // RD2, R3, R4 and what was loaded.
    expect(before).toBe(8);
    const kept = numbered(far, { 'max-pressure': before + 1 });
    expect([count(kept.text, 'IADD3'), kept.missed]).toEqual([1, 0]);
    const again = numbered(far, { 'max-pressure': before });
    expect([count(again.text, 'IADD3'), again.missed]).toEqual([2, 1]);
    expect(count(numbered(far, {}).text, 'IADD3')).toBe(1);
  });

  it('counts one register for an expression that is removed as a whole', () => {
    const deep = far
      .replace('  STG [RD2], R5', '  SHL R7, R5, 3\n  LOP3 R8, R7, R4, RZ, 192\n  STG [RD2], R8')
      .replace('  STG [RD2+20], R6', '  SHL R17, R6, 3\n  LOP3 R18, R17, R4, RZ, 192\n  STG [RD2+20], R18');
    const kept = numbered(deep, { 'max-pressure': 9 });
    expect([count(kept.text, 'IADD3'), count(kept.text, 'SHL'), count(kept.text, 'LOP3')]).toEqual([1, 1, 1]);
    expect(numbered(deep, { 'max-pressure': 8 }).missed).toBe(3);
  });

  it('takes the nearest value where the first is too far away', () => {
    const thrice = far.replace('  EXIT', '  IADD3 R16, R3, R4, RZ\n  STG [RD2+24], R16\n  EXIT');
    const { text, missed } = numbered(thrice, { 'max-pressure': 8 });
    expect([count(text, 'IADD3'), missed]).toEqual([2, 1]);
    expect(text).toMatch(/IADD3 R6, R4, R3\n +STG \[RD2\+0x14\], R6\n +STG \[RD2\+0x18\], R6/);
  });

  it('counts predicates by themselves', () => {
    const tests = `BB0:
  ISETP.LT P21, R3, R4
  SEL R5, R3, R4, P21
  STG [RD2], R5
  ISETP.EQ P22, R3, 1
  ISETP.EQ P223, R3, 2
  SEL R6, R3, R4, P22
  SEL R7, R3, R4, P223
  STG.V2 [RD2+8], {R6, R7}
  ISETP.LT P224, R3, R4
  SEL R8, R4, R3, P224
  STG [RD2+4], R8
  EXIT`;
    expect(count(numbered(tests, { 'max-predicates': 3 }).text, 'ISETP.LT')).toBe(1);
    expect(count(numbered(tests, { 'max-predicates': 2 }).text, 'ISETP.LT')).toBe(2);
  });

  it('checks every path between the two', () => {
    const ways = `BB0:
  IADD3 R5, R3, R4, RZ
  STG [RD2], R5
  @P21 BRA BB2
BB1:
  LDG R10, [RD2+4]
  LDG R11, [RD2+8]
  LDG R12, [RD2+12]
  LDG R13, [RD2+16]
  STG.V4 [RD2+32], {R10, R11, R12, R13}
BB2:
  IADD3 R6, R4, R3, RZ
  STG [RD2+20], R6
  EXIT`;
    expect(count(numbered(ways, { 'max-pressure': 9 }).text, 'IADD3')).toBe(1);
    expect(count(numbered(ways, { 'max-pressure': 8 }).text, 'IADD3')).toBe(2);
    // Around a loop, the value has to live through all of it.
    const loop = `BB0:
  IADD3 R5, R3, R4, RZ
  STG [RD2], R5
BB1:
  IADD3 R6, R4, R3, RZ
  STG [RD2+20], R6
  LDG R10, [RD2+4]
  LDG R11, [RD2+8]
  LDG R12, [RD2+12]
  LDG R13, [RD2+16]
  STG.V4 [RD2+32], {R10, R11, R12, R13}
  @P21 BRA BB1
BB2:
  EXIT`;
    expect(count(numbered(loop, { 'max-pressure': 9 }).text, 'IADD3')).toBe(1);
    expect(count(numbered(loop, { 'max-pressure': 8 }).text, 'IADD3')).toBe(2);
  });

  it('never passes the limit on kernels, but for loads', async () => {
    const plan = planOf(shipped, { sm: 'sm_80' });
    let refused = 0;
    for (const name of kernelNames) {
      const { program } = await kernelOf(name);
      for (const fn of runPipeline(program, plan, { until: 'OptimizeNestedCondBranches' }).last.functions) {
        const before = pressureOf(fn).most;
        for (const most of [0, 12, 20]) {
          const params = { 'max-pressure': most, 'max-predicates': 2 };
          const ctx = testContext(fn, { params });
          const after = pressureOf(gvnCse(fn, ctx)).most;
          refused += ctx.remarks.filter((r) => r.name === 'pressure').length;
          if (ctx.remarks.some((r) => r.kind === 'passed' && /^(LD[GSL]?|FOREIGN)\b/.test(r.message)))
            continue;
          expect(after[Pool.R], `${name} at ${most}`).toBeLessThanOrEqual(Math.max(most, before[Pool.R]));
          expect(after[Pool.P], name).toBeLessThanOrEqual(Math.max(2, before[Pool.P]));
        }
      }
    }
    expect(refused).toBeGreaterThan(50);
  });
});
