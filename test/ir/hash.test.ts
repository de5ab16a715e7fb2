import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { contentHash, functionHash } from '../../src/engine/content.ts';
import { dataHash, hashText } from '../../src/ir/hash.ts';
import { halfSipHash, keyedHash, keyHashes } from '../../src/ir/keyed-hash.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { testIsa } from '../support/isa.ts';

const PTX = '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n';
const lowered = () =>
  lowerPtx(parsePtx(PTX, 'x.ptx').module, { isa: testIsa(), paramBase: 0x160, sm: 'sm_90' }).program;

describe('hashes that are kept and compared', () => {
  it('are those of SHA-256, of the text and what it is of, which cannot be cut elsewhere', () => {
    for (const [text, seed] of [
      ['', ''],
      ['a', 'bc'],
      ['ab', 'c'],
      ['\ud800', ''],
      ['\udc00', ''],
      ['\ufffd', ''],
      ['ö€😀'.repeat(100), 'x'],
    ])
      expect(hashText(text, seed)).toBe(
        createHash('sha256')
          .update(JSON.stringify([seed, text]))
          .digest('hex')
          .slice(0, 32),
      );
    expect(dataHash({ a: [1] })).toBe(hashText('{"a":[1]}'));
  });

  it('of functions are the same in every process', () => {
    const of = () => functionHash(lowered().functions[0]);
    keyHashes([1, 2]);
    const one = of();
    keyHashes([3, 4]);
    expect([of(), one.length]).toEqual([one, 32]);
  });
});

describe('hashes with a key', () => {
  it('are those of HalfSipHash-2-4 that its authors publish', () => {
    // vectors_hsip64 of https://github.com/veorq/SipHash/blob/master/vectors.h, of the bytes 0, 1, 2 and so on.
    const published: Readonly<Record<number, string>> = {
      0: '218d1f59b9b83cc8',
      2: '064f39ef7c50eb57',
      4: 'd5e78a175be52ea1',
      6: 'ce3e91358aa2bc25',
      8: 'edfee820bce4858c',
      10: '95b0469f06a6f2ee',
      12: '7bc71f9faef5c799',
      30: '291aaf864898179d',
      62: 'f90b3ab572d46693',
    };
    for (const [bytes, hash] of Object.entries(published)) {
      const units = Array.from({ length: Number(bytes) / 2 }, (_, k) => (2 * k) | ((2 * k + 1) << 8));
      const words = halfSipHash(String.fromCharCode(...units), [0x03020100, 0x07060504]).match(/.{8}/g)!;
      // Published byte by byte, the lowest of each word first.
      const shown = words.map((w) => w.match(/../g)!.reverse().join('')).join('');
      expect([bytes, shown]).toEqual([bytes, hash]);
    }
  });

  it('are others with another key, and those of texts that differ in one place differ', () => {
    keyHashes([1, 2]);
    const one = keyedHash('a text');
    expect(keyedHash('a text')).toBe(one);
    expect(new Set(['', 'a', 'a\0', 'a\0\0', 'a text.', 'b text', 'a tex\u0174'].map(keyedHash)).size).toBe(
      7,
    );
    const content = contentHash(lowered());
    keyHashes([1, 3]);
    expect(keyedHash('a text')).not.toBe(one);
    expect(contentHash(lowered())).not.toBe(content);
  });
});
