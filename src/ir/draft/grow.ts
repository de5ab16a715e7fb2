/** A copy with room for index `at`, half as large again. */
export function grown(a: Int32Array, at: number): Int32Array {
  const out = new Int32Array(Math.max(at + 1, Math.ceil(a.length * 1.5)) + 16);
  out.set(a);
  return out;
}

/** Divides a buffer into arrays, one after the other: V8 takes half a microsecond to allocate a typed array, a tenth of that for a view. */
export class Carver {
  private readonly buffer: ArrayBuffer;
  private at = 0;

  constructor(bytes: number) {
    this.buffer = new ArrayBuffer(bytes);
  }

  /** The next `n` 32-bit numbers; they come before any bytes. */
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
 * Arrays of drafts that are finished, for later ones. A draft lives for one phase, and its arrays are most of what a run
 * allocates outside V8's heap, where 64 MB of garbage are reason enough for a full collection; that frees the compiled
 * code of every function inside another that no longer exists.
 */
const spare: Int32Array[] = [];
const MOST_SPARE = 12;
/** 4 MB an array, so that one large function is not remembered for ever. */
const MOST_WORDS = 1 << 20;

/** An array of at least `n` numbers, which are whatever they were. */
export function takeWords(n: number): Int32Array {
  let best = -1;
  for (let i = 0; i < spare.length; i++)
    if (spare[i].length >= n && (best < 0 || spare[i].length < spare[best].length)) best = i;
  if (best < 0) return new Int32Array(2 ** Math.ceil(Math.log2(Math.max(n, 256))));
  const found = spare[best];
  spare[best] = spare[spare.length - 1];
  spare.pop();
  return found;
}

/** Gives back an array of `takeWords`; the caller must not use it any more. */
export function giveWords(a: Int32Array): void {
  if (a.length > MOST_WORDS) return;
  if (spare.length < MOST_SPARE) {
    spare.push(a);
    return;
  }
  let least = 0;
  for (let i = 1; i < spare.length; i++) if (spare[i].length < spare[least].length) least = i;
  if (spare[least].length < a.length) spare[least] = a;
}

/** A copy of an array of `takeWords` with room for index `at`, half as large again; the array is given back. */
export function regrown(a: Int32Array, at: number): Int32Array {
  const out = takeWords(Math.max(at + 1, a.length + (a.length >> 1)));
  out.set(a);
  giveWords(a);
  return out;
}

/** An array without room. */
export const NO_WORDS = new Int32Array(0);
