import { describe, expect, it } from 'vitest';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { redundantBarriers } from '../../src/passes/synchronization/redundant-barriers.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';

const isa = testIsa();

/** Remaining barriers and fences, by their original line number. */
function left(text: string, knobs: Record<string, number> = {}): number[] {
  const lines = text.split('\n');
  const marked = lines.map((l, i) => (/BAR/.test(l) ? `${l} ; ${i + 1}` : l)).join('\n');
  const fn = parseFn(marked, isa);
  const ctx = testContext(fn, { knobs });
  const out = redundantBarriers(fn, ctx);
  expect(redundantBarriers(out, testContext(out, { knobs }))).toBe(out);
  const stay = [...printFn(out).matchAll(/BAR.*; (\d+)/g)].map((m) => Number(m[1]));
  expect(ctx.remarks.length).toBe(lines.filter((l) => /BAR/.test(l)).length - stay.length);
  return stay;
}
const between = (...middle: string[]): number[] =>
  left(
    [
      'BB0:',
      'STS [R1], R2',
      'BAR.SYNC 0',
      ...middle,
      'BAR.SYNC 0',
      'LDS R4, [R3]',
      'STG [RD5], R4',
      'EXIT',
    ].join('\n'),
  );

describe('redundant barriers', () => {
  it('are removed where only arithmetic, constants and branches are between them', () => {
    expect(between()).toEqual([3]);
    expect(between('IADD3 R3, R1, 4, RZ', 'LDC R6, c[0x0][0x160]', 'S2R.TID.X R7')).toEqual([3]);
    expect(between('BRA BB1', 'BB1:')).toEqual([3]);
    expect(between('BAR.SYNC 0', 'BAR.SYNC 0')).toEqual([3]);
  });

  it('stay after memory accesses, other barriers, warp operations, volatile reads, and exits', () => {
    for (const x of [
      'LDS R8, [R1]',
      'STG [RD5+4], R2',
      'LDG R8, [RD5+8]',
      'ATOMS.ADD R8, [R1], R2',
      'SHFL.IDX R8, _, R2, R3, 31, -1',
      'WARPSYNC -1',
      'CS2R.CLOCK R8',
      '@P9 EXIT',
      'CALL {}, &f, &, {}',
    ])
      expect(between(x), x).toEqual([3, 5]);
    expect(between('BAR.SYNC 1')).toEqual([3, 4, 5]);
    expect(between('MEMBAR.SC.GPU')).toEqual([3, 4, 5]);
  });

  it('stay where some of the threads, or an unknown number, wait', () => {
    const text = (a: string, b: string) => `BB0:\nSTS [R1], R2\n${a}\n${b}\nEXIT`;
    expect(left(text('BAR.SYNC 0', 'BAR.SYNC 0'))).toEqual([3]);
    for (const x of [
      'BAR.SYNC 1, 64',
      'BAR.SYNC R3',
      'BAR.ARRIVE 1, 64',
      '@P9 BAR.SYNC 0',
      'BAR.RED.POPC R8, _, 0, 0, P9',
    ])
      expect(left(text(x, x)), x).toEqual([3, 4]);
    // One half of the block waits twice in one place, the other once here and once there: both meet twice.
    const halves = `BB0:
S2R.TID.X R1
ISETP.LT P9, R1, 32
@P9 BRA BB2
BB1:
BAR.SYNC 0
BAR.SYNC 0
EXIT
BB2:
BAR.SYNC 0
STS [R1], R2
BAR.SYNC 0
EXIT`;
    expect(left(halves)).toEqual([6, 7, 10, 12]);
    // A kernel parameter decides for all threads alike.
    expect(left(halves.replace('S2R.TID.X R1', 'LDC R1, c[0x0][0x160]'))).toEqual([6, 10, 12]);
  });

  it('stay where warps may arrive at different barriers', () => {
    // In a block of 64 threads, the second warp waits once more in the loop: there it meets the first of the first warp's two
    // barriers, and its store comes before the second.
    const text = `BB0:
S2R.TID.X R1
SHR.U32 R6, R1, 5
MOV R2, 0
BB1:
BAR.SYNC 0
STS [R1], R2
IADD3 R2, R2, 1, RZ
ISETP.LE P9, R2, R6
@P9 BRA BB1
BB2:
BAR.SYNC 0
BAR.SYNC 0
LDS R4, [R3]
STG [RD5], R4
EXIT`;
    expect(left(text)).toEqual([6, 12, 13]);
    expect(left(text.replace('S2R.TID.X R1', 'S2R.CTAID.X R1'))).toEqual([6, 12]);
    // A barrier that a thread only arrives at, or whose number is computed, parts them as well.
    const two = (first: string): string =>
      `BB0:\nS2R.TID.X R1\nSHR.U32 R6, R1, 5\n${first}\nSTS [R1], R2\nBAR.SYNC 1\nBAR.SYNC 1\nEXIT`;
    expect(left(two('BAR.ARRIVE 1, 64'))).toEqual([4, 6, 7]);
    expect(left(two('BAR.SYNC R6'))).toEqual([4, 6, 7]);
    expect(left(two('BAR.SYNC 2'))).toEqual([4, 6]);
    // What is called, or calls, may have barriers too.
    const called = text.replace('S2R.TID.X R1', 'S2R.CTAID.X R1').replace('MOV R2, 0', 'CALL {}, &f, &, {}');
    expect(left(called)).toEqual([6, 12, 13]);
  });

  it('need an equal one on every path', () => {
    const ways = (way: string): string => `BB0:
LDC R1, c[0x0][0x160]
ISETP.LT P9, R1, 32
@P9 BRA BB2
BB1:
BAR.SYNC 0
BRA BB3
BB2:
${way}
BB3:
BAR.SYNC 0
EXIT`;
    expect(left(ways('BAR.SYNC 0'))).toEqual([6, 9]);
    expect(left(ways('IADD3 R3, R1, 4, RZ'))).toEqual([6, 11]);
    expect(left(ways('BAR.SYNC 0\nLDS R4, [R3]'))).toEqual([6, 9, 12]);
    const loop = (body: string): string => `BB0:
LDC R1, c[0x0][0x160]
MOV R2, 0
BAR.SYNC 0
BB1:
BAR.SYNC 0
${body}
IADD3 R2, R2, 1, RZ
ISETP.LT P9, R2, R1
@P9 BRA BB1
BB2:
BAR.SYNC 0
EXIT`;
    expect(left(loop('IMAD R3, R2, R2, R1'))).toEqual([4]);
    expect(left(loop('STS [R2], R1'))).toEqual([4, 6, 12]);
  });

  it('are fences too, of one kind; and knob 358 keeps all', () => {
    const fences = (a: string, b: string): string => `BB0:\nSTG [RD5], R2\n${a}\n${b}\nSTG [RD5+4], R2\nEXIT`;
    expect(left(fences('MEMBAR.SC.GPU', 'MEMBAR.SC.GPU'))).toEqual([3]);
    expect(left(fences('MEMBAR.SC.GPU', 'MEMBAR.SC.SYS'))).toEqual([3, 4]);
    expect(left(fences('MEMBAR.SC.GPU', 'MEMBAR.SC.GPU'), { Knob358: 0 })).toEqual([3, 4]);
    expect(left(fences('MEMBAR.SC.GPU', 'MEMBAR.SC.GPU'), { Knob358: 2 })).toEqual([3]);
  });
});
