import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseFn } from '../../src/ir/text.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';

/* A load whose register is only read by sign extensions is emitted as a signed load, which ptxas does not find by itself. */
const isa = testIsa();
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);

function loads(body: string): string[] {
  const fn = parseFn(`.entry k\n{\nBB0:\n${body}\nSTG [RD20], R2\n       EXIT\n}`, isa);
  const { text, diagnostics } = emitPtx(programOf(fn), { table, paramBase: 0x160, module: null });
  expect(diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
  return [...text.matchAll(/ld\.(\S+)/g)].map((m) => m[1]);
}

describe('an unsigned load', () => {
  const half = 'LDS.U16 R1, [R9]\n';
  const sign = 'SGXT R2, R1, 16\n';
  it.each<[string, string, string[]]>([
    ['of a half that is extended', half + sign, ['shared.s16']],
    ['of a byte that is extended', 'LDG.U8 R1, [RD9]\nSGXT R2, R1, 8\n', ['global.s8']],
    ['that is extended twice', `${half + sign}SGXT R3, R1, 16\nSTG [RD20], R3\n`, ['shared.s16']],
    ['under a guard', `@P11 ${half}${sign}`, ['shared.s16']],
    ['in two places', `@P11 ${half}@!P11 LDS.U16 R1, [R9+2]\n${sign}`, ['shared.s16', 'shared.s16']],
    ['that something else reads stays', `${half + sign}STG [RD20], R1\n`, ['shared.u16']],
    ['beside another value stays', `${half}@P11 MOV R1, 0\n${sign}`, ['shared.u16']],
    ['of a half that gives a byte stays', `${half}SGXT R2, R1, 8\n`, ['shared.u16']],
    ['that is extended without sign stays', `${half}SGXT.U32 R2, R1, 16\n`, ['shared.u16']],
    [
      'of a byte of which an extension above keeps more bits than a word has stays',
      'BRA BB2\nBB1:\nSGXT R2, R1, 264\nBRA BB3\nBB2:\nLDG.U8 R1, [RD9]\nBRA BB1\nBB3:',
      ['global.u8'],
    ],
    ['of several halves stays', `LDS.U16.V2 {R1, R3}, [R9]\n${sign}`, ['shared.v2.u16']],
  ])('%s', (_, body, expected) => expect(loads(body)).toEqual(expected));
});

/** How a body writes words shifted by 16. */
function shifts(body: string): string[] {
  const fn = parseFn(`.entry k\n{\nBB0:\n${body}\nSTG [RD20], R2\n       EXIT\n}`, isa);
  const { text, diagnostics } = emitPtx(programOf(fn), { table, paramBase: 0x160, module: null });
  expect(diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
  return [...text.matchAll(/shl\.b32|mov\.b32 %r\d+, \{0, /g)].map((m) => m[0].slice(0, 3));
}

describe('a shift by 16', () => {
  it.each<[string, string, string[]]>([
    ['of a loaded half is packing', 'LDG.U16 R1, [RD9]\nSHL R2, R1, 16', ['mov']],
    [
      'of two loaded halves is packing',
      '@P11 LDG.U16 R1, [RD9]\n@!P11 LDG.U16 R1, [RD9+2]\nSHL R2, R1, 16',
      ['mov'],
    ],
    ['by another amount stays', 'LDG.U16 R1, [RD9]\nSHL R2, R1, 15', ['shl']],
    ['of a loaded byte stays', 'LDG.U8 R1, [RD9]\nSHL R2, R1, 16', ['shl']],
    ['of a loaded word stays', 'LDG R1, [RD9]\nSHL R2, R1, 16', ['shl']],
    ['of a half beside another value stays', 'LDG.U16 R1, [RD9]\n@P11 MOV R1, 7\nSHL R2, R1, 16', ['shl']],
    ['under a guard stays', 'LDG.U16 R1, [RD9]\nMOV R2, 0\n@P11 SHL R2, R1, 16', ['shl']],
  ])('%s', (_, body, expected) => expect(shifts(body)).toEqual(expected));
});
