/** A copy with room for index `at`, at least half as large again. */
export function grown(a: Int32Array, at: number): Int32Array {
  const out = new Int32Array(Math.max(at + 1, Math.ceil(a.length * 1.5)) + 16);
  out.set(a);
  return out;
}

/** Carves one buffer into consecutive arrays: V8 takes half a microsecond to allocate a typed array, a tenth of that for a view. */
export class Carver {
  private readonly buffer: ArrayBuffer;
  private at = 0;

  constructor(bytes: number) {
    this.buffer = new ArrayBuffer(bytes);
  }

  /** The next `n` 32-bit numbers. Call it before `bytes`, for alignment. */
  words(n: number): Int32Array {
    const a = new Int32Array(this.buffer, this.at, n);
    this.at += 4 * n;
    return a;
  }

  /** The next `n` bytes. */
  bytes(n: number): Uint8Array {
    const a = new Uint8Array(this.buffer, this.at, n);
    this.at += n;
    return a;
  }
}

/**
 * Pool of arrays of finished drafts, by the binary logarithm of their length. A draft lives for one phase, and its arrays
 * are most of what a run allocates outside V8's heap, where 64 MB of garbage trigger a full collection. A full collection
 * also discards the compiled code of every closure without a live instance.
 */
const spare: Int32Array[][] = Array.from({ length: 32 }, () => []);
let spareWords = 0;
/** 16 MB: the drafts of a few hundred small functions, or of one with 100,000 instructions. */
const MOST_SPARE_WORDS = 1 << 22;
/** Shorter arrays cost less than finding one. */
const LEAST_LOG = 8;

/** An array of at least `n` numbers with arbitrary contents. */
export function takeWords(n: number): Int32Array {
  const log = Math.max(LEAST_LOG, 32 - Math.clz32(n - 1));
  for (let k = log; k < log + 2; k++) {
    const found = spare[k].pop();
    if (found === undefined) continue;
    spareWords -= found.length;
    return found;
  }
  return new Int32Array(2 ** log);
}

/** Gives back an array of `takeWords`; the caller must not use it any more. */
export function giveWords(a: Int32Array): void {
  if (a.length === 0 || a.length > MOST_SPARE_WORDS) return;
  spareWords += a.length;
  spare[31 - Math.clz32(a.length)].push(a);
  // The longest are dropped first: only a large function could use them.
  for (let k = spare.length - 1; spareWords > MOST_SPARE_WORDS; k--)
    while (spareWords > MOST_SPARE_WORDS && spare[k].length > 0) spareWords -= spare[k].pop()!.length;
}

/** A copy of an array of `takeWords` with room for index `at`, at least twice as large; the array is given back. */
export function regrown(a: Int32Array, at: number): Int32Array {
  const out = takeWords(Math.max(at + 1, a.length + 1));
  out.set(a);
  giveWords(a);
  return out;
}

/** The empty array. */
export const NO_WORDS = new Int32Array(0);
