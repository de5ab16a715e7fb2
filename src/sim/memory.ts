/**
 * Memory of the simulator. Addresses are JavaScript numbers (exact up to 2^53). The window that contains a generic address determines its
 * space: everything below 2^44 is global memory.
 */
export const SHARED_WINDOW = 2 ** 44;
export const LOCAL_WINDOW = 2 ** 45;
export const PARAM_WINDOW = 2 ** 46;
export const FUNCTION_WINDOW = 2 ** 47;

/** An access that memory rejects. */
export class MemoryFault extends Error {}

/** The bytes that an access reads or writes: a view and an offset in it. */
export interface Location {
  view: DataView;
  at: number;
}

/** One address space, or part of it. */
export interface Memory {
  /** Resolves an access of `size` bytes. The result is valid until the next call. @throws MemoryFault */
  place(address: number, size: number, write: boolean): Location;
}

/** A contiguous range of addresses with its bytes. */
export interface Buffer {
  readonly name: string;
  readonly base: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** Memory made of separate buffers with gaps: an access outside all of them is a fault that names the nearest buffer. */
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

  /** Grows the last buffer to at least `bytes`, and by at least half its size; its contents are kept. */
  growLast(bytes: number): void {
    const at = this.buffers.length - 1;
    const old = this.buffers[at];
    if (old.bytes.length >= bytes) return;
    const longer = new Uint8Array(Math.max(bytes, Math.ceil((old.bytes.length * 3) / 2)));
    longer.set(old.bytes);
    this.buffers[at] = { name: old.name, base: old.base, bytes: longer, view: new DataView(longer.buffer) };
    this.last = null;
  }

  /** Frees a buffer: later accesses to it fault. @returns its size in bytes; 0 if no buffer starts at the address */
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

/** Formats an address, e.g. `0x1f`. */
export const hex = (a: number): string => `${a < 0 ? '-' : ''}0x${Math.abs(a).toString(16)}`;

/** 32-bit mix of two words (the finalizer of MurmurHash3). */
export function mix(a: number, b: number): number {
  let h = Math.imul(a ^ Math.imul(b, 0x9e3779b1), 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}
