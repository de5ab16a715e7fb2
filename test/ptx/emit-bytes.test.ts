import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseFn } from '../../src/ir/text.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { codeSections, hasPtxas, ptxas } from '../support/ptxas.ts';

/*
 * A byte or half used only as a shifted index is extracted by prmt: after an and, ptxas shifts before it masks.
 */
const isa = testIsa();
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);

function written(body: string): string {
  const fn = parseFn(`.entry k\n{\nBB0:\nLDG R1, [RD20]\nLDG R9, [RD20+4]\n${body}\n       EXIT\n}`, isa);
  const { text, diagnostics } = emitPtx(programOf(fn), { table, paramBase: 0x160, module: null });
  expect(diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
  return text;
}

describe('a masked word', () => {
  const byte = 'LOP3 R2, R1, 0xff, RZ, 0xc0\n';
  const lea = 'LEA R3, R2, R9, 2\nSTG [RD20], R3\n';
  it.each<[string, RegExp, string]>([
    ['of a byte for LEA', /prmt\.b32 %r2, %r1, 0, 0x4440;/, byte + lea],
    ['of a byte for SHL', /prmt\.b32 %r2, %r1, 0, 0x4440;/, `${byte}SHL R3, R2, 4\nSTG [RD20], R3\n`],
    ['of a half', /prmt\.b32 %r2, %r1, 0, 0x4410;/, byte.replace('0xff', '0xffff') + lea],
    ['with the mask first', /prmt\.b32 %r2, %r1, 0, 0x4440;/, `LOP3 R2, 0xff, R1, RZ, 0xc0\n${lea}`],
    ['under a guard', /@%p1 prmt\.b32 %r2, %r1, 0, 0x4440;/, `@P1 ${byte}${lea}`],
    ['that something else reads too stays', /and\.b32 %r2, %r1, 255;/, `${byte + lea}STG [RD20+4], R2\n`],
    [
      'that is added to a shifted one stays',
      /and\.b32 %r2, %r1, 255;/,
      `${byte}LEA R3, R9, R2, 2\nSTG [RD20], R3\n`,
    ],
    [
      'that is shifted by a variable stays',
      /and\.b32 %r2, %r1, 255;/,
      `${byte}SHL R3, R2, R9\nSTG [RD20], R3\n`,
    ],
    ['of other bits stays', /and\.b32 %r2, %r1, 127;/, byte.replace('0xff', '0x7f') + lea],
  ])('%s', (_, line, body) => expect(written(body)).toMatch(line));

  it('of a complement is no byte of the word', () =>
    expect(written(byte.replace('0xc0', '0x0c') + lea)).not.toMatch(/prmt/));
});

describe.runIf(hasPtxas('emit-bytes'))('ptxas', () => {
  const kernel = (pick: string): string => {
    let body = '';
    for (let k = 0; k < 16; k++)
      body += `ld.global.u32 %r1, [%rd1+${4 * k}]; ${pick} shl.b32 %r3, %r2, 2; add.s32 %r4, %r5, %r3; ld.shared.u32 %r6, [%r4]; xor.b32 %r7, %r7, %r6;\n`;
    return `.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 t[1024];
.visible .entry k(.param .u64 p) {
.reg .b64 %rd<3>; .reg .b32 %r<9>;
ld.param.u64 %rd1, [p]; mov.u32 %r5, t; mov.u32 %r7, 0;
${body}st.global.u32 [%rd1], %r7; ret; }`;
  };
  it('makes less of indices by prmt than by and', () => {
    const size = (pick: string): number =>
      codeSections(ptxas(kernel(pick), 'sm_80').cubin!).get('k')!.byteLength;
    expect(size('prmt.b32 %r2, %r1, 0, 0x4440;')).toBeLessThan(size('and.b32 %r2, %r1, 255;'));
  });
});
