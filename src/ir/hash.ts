/** The state of a hash after part of its text: two 32-bit lanes. */
export type HashState = readonly [number, number];

const START: HashState = [0x811c9dc5, 0xc9dc5118];

/** The state after more text: hashing a text in parts gives the same as hashing it whole. */
export function hashOn(text: string, state: HashState = START): HashState {
  let [a, b] = state;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ (c & 0xff), 0x01000193);
    a = Math.imul(a ^ (c >>> 8), 0x01000193);
    b = Math.imul(b ^ c, 0x01000193) ^ (b >>> 15);
  }
  return [a, b];
}

/**
 * 64-bit FNV-1a over UTF-16 code units, as 16 hexadecimal digits: two 32-bit lanes with different offsets. For cache
 * keys within one trust domain, not against adversaries.
 */
export const hashText = (text: string, seed = ''): string => hashDigits(hashOn(text, hashOn(seed)));

/** A state as the digits of `hashText`. */
export const hashDigits = ([a, b]: HashState): string =>
  (a >>> 0).toString(16).padStart(8, '0') + (b >>> 0).toString(16).padStart(8, '0');

/** Hash of the JSON of plain data. It depends on the order of keys. */
export const dataHash = (data: unknown): string => hashText(JSON.stringify(data));
