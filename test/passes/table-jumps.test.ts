import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tableLayout } from '../../src/analysis/flow/table-layout.ts';
import { rangeAt, rangesOf } from '../../src/analysis/values/ranges.ts';
import { regOf } from '../../src/ir/operand.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { planIndices } from '../../src/ptx/emit/indices.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { loadShipped } from '../../src/spec/node.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { programOf, testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { randomSwitch, runSwitch } from '../support/random-switch.ts';
import { runPass } from '../support/run-pass.ts';
import { often, runs } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const isa = testIsa();
const backend = (await planWith({ sm: 'sm_90' })).plan!.backend;
const table = new PtxTable((await loadShipped()).ptx!.data as unknown as PtxDoc);
const params = {
  'cascade-cases': 1,
  'least-gain': 0.001,
  'table-entries': 1024,
  'table-density': 0.01,
  'table-cost': 0,
  lanes: 32,
};

describe('jumps through tables by offset', () => {
  it('do what jumps by index do, and other passes understand them', () => {
    let offsets = 0;
    let rewritten = 0;
    fc.assert(
      fc.property(randomSwitch, fc.boolean(), ({ fn: source, selector, values }, eager) => {
        const ssa = runPass('generate-mov-phi', source, testContext(source));
        const fn = eager ? runPass('switch-opt', ssa, testContext(ssa, { params })) : ssa;
        const out = runPass('expand-table-jumps', fn, testContext(fn, { backend }));
        const same = (other: typeof fn): void => {
          expect(verifyFn(other, undefined, { controlLast: true })).toEqual([]);
          expect(verifySsa(other)).toEqual([]);
          for (const v of values)
            expect([v, runSwitch(other, selector, v)]).toEqual([v, runSwitch(fn, selector, v)]);
        };
        expect(printFn(out)).not.toMatch(/BRX R/);
        expect(printFn(parseFn(printFn(out), isa))).toBe(printFn(out));
        expect(runPass('expand-table-jumps', out, testContext(out, { backend }))).toBe(out);
        same(out);
        if (out !== fn) offsets++;
        const known = runPass('conditional-constants', out, testContext(out));
        same(known);
        const again = runPass(
          'switch-opt',
          known,
          testContext(known, { params: { ...params, 'table-cost': 100 } }),
        );
        same(again);
        if (out !== fn && again !== known) rewritten++;
      }),
      { numRuns: runs(80), seed: 20261201 },
    );
    expect(offsets).toBeGreaterThan(often(20));
    expect(rewritten).toBeGreaterThan(often(5));
  }, 600_000);

  it('bound the offset where each entry leads', () => {
    const fn = parseFn(
      '.entry k\n.table T0 BB1 BB2 BB2\n{\nBB0:\n LDG R1, [RD2]\n BRX.OFFSET R1, T0\nBB1:\n EXIT\nBB2:\n STG [RD2], R1\n EXIT\n}',
      isa,
    );
    const { least, most } = rangeAt(rangesOf(fn), regOf('R1'), 2);
    expect([least, most]).toEqual([4, 8]);
  });

  it('stand in front of their tables, whose entries are distances from the first', () => {
    const fn = parseFn(
      '.entry k\n.table T0 BB1 BB2 BB0\n{\nBB0:\n BRX.OFFSET R1, T0\nBB1:\n NOP\nBB2:\n @P1 BRX.OFFSET R1, T0\nBB3:\n EXIT\n}',
      isa,
    );
    expect(tableLayout(fn, 16).map((t) => [t.at, ...t.entries])).toEqual([
      [16, 16, 32, -16],
      [64, -32, -16, -64],
    ]);
    // Three words fill one and a half of the shorter instructions.
    expect(tableLayout(fn, 8).map((t) => [t.at, ...t.entries])).toEqual([
      [8, 16, 24, -8],
      [40, -16, -8, -40],
    ]);
  });
});

describe('brx.idx', () => {
  const bodyOf = (code: string): string => {
    const fn = parseFn(`.entry k\n.table T0 BB8 BB9\n{\n${code}\nBB8:\n STG [RD5], R1\nBB9:\n EXIT\n}`, isa);
    const { text, diagnostics } = emitPtx(programOf(fn), { table, paramBase: 0x160, module: null });
    expect(diagnostics).toEqual([]);
    return text
      .replace(/[\s\S]*branchtargets[^\n]*\n/, '')
      .replace(/\$?BB8:[\s\S]*/, '')
      .replace(/\s+/g, ' ')
      .trim();
  };

  it('takes the index that was shifted', () => {
    expect(bodyOf('BB0:\n SHL R2, R1, 2\n @P3 BRX.U.OFFSET R2, T0')).toBe('@%p3 brx.idx.uni %r1, $ts0;');
  });

  it('takes none where one jump stands below two shifts', () => {
    const two = parseFn(
      '.entry k\n.table T0 BB8 BB9\n{\nBB0:\n SHL R2, R1, 2\n BRX.OFFSET R2, T0\nBB1:\n SHL R2, R3, 2\n BRX.OFFSET R2, T0\nBB8:\n EXIT\nBB9:\n EXIT\n}',
      isa,
    );
    expect(planIndices(two).jumps.size).toBe(2);
    const jump = two.blocks[0].ins[1];
    const blocks = two.blocks.map((b, k) => (k === 1 ? { ...b, ins: [b.ins[0], jump] } : b));
    expect(planIndices({ ...two, blocks }).jumps.size).toBe(0);
  });

  it('leaves the shift where something else needs it', () => {
    expect(bodyOf('BB0:\n SHL R2, R1, 2\n STG [RD5], R2\n BRX.OFFSET R2, T0')).toMatch(
      /shl.b32 %r2.*brx.idx %r1/,
    );
    expect(bodyOf('BB0:\n SHL R2, R1, 2\n BRX.OFFSET R2, T0\nBB1:\n STG [RD5], R2')).toMatch(
      /shl.b32 %r2.*brx.idx %r1/,
    );
  });

  it.each([
    ['the index is written in between', 'BB0:\n SHL R2, R1, 2\n IADD3 R1, R1, 1\n BRX.OFFSET R2, T0'],
    ['the index is the offset', 'BB0:\n SHL R1, R1, 2\n BRX.OFFSET R1, T0'],
    ['the shift is in another block', 'BB0:\n SHL R2, R1, 2\nBB1:\n BRX.OFFSET R2, T0'],
    ['the shift is guarded', 'BB0:\n @P1 SHL R2, R1, 2\n BRX.OFFSET R2, T0'],
    ['the shift is another', 'BB0:\n SHL R2, R1, 3\n BRX.OFFSET R2, T0'],
    ['it is no shift', 'BB0:\n LDG R2, [RD5]\n BRX.OFFSET R2, T0'],
  ])('takes the offset, shifted back, where %s', (_, code) => {
    expect(bodyOf(code)).toMatch(/shr.u32 (%r\w+), %r[12], 2; brx.idx \1, /);
  });
});
