import { BinaryError } from './bytes.ts';

/** Minimum match length, which is added to the encoded one. */
const LEAST_MATCH = 4;

/**
 * Decompresses an LZ4 block (the public "LZ4 Block Format Description").
 *
 * @param size size of the content in bytes
 * @throws BinaryError if the block is damaged
 */
export function unpackLz4(block: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(size);
  const damaged = (): BinaryError => new BinaryError('compressed data (LZ4) is damaged', at);
  let at = 0;
  let to = 0;
  /** Decodes a length from its four-bit field; 15 means that more bytes follow. */
  const length = (bits: number): number => {
    let n = bits;
    if (bits < 15) return n;
    for (;;) {
      if (at >= block.length) throw damaged();
      const b = block[at++];
      n += b;
      if (b < 255) return n;
    }
  };
  while (at < block.length) {
    const token = block[at++];
    const literals = length(token >> 4);
    if (literals > block.length - at || literals > size - to) throw damaged();
    out.set(block.subarray(at, at + literals), to);
    at += literals;
    to += literals;
    // The last sequence has no match.
    if (at === block.length) break;
    if (at + 2 > block.length) throw damaged();
    const distance = block[at] | (block[at + 1] << 8);
    at += 2;
    const match = length(token & 15) + LEAST_MATCH;
    if (distance === 0 || distance > to || match > size - to) throw damaged();
    // Source and target may overlap: a match then repeats what it has just written.
    for (const end = to + match; to < end; to++) out[to] = out[to - distance];
  }
  if (to !== size) throw damaged();
  return out;
}
