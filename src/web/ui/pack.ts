/** Texts as part of an address: compressed, in letters that an address may hold. */

const stream = async (bytes: Uint8Array, through: GenericTransformStream): Promise<Uint8Array> =>
  new Uint8Array(
    await new Response(new Blob([bytes as BlobPart]).stream().pipeThrough(through)).arrayBuffer(),
  );

/** A value as a word for an address. */
export async function pack(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const packed = await stream(bytes, new CompressionStream('deflate-raw'));
  let text = '';
  for (const b of packed) text += String.fromCharCode(b);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Most bytes that a word may unpack to: a link is no way to fill a reader's memory. */
const MOST_BYTES = 16 << 20;

/**
 * The value of such a word.
 * @throws Error if it is none
 */
export async function unpack(word: string): Promise<unknown> {
  const bytes = Uint8Array.from(atob(word.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  const plain = await stream(bytes, new DecompressionStream('deflate-raw'));
  if (plain.length > MOST_BYTES) throw new Error('the link holds too much');
  return JSON.parse(new TextDecoder().decode(plain));
}
