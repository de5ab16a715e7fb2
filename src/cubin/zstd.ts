import { Bytes } from './bytes.ts';
import {
  BackwardBits,
  damagedZstd,
  FseState,
  type FseTable,
  fseTable,
  type HuffmanTable,
  readFseTable,
  readHuffman,
  readHuffmanTable,
  rleTable,
} from './fse.ts';

/*
 * Decompressor for Zstandard (RFC 8878), without dictionaries. Checksums are not verified: the structure of a cubin is checked anyway.
 */

const MAGIC = 0xfd2fb528;
const MOST_BLOCK = 128 * 1024;

/** State that the blocks of a frame share. */
interface Frame {
  readonly out: Uint8Array;
  to: number;
  huffman: HuffmanTable | null;
  readonly tables: (FseTable | null)[];
  readonly repeated: [number, number, number];
}

/**
 * Decompresses zstd frames.
 *
 * @param size size of the content in bytes
 * @throws BinaryError if they are damaged
 */
export function unpackZstd(bytes: Uint8Array, size: number): Uint8Array {
  const b = new Bytes(bytes);
  const out = new Uint8Array(size);
  let to = 0;
  while (b.left > 0) {
    if (b.left < 4 || b.u32() !== MAGIC) throw damagedZstd();
    const frame: Frame = {
      out,
      to,
      huffman: null,
      tables: [null, null, null],
      repeated: [1, 4, 8],
    };
    readFrame(b, frame);
    to = frame.to;
  }
  if (to !== size) throw damagedZstd();
  return out;
}

function readFrame(b: Bytes, f: Frame): void {
  const descriptor = b.u8();
  const single = (descriptor & 0x20) !== 0;
  if ((descriptor & 0x08) !== 0 || (descriptor & 3) !== 0) throw damagedZstd();
  if (!single) b.u8();
  b.some([single ? 1 : 0, 2, 4, 8][descriptor >> 6]);
  for (let last = false; !last; ) {
    const head = b.u8() | (b.u8() << 8) | (b.u8() << 16);
    last = (head & 1) !== 0;
    const size = head >> 3;
    const type = (head >> 1) & 3;
    if (type === 0) put(f, b.some(size));
    else if (type === 1) {
      if (size > f.out.length - f.to) throw damagedZstd();
      f.out.fill(b.u8(), f.to, f.to + size);
      f.to += size;
    } else if (type === 2) readBlock(new Bytes(b.some(size)), f);
    else throw damagedZstd();
  }
  if ((descriptor & 4) !== 0) b.some(4);
}

function put(f: Frame, bytes: Uint8Array): void {
  if (bytes.length > f.out.length - f.to) throw damagedZstd();
  f.out.set(bytes, f.to);
  f.to += bytes.length;
}

function readBlock(b: Bytes, f: Frame): void {
  const literals = readLiterals(b, f);
  const first = b.u8();
  const count = first < 128 ? first : first < 255 ? ((first - 128) << 8) + b.u8() : b.u16() + 0x7f00;
  if (count === 0) {
    if (b.left > 0) throw damagedZstd();
    return put(f, literals);
  }
  const modes = b.u8();
  if ((modes & 3) !== 0) throw damagedZstd();
  CODES.forEach((c, k) => void (f.tables[k] = readTable(b, (modes >> (6 - 2 * k)) & 3, c, f.tables[k])));
  copySequences(f, literals, count, new BackwardBits(b.some(b.left)));
}

function readLiterals(b: Bytes, f: Frame): Uint8Array {
  const head = b.u8();
  const type = head & 3;
  const format = (head >> 2) & 3;
  const more = (n: number): number => {
    let value = head;
    for (let k = 1; k <= n; k++) value += b.u8() * 2 ** (8 * k);
    return value;
  };
  if (type < 2) {
    const size = format % 2 === 0 ? head >> 3 : format === 1 ? more(1) >> 4 : more(2) >> 4;
    if (size > MOST_BLOCK) throw damagedZstd();
    return type === 0 ? b.some(size) : new Uint8Array(size).fill(b.u8());
  }
  const bits = [10, 10, 14, 18][format];
  const sizes = Math.floor(more([2, 2, 3, 4][format]) / 16);
  const size = sizes % 2 ** bits;
  if (size > MOST_BLOCK) throw damagedZstd();
  const part = new Bytes(b.some(Math.floor(sizes / 2 ** bits)));
  if (type === 2) f.huffman = readHuffmanTable(part);
  if (f.huffman === null) throw damagedZstd();
  const out = new Uint8Array(size);
  if (format === 0) readHuffman(f.huffman, part.some(part.left), out);
  else {
    const lengths = [part.u16(), part.u16(), part.u16()];
    const each = (size + 3) >> 2;
    if (3 * each > size) throw damagedZstd();
    for (let k = 0; k < 4; k++)
      readHuffman(
        f.huffman,
        part.some(k < 3 ? lengths[k] : part.left),
        out.subarray(k * each, k < 3 ? (k + 1) * each : size),
      );
  }
  return out;
}

interface Code {
  readonly mostLog: number;
  readonly most: number;
  readonly usual: FseTable;
}

const times = (n: number, value: number): number[] => new Array<number>(n).fill(value);

/** Codes for literal lengths, offsets and match lengths (RFC 8878, 3.1.1.3.2.2). */
const CODES: readonly Code[] = [
  {
    mostLog: 9,
    most: 36,
    usual: fseTable(
      [4, 3, ...times(11, 2), 1, 1, 1, ...times(9, 2), 3, 2, ...times(5, 1), ...times(4, -1)],
      6,
    ),
  },
  { mostLog: 8, most: 32, usual: fseTable([...times(6, 1), 2, 2, 2, ...times(15, 1), ...times(5, -1)], 5) },
  { mostLog: 9, most: 53, usual: fseTable([1, 4, 3, ...times(6, 2), ...times(37, 1), ...times(7, -1)], 6) },
];

function readTable(b: Bytes, mode: number, c: Code, before: FseTable | null): FseTable {
  if (mode === 0) return c.usual;
  if (mode === 1) {
    const symbol = b.u8();
    if (symbol >= c.most) throw damagedZstd();
    return rleTable(symbol);
  }
  if (mode === 2) return readFseTable(b, c.mostLog, c.most);
  if (before === null) throw damagedZstd();
  return before;
}

/** Bases by code: the first `from` codes count up from `least` without extra bits, the others cover the range of their extra bits. */
function bases(least: number, from: number, extra: readonly number[]): { base: number[]; bits: number[] } {
  const base: number[] = [];
  const bits = [...times(from, 0), ...extra];
  let next = least;
  for (const n of bits) {
    base.push(next);
    next += 2 ** n;
  }
  return { base, bits };
}
const LITERALS = bases(0, 16, [1, 1, 1, 1, 2, 2, 3, 3, 4]);
const MATCHES = bases(3, 32, [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
// From here on each code covers one power of two.
for (let n = 6; n <= 16; n++) {
  LITERALS.base.push(2 ** n);
  LITERALS.bits.push(n);
}
for (let n = 7; n <= 16; n++) {
  MATCHES.base.push(2 ** n + 3);
  MATCHES.bits.push(n);
}

function copySequences(f: Frame, literals: Uint8Array, count: number, stream: BackwardBits): void {
  const [lengths, offsets, matches] = f.tables.map((t) => new FseState(t!, stream));
  let from = 0;
  for (let k = 0; k < count; k++) {
    const offsetCode = offsets.symbol;
    const offset = 2 ** offsetCode + stream.read(offsetCode);
    const match = MATCHES.base[matches.symbol] + stream.read(MATCHES.bits[matches.symbol]);
    const length = LITERALS.base[lengths.symbol] + stream.read(LITERALS.bits[lengths.symbol]);
    if (k < count - 1) {
      lengths.advance();
      matches.advance();
      offsets.advance();
    }
    if (stream.left < 0 || length > literals.length - from) throw damagedZstd();
    put(f, literals.subarray(from, from + length));
    from += length;
    const distance = distanceOf(f.repeated, offset, length);
    if (distance <= 0 || distance > f.to || match > f.out.length - f.to) throw damagedZstd();
    // Source and target may overlap: a match then repeats what it has just written.
    for (const end = f.to + match; f.to < end; f.to++) f.out[f.to] = f.out[f.to - distance];
  }
  if (stream.left !== 0) throw damagedZstd();
  put(f, literals.subarray(from));
}

/** The distance for an offset value: 1 to 3 select one of the last three distances, shifted by one if there are no literals. */
function distanceOf(last: [number, number, number], offset: number, literals: number): number {
  if (offset > 3) {
    last.unshift(offset - 3);
    last.length = 3;
    return last[0];
  }
  const k = offset - 1 + (literals === 0 ? 1 : 0);
  const distance = k === 3 ? last[0] - 1 : last[k];
  if (k > 0) {
    last.splice(Math.min(k, 2), 1);
    last.unshift(distance);
  }
  return distance;
}
