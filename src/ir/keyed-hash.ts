/*
 * Hashes of program parts, for keys of stored results. Kernels come from others, who might choose two kernels with one hash; without the
 * key nobody can. HalfSipHash-2-4 with a result of 64 bits: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF" (2012),
 * in its form for words of 32 bits, https://github.com/veorq/SipHash. It costs as much as FNV. SHA-256 (hash.ts) costs six times as much,
 * and two keys for 128 bits twice as much, which is 9 % more for a first `opt --cache`. With another key, all hashes are different.
 */

/** A key of HalfSipHash, as two words. */
export type HashKey = readonly [number, number];

let current: HashKey | null = null;

/** A key that nobody knows, of this process alone. */
function randomKey(): HashKey {
  const [k0, k1] = globalThis.crypto.getRandomValues(new Int32Array(2));
  return [k0, k1];
}

/**
 * Has hashes from now on made with a key, so that processes which share results find them. What was hashed before is not found again,
 * which costs time and nothing else.
 */
export function keyHashes(key: HashKey): void {
  current = key;
}

/** Hash of a text as 16 hexadecimal digits, with the key of `keyHashes`, else one of this process. */
export function keyedHash(text: string): string {
  current ??= randomKey();
  return halfSipHash(text, current);
}

const digits = (word: number): string => (word >>> 0).toString(16).padStart(8, '0');

/**
 * HalfSipHash-2-4 of a text in UTF-16, little end first: two words, as 16 hexadecimal digits.
 * @param key the first byte of each word is its lowest
 */
export function halfSipHash(text: string, [k0, k1]: HashKey): string {
  let v0 = k0;
  let v1 = k1 ^ 0xee;
  let v2 = k0 ^ 0x6c796765;
  let v3 = k1 ^ 0x74656462;
  let first = 0;
  const { length } = text;
  // Two code units are a word. The last word has what is left, and the length in bytes on top.
  const words = (length >>> 1) + 1;
  for (let at = 0; at < words + 2; at++) {
    const isText = at < words;
    let word = 0;
    if (at < words - 1) word = text.charCodeAt(2 * at) | (text.charCodeAt(2 * at + 1) << 16);
    else if (isText) word = (length << 25) | ((length & 1) === 0 ? 0 : text.charCodeAt(length - 1));
    else if (at === words) v2 ^= 0xee;
    else {
      first = v1 ^ v3;
      v1 ^= 0xdd;
    }
    v3 ^= word;
    // Two rounds for a word, four for each half of the result.
    for (let round = isText ? 2 : 4; round > 0; round--) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    v0 ^= word;
  }
  return digits(first) + digits(v1 ^ v3);
}
