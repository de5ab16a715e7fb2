import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Pool } from '../../src/analysis/registers/liveness.ts';
import { pressureOf } from '../../src/analysis/registers/pressure.ts';
import { convergenceOf } from '../../src/analysis/synchronization/warp-convergence.ts';
import { readPtx, writePtx } from '../../src/core.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn, printProgram } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { convertToUniform } from '../../src/passes/uniformity/convert-to-uniform.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { programOf, testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { randomKernel } from '../support/random-kernel.ts';
import { stores } from '../support/scheduled.ts';
import { runs } from '../support/size.ts';
import { planWith, shipped } from '../support/specs.ts';

const isa = testIsa();
const matmul = readFileSync(
  new URL('../kernels/matmul-tiled/matmul-tiled.sm_80.ptx', import.meta.url),
  'utf8',
);
const { backend } = (await planWith({ sm: 'sm_80' })).plan!;

const converted = (fn: Fn, opts: Parameters<typeof testContext>[1] = {}): Fn =>
  convertToUniform(fn, testContext(fn, { backend, knobs: { Knob862: 5 }, ...opts }));

/**
 * The fault of ptxas (public report "ptxas uniform-datapath miscompilation", LucaCappelletti94): a counter with a trip count
 * that all lanes share, a body in which lanes stay for different times, and a select that reads the counter behind it.
 * Every thread keeps the last round in which its condition held, and stores it.
 */
const lagging = (behind: string, counter = 'R1'): string =>
  `.entry k
{
BB0:
       S2R.TID.X R2
       LOP3 R3, R2, 7, RZ, 0xc0
       MOV ${counter}, 0
       MOV R4, 0
BB1:
       MOV R5, 0
BB2:
       IADD3 R5, R5, 1
       ISETP.LE P6, R5, R3
   @P6 BRA BB2
BB3:
       IADD3 R7, R3, ${counter}
       LOP3 R7, R7, 3, RZ, 0xc0
       ISETP.NE P8, R7, 0
       SEL R4, ${counter}, R4, P8
       ${behind}
       IADD3 ${counter}, ${counter}, 1
       LDC R10, c[0x0][0x160]
       ISETP.LT P9, ${counter}, R10
   @P9 BRA BB1
BB4:
       IMAD.WIDE.U32 RD11, R2, 4, RZ
       STG [RD11], R4
       EXIT
}`.replace('IMAD.WIDE.U32', 'IMAD_WIDE.U32');
const text = (behind: string, counter?: string): Fn =>
  parseFn(lagging(behind, counter).replace('LDC R10, c[0x0][0x160]', 'MOV R10, 6'), isa);

describe('a counter of which the warp has one copy', () => {
  it('is read by lanes that lag behind, as in hardware: schedules show it', () => {
    const right = stores(text('NOP'), undefined);
    for (let seed = 1; seed <= 20; seed++) expect(stores(text('NOP'), seed)).toBe(right);
    const wrong = text('NOP', 'UR1');
    // Turns by the thousand and meeting at post-dominators hide it.
    expect(stores(wrong, undefined)).toBe(right);
    const different = Array.from({ length: 20 }, (_, k) => stores(wrong, k + 1)).filter((s) => s !== right);
    expect(different.length).toBeGreaterThan(10);
  });

  it('stays in vector registers if the body diverges, although its trip count is uniform', () => {
    const fn = text('NOP');
    expect(printFn(converted(fn))).not.toMatch(/UR1\b/);
  });

  it('moves if the lanes are together whenever it changes, and is right under every schedule', () => {
    const fn = text('BAR.SYNC 0');
    const out = converted(fn);
    expect(printFn(out)).toMatch(/IADD3 UR1, UR1, 1/);
    expect(printFn(out)).toMatch(/SEL R4, UR1, R4, P8/);
    const right = stores(fn, undefined);
    for (let seed = 1; seed <= 20; seed++) expect(stores(out, seed)).toBe(right);
    // A barrier that some lanes pass does not bring all together, nor does one at which lanes only arrive.
    for (const b of ['@P8 BAR.SYNC 0', 'BAR.ARRIVE 1, 96', 'BAR.SYNC.UNALIGNED 0', 'WARPSYNC 7'])
      expect(printFn(converted(text(b))), b).not.toMatch(/UR1\b/);
  });
});

describe('the check in open worlds', () => {
  it('finds a counter that one copy makes wrong, though fixed turns hide it', () => {
    const before = programOf(text('NOP'));
    const wrong = programOf(text('NOP', 'UR1'));
    expect(judgeKernel(before, before, 'k', 0x160).same).toBe(true);
    const found = judgeKernel(before, wrong, 'k', 0x160);
    expect(found.same).toBe(false);
    expect(found.differences[0]).toMatch(/, turns at random: byte /);
    const right = programOf(text('BAR.SYNC 0'));
    const moved = programOf(converted(text('BAR.SYNC 0')));
    expect(judgeKernel(right, moved, 'k', 0x160).same).toBe(true);
  });
});

describe('where lanes are together', () => {
  const starts = (t: string): number[] => [...convergenceOf(parseFn(t, isa)).atStart];

  it('ends at a branch that may part them, or a call; lanes that end leave the others together', () => {
    const branch = (p: string, first: string): string =>
      `.entry k\n{\nBB0:\n${p}\nISETP.LT P2, R1, 4\n@P2 BRA BB2\nBB1:\nNOP\nBB2:\n${first}\nEXIT\n}`;
    expect(starts(branch('S2R.TID.X R1', 'NOP'))).toEqual([1, 0, 0]);
    expect(starts(branch('S2R.CTAID.X R1', 'NOP'))).toEqual([1, 1, 1]);
    expect(starts(branch('S2R.TID.X R1', 'EXIT'))).toEqual([1, 1, 1]);
    expect(starts('.entry k\n{\nBB0:\nCALL {}, &f, &, {}\nBB1:\nEXIT\n}')).toEqual([1, 0]);
    expect(starts('.func k\n{\nBB0:\nRET\n}')).toEqual([0]);
  });
});

describe('convert-to-uniform', () => {
  it('gives what was there, whatever the schedule, and is done after one application', () => {
    let moved = 0;
    let inLoops = 0;
    fc.assert(
      fc.property(randomKernel, fc.integer({ min: 0, max: 2 }), (fn, bridges) => {
        const params = { 'max-bridges': bridges };
        const out = converted(fn, { params });
        expect(verifyFn(out)).toEqual([]);
        if (bridges === 0) {
          expect(converted(out)).toBe(out);
          expect(converted(out, { params: { only: 'existing' } })).toBe(out);
        }
        if (out === fn) return;
        moved++;
        const right = stores(fn, undefined);
        if (!right.startsWith('done')) return;
        for (let seed = 1; seed <= 4; seed++) {
          // Votes of whoever is there at the moment are no function of the program alone.
          if (!printFn(fn).includes('ACTIVEMASK')) expect(stores(fn, seed)).toBe(right);
          else if (stores(fn, seed) !== right) continue;
          expect(stores(out, seed)).toBe(right);
        }
        inLoops++;
      }),
      { numRuns: runs(150), seed: 27 },
    );
    expect(moved).toBeGreaterThan(50);
    expect(inLoops).toBeGreaterThan(30);
  });

  /** A kernel in which `n` uniform values are live at once, the first of them used the most. */
  const many = (n: number): Fn => {
    const defs = Array.from({ length: n }, (_, k) => `LDC R${k + 10}, c[0x0][${0x200 + 4 * k}]`);
    const uses = Array.from({ length: n }, (_, k) => `IADD3 R2, R2, R${k + 10}`);
    const more = ['IADD3 R2, R2, R10', 'IADD3 R2, R2, R10'];
    return parseFn(
      `.entry k\n{\nBB0:\nS2R.TID.X R2\nLDC.B64 RD3, c[0x0][0x168]\n${[...defs, ...more, ...uses].join('\n')}\nSTG [RD3], R2\nEXIT\n}`,
      isa,
    );
  };

  it('fills the file and no more: values with few uses stay', () => {
    const most = Number((backend.facts.limits as Record<string, number>)['max-uniform-registers']);
    expect(most).toBe(63);
    for (const n of [62, 63, 64, 90]) {
      const out = converted(many(n));
      expect(pressureOf(out).most[Pool.UR]).toBe(Math.min(n, most));
      expect(printFn(out)).toMatch(/LDC UR10,/);
    }
    const out = converted(many(64), { knobs: { Knob862: 0 } });
    expect(printFn(out)).toBe(printFn(many(64)));
  });

  it('knobs keep values that change while lanes are together, and those read where they may be apart', () => {
    const fn = text('BAR.SYNC 0');
    const uniform = (knobs: Record<string, boolean>): string[] => [
      ...new Set(printFn(converted(fn, { knobs })).match(/\bUR\d+/g) ?? []),
    ];
    expect(uniform({})).toContain('UR1');
    expect(uniform({ DisableConvergentWriteUR: true })).not.toContain('UR1');
    expect(uniform({ DisableURLiveAcrossConvBound: true })).not.toContain('UR1');
    const straight = parseFn(
      '.entry k\n{\nBB0:\nS2R.CTAID.X R1\nS2R.TID.X R2\nIADD3 R3, R1, R2\nSTS [R2], R3\nEXIT\n}',
      isa,
    );
    expect(
      printFn(
        converted(straight, {
          knobs: { DisableConvergentWriteUR: true, DisableURLiveAcrossConvBound: true },
        }),
      ),
    ).toMatch(/IADD3 R3, UR1, R2/);
  });

  it('only targets with a uniform datapath have any', async () => {
    const at = async (sm: string): Promise<string> => {
      const plan = (await planWith({ sm, order: 'binary' })).plan!;
      const { module } = parsePtx(matmul, 'x.ptx');
      const { program } = lowerPtx(module, { isa: plan.isa, paramBase: 0x160, sm });
      return printProgram(runPipeline(program, plan).last);
    };
    expect(await at('sm_80')).toMatch(/\bUR\d/);
    expect(await at('sm_75')).toMatch(/\bUR\d/);
    expect(await at('sm_70')).not.toMatch(/\bUR\d/);
  });

  it('changes nothing of the PTX but names of registers', async () => {
    const ptx = async (disable: string[]): Promise<string> => {
      const plan = (await planWith({ order: 'binary', disable })).plan!;
      const { program, module } = readPtx(matmul, plan, 'x.ptx');
      return writePtx(runPipeline(program, plan).last, plan, shipped, { module }).text;
    };
    const named = await ptx([]);
    expect(named).toMatch(/%ur\d/);
    const plain = (t: string): string =>
      t.replace(/%u(rd|r|p)(?=\d)/g, '%$1').replace(/^\s*\.reg .*\n/gm, '');
    expect(plain(named)).toBe(plain(await ptx(['ConvertToUniformReg'])));
  });
});
