import { RunFault } from './faults.ts';

/*
 * State spaces and their windows in the generic address space: PTX ISA, 5.1 and 6.4.1.1.
 */

/** The state space of a memory instruction. */
export type StateSpace = 'global' | 'shared' | 'local' | 'const' | 'param' | 'generic';

/** Bytes at an address of a space. */
export interface Region {
  readonly name: string;
  readonly base: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

export const region = (name: string, base: number, bytes: Uint8Array): Region => ({
  name,
  base,
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
});

/** First generic addresses of the windows. Addresses outside of all windows belong to global memory. */
export const WINDOWS = {
  shared: 2 ** 40,
  local: 2 ** 41,
  const: 2 ** 42,
  param: 2 ** 43,
} as const;
/** Bytes of a window, and of each block's part of the shared window in a cluster. */
const WINDOW_BYTES = 2 ** 32;
export const BLOCK_BYTES = 2 ** 24;
/** First address of functions, which are 16 bytes apart. */
const FUNCTIONS = 2 ** 44;

export const functionAddress = (index: number): bigint => BigInt(FUNCTIONS + 16 * index);
export const functionIndex = (address: bigint): number => (Number(address) - FUNCTIONS) / 16;

export type Windowed = keyof typeof WINDOWS;
const WINDOWED = Object.keys(WINDOWS) as Windowed[];

/** Converts an address of a space to a generic one. */
export const toGeneric = (space: StateSpace, address: bigint): bigint =>
  space === 'global' || space === 'generic' ? address : address + BigInt(WINDOWS[space]);

/** Converts a generic address to a space and an address in it. */
export function fromGeneric(address: bigint): { readonly space: StateSpace; readonly address: bigint } {
  const at = Number(address);
  for (const space of WINDOWED)
    if (at >= WINDOWS[space] && at < WINDOWS[space] + WINDOW_BYTES)
      return { space, address: address - BigInt(WINDOWS[space]) };
  return { space: 'global', address };
}

/** The regions of one space, with gaps between their addresses so that accesses out of bounds are noticed. */
export class Regions {
  readonly #regions: Region[] = [];
  #next: number;

  constructor(first: number) {
    this.#next = first;
  }

  /** Adds a region after those added so far, at a multiple of 256. */
  add(name: string, bytes: Uint8Array): Region {
    const r = region(name, this.#next, bytes);
    this.#regions.push(r);
    this.#next += Math.ceil((bytes.length + 64) / 256) * 256;
    return r;
  }

  find(address: number): Region | null {
    for (const r of this.#regions) if (address >= r.base && address < r.base + r.bytes.length) return r;
    return null;
  }
}

/** The offset of `size` bytes in a region. @throws RunFault if they are not all in it, or if the address is not a multiple of the size */
export function within(r: Region | null, space: string, address: number, size: number): number {
  if (r === null || address < r.base || address + size > r.base + r.bytes.length)
    throw new RunFault(`no ${size} bytes of ${space} memory at 0x${address.toString(16)}`);
  if (address % size !== 0) throw new RunFault(`0x${address.toString(16)} is no multiple of ${size}`);
  return address - r.base;
}

/** Loads a little-endian number of `size` bytes. */
export function load(r: Region, at: number, size: number): bigint {
  switch (size) {
    case 1:
      return BigInt(r.view.getUint8(at));
    case 2:
      return BigInt(r.view.getUint16(at, true));
    case 4:
      return BigInt(r.view.getUint32(at, true));
    case 8:
      return r.view.getBigUint64(at, true);
    default:
      return load(r, at, 8) | (load(r, at + 8, 8) << 64n);
  }
}

/** Stores a little-endian number of `size` bytes. */
export function store(r: Region, at: number, size: number, bits: bigint): void {
  switch (size) {
    case 1:
      return r.view.setUint8(at, Number(bits));
    case 2:
      return r.view.setUint16(at, Number(bits), true);
    case 4:
      return r.view.setUint32(at, Number(bits), true);
    case 8:
      return r.view.setBigUint64(at, bits, true);
    default:
      r.view.setBigUint64(at, BigInt.asUintN(64, bits), true);
      r.view.setBigUint64(at + 8, bits >> 64n, true);
  }
}
