import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseFn } from '../../src/ir/text.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';

/* Both halves of a double that lanes exchange read their constant mask from one register, for which ptxas needs fewer registers. */
const isa = testIsa();
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);

/** The constants written to registers, and the masks of the shuffles, of a body. */
function masks(body: string): { moved: string[]; read: string[] } {
  const fn = parseFn(`.entry k\n{\nBB0:\n${body}\n       EXIT\n}`, isa);
  const { text, diagnostics } = emitPtx(programOf(fn), { table, paramBase: 0x160, module: null });
  expect(diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
  return {
    moved: [...text.matchAll(/mov\.b32 (%r\d+), (\d+);/g)].map((m) => `${m[1]} = ${m[2]}`),
    read: [...text.matchAll(/shfl\.sync.*, (\S+);/g)].map((m) => m[1]),
  };
}

const HALVES = 'LDG.B64 RD21, [RD20]\nUNPAIR R1, R2, RD21\n';
const shuffle = (d: number, a: number, mask = '-1', lane = 8): string =>
  `SHFL.DOWN R${d}, _, R${a}, ${lane}, 31, ${mask}\nSTG [RD20], R${d}\n`;

describe('a constant mask of shuffles', () => {
  it('of both halves of a value is in a register', () => {
    const { moved, read } = masks(HALVES + shuffle(3, 1) + shuffle(4, 2));
    expect(moved).toEqual([`${read[0]} = 4294967295`]);
    expect(read).toEqual([read[0], read[0]]);
  });

  it('is written once in a block, and once for each mask', () => {
    const four = shuffle(3, 1) + shuffle(4, 2) + shuffle(5, 1, '0xffff') + shuffle(6, 2, '0xffff');
    expect(masks(HALVES + four + shuffle(7, 1, '-1', 4)).moved).toHaveLength(2);
    expect(
      masks(`${HALVES + four}@P8 BRA BB2\nBB1:\n${shuffle(8, 1) + shuffle(9, 2)}BB2:\n`).moved,
    ).toHaveLength(3);
  });

  it.each([
    ['of one half alone stays', HALVES + shuffle(3, 1)],
    ['of words stays', `LDG R1, [RD20]\nLDG R2, [RD20+4]\n${shuffle(3, 1)}${shuffle(4, 2)}`],
    ['of halves in two blocks stays', `${HALVES + shuffle(3, 1)}@P8 BRA BB2\nBB1:\n${shuffle(4, 2)}BB2:\n`],
  ])('%s', (_, body) => {
    const { moved, read } = masks(body);
    expect(moved).toEqual([]);
    expect(new Set(read)).toEqual(new Set(['4294967295']));
  });
});
