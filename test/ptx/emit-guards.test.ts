import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseFn } from '../../src/ir/text.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';

/*
 * Instructions that only compute a temporary of a guarded instruction are emitted without its guard: for ptxas the live range of a guarded
 * temporary extends back along all paths.
 */
const isa = testIsa();
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);

/** Emitted mnemonics of an instruction, with their guards. */
function linesOf(text: string): string[] {
  const fn = parseFn(`.entry k\n{\nBB0:\n${text}\n       EXIT\n}`, isa);
  const out = emitPtx(programOf(fn), { table, paramBase: 0x160, module: null });
  expect(out.diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
  return out.text
    .split('\n')
    .flatMap((l) => /^\t((?:@!?%p\d+ )?[a-z][\w.]*) %/.exec(l)?.[1] ?? [])
    .filter((l) => l !== 'ret');
}

describe('temporaries of a guarded instruction', () => {
  it.each<[string, string, string[]]>([
    ['an extension', '@P1 IMAD_WIDE.S32 RD2, R1, 1, RD4', ['cvt.s64.s32', '@%p1 add.s64']],
    ['a product', '@!P1 IMAD_WIDE.U32 RD2, R1, 8, RD4', ['mul.wide.u32', '@!%p1 add.s64']],
    [
      'that is read and written',
      '@P1 IMAD_WIDE.S32 RD2, R1, 1, RD2',
      ['cvt.s64.s32', 'add.s64', '@%p1 mov.b64'],
    ],
    ['a logic function', '@P1 LOP3 R2, R1, R3, R4, 0x80', ['and.b32', '@%p1 and.b32']],
    [
      'a logic function that writes a source',
      '@P1 LOP3 R2, R1, R3, R2, 0x80',
      ['and.b32', 'and.b32', '@%p1 mov.b32'],
    ],
    ['a logic function compared', '@P1 LOP3_P P2, _, R1, R3, RZ, 0xc0', ['and.b32', '@%p1 setp.ne.u32']],
  ])('have no guard: %s', (_, text, lines) => expect(linesOf(text)).toEqual(lines));
});
