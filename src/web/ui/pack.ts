/** Texts as part of an address: compressed, in letters that are allowed in addresses. */

/**
 * Passes bytes through a stream.
 *
 * @throws Error if the output is longer than `most`
 */
async function through(
  bytes: Uint8Array,
  by: CompressionStream | DecompressionStream,
  most = Number.POSITIVE_INFINITY,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  // The types of browsers and of Node disagree about streams of bytes.
  const out: ReadableStream<Uint8Array> = new Blob([bytes as never]).stream().pipeThrough(by as never);
  const reader = out.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      // Output so far is dropped, and nothing more is unpacked.
      await reader.cancel();
      throw new Error('the link holds too much');
    }
    parts.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Encodes a value as a word for an address. */
export async function pack(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const packed = await through(bytes, new CompressionStream('deflate-raw'));
  let text = '';
  for (const b of packed) text += String.fromCharCode(b);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Maximum number of bytes that a word may unpack to: a link must not exhaust a reader's memory. */
const MOST_BYTES = 16 << 20;

/**
 * Decodes such a word.
 *
 * @throws Error if it is invalid
 */
export async function unpack(word: string): Promise<unknown> {
  const bytes = Uint8Array.from(atob(word.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  const plain = await through(bytes, new DecompressionStream('deflate-raw'), MOST_BYTES);
  return JSON.parse(new TextDecoder().decode(plain));
}
