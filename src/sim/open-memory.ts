import { hex, type Location, type Memory, MemoryFault, mix } from './memory.ts';

/** Bytes of a page of open memory; all words of a page are of one kind, integers or floats. */
const PAGE = 4096;

/** High word of the lowest pointer value found in open memory: 2^41, above the bases of all parameters. */
const POINTED = 0x200;

/** Bytes of a line, the part of a piece that is filled at its first access: most accesses are far apart. */
const LINE_SHIFT = 6;
export const LINE = 1 << LINE_SHIFT;

/** Bytes of a piece, the part of a page that is allocated at its first access. */
export const PIECE = 512;
const PIECES = PAGE / PIECE;

/** Storage for several pieces, with a flag for every byte that has been written. */
interface Room {
  readonly view: DataView;
  readonly bytes: Uint8Array;
  readonly written: Uint8Array;
}

/** One piece of open memory; its bytes start at `from` in its storage. */
export interface Piece extends Room {
  readonly from: number;
  /** Bit masks of lines: those that are filled, and those with a written byte. */
  filled: number;
  stored: number;
}

/**
 * Pieces in the first storage of a memory, and in the largest: each new storage doubles the total. Most memories, those of single threads,
 * stay small.
 */
const FIRST_ROOM = 4;
const MOST_ROOM = 128;

/** Size of the direct-mapped cache of recently accessed pieces; a power of two. */
const LATELY = 16;

/** Maximum number of pieces kept that were only read (256 KB). Their values can be recomputed. */
const MOST_READ = 512;

function newRoom(pieces: number): Room {
  const half = pieces * PIECE;
  const whole = new ArrayBuffer(2 * half);
  return {
    view: new DataView(whole, 0, half),
    bytes: new Uint8Array(whole, 0, half),
    written: new Uint8Array(whole, half, half),
  };
}

/** An empty view: where a location points before the first access. */
const NOWHERE = new DataView(new ArrayBuffer(0));

/** Page number of an address. */
export const pageOf = (address: number): number => Math.floor(address / PAGE);

/** Hash from which the words of a page are derived. */
const pageHash = (page: number, seed: number): number => mix(page | 0, seed ^ Math.floor(page / 4294967296));

/** True if an unwritten page of open memory holds floats regardless of how a program uses it. */
export const holdsFloats = (page: number, { seed, mixed }: Pick<Contents, 'seed' | 'mixed'>): boolean =>
  mixed && (pageHash(page, seed) & 1) === 1;

/** Determines the words of memory that was never written. */
export interface Contents {
  readonly seed: number;
  /** True if half of the pages hold floats, regardless of how a program uses them. */
  readonly mixed: boolean;
  /** Derives a word from a hash; `index` is its index among the words of its page. */
  integer(hash: number, index: number): number;
  /** Derives the bits of a float from a hash. */
  float(hash: number): number;
  /** Addresses of 8-byte words that hold pointers. */
  readonly pointers: ReadonlySet<number>;
  /** Derives a pointer from a hash, as low and high word; null for a distant base with every alignment. */
  pointer: ((hash: number) => readonly [number, number]) | null;
  /** Pages that hold floats in addition to those chosen by hash, and pages that hold doubles. */
  readonly floats: ReadonlySet<number>;
  readonly doubles: ReadonlySet<number>;
  /** Derives the bits of a double from a hash. */
  double(hash: number): bigint;
  /** Words with fixed values, by address. */
  readonly given: ReadonlyMap<number, number>;
}

/** A small integer derived from a hash; unless `plain`, one in sixteen is negative and one in sixteen has up to ten bits. */
export function someInteger(h: number, plain: boolean): number {
  const kind = plain ? 15 : h >>> 28;
  return kind === 0 ? -1 - (h & 127) : kind === 1 ? h & 0x3ff : h & 31;
}

/**
 * The bits of a float from 1 up to 4, derived from a hash. If `plain`, nine bits of the significand vary, so that products are exact and
 * loops end as they do for simple data; otherwise all 23, so that every rounding shows, and one in four is negative.
 */
export function someFloat(h: number, plain: boolean): number {
  if (plain) return 0x3f800000 + ((h & 0x3ff) << 14);
  return (0x3f800000 + (h & 0xffffff)) | (h >>> 30 !== 0 ? 0 : 1 << 31);
}

/** Contents for a seed; odd seeds give plain values. */
export const contentsFor = (seed: number): Contents => ({
  seed,
  mixed: true,
  integer: (h) => someInteger(h, (seed & 1) === 1),
  float: (h) => someFloat(h, (seed & 1) === 1),
  pointers: new Set(),
  pointer: null,
  floats: new Set(),
  doubles: new Set(),
  double: () => 0n,
  given: new Map(),
});

/**
 * Open memory: every address exists. The value of an unwritten byte is derived from its address by hashing: half of the pages hold
 * integers, the others floats, unless the program uses the page or word otherwise.
 *
 * Memory use grows with what is written; pieces that are only read are recycled.
 */
export class OpenMemory implements Memory {
  /** Pieces by number (address divided by `PIECE`). Pieces that were only read may be missing. */
  readonly pieces = new Map<number, Piece>();
  private readonly contents: Contents;
  /** True if the address of an access must be a multiple of its size. */
  private readonly aligned: boolean;
  /** Recently accessed pieces, indexed by the low bits of their numbers. */
  private readonly lately: (Piece | null)[] = Array<Piece | null>(LATELY).fill(null);
  private readonly latelyKeys = new Float64Array(LATELY).fill(Number.NaN);
  private room: Room | null = null;
  /** Number of pieces that all storage up to now has room for, and the number in use. */
  private roomFor = 0;
  private used = 0;
  /** Numbers of pieces in order of first access, and the index of the next candidate for recycling. */
  private readonly order: number[] = [];
  private oldest = 0;
  private readonly here: Location = { view: NOWHERE, at: 0 };
  private straddle = NOWHERE;
  private pending: { address: number; size: number } | null = null;
  private readonly initial: { address: number; bytes: Uint8Array; size: number }[] = [];

  constructor(contents: Contents, aligned = false) {
    this.contents = contents;
    this.aligned = aligned;
  }

  private piece(key: number): Piece {
    const k = key & (LATELY - 1);
    if (this.latelyKeys[k] === key) return this.lately[k]!;
    let p = this.pieces.get(key);
    if (p === undefined) {
      p = this.newPiece();
      this.pieces.set(key, p);
      this.order.push(key);
    }
    this.latelyKeys[k] = key;
    this.lately[k] = p;
    return p;
  }

  private newPiece(): Piece {
    while (this.order.length - this.oldest > MOST_READ) {
      const key = this.order[this.oldest++];
      const old = this.pieces.get(key)!;
      // Pieces with written bytes are kept.
      if (old.stored !== 0) continue;
      this.pieces.delete(key);
      if (this.latelyKeys[key & (LATELY - 1)] === key) this.latelyKeys[key & (LATELY - 1)] = Number.NaN;
      old.filled = 0;
      return old;
    }
    let { room } = this;
    if (room === null || this.used === this.roomFor) {
      const more = Math.min(Math.max(this.roomFor, FIRST_ROOM), MOST_ROOM);
      this.room = room = newRoom(more);
      this.roomFor += more;
    }
    const from = room.bytes.length - (this.roomFor - this.used++) * PIECE;
    return { view: room.view, bytes: room.bytes, written: room.written, from, filled: 0, stored: 0 };
  }

  /** Fills the lines that contain the given bytes of a piece, unless they are filled already. */
  private reach(p: Piece, key: number, at: number, size: number, write: boolean): void {
    const last = (at + size - 1) >> LINE_SHIFT;
    for (let line = at >> LINE_SHIFT; line <= last; line++) {
      const bit = 1 << line;
      if ((p.filled & bit) === 0) {
        p.filled |= bit;
        this.fill(p, key, line << LINE_SHIFT);
      }
      if (write) p.stored |= bit;
    }
  }

  /** Computes the initial values of one line. */
  private fill(p: Piece, piece: number, first: number): void {
    const { contents } = this;
    const key = Math.floor(piece / PIECES);
    const inPage = (piece - key * PIECES) * PIECE;
    const start = inPage + first;
    const end = start + LINE;
    const { view, bytes } = p;
    // Offset in the storage that byte 0 of the page would have.
    const zero = p.from - inPage;
    const k = pageHash(key, contents.seed);
    const floats = contents.floats.has(key) || holdsFloats(key, contents);
    if (contents.doubles.has(key))
      for (let w = start; w < end; w += 8) view.setBigUint64(zero + w, contents.double(mix(w, k)), true);
    else
      for (let w = start; w < end; w += 4) {
        const h = mix(w, k);
        view.setUint32(zero + w, floats ? contents.float(h) : contents.integer(h, w >> 2), true);
      }
    const address = key * PAGE;
    if (contents.pointers.size > 0)
      for (let w = start; w < end; w += 8)
        if (contents.pointers.has(address + w)) {
          const h = mix(w, k ^ 0x9e37);
          const [lo, hi] = contents.pointer?.(h) ?? [((h >>> 8) & 0xffff) << 12, POINTED + (h & 0xff)];
          view.setUint32(zero + w, lo, true);
          view.setUint32(zero + w + 4, hi, true);
        }
    if (contents.given.size > 0)
      for (let w = start; w < end; w += 4) {
        const given = contents.given.get(address + w);
        if (given !== undefined) view.setInt32(zero + w, given, true);
      }
    for (let i = this.initialBelow(address + end); i >= 0; i--) {
      const { address: first, bytes: given, size } = this.initial[i];
      const from = Math.max(first - address, start);
      const to = Math.min(first + size - address, end);
      if (from >= to) break;
      const at = address + from - first;
      bytes.fill(0, zero + from, zero + to);
      bytes.set(given.subarray(at, at + to - from), zero + from);
    }
  }

  place(address: number, size: number, write: boolean): Location {
    if (this.pending !== null) this.flush();
    if (this.aligned && address % size !== 0)
      throw new MemoryFault(`address ${hex(address)} is not a multiple of ${size}`);
    const key = Math.floor(address / PIECE);
    const at = address - key * PIECE;
    if (at + size > PIECE) return this.across(address, size, write);
    const p = this.piece(key);
    this.reach(p, key, at, size, write);
    const there = p.from + at;
    if (write) for (let i = there; i < there + size; i++) p.written[i] = 1;
    this.here.view = p.view;
    this.here.at = there;
    return this.here;
  }

  /** True if the line of an address may have been accessed. */
  hasLine(address: number): boolean {
    if (this.oldest > 0) return true;
    const key = Math.floor(address / PIECE);
    const line = (address - key * PIECE) >> LINE_SHIFT;
    return ((this.pieces.get(key)?.filled ?? 0) & (1 << line)) !== 0;
  }

  /** True if a page may have been accessed: pieces that were only read may be recycled. */
  hasPage(page: number): boolean {
    if (this.oldest > 0) return true;
    for (let k = 0; k < PIECES; k++) if (this.pieces.has(page * PIECES + k)) return true;
    return false;
  }

  /** True if any of the `size` bytes at an address has been written. */
  isWritten(address: number, size: number): boolean {
    for (let i = 0; i < size; i++) {
      const key = Math.floor((address + i) / PIECE);
      const p = this.pieces.get(key);
      if (p !== undefined && p.written[p.from + (address + i - key * PIECE)] === 1) return true;
    }
    return false;
  }

  /** Performs an access that crosses the end of a piece through a small buffer, which is written back before the next access. */
  private across(address: number, size: number, write: boolean): Location {
    if (this.straddle.byteLength < size) this.straddle = new DataView(new ArrayBuffer(size));
    for (let i = 0; i < size; i++) {
      const key = Math.floor((address + i) / PIECE);
      const p = this.piece(key);
      const at = address + i - key * PIECE;
      this.reach(p, key, at, 1, write);
      this.straddle.setUint8(i, p.bytes[p.from + at]);
      if (write) p.written[p.from + at] = 1;
    }
    if (write) this.pending = { address, size };
    this.here.view = this.straddle;
    this.here.at = 0;
    return this.here;
  }

  /** Completes a write that crossed the end of a piece. */
  flush(): void {
    const w = this.pending;
    if (w === null) return;
    this.pending = null;
    for (let i = 0; i < w.size; i++) {
      const key = Math.floor((w.address + i) / PIECE);
      const p = this.piece(key);
      p.bytes[p.from + (w.address + i - key * PIECE)] = this.straddle.getUint8(i);
    }
  }

  /** Index of the last initialised range that starts below an address; -1 if there is none. */
  private initialBelow(address: number): number {
    let lo = -1;
    let hi = this.initial.length - 1;
    while (lo < hi) {
      const mid = (lo + hi + 1) >> 1;
      if (this.initial[mid].address < address) lo = mid;
      else hi = mid - 1;
    }
    return lo;
  }

  /**
   * Gives initial bytes to memory that was never accessed; they do not count as written. Ranges must be added in ascending order. A line
   * gets its bytes when it is first accessed, so that a variable costs only what is used of it, however large it is.
   *
   * @param size size of the range in bytes; zeros follow the given bytes
   */
  init(address: number, bytes: Uint8Array, size: number): void {
    this.initial.push({ address, bytes, size });
  }
}
