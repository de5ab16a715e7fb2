/** An instruction word: 128 bits as four unsigned 32-bit numbers, least significant first. */
export type Word = readonly [number, number, number, number];
export type MutableWord = [number, number, number, number];

/** A range of adjacent bits, starting at bit `at`. */
export interface Bits {
  readonly at: number;
  readonly length: number;
}

/** Bit ranges that form one number, least significant first. */
export type Place = readonly Bits[];

/** Total number of bits. */
export const lengthOf = (p: Place): number => p.reduce((n, b) => n + b.length, 0);

/** A bit range of at most 32 bits, as an unsigned number. */
function run(w: Word, at: number, length: number): number {
  const [k, shift] = [at >> 5, at & 31];
  let value = w[k] >>> shift;
  if (shift + length > 32) value |= w[k + 1] << (32 - shift);
  return length === 32 ? value >>> 0 : (value & ((1 << length) - 1)) >>> 0;
}

/** The unsigned number in a place of at most 53 bits. */
export function bitsOf(w: Word, place: Place): number {
  let value = 0;
  let scale = 1;
  for (const { at, length } of place)
    for (let done = 0; done < length; done += 32) {
      const n = Math.min(32, length - done);
      value += run(w, at + done, n) * scale;
      scale *= 2 ** n;
    }
  return value;
}

/** The signed number in a place of any length, provided that its magnitude fits 53 bits. */
export function signedBitsOf(w: Word, place: Place): number {
  const last = place.length - 1;
  const { at, length } = place[last];
  const top = signed(bitsOf(w, [{ at, length }]), length);
  const low = place.slice(0, last);
  return top * 2 ** lengthOf(low) + bitsOf(w, low);
}

/** Writes a number, signed or not, to a place; excess high bits are dropped. */
export function setBits(w: MutableWord, place: Place, value: number): void {
  for (const { at, length } of place)
    for (let k = 0; k < length; k++) {
      const mask = 1 << ((at + k) & 31);
      const word = (at + k) >> 5;
      if (value % 2 !== 0) w[word] |= mask;
      else w[word] &= ~mask;
      value = Math.floor(value / 2);
    }
  for (let k = 0; k < 4; k++) w[k] >>>= 0;
}

/** Interprets the low `bits` bits as two's complement. */
export const signed = (value: number, bits: number): number =>
  value >= 2 ** (bits - 1) ? value - 2 ** bits : value;
/** The `bits`-bit two's complement of a number, as an unsigned number. */
export const unsigned = (value: number, bits: number): number => (value < 0 ? value + 2 ** bits : value);

/** A word as 32 hexadecimal digits, most significant first. */
export const wordText = (w: Word): string =>
  [3, 2, 1, 0].map((k) => w[k].toString(16).padStart(8, '0')).join('');

/** Parses the text of `wordText`; null for any other text. */
export function wordOf(text: string): Word | null {
  if (!/^[0-9a-f]{32}$/i.test(text)) return null;
  const part = (k: number): number => Number.parseInt(text.slice(8 * k, 8 * k + 8), 16);
  return [part(3), part(2), part(1), part(0)];
}
