import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseFn } from '../../src/ir/text.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';

/*
 * A sum that is a 32-bit address reuses the product above it, so that ptxas sees one product. Two sums for 64-bit addresses each have
 * their own, which costs nothing there; three share one. Equal 64-bit shifts are merged wherever they are.
 */
const isa = testIsa();
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);

/** Number of multiplications and shifts emitted for a body. */
function products(body: string): number {
  const fn = parseFn(`.entry k\n{\n${body}\n       EXIT\n}`, isa);
  const { text, diagnostics } = emitPtx(programOf(fn), { table, paramBase: 0x160, module: null });
  expect(diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
  return text.split('\n').filter((l) => /mul\.wide|shl\.b64/.test(l)).length;
}

const HEAD = 'BB0:\nLDG R1, [RD20]\nLDG R2, [RD20+4]\nLDG.B64 RD21, [RD20+8]\nLDG.B64 RD22, [RD20+16]\n';
const sum = (d: string, base: string, a = 'R1', by = '4'): string =>
  `IMAD_WIDE.U32 ${d}, ${a}, ${by}, ${base}\n`;
const use = (...d: string[]): string =>
  d.map((r, k) => `LDL R${30 + k}, [${r}]\nSTG [RD20], R${30 + k}\n`).join('');

describe('equal products of short addresses', () => {
  it.each<[string, number, string]>([
    ['are written once', 1, sum('RD3', 'RD21') + sum('RD4', 'RD22') + use('RD3', 'RD4')],
    ['of other factors are not', 2, sum('RD3', 'RD21') + sum('RD4', 'RD22', 'R1', '8') + use('RD3', 'RD4')],
    ['of other registers are not', 2, sum('RD3', 'RD21') + sum('RD4', 'RD22', 'R2') + use('RD3', 'RD4')],
    [
      'of other signs are not',
      2,
      `${sum('RD3', 'RD21')}IMAD_WIDE.S32 RD4, R1, 4, RD22\n${use('RD3', 'RD4')}`,
    ],
    [
      'are taken from a product that is there',
      1,
      `${sum('RD3', 'RZ') + sum('RD4', 'RD22') + use('RD4')}STG.B64 [RD20], RD3\n`,
    ],
    [
      'of a register that changes are not',
      2,
      `${sum('RD3', 'RD21')}IADD3 R1, R1, 1, RZ\n${sum('RD4', 'RD22')}${use('RD3', 'RD4')}`,
    ],
    ['under a guard are not', 2, `${sum('RD3', 'RD21')}@P1 ${sum('RD4', 'RD22')}${use('RD3', 'RD4')}`],
    [
      'are not taken from a register that has been written since',
      2,
      `${sum('RD3', 'RZ')}STG.B64 [RD20], RD3\nLDG.B64 RD3, [RD20]\n${sum('RD4', 'RD22') + use('RD4')}STG.B64 [RD20], RD3\n`,
    ],
    [
      'do not come from a block above',
      2,
      `${sum('RD3', 'RD21')}${use('RD3')}@P1 BRA BB2\nBB1:\n${sum('RD4', 'RD22')}${use('RD4')}BB2:\n`,
    ],
    [
      'do not come from a block beside',
      2,
      `@P1 BRA BB2\nBB1:\n${sum('RD3', 'RD21')}${use('RD3')}BRA BB3\nBB2:\n${sum('RD4', 'RD22')}${use('RD4')}BB3:\n`,
    ],
  ])('%s', (_, count, body) => expect(products(HEAD + body)).toBe(count));

  const shifted = (d: string, base: string, by = '2'): string => `LEA.64 ${d}, RD21, ${base}, ${by}\n`;
  const global = (text: string): string => text.replaceAll('LDL', 'LDG');
  it.each<[string, number, string]>([
    ['in global memory', 1, shifted('RD3', 'RD22') + shifted('RD4', 'RD20') + global(use('RD3', 'RD4'))],
    ['in local memory', 1, shifted('RD3', 'RD22') + shifted('RD4', 'RD20') + use('RD3', 'RD4')],
    [
      'with a plain one',
      1,
      `${shifted('RD3', 'RZ') + shifted('RD4', 'RD20') + use('RD4')}STG.B64 [RD20], RD3\n`,
    ],
  ])('shifts of 64 bits are one shift %s', (_, count, body) => expect(products(HEAD + body)).toBe(count));
  it.each<[string, string]>([
    ['of other counts', shifted('RD3', 'RD22') + shifted('RD4', 'RD20', '3') + use('RD3', 'RD4')],
    [
      'of a register that changes',
      `${shifted('RD3', 'RD22')}IADD3.64 RD21, RD21, 1, RZ\n${shifted('RD4', 'RD20') + use('RD3', 'RD4')}`,
    ],
    ['under a guard', `${shifted('RD3', 'RD22')}@P1 ${shifted('RD4', 'RD20')}${use('RD3', 'RD4')}`],
    ['with a sign', `LEA.64 RD3, -RD21, RD22, 2\nLEA.64 RD4, -RD21, RD20, 2\n${use('RD3', 'RD4')}`],
  ])('shifts of 64 bits stay apart: %s', (_, body) => expect(products(HEAD + body)).toBe(2));

  it('stay apart in addresses of global memory', () => {
    expect(products(HEAD + sum('RD3', 'RD21') + sum('RD4', 'RD22') + global(use('RD3', 'RD4')))).toBe(2);
  });

  it('of three addresses of global memory are one', () => {
    const three = sum('RD3', 'RD21') + sum('RD4', 'RD22') + sum('RD5', 'RD20');
    expect(products(HEAD + three + use('RD3', 'RD4', 'RD5').replaceAll('LDL', 'LDG'))).toBe(1);
    // One of an address of 32 bits is enough.
    const both = sum('RD3', 'RD21') + sum('RD4', 'RD22');
    expect(products(`${HEAD + both}LDG R30, [RD3]\nLDL R31, [RD4]\nSTG [RD20], R30\nSTG [RD20], R31\n`)).toBe(
      1,
    );
  });
});
