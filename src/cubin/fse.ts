import { BinaryError, Bytes } from './bytes.ts';

/*
 * Entropy coding of Zstandard (RFC 8878, section 4): tables for finite state entropy and Huffman codes, and the bit streams that they
 * decode.
 */

/** The error for corrupt zstd data. */
export const damagedZstd = (): BinaryError => new BinaryError('compressed data (zstd) is damaged', 0);

/** A bit stream that is read from its last bit to its first. The highest 1 bit of the last byte is the end marker. */
export class BackwardBits {
  private readonly bytes: Uint8Array;
  /** Number of bits left; negative if more were read than there are, which read as zeros. */
  left: number;

  constructor(bytes: Uint8Array) {
    const last = bytes.at(-1) ?? 0;
    if (last === 0) throw damagedZstd();
    this.bytes = bytes;
    this.left = bytes.length * 8 - (Math.clz32(last) - 24) - 1;
  }

  /** Reads `n` bits, at most 32, as a number. */
  read(n: number): number {
    this.left -= n;
    return bitsAt(this.bytes, this.left, n);
  }
}

/** `n` bits, at most 32, starting at bit `at`; bits before the first are zeros. */
function bitsAt(bytes: Uint8Array, at: number, n: number): number {
  let value = 0;
  let got = 0;
  if (at < 0) {
    got = Math.min(n, -at);
    at = 0;
  }
  while (got < n) {
    const within = at & 7;
    const take = Math.min(8 - within, n - got);
    value += (((bytes[at >> 3] ?? 0) >> within) & ((1 << take) - 1)) * 2 ** got;
    got += take;
    at += take;
  }
  return value;
}

/** A decoding table for finite state entropy: for each state its symbol, and how the next state is computed. */
export interface FseTable {
  readonly log: number;
  readonly symbol: Uint8Array;
  readonly bits: Uint8Array;
  readonly base: Uint16Array;
}

/** Builds a table from symbol frequencies; -1 is a probability of less than one state. */
export function fseTable(frequencies: readonly number[], log: number): FseTable {
  const size = 1 << log;
  const t = { log, symbol: new Uint8Array(size), bits: new Uint8Array(size), base: new Uint16Array(size) };
  const next = frequencies.map((f) => Math.abs(f));
  let high = size;
  frequencies.forEach((f, s) => void (f === -1 && (t.symbol[--high] = s)));
  const step = (size >> 1) + (size >> 3) + 3;
  let at = 0;
  frequencies.forEach((f, s) => {
    for (let k = 0; k < f; k++) {
      t.symbol[at] = s;
      do at = (at + step) & (size - 1);
      while (at >= high);
    }
  });
  if (at !== 0) throw damagedZstd();
  for (let state = 0; state < size; state++) {
    const n = next[t.symbol[state]]++;
    t.bits[state] = log - (31 - Math.clz32(n));
    t.base[state] = (n << t.bits[state]) - size;
  }
  return t;
}

/** A table with a single symbol. */
export const rleTable = (symbol: number): FseTable => ({
  log: 0,
  symbol: Uint8Array.of(symbol),
  bits: Uint8Array.of(0),
  base: Uint16Array.of(0),
});

/** Reads a table description and advances `b` past it. */
export function readFseTable(b: Bytes, mostLog: number, mostSymbols: number): FseTable {
  const { bytes, at: from } = b;
  let bit = from * 8;
  const read = (n: number): number => {
    const value = bitsAt(bytes, bit, n);
    bit += n;
    if (bit > bytes.length * 8) throw damagedZstd();
    return value;
  };
  const log = read(4) + 5;
  if (log > mostLog) throw damagedZstd();
  const frequencies: number[] = [];
  let remaining = 1 << log;
  while (remaining > 0) {
    const n = 32 - Math.clz32(remaining + 1);
    let value = read(n);
    const mask = (1 << (n - 1)) - 1;
    const threshold = (1 << n) - 1 - (remaining + 1);
    if ((value & mask) < threshold) {
      bit--;
      value &= mask;
    } else if (value > mask) value -= threshold;
    frequencies.push(value - 1);
    remaining -= Math.abs(value - 1);
    for (let more = value === 1; more; ) {
      const zeros = read(2);
      for (let k = 0; k < zeros; k++) frequencies.push(0);
      more = zeros === 3;
    }
    if (frequencies.length > mostSymbols) throw damagedZstd();
  }
  if (remaining !== 0) throw damagedZstd();
  b.at = (bit + 7) >> 3;
  return fseTable(frequencies, log);
}

/** A decoder state over a table and a bit stream. */
export class FseState {
  private readonly table: FseTable;
  private readonly from: BackwardBits;
  private state: number;

  constructor(table: FseTable, from: BackwardBits) {
    this.table = table;
    this.from = from;
    this.state = from.read(table.log);
  }
  get symbol(): number {
    return this.table.symbol[this.state];
  }
  advance(): void {
    this.state = this.table.base[this.state] + this.from.read(this.table.bits[this.state]);
  }
}

/** A Huffman decoding table: for the next `log` bits, the symbol and the length of its code. */
export interface HuffmanTable {
  readonly log: number;
  readonly symbol: Uint8Array;
  readonly bits: Uint8Array;
}

const MOST_WEIGHT_LOG = 6;
const MOST_CODE_BITS = 11;

/** Reads the description of a Huffman code and advances `b` past it. */
export function readHuffmanTable(b: Bytes): HuffmanTable {
  const head = b.u8();
  const weights: number[] = [];
  if (head >= 128) {
    const count = head - 127;
    const packed = b.some((count + 1) >> 1);
    for (let k = 0; k < count; k++) weights.push(k % 2 === 0 ? packed[k >> 1] >> 4 : packed[k >> 1] & 15);
  } else {
    const part = new Bytes(b.some(head));
    const table = readFseTable(part, MOST_WEIGHT_LOG, 256);
    const stream = new BackwardBits(part.some(part.left));
    const states = [new FseState(table, stream), new FseState(table, stream)];
    for (let k = 0; ; k ^= 1) {
      weights.push(states[k].symbol);
      states[k].advance();
      if (stream.left < 0) {
        weights.push(states[k ^ 1].symbol);
        break;
      }
      if (weights.length > 255) throw damagedZstd();
    }
  }
  return huffmanTable(weights);
}

/** The weight of the last symbol is implicit: it completes the sum to a power of two. */
function huffmanTable(weights: number[]): HuffmanTable {
  const sum = weights.reduce((n, w) => n + (w > 0 ? 2 ** (w - 1) : 0), 0);
  if (sum === 0) throw damagedZstd();
  const log = Math.floor(Math.log2(sum)) + 1;
  const rest = 2 ** log - sum;
  const last = Math.log2(rest) + 1;
  if (log > MOST_CODE_BITS || !Number.isInteger(last)) throw damagedZstd();
  weights.push(last);
  const t = { log, symbol: new Uint8Array(1 << log), bits: new Uint8Array(1 << log) };
  let at = 0;
  for (let w = 1; w <= log; w++)
    weights.forEach((weight, symbol) => {
      if (weight !== w) return;
      const end = at + 2 ** (w - 1);
      t.symbol.fill(symbol, at, end);
      t.bits.fill(log + 1 - w, at, end);
      at = end;
    });
  return t;
}

/** Decodes `out.length` symbols of a stream, which must not hold more. */
export function readHuffman(t: HuffmanTable, bytes: Uint8Array, out: Uint8Array): void {
  const stream = new BackwardBits(bytes);
  for (let k = 0; k < out.length; k++) {
    const next = stream.read(t.log);
    out[k] = t.symbol[next];
    stream.left += t.log - t.bits[next];
  }
  if (stream.left !== 0) throw damagedZstd();
}
