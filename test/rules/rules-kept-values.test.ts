import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { programOf } from '../support/context.ts';
import { planWith } from '../support/specs.ts';

/*
 * Rules that would keep two forms of one value alive: a complement and its operand, words and the pair of them; and a rule that finds an
 * addition where a field is inserted.
 */
const plan = (await planWith({ order: 'binary' })).plan!;

function optimized(body: string): string[] {
  const fn = parseFn(`.entry k\n{\nBB0:\n${body}\n       EXIT\n}`, plan.isa);
  return printFn(runPipeline(programOf(fn), plan).last.functions[0])
    .split('\n')
    .map((l) => l.trim());
}
const count = (lines: readonly string[], what: RegExp): number => lines.filter((l) => what.test(l)).length;

describe('a complement', () => {
  const load =
    'LDG R1, [RD20]\nLDG R2, [RD20+4]\nLDG R3, [RD20+8]\nLOP3 R4, R1, R2, RZ, 60\nLOP3 R5, R4, RZ, RZ, 15\n';
  const read = 'LOP3 R6, R5, R3, RZ, 192\nSTG [RD20], R6\nSTG [RD20+4], R4\n';
  it('is part of the tables of its readers', () => {
    const lines = optimized(load + read);
    expect(count(lines, /^LOP3/)).toBe(2);
    expect(count(lines, /^LOP3 \S+ R5\b/)).toBe(0);
  });
  it.each([
    ['a shift', 'SHF.L.W R7, R5, 3, R5\nSTG [RD20+8], R7\n'],
    ['a store', 'STG [RD20+8], R5\n'],
  ])('is read where it is if %s needs it too', (_, other) => {
    const lines = optimized(load + read + other);
    expect(count(lines, /^LOP3 R6, R5, R3, RZ, 192$/)).toBe(1);
  });
  it('that more than 16 tables read is one instruction', () => {
    const many = (n: number): string => {
      let text = load;
      for (let k = 0; k < n; k++)
        text += `LOP3 R${40 + k}, R5, ${k + 3}, RZ, 192\nSTG [RD20+${16 + 4 * k}], R${40 + k}\n`;
      return `${text}STG [RD20+4], R4\n`;
    };
    expect(count(optimized(many(16)), /, R5,/)).toBe(0);
    expect(count(optimized(many(17)), /, R5,/)).toBe(17);
  });
});

describe('a field inserted above masked bits', () => {
  const field = (mask: number, at: number, bits: number): string[] =>
    optimized(
      `LDG R1, [RD20]\nLDG R2, [RD20+4]\nLOP3 R3, R2, ${mask}, RZ, 192\nBFI R4, R1, R3, ${at}, ${bits}\nSTG [RD20], R4\nSTG [RD20+4], R3\n`,
    );
  it('is one shift and addition', () => {
    expect(count(field(1, 1, 31), /^LEA R4, R1, R3, 1$/)).toBe(1);
    expect(count(field(0xff, 8, 32), /^LEA R4, R1, R3, 8$/)).toBe(1);
  });
  it.each([
    ['the mask keeps more', 3, 1, 31],
    ['the field does not reach the top', 1, 1, 30],
  ])('is none where %s', (_, mask, at, bits) => expect(count(field(mask, at, bits), /^LEA/)).toBe(0));
});

describe('logic on two pairs', () => {
  const pairs =
    'LDG R1, [RD20]\nLDG R2, [RD20+4]\nLDG R3, [RD20+8]\nLDG R4, [RD20+12]\nPAIR RD5, R1, R2\nPAIR RD6, R3, R4\n';
  it.each<[string, boolean, string]>([
    ['is logic on their words where they die', true, 'LOP3 RD7, RD5, RD6, RZ, 60\nSTG.B64 [RD20], RD7\n'],
    [
      'stays where one does not',
      false,
      'LOP3 RD7, RD5, RD6, RZ, 60\nSTG.B64 [RD20], RD7\nSTG.B64 [RD20+8], RD6\n',
    ],
    [
      'with a constant is logic on words',
      true,
      'LOP3 RD7, RD5, 0x500000003, RZ, 60\nSTG.B64 [RD20], RD7\nSTG.B64 [RD20+8], RD6\n',
    ],
    [
      'with a constant stays where the pair does not die',
      false,
      'LOP3 RD7, RD5, 0x500000003, RZ, 60\nSTG.B64 [RD20], RD7\nSTG.B64 [RD20+8], RD5\nSTG.B64 [RD20+16], RD6\n',
    ],
  ])('%s', (_, words, body) => {
    const lines = optimized(pairs + body.replaceAll('LOP3', 'LOP3.64'));
    expect(count(lines, /^LOP3 R/)).toBe(words ? 2 : 0);
    expect(count(lines, /^LOP3\.64 RD/)).toBe(words ? 0 : 1);
  });
});

describe('a wide product that is subtracted', () => {
  const product =
    'LDG R1, [RD20]\nIMAD_WIDE.S32 RD2, R1, 896, RZ\nIADD3.64 RD3, -RD2, RD21\nSTG.B64 [RD20], RD3\n';
  it('is one multiply-add with the opposite factor', () => {
    const lines = optimized(product);
    expect(count(lines, /^IMAD_WIDE(\.S32)? RD3, R1, -896, RD21$/)).toBe(1);
    expect(count(lines, /^I(MAD_WIDE|ADD3)/)).toBe(1);
  });
  it('is kept for its other uses', () => {
    const lines = optimized(`${product}STG.B64 [RD20+8], RD2\n`);
    expect(count(lines, /^IMAD_WIDE/)).toBe(1);
    expect(count(lines, /^IADD3(\.64)? RD3, .*-RD2/)).toBe(1);
  });
});
