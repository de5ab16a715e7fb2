import { describe, it } from 'vitest';
import { runPtx } from '../support/run-ptx.ts';

/** Every bit pattern of f16, two per word. */
const rows = Array.from({ length: 1 << 15 }, (_, k) => [2 * k + (((2 * k + 40503) & 0xffff) << 16)]);
const SIGN = 0x8000;
const isNan = (h: number): boolean => (h & 0x7fff) > 0x7c00;
const isSubnormal = (h: number): boolean => (h & 0x7c00) === 0 && (h & 0x3ff) !== 0;
/** Subnormals are flushed to zeros of their sign (PTX ISA 9.0, neg and abs). */
const flush = (h: number): number => (isSubnormal(h) ? h & SIGN : h);
const neg = (h: number): number => h ^ SIGN;
const abs = (h: number): number => h & ~SIGN;
/** The payload and sign of a NaN are not specified. */
const plain = (h: number): number => (isNan(h) ? 0x7fff : h & 0xffff);
const pair = (f: (h: number) => number, word: number): number =>
  plain(f(word & 0xffff)) | (plain(f(word >>> 16)) << 16) | 0;

describe.each([
  ['neg.f16', neg],
  ['abs.f16', abs],
  ['neg.ftz.f16', (h: number) => neg(flush(h))],
  ['abs.ftz.f16', (h: number) => abs(flush(h))],
] as const)('%s', (name, want) => {
  it('gives the sign and flushes what it says, for every number, alone and in pairs', () => {
    const got = runPtx(
      `mov.b32 {%h0, %h1}, %i0; ${name} %h2, %h0; ${name} %h3, %h1; mov.b32 %o0, {%h2, %h3}; cvt.u32.u16 %o1, %h2;
${name}x2 %o2, %i0;`,
      rows,
      3,
    );
    got.forEach(([both, low, packed], k) => {
      const [word] = rows[k];
      const expected = pair(want, word);
      // A scalar has nothing above its 16 bits.
      const right = low >>> 0 === (both & 0xffff);
      if (!right || pair((h) => h, both) !== expected || pair((h) => h, packed) !== expected)
        throw new Error(
          `${name} of 0x${(word >>> 0).toString(16)}: 0x${(both >>> 0).toString(16)}, 0x${(packed >>> 0).toString(16)}`,
        );
    });
  });
});
