import { describe, expect, it } from 'vitest';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { mergeSync } from '../../src/passes/synchronization/merge-sync.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { stores } from '../support/scheduled.ts';

const isa = testIsa();

/** Each thread writes a word and, after these lines, reads that of a thread in another warp. */
const exchange = (...between: string[]): Fn =>
  parseFn(
    `.entry k
{
BB0:
       S2R.TID.Y R1
       S2R.TID.X R2
       IMAD R3, R1, 20, R2
       SHL R4, R3, 2
       ISETP.LT P10, R2, 7
   @P10 BRA BB2
BB1:
       IADD3 R3, R3, 100
BB2:
       STS [R4], R3
       ${between.join('\n')}
       IADD3 R5, R4, 132
       ISETP.LT P6, R5, 320
       SEL R5, R5, R4, P6
       LDS R7, [R5]
       MOV.64 RD8, 4096
       IMAD_WIDE.U32 RD9, R4, 1, RD8
       STG [RD9], R7
       EXIT
}`,
    isa,
  );
const merged = (fn: Fn): Fn => mergeSync(fn, testContext(fn));
const SEEDS = Array.from({ length: 20 }, (_, k) => k + 1);

describe('merge-sync under adversarial schedules', () => {
  it.each([
    [['WARPSYNC -1', 'BAR.SYNC 0'], 1],
    [['BAR.SYNC 0', 'WARPSYNC -1'], 1],
    [['MEMBAR.ACQ_REL.CTA', 'IADD3 R21, R3, 1', 'MEMBAR.SC.GPU', 'BAR.SYNC 0'], 1],
    [['BAR.RED.POPC R20, _, 0, 0, P10', 'WARPSYNC -1'], 1],
  ])('%o keeps what threads exchange', (between, gone) => {
    const fn = exchange(...between);
    const out = merged(fn);
    expect(fn.blocks[2].ins.length - out.blocks[2].ins.length).toBe(gone);
    expect(merged(out)).toBe(out);
    const right = stores(fn, undefined);
    for (const seed of SEEDS) {
      expect(stores(fn, seed)).toBe(right);
      expect(stores(out, seed)).toBe(right);
    }
  });

  it('schedules tell where the barrier, not the meeting of the warp, is taken away', () => {
    const right = stores(exchange('BAR.SYNC 0'), undefined);
    const wrong = exchange('WARPSYNC -1');
    expect(printFn(merged(wrong))).toBe(printFn(wrong));
    expect(SEEDS.filter((seed) => stores(wrong, seed) !== right).length).toBeGreaterThan(10);
  });
});

describe('merge-sync leaves', () => {
  it.each([
    // The second fence orders what other threads wrote before the barrier, the first what they read after it.
    [['MEMBAR.ACQ_REL.CTA', 'BAR.SYNC 0', 'MEMBAR.SC.GPU']],
    [['MEMBAR.SC.GPU', 'BAR.SYNC 0', 'MEMBAR.ACQ_REL.CTA']],
    [['MEMBAR.SC.GPU', 'WARPSYNC -1', 'MEMBAR.SC.GPU']],
    [['WARPSYNC -1', 'MEMBAR.SC.GPU', 'BAR.SYNC 0']],
  ])('%o', (between) => {
    const fn = exchange(...between);
    expect(merged(fn)).toBe(fn);
  });

  it('a reduction with an unused result, where another needs the predicates', () => {
    const fn = parseFn(
      `.entry k
{
BB0:
       S2R.TID.Y R1
       S2R.TID.X R2
       IMAD R3, R1, 20, R2
       IMAD_WIDE.U32 RD9, R3, 4, 4096
       ISETP.LT P11, R3, 32
       ISETP.LT P10, R2, 7
   @P11 BRA BB2
BB1:
       BAR.RED.POPC R20, _, 0, 0, P10
       STG [RD9], R20
       EXIT
BB2:
       BAR.RED.POPC R21, _, 0, 0, P10
       EXIT
}`,
      isa,
    );
    expect(stores(merged(fn), undefined)).toBe(stores(fn, undefined));
    expect(merged(fn)).toBe(fn);
  });
});
