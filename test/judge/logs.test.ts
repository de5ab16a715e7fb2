import { describe, expect, it } from 'vitest';
import { differencesOf, storeLess } from '../../src/judge/difference.ts';
import type { Run } from '../../src/judge/run.ts';
import { NARROW } from '../../src/sim/primitives/log.ts';

/*
 * Runs that do not end are compared by what each thread stores to each address, as far as both got. A log holds pairs of an address, which
 * tells the size of a store of less than a word, and a value.
 */
const byte = (address: number, value: number): number[] => [address + NARROW, value];
const bytes = (address: number, word: number): number[] =>
  [0, 1, 2, 3].flatMap((k) => byte(address + k, (word >>> (8 * k)) & 0xff));
const many = (n: number, store: readonly number[]): number[] => Array.from({ length: n }, () => store).flat();

describe('logs of stores', () => {
  const run = (...log: number[]): Run =>
    ({
      status: 'budget',
      endless: true,
      logs: [log],
      ended: new Map(),
      floats: new Set(),
      machine: true,
    }) as unknown as Run;
  const texts = (a: Run, b: Run): string[] => differencesOf(a, b, 1000).map((d) => d.text);

  it('tells stores to other words, not stores of another size', () => {
    const word = run(4096, 0x01020304);
    expect(texts(run(...bytes(4096, 0x01020304)), word)).toEqual([]);
    expect(texts(run(...bytes(8192, 0x01020304)), word)).toEqual(['thread 0 stores to other addresses']);
    expect(texts(run(4096, 7), word)).toEqual(['store 0 of thread 0 to 0x1000 differs']);
    // Where sizes differ, bytes are compared.
    expect(texts(run(...bytes(4096, 0x0102ff04)), word)).toEqual(['store 0 of thread 0 to 0x1001 differs']);
    expect(texts(word, run(...bytes(4096, 0x0102ff04)))).toEqual(['store 0 of thread 0 to 0x1001 differs']);
  });

  it('finds a part of the stores of a longer run, whatever their sizes', () => {
    const all = [[...many(6, bytes(4096, 0x01020304)), ...many(2, bytes(4096, 5))]];
    expect(storeLess([[4096, 0x01020304, 4096, 5]], all, true)).toBe(true);
    expect(storeLess([[4096, 0x01020304, 4096, 6]], all, true)).toBe(false);
    expect(storeLess([[4100, 5]], all, true)).toBe(false);
    // Without fewer stores in the program, few may be missing.
    expect(storeLess([[4096, 0x01020304, 4096, 5]], all, false)).toBe(false);
  });

  it('takes words that both store as words: one that neither stored is none of theirs', () => {
    const all = [[4096, 0x0101, 4096, 0x0202]];
    expect(storeLess([[4096, 0x0202]], all, true)).toBe(true);
    expect(storeLess([[4096, 0x0102]], all, true)).toBe(false);
  });

  it('leaves open what comes after the end of a full log, but not what must come before', () => {
    const full = [many(4096, [4096, 1])];
    expect(storeLess([many(50, [4096, 1])], full, false)).toBe(true);
    expect(storeLess([[...many(50, [4096, 1]), 8192, 1]], full, false)).toBe(false);
    expect(storeLess([[...many(200, [4096, 1]), 8192, 1]], full, false)).toBe(true);
  });
});
