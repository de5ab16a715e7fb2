import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { uniformAtomics } from '../../src/passes/uniformity/uniform-atomics.ts';
import { PIECE } from '../../src/sim/open-memory.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { memoryAfter } from '../support/scheduled.ts';
import { often, runs } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const isa = testIsa();
const { backend } = (await planWith({ sm: 'sm_80' })).plan!;
const older = (await planWith({ sm: 'sm_75' })).plan!.backend;
const newer = (await planWith({ sm: 'sm_90' })).plan!.backend;
const combined = (fn: Fn, on = backend, mode: number | null = 1): Fn =>
  uniformAtomics(fn, testContext(fn, { backend: on, knobs: { OptimizeUniformAtomicMode: mode } }));

/**
 * Lanes selected by a varying condition, or all, apply an operation in a loop that they leave in different iterations, or all together if
 * `limit` is uniform.
 */
const kernel = (atomic: string, condition: string, limit = 'R1'): Fn =>
  parseFn(
    `.entry k
{
BB0:
       S2R.TID.X R1
       S2R.LANEID R2
       IMAD R3, R1, 37, R2
       MOV.64 RD4, 4096
       MOV R5, RZ
       ${condition}
   @P6 BRA BB3
BB1:
       MOVPHI R7, {BB0: R5, BB2: R8}
       ${atomic}
       IADD3 R8, R7, 5
       ISETP.LT P9, R8, ${limit}
   @P9 BRA BB2
       BRA BB3
BB2:
       BRA BB1
BB3:
       EXIT
}`.replace('       BRA BB3\nBB2', 'BB4:\n       BRA BB3\nBB2'),
    isa,
  );

/** Every lane goes into the loop. */
const ALL = 'ISETP.NE P6, R5, RZ';

describe('uniform-atomics', () => {
  const ops = fc.constantFrom('ADD', 'MIN', 'MAX', 'AND', 'OR', 'XOR');
  const sources = fc.constantFrom('R3', 'R2', 'R7', '5', '-9');
  const ways = fc.constantFrom(
    ...['ISETP.LT P6, R1, 4', 'ISETP.GT P6, R2, 20', ALL].map((c) => [c, 'R1'] as const),
    ...[ALL, ALL, ALL].map((c) => [c, '31'] as const),
  );
  const spaces = fc.constantFrom('ATOMG', 'ATOM');

  it('leaves the same in memory, whatever the schedule', () => {
    let changed = 0;
    fc.assert(
      fc.property(
        spaces,
        ops,
        fc.constantFrom('U32', 'S32'),
        sources,
        ways,
        (space, op, type, v, [condition, limit]) => {
          const fn = kernel(`${space}.${op}.${type}.NORTN [RD4+8], ${v}`, condition, limit);
          const right = memoryAfter(fn, undefined);
          expect(right.startsWith('done')).toBe(true);
          for (const on of [backend, older]) {
            const out = combined(fn, on);
            expect(combined(out, on)).toBe(out);
            if (limit === 'R1') expect(out).toBe(fn);
            if (out !== fn) changed++;
            for (const seed of [undefined, 1, 2, 3]) expect(memoryAfter(out, seed)).toBe(right);
          }
        },
      ),
      { numRuns: runs(60), seed: 44 },
    );
    expect(changed).toBeGreaterThan(often(30));
  });

  it('needs the knob, and for a reduction a target that has it', () => {
    const fn = kernel('ATOMG.ADD.U32.NORTN [RD4+8], R3', ALL, '31');
    expect(printFn(combined(fn))).toMatch(/REDUX\.ADD/);
    expect(combined(fn, backend, null)).toBe(fn);
    expect(combined(fn, backend, 0)).toBe(fn);
    expect(combined(fn, older)).toBe(fn);
    const counted = kernel('ATOMG.ADD.U32.NORTN [RD4+8], 3', ALL, '31');
    expect(printFn(combined(counted, older))).toMatch(/POPC/);
  });

  /** The words in memory by address, and how the run ended. */
  const wordsOf = (fn: Fn, seed: number | undefined): readonly [string, ReadonlyMap<number, number>] => {
    const text = memoryAfter(fn, seed);
    const [end, pieces] = [text.slice(0, text.indexOf(' ')), JSON.parse(text.slice(text.indexOf(' ')))];
    const bytes = new Map<number, number>();
    for (const [key, list] of pieces as [number, number[]][])
      for (let k = 0; k < list.length; k += 2) bytes.set(key * PIECE + list[k], list[k + 1]);
    const word = (a: number): number => [0, 1, 2, 3].reduce((v, k) => v + bytes.get(a + k)! * 256 ** k, 0);
    return [end, new Map([...bytes.keys()].filter((a) => a % 4 === 0).map((a) => [a, word(a)]))];
  };
  /** What all threads stored, sorted: which thread got which value depends on the schedule. */
  const results = (fn: Fn, seed: number | undefined): string => {
    const [end, words] = wordsOf(fn, seed);
    return `${end} ${[...words.values()].sort((a, b) => a - b).join()}`;
  };
  /** Each thread stores what its atomic gives. */
  const used = (atomic: string, to = 'R9'): Fn =>
    parseFn(
      `.entry k
{
BB0:
       S2R.TID.X R1
       S2R.TID.Y R2
       S2R.CTAID.X R3
       IMAD R6, R2, 20, R1
       IMAD R7, R3, 80, R6
       MOV R10, 6
       MOV.64 RD4, 4096
       IMAD_WIDE.U32 RD8, R7, 4, RD4
       ISETP.LT P20, R1, 7
       ${atomic}
       STG [RD8+256], ${to}
       EXIT
}`,
      isa,
    );

  it.each([
    ...['ADD.U32', 'ADD.S32', 'MIN.U32', 'MAX.S32', 'AND.U32', 'OR.U32'].flatMap((op) =>
      ['5', '-9', 'R10'].map((v) => `ATOMG.${op} R9, [RD4+8], ${v}, RZ`),
    ),
    'ATOM.ADD.U32 R9, [RD4+8], 1, RZ',
    '@P20 ATOMG.ADD.U32 R9 else R7, [RD4+8], 5, RZ',
    '@!P20 ATOMG.MIN.S32 R9 else R7, [RD4+8], -3, RZ',
  ])('gives every lane the result of some order: %s', (atomic) => {
    const fn = used(atomic);
    const right = results(fn, undefined);
    expect(right.split(',').length).toBe(161);
    for (const on of [backend, older, newer]) {
      const out = combined(fn, on);
      expect(out).not.toBe(fn);
      expect(combined(out, on)).toBe(out);
      for (const seed of [undefined, 1, 2, 3]) expect(results(out, seed)).toBe(right);
    }
  });

  const JOIN: Readonly<Record<string, (a: number, b: number) => number>> = {
    'ADD.U32': (a, b) => a + b,
    'MIN.U32': (a, b) => Math.min(a >>> 0, b >>> 0),
    'MIN.S32': (a, b) => Math.min(a | 0, b | 0),
    'MAX.U32': (a, b) => Math.max(a >>> 0, b >>> 0),
    'MAX.S32': (a, b) => Math.max(a | 0, b | 0),
    'AND.U32': (a, b) => a & b,
    'OR.S32': (a, b) => a | b,
    'XOR.U32': (a, b) => a ^ b,
  };
  const orders = (n: number): number[][] =>
    n === 0
      ? [[]]
      : orders(n - 1).flatMap((o) =>
          [...Array(n).keys()].map((k) => [...o.slice(0, k), n - 1, ...o.slice(k)]),
        );

  // Blocks have 80 threads in three warps, the last of which is half full; a thread is 20 * y + x, and P20 asks for x below 7.
  it.each(Object.keys(JOIN).flatMap((op) => ['', '@P20 ', '@!P20 '].map((guard) => [op, guard] as const)))(
    'gives every lane what those below it and the warps before it leave: %s %s',
    (op, guard) => {
      const [to, value] = [guard === '' ? 'R9' : 'R9 else R7', guard === '@P20 ' ? 'R6' : 'R7'];
      const fn = used(`${guard}ATOMG.${op} ${to}, [RD4+8], ${value}, RZ`);
      const found = wordsOf(used('LDG R9, [RD4+8]'), undefined)[1].get(4096 + 256)!;
      const takesPart = (t: number): boolean => guard === '' || t % 20 < 7 === (guard === '@P20 ');
      /** What the threads store and what is left, if warps come in an order. */
      const inOrder = (order: readonly number[]): string => {
        let now = found;
        const out: number[] = Array(161);
        for (const w of order)
          for (let t = (w % 3) * 32; t < Math.min(80, (w % 3) * 32 + 32); t++) {
            const number = (w < 3 ? 0 : 80) + t;
            out[number] = takesPart(t) ? now >>> 0 : number;
            if (takesPart(t)) now = JOIN[op](now, value === 'R6' ? t : number);
          }
        out[160] = now >>> 0;
        return out.join();
      };
      const possible = new Set(orders(6).map(inOrder));
      for (const on of [backend, older, newer]) {
        const out = combined(fn, on);
        expect(printFn(out)).toMatch(/SHFL\.UP/);
        expect(combined(out, on)).toBe(out);
        for (const seed of [undefined, 1, 2, 3]) {
          const [end, words] = wordsOf(out, seed);
          const stored = [...Array(160).keys()].map((t) => words.get(4096 + 256 + 4 * t));
          expect(end).toBe('done');
          expect(possible.has([...stored, words.get(4096 + 8)].join())).toBe(true);
        }
      }
    },
  );

  it('sums up no results where a lane may leave before the others', () => {
    const fn = used('ATOMG.ADD.U32 R9, [RD4+8], R7, RZ');
    const leaves = printFn(fn).replace(
      'S2R.TID.Y',
      'S2R.TID.Z R30\n ISETP.GT P31, R30, 3\n@P31 EXIT\nBB9:\nS2R.TID.Y',
    );
    const leaving = parseFn(leaves, isa);
    expect(combined(fn)).not.toBe(fn);
    expect(combined(leaving)).toBe(leaving);
    const calling = parseFn(printFn(fn).replace('S2R.TID.Y', 'CALL R30, &f, &, R1\n S2R.TID.Y'), isa);
    expect(combined(calling)).toBe(calling);
  });

  it('elects the lane where the target can, but under a guard', () => {
    const chosen = (atomic: string, on: typeof backend): string | undefined =>
      /ELECT|FLO/.exec(printFn(combined(used(atomic, 'R7'), on)))?.[0];
    for (const rest of [
      'ADD.U32.NORTN [RD4+8], 5',
      'ADD.U32.NORTN [RD4+8], R6',
      'MAX.S32.NORTN [RD4+8], 5',
    ]) {
      expect(chosen(`ATOMG.${rest}`, backend)).toBe('FLO');
      expect(chosen(`ATOMG.${rest}`, newer)).toBe('ELECT');
      expect(chosen(`@P20 ATOMG.${rest}`, newer)).toBe('FLO');
    }
  });

  it.each([
    '@P20 ATOMG.ADD.U32.NORTN [RD4+8], 5',
    '@!P20 ATOMG.ADD.U32.NORTN [RD4+8], R10',
    '@P20 ATOMG.MAX.U32.NORTN [RD4+8], 2000000000',
    '@!P20 ATOMG.MIN.U64.NORTN [RD4+8], 5',
    'ATOMG.OR.U64.NORTN [RD4+8], 0x123456789abcdef',
    'ATOMG.ADD.U64.NORTN [RD4+8], 3',
    '@P20 ATOMG.ADD.S64.NORTN [RD4+8], -7',
    ...['ADD.U32', 'MIN.S32', 'AND.U32', 'XOR.U32'].map((op) => `@P20 ATOMG.${op}.NORTN [RD4+8], R6`),
    // Without REDUX, sm_75 leaves what lanes do not share.
  ])('votes about a guard, and takes 64 bits: %s', (atomic) => {
    const fn = used(atomic, 'R7');
    const right = results(fn, undefined);
    for (const on of [backend, older, newer]) {
      const out = combined(fn, on);
      const isNamed = !atomic.endsWith('R6') || on !== older;
      expect(printFn(out).includes('VOTE')).toBe(isNamed);
      expect(combined(out, on)).toBe(out);
      for (const seed of [undefined, 1, 2, 3]) expect(results(out, seed)).toBe(right);
    }
  });

  it.each([
    // A sum of 64 bits that 32 do not hold, and a result of 64 bits.
    'ATOMG.ADD.U64.NORTN [RD4+8], 0x123456789',
    'ATOMG.MAX.U64 RD9, [RD4+8], 5, RZ',
  ])('leaves %s', (atomic) => {
    const fn = used(atomic, atomic.includes(' R9') ? 'R9' : 'R7');
    if (!atomic.includes('RD9')) expect(combined(fn)).toBe(fn);
    else {
      const wide = parseFn(printFn(fn).replace('STG [RD8+0x100], R7', 'STG.B64 [RD8+0x100], RD9'), isa);
      expect(combined(wide)).toBe(wide);
    }
  });

  it('says why it leaves what only some lanes of a warp come to', () => {
    const fn = kernel('ATOMG.ADD.U32.NORTN [RD4+8], R3', 'ISETP.LT P6, R1, 4');
    const ctx = testContext(fn, { backend, knobs: { OptimizeUniformAtomicMode: 1 } });
    const said: string[] = [];
    expect(
      uniformAtomics(fn, { ...ctx, remark: (kind, name, text) => said.push(`${kind} ${name} ${text}`) }),
    ).toBe(fn);
    expect(said).toEqual([
      'missed atomic-combined ATOMG.ADD.NORTN [RD4+0x8], R3: no operation of PTX names the lanes of a warp that run it together',
    ]);
  });

  it('adds what each lane has where lanes that run together are in different iterations', () => {
    const fn = parseFn(
      `.entry k
{
BB0:
       S2R.LANEID R2
       MOV.64 RD4, 4096
       LOP3 R10, R2, 1, RZ, 0xc0
       MOV R5, RZ
BB1:
       MOVPHI R7, {BB0: R5, BB3: R8}
       MOVPHI R11, {BB0: R10, BB3: R12}
       LOP3 R12, R11, 1, RZ, 0x3c
       ISETP.EQ P9, R11, 0
   @P9 BRA BB3
BB2:
       STG [RD4+256], RZ
BB3:
       ATOMG.ADD.U32.NORTN [RD4+8], R7
       IADD3 R8, R7, 1
       ISETP.LT P6, R8, 6
   @P6 BRA BB1
BB4:
       EXIT
}`,
      isa,
    );
    for (const on of [backend, older])
      for (const seed of [undefined, 1, 2, 3, 4, 5, 6, 7, 8])
        expect(memoryAfter(combined(fn, on), seed)).toBe(memoryAfter(fn, undefined));
    expect(combined(fn, older)).toBe(fn);
    expect(printFn(combined(fn))).toMatch(/REDUX/);
  });

  it('leaves one in a function, whose callers may be anywhere', () => {
    const counting = (to: string): Fn =>
      parseFn(
        `.func f
  .return b32 r size 4 align 4 at 0 reg R7
{
BB0:
       MOV R7, 1
       ATOMG.ADD.U32 ${to}, [4096], 1, RZ
       RET
}`.replace('       MOV R7, 1\n', to === 'R7' ? '' : '       MOV R7, 1\n'),
        isa,
      );
    for (const to of ['R7', 'R8']) expect(printFn(combined(counting(to)))).toBe(printFn(counting(to)));
  });
});
