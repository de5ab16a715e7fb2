/** Thrown for malformed binary data. `at` is the byte offset in the file. */
export class BinaryError extends Error {
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.name = 'BinaryError';
    this.at = at;
  }
}

/** Maximum number of parts of a cubin: each takes some hundred bytes of memory, and some sections have one part per byte. */
const MOST_PARTS = 2 ** 22;

/** Counts the parts of one cubin, to limit memory. */
export class Parts {
  private left = MOST_PARTS;

  /** Counts `n` more parts. @throws TooManyParts */
  add(n: number): void {
    this.left -= n;
    if (this.left < 0) throw new TooManyParts();
  }
}

/** Thrown if a cubin has more parts than the limit. */
export class TooManyParts extends BinaryError {
  constructor() {
    super(`it has more than the ${MOST_PARTS} parts that are read`, 0);
  }
}

/** A number in hexadecimal, as offsets and codes are shown: `0x1f`. */
export const hex = (n: number): string => `0x${n.toString(16)}`;

/** The least multiple of `to` that is at least `n`; `n` itself if `to` is 0 or 1. */
export const aligned = (n: number, to: number): number => (to <= 1 ? n : Math.ceil(n / to) * to);

export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
};

/** Reads little-endian numbers. @throws BinaryError at the end of the bytes */
export class Bytes {
  readonly bytes: Uint8Array;
  /** Offset of `bytes` in the file. */
  readonly base: number;
  /** Offset of the next byte to read. */
  at = 0;
  private readonly view: DataView;

  constructor(bytes: Uint8Array, base = 0) {
    this.bytes = bytes;
    this.base = base;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get length(): number {
    return this.bytes.length;
  }
  get left(): number {
    return this.bytes.length - this.at;
  }

  /** Consumes `n` bytes. @returns their offset */
  private take(n: number): number {
    if (n < 0 || n > this.bytes.length - this.at)
      throw new BinaryError(`${n} bytes are expected, and ${this.left} are left`, this.base + this.at);
    const from = this.at;
    this.at += n;
    return from;
  }

  u8(): number {
    return this.bytes[this.take(1)];
  }
  i8(): number {
    return this.view.getInt8(this.take(1));
  }
  u16(): number {
    return this.view.getUint16(this.take(2), true);
  }
  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }
  /** An unsigned 64-bit number. Numbers that a double does not hold exactly are errors, since no file is that large. */
  u64(): number {
    const from = this.take(8);
    const high = this.view.getUint32(from + 4, true);
    if (high >= 2 ** 21)
      throw new BinaryError('a number is larger than any address or size can be', this.base + from);
    return high * 2 ** 32 + this.view.getUint32(from, true);
  }
  /** A signed 64-bit number, with the same limit. */
  i64(): number {
    const from = this.take(8);
    const high = this.view.getInt32(from + 4, true);
    if (high >= 2 ** 21 || high < -(2 ** 21))
      throw new BinaryError('a number is larger than any address or size can be', this.base + from);
    return high * 2 ** 32 + this.view.getUint32(from, true);
  }
  some(n: number): Uint8Array {
    const from = this.take(n);
    return this.bytes.subarray(from, from + n);
  }
  /** An unsigned LEB128 number (DWARF) of at most five bytes. */
  uleb(): number {
    let value = 0;
    for (let k = 0; k < 5; k++) {
      const b = this.u8();
      value += (b & 0x7f) * 2 ** (7 * k);
      if (b < 0x80) return value;
    }
    throw new BinaryError('a number of variable length has more than five bytes', this.base + this.at);
  }
  sleb(): number {
    let value = 0;
    for (let k = 0; k < 5; k++) {
      const b = this.u8();
      value += (b & 0x7f) * 2 ** (7 * k);
      if (b < 0x80) return (b & 0x40) !== 0 ? value - 2 ** (7 * (k + 1)) : value;
    }
    throw new BinaryError('a number of variable length has more than five bytes', this.base + this.at);
  }
  /** A NUL-terminated text; the NUL is consumed. */
  cstring(): string {
    const end = this.bytes.indexOf(0, this.at);
    if (end < 0) throw new BinaryError('a string is not terminated', this.base + this.at);
    const text = utf8(this.bytes.subarray(this.at, end));
    this.at = end + 1;
    return text;
  }
}

const DECODER = new TextDecoder();
const ENCODER = new TextEncoder();
/** Decodes UTF-8; invalid bytes become U+FFFD. */
export const utf8 = (bytes: Uint8Array): string => DECODER.decode(bytes);

/** A growing buffer to which little-endian numbers are written. */
export class ByteWriter {
  private bytes: Uint8Array;
  private view: DataView;
  /** Number of bytes written so far. */
  length = 0;

  constructor(capacity = 256) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
  }

  private room(n: number): number {
    const from = this.length;
    this.length += n;
    if (this.length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.length, this.bytes.length * 2));
      larger.set(this.bytes);
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    return from;
  }

  u8(n: number): void {
    const at = this.room(1);
    this.bytes[at] = n;
  }
  u16(n: number): void {
    const at = this.room(2);
    this.view.setUint16(at, n, true);
  }
  u32(n: number): void {
    const at = this.room(4);
    this.view.setUint32(at, n, true);
  }
  /** A 64-bit number, signed or not. */
  u64(n: number): void {
    const from = this.room(8);
    this.view.setUint32(from, n % 2 ** 32, true);
    this.view.setInt32(from + 4, Math.floor(n / 2 ** 32), true);
  }
  some(b: Uint8Array): void {
    const at = this.room(b.length);
    this.bytes.set(b, at);
  }
  zeros(n: number): void {
    this.room(n);
  }
  uleb(n: number): void {
    do {
      const rest = Math.floor(n / 128);
      this.u8((n % 128) | (rest > 0 ? 0x80 : 0));
      n = rest;
    } while (n > 0);
  }
  sleb(n: number): void {
    for (;;) {
      const low = ((n % 128) + 128) % 128;
      n = Math.floor(n / 128);
      const last = (n === 0 && low < 64) || (n === -1 && low >= 64);
      this.u8(low | (last ? 0 : 0x80));
      if (last) return;
    }
  }
  cstring(text: string): void {
    this.some(ENCODER.encode(text));
    this.u8(0);
  }
  done(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }
}
