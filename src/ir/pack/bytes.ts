/*
 * Numbers and texts as bytes. Integers take seven bits per byte, low bits first (LEB128). Signed ones are zigzag-encoded
 * (0, -1, 1, -2, ...), so that small ones stay short.
 */

/** Writes an integer from 0 up to 2^53 at a position with 8 free bytes. @returns the position after it */
export function putUint(bytes: Uint8Array, at: number, n: number): number {
  while (n > 0x7fffffff) {
    bytes[at++] = (n % 128) | 128;
    n = Math.floor(n / 128);
  }
  while (n > 127) {
    bytes[at++] = (n & 127) | 128;
    n >>>= 7;
  }
  bytes[at++] = n;
  return at;
}

/** As `putUint`, for a signed integer of magnitude below 2^52. */
export function putInt(bytes: Uint8Array, at: number, n: number): number {
  if (n >= -0x40000000 && n < 0x40000000) return putUint(bytes, at, (n << 1) ^ (n >> 31));
  return putUint(bytes, at, n < 0 ? -2 * n - 1 : 2 * n);
}

/** A growing byte buffer. */
export class ByteWriter {
  /** To write many numbers in a row: call `room`, then `putUint` from `at` on, then set `at` to the end. */
  bytes: Uint8Array;
  at = 0;

  constructor(capacity = 256) {
    this.bytes = new Uint8Array(capacity);
  }

  /** The bytes written so far; shares memory with the writer. */
  get written(): Uint8Array {
    return this.bytes.subarray(0, this.at);
  }

  private grow(least: number): void {
    const bigger = new Uint8Array(Math.max(this.bytes.length * 2, this.at + least));
    bigger.set(this.written);
    this.bytes = bigger;
  }

  byte(n: number): void {
    this.room(1);
    this.bytes[this.at++] = n;
  }

  /** Makes room for `n` bytes. */
  room(n: number): void {
    if (this.at + n > this.bytes.length) this.grow(n);
  }

  /** Writes an integer from 0 up to 2^53. */
  uint(n: number): void {
    this.room(8);
    this.at = putUint(this.bytes, this.at, n);
  }

  /** Writes a signed integer of magnitude below 2^52. */
  int(n: number): void {
    this.room(8);
    this.at = putInt(this.bytes, this.at, n);
  }

  /** Writes a text; any text is restored exactly, even invalid UTF-16. */
  text(s: string): void {
    const n = s.length;
    const from = this.at;
    this.uint(2 * n);
    this.room(n);
    const { bytes } = this;
    let { at } = this;
    for (let i = 0; i < n; i++) {
      const c = s.charCodeAt(i);
      if (c > 127) {
        this.at = from;
        return this.units(s);
      }
      bytes[at++] = c;
    }
    this.at = at;
  }

  private units(s: string): void {
    this.uint(2 * s.length + 1);
    for (let i = 0; i < s.length; i++) this.uint(s.charCodeAt(i));
  }

  raw(bytes: Uint8Array): void {
    this.room(bytes.length);
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
  }
}

/** Number of code units decoded at once, as arguments of one call. */
const PIECE = 4096;

/** Shorter texts are decoded unit by unit. */
const SHORT = 12;

/** Reads values in the order in which a `ByteWriter` wrote them. */
export class ByteReader {
  private readonly bytes: Uint8Array;
  private at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** Number of bytes read so far. */
  get position(): number {
    return this.at;
  }

  byte(): number {
    return this.bytes[this.at++];
  }

  uint(): number {
    const b = this.bytes[this.at++];
    return b < 128 ? b : this.more(b & 127);
  }

  private more(n: number): number {
    const { bytes } = this;
    for (let shift = 7; shift < 28; shift += 7) {
      const b = bytes[this.at++];
      n |= (b & 127) << shift;
      if (b < 128) return n;
    }
    for (let scale = 2 ** 28; ; scale *= 128) {
      const b = bytes[this.at++];
      n += (b & 127) * scale;
      if (!(b >= 128)) return n;
    }
  }

  int(): number {
    const n = this.uint();
    if (n <= 0x7fffffff) return (n >>> 1) ^ -(n & 1);
    return n % 2 === 0 ? n / 2 : -(n + 1) / 2;
  }

  text(): string {
    const n = this.uint();
    const length = Math.floor(n / 2);
    let s = '';
    if (n % 2 === 0 && length < SHORT) {
      for (let i = 0; i < length; i++) s += String.fromCharCode(this.bytes[this.at++]);
      return s;
    }
    for (let from = 0; from < length; from += PIECE) {
      const m = Math.min(PIECE, length - from);
      if (n % 2 === 0) {
        s += String.fromCharCode.apply(null, this.bytes.subarray(this.at, this.at + m) as never);
        this.at += m;
      } else {
        const part = new Uint16Array(m);
        for (let i = 0; i < m; i++) part[i] = this.uint();
        s += String.fromCharCode.apply(null, part as never);
      }
    }
    return s;
  }

  /** A copy of the next bytes. */
  raw(length: number): Uint8Array {
    const out = this.bytes.slice(this.at, this.at + length);
    this.at += length;
    return out;
  }
}

/** A 32-bit checksum, like FNV-1a but over four-byte words: detects damage, not forgery. */
export function checksum(bytes: Uint8Array): number {
  let h = 0x811c9dc5;
  const count = bytes.length >>> 2;
  const words =
    LITTLE_ENDIAN && bytes.byteOffset % 4 === 0
      ? new Int32Array(bytes.buffer, bytes.byteOffset, count)
      : wordsOf(bytes, count);
  for (let i = 0; i < count; i++) {
    h = Math.imul(h ^ words[i], 0x01000193);
    // Without this step, high bits would never affect low ones.
    h ^= h >>> 15;
  }
  for (let i = 4 * count; i < bytes.length; i++) h = Math.imul(h ^ bytes[i], 0x01000193);
  return h >>> 0;
}

const LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

function wordsOf(bytes: Uint8Array, count: number): Int32Array {
  const words = new Int32Array(count);
  for (let w = 0, i = 0; w < count; w++, i += 4)
    words[w] = bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
  return words;
}
