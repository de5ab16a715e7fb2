import { hex, type Location, type Memory, MemoryFault, mix } from './memory.ts';

/** Bytes of a page of open memory, whose words are values of one kind. */
const PAGE = 4096;

/** High word of the lowest address of a pointer found in open memory: 2^41, above the bases of all parameters. */
const POINTED = 0x200;

/** Bytes of a line, the part of a piece that gets its values at its first access: most accesses are far from each other. */
const LINE_SHIFT = 6;
export const LINE = 1 << LINE_SHIFT;

/** Bytes of a piece, the part of a page that gets room at its first access. */
export const PIECE = 512;
const PIECES = PAGE / PIECE;

/** Room for some pieces, with a mark for every byte that has been written. */
interface Room {
  readonly view: DataView;
  readonly bytes: Uint8Array;
  readonly written: Uint8Array;
}

/** One piece of open memory: its bytes begin at `from` in its room. */
export interface Piece extends Room {
  readonly from: number;
  /** The lines that have values, and those of which some byte has been written: a bit for each. */
  filled: number;
  stored: number;
}

/**
 * Pieces that the first room of a memory holds, and the most that one does: each new one holds as many as all before it. Most memories,
 * those of single threads, stay small.
 */
const FIRST_ROOM = 4;
const MOST_ROOM = 128;

/** Pieces that are found without a table, a power of two. */
const LATELY = 16;

/** Pieces that are only read and kept all the same: 256 KB. Their values can be made again. */
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

/** No bytes: where a location points before the first access. */
const NOWHERE = new DataView(new ArrayBuffer(0));

/** Number of the page of an address. */
export const pageOf = (address: number): number => Math.floor(address / PAGE);

/** What the words of a page are made from. */
const pageHash = (page: number, seed: number): number => mix(page | 0, seed ^ Math.floor(page / 4294967296));

/** Whether an unwritten page of open memory holds floats, whatever a program uses them as. */
export const holdsFloats = (page: number, { seed, mixed }: Pick<Contents, 'seed' | 'mixed'>): boolean =>
  mixed && (pageHash(page, seed) & 1) === 1;

/** What the words of memory that nobody has written are. */
export interface Contents {
  readonly seed: number;
  /** Whether half of the pages hold floats, whatever a program uses them as. */
  readonly mixed: boolean;
  /** A word made from a hash; `index` is its place among the words of its page. */
  integer(hash: number, index: number): number;
  /** The bits of a float made from a hash. */
  float(hash: number): number;
  /** Addresses of 8-byte words that hold pointers. */
  readonly pointers: ReadonlySet<number>;
  /** A pointer made from a hash, as its low and high words; null for a distant base that every access is aligned to. */
  pointer: ((hash: number) => readonly [number, number]) | null;
  /** Pages that hold floats, beside those that do anyway, and pages that hold doubles. */
  readonly floats: ReadonlySet<number>;
  readonly doubles: ReadonlySet<number>;
  /** The bits of a double made from a hash. */
  double(hash: number): bigint;
  /** Words that are given, by address. */
  readonly given: ReadonlyMap<number, number>;
}

/** A small integer; unless `plain`, one in sixteen is negative and one in sixteen has up to ten bits. */
export function someInteger(h: number, plain: boolean): number {
  const kind = plain ? 15 : h >>> 28;
  return kind === 0 ? -1 - (h & 127) : kind === 1 ? h & 0x3ff : h & 31;
}

/**
 * A float from 1 up to 4. If `plain`, it has nine bits of significand, so that products are exact and loops end as they do for simple
 * data; otherwise all 23, so that every rounding shows, and one in four is negative.
 */
export function someFloat(h: number, plain: boolean): number {
  if (plain) return 0x3f800000 + ((h & 0x3ff) << 14);
  return (0x3f800000 + (h & 0xffffff)) | (h >>> 30 !== 0 ? 0 : 1 << 31);
}

/** Contents for a seed: plain ones if it is odd. */
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
 * Open memory: every address exists. An unwritten byte holds a value hashed from its address: integers in half of the pages, floats in the
 * others, unless a program uses the page or the word otherwise.
 *
 * Memory that is only read takes no room that stays: it costs what is written.
 */
export class OpenMemory implements Memory {
  /** By their numbers: addresses divided by `PIECE`. Those that were only read may be missing. */
  readonly pieces = new Map<number, Piece>();
  private readonly contents: Contents;
  /** Whether an access has to be at a multiple of its size. */
  private readonly aligned: boolean;
  /** Pieces that were accessed lately, by the last bits of their numbers. */
  private readonly lately: (Piece | null)[] = Array<Piece | null>(LATELY).fill(null);
  private readonly latelyKeys = new Float64Array(LATELY).fill(Number.NaN);
  private room: Room | null = null;
  /** Pieces that have room in all rooms up to this one, and those that are in use. */
  private roomFor = 0;
  private used = 0;
  /** Numbers of pieces in order of their first access, and where the next one stands that may be given up. */
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
      // What has been written stays.
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

  /** Sees to it that the lines of some bytes of a piece have values. */
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

  /** Gives one line its first values. */
  private fill(p: Piece, piece: number, first: number): void {
    const { contents } = this;
    const key = Math.floor(piece / PIECES);
    const inPage = (piece - key * PIECES) * PIECE;
    const start = inPage + first;
    const end = start + LINE;
    const { view, bytes } = p;
    // Where byte 0 of the page would be in the room.
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

  /** Has any of the bytes at an address been written? */
  isWritten(address: number, size: number): boolean {
    for (let i = 0; i < size; i++) {
      const key = Math.floor((address + i) / PIECE);
      const p = this.pieces.get(key);
      if (p !== undefined && p.written[p.from + (address + i - key * PIECE)] === 1) return true;
    }
    return false;
  }

  /** Performs an access across the border of a piece through a small buffer, which is written back before the next access. */
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

  /** Completes a write across the border of a piece. */
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

  /** Index of the last initialised place that begins below an address, -1 if there is none. */
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
   * Gives memory that no access has reached yet initial bytes, which do not count as written; each place lies behind those before. Lines
   * get them when they are reached, so that a variable costs what is used of it, however large it is.
   *
   * @param size bytes in all: zeros follow those that are given
   */
  init(address: number, bytes: Uint8Array, size: number): void {
    this.initial.push({ address, bytes, size });
  }
}
