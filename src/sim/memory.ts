/**
 * Memory of the simulator. Addresses are JavaScript numbers (exact up to 2^53). Generic addresses are distinguished
 * by windows: everything below 2^44 is global memory.
 */
export const SHARED_WINDOW = 2 ** 44;
export const LOCAL_WINDOW = 2 ** 45;
export const PARAM_WINDOW = 2 ** 46;
export const FUNCTION_WINDOW = 2 ** 47;

/** An access that memory rejects. */
export class MemoryFault extends Error {}

/** The target of an access: some bytes, and an offset in them. */
export interface Location {
  view: DataView;
  at: number;
}

export interface Memory {
  /** Resolves an access of `size` bytes; throws MemoryFault. The result is valid until the next call. */
  place(address: number, size: number, write: boolean): Location;
}

export interface Buffer {
  readonly name: string;
  readonly base: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** Memory made of separate buffers with gaps: an access outside all of them is an error that names the nearest. */
export class BufferMemory implements Memory {
  readonly buffers: Buffer[] = [];
  private next: number;
  private last: Buffer | null = null;
  private readonly here: Location = { view: new DataView(new ArrayBuffer(0)), at: 0 };

  constructor(first = 2 ** 33) {
    this.next = first;
  }

  /** Places bytes at a 512-byte boundary, at least 4 KiB after the previous buffer. */
  add(name: string, bytes: Uint8Array): Buffer {
    const b: Buffer = {
      name,
      base: this.next,
      bytes,
      view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    };
    this.next = Math.ceil((this.next + bytes.length + 4096) / 512) * 512;
    this.buffers.push(b);
    return b;
  }

  /** Grows the last buffer to at least `bytes`, and at least by half; its contents stay. */
  growLast(bytes: number): void {
    const at = this.buffers.length - 1;
    const old = this.buffers[at];
    if (old.bytes.length >= bytes) return;
    const longer = new Uint8Array(Math.max(bytes, Math.ceil((old.bytes.length * 3) / 2)));
    longer.set(old.bytes);
    this.buffers[at] = { name: old.name, base: old.base, bytes: longer, view: new DataView(longer.buffer) };
    this.last = null;
  }

  /** Gives up a buffer, which no access may reach from then on. @returns its bytes; 0 if none begins at the address */
  release(address: number): number {
    const at = this.indexOf(address);
    const b = this.buffers[at];
    if (b === undefined || b.base !== address) return 0;
    const none = new Uint8Array(0);
    this.buffers[at] = {
      name: `freed ${b.name}`,
      base: b.base,
      bytes: none,
      view: new DataView(none.buffer),
    };
    this.last = null;
    return b.bytes.length;
  }

  place(address: number, size: number, _write: boolean): Location {
    let b = this.last;
    if (b === null || address < b.base || address + size > b.base + b.bytes.length) {
      b = this.find(address, size);
      this.last = b;
    }
    if (address % size !== 0) throw new MemoryFault(`address ${hex(address)} is not a multiple of ${size}`);
    this.here.view = b.view;
    this.here.at = address - b.base;
    return this.here;
  }

  /** Index of the last buffer at or below an address. */
  private indexOf(address: number): number {
    let lo = 0;
    let hi = this.buffers.length - 1;
    while (lo < hi) {
      const mid = (lo + hi + 1) >> 1;
      if (this.buffers[mid].base <= address) lo = mid;
      else hi = mid - 1;
    }
    return lo;
  }

  private find(address: number, size: number): Buffer {
    const b = this.buffers[this.indexOf(address)];
    if (b === undefined) throw new MemoryFault(`address ${hex(address)} lies in no buffer`);
    if (address < b.base || address + size > b.base + b.bytes.length) {
      const off = address - b.base;
      throw new MemoryFault(
        `address ${hex(address)} lies in no buffer; the nearest is ${b.name} (${b.bytes.length} bytes at ${hex(b.base)}), this is ${off >= 0 ? `byte ${off} of it` : `${-off} bytes before it`}`,
      );
    }
    return b;
  }
}

export const hex = (a: number): string => `0x${a.toString(16)}`;

/** 32-bit mix of two words (the finalizer of MurmurHash3). */
export function mix(a: number, b: number): number {
  let h = Math.imul(a ^ Math.imul(b, 0x9e3779b1), 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** Bytes of a page of open memory, whose words are values of one kind. */
const PAGE = 4096;

/** High word of the lowest address of a pointer found in open memory: 2^41, above the bases of all parameters. */
const POINTED = 0x200;

/** A small integer; unless `plain`, one in sixteen is negative and one in sixteen has up to ten bits. */
function someInteger(h: number, plain: boolean): number {
  const kind = plain ? 15 : h >>> 28;
  return kind === 0 ? -1 - (h & 127) : kind === 1 ? h & 0x3ff : h & 31;
}

/**
 * A float from 1 up to 4. If `plain`, it has nine bits of significand, so that products are exact and loops end as they do for simple
 * data; otherwise all 23, so that every rounding shows, and one in four is negative.
 */
function someFloat(h: number, plain: boolean): number {
  if (plain) return 0x3f800000 + ((h & 0x3ff) << 14);
  return (0x3f800000 + (h & 0xffffff)) | (h >>> 30 !== 0 ? 0 : 1 << 31);
}

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
export const holdsFloats = (page: number, seed: number): boolean => (pageHash(page, seed) & 1) === 1;

/**
 * Open memory: every address exists. An unwritten byte holds a value hashed from its address: small integer words in
 * half of the pages, small floats in the others, so that loops and indices stay reasonable; floats and pointers where
 * a program uses the page or the word so. Alignment is not checked.
 */
export class OpenMemory implements Memory {
  /** By their numbers: addresses divided by `PIECE`. */
  readonly pieces = new Map<number, Piece>();
  private readonly seed: number;
  private readonly pointers: ReadonlySet<number>;
  private readonly floats: ReadonlySet<number>;
  private lastKey = Number.NaN;
  private lastPiece: Piece | null = null;
  private room: Room | null = null;
  /** Pieces that have room in all rooms up to this one, and those that are in use. */
  private roomFor = 0;
  private used = 0;
  private readonly here: Location = { view: NOWHERE, at: 0 };
  private straddle = NOWHERE;
  private pending: { address: number; size: number } | null = null;
  private readonly initial: { address: number; bytes: Uint8Array; size: number }[] = [];

  /**
   * @param pointers addresses of 8-byte words that hold pointers: distant bases that every access is aligned to
   * @param floats pages that hold floats
   */
  constructor(
    seed: number,
    pointers: ReadonlySet<number> = new Set(),
    floats: ReadonlySet<number> = new Set(),
  ) {
    this.seed = seed;
    this.pointers = pointers;
    this.floats = floats;
  }

  private piece(key: number): Piece {
    if (key === this.lastKey) return this.lastPiece!;
    let p = this.pieces.get(key);
    if (p === undefined) {
      p = this.newPiece();
      this.pieces.set(key, p);
    }
    this.lastKey = key;
    this.lastPiece = p;
    return p;
  }

  private newPiece(): Piece {
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
    const key = Math.floor(piece / PIECES);
    const inPage = (piece - key * PIECES) * PIECE;
    const start = inPage + first;
    const end = start + LINE;
    const { view, bytes } = p;
    // Where byte 0 of the page would be in the room.
    const zero = p.from - inPage;
    const k = pageHash(key, this.seed);
    const floats = this.floats.has(key) || holdsFloats(key, this.seed);
    const plain = (this.seed & 1) === 1;
    for (let w = start; w < end; w += 4) {
      const h = mix(w, k);
      view.setUint32(zero + w, floats ? someFloat(h, plain) : someInteger(h, plain), true);
    }
    const address = key * PAGE;
    if (this.pointers.size > 0)
      for (let w = start; w < end; w += 8)
        if (this.pointers.has(address + w)) {
          const h = mix(w, k ^ 0x9e37);
          view.setUint32(zero + w, ((h >>> 8) & 0xffff) << 12, true);
          view.setUint32(zero + w + 4, POINTED + (h & 0xff), true);
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
   * Gives memory that no access has reached yet initial bytes, which do not count as written; each place lies behind those before. Lines get them when they are reached,
   * so that a variable costs what is used of it, however large it is.
   *
   * @param size bytes in all: zeros follow those that are given
   */
  init(address: number, bytes: Uint8Array, size: number): void {
    this.initial.push({ address, bytes, size });
  }
}
