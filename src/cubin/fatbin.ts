import { BinaryError, Bytes, hex } from './bytes.ts';
import { unpackLz4 } from './lz4.ts';
import { unpackZstd } from './zstd.ts';

/*
 * Fat binaries, which nvcc embeds in object files: cubins and PTX for several targets. The layout was seen in files of nvcc 13.0.88.
 */

const MAGIC = 0xba55ed50;
const KINDS: ReadonlyMap<number, FatEntry['kind']> = new Map([
  [1, 'ptx'],
  [2, 'cubin'],
]);
const HEADER_BYTES = 16;
const ENTRY_BYTES = 64;
/** Bits of an entry's flags. */
const PACKED = { lz4: 0x2000, zstd: 0x8000 } as const;
/**
 * Maximum unpacked size of a member, which is also the maximum size of an input file. A larger one is a mistake or an attack: zstd packs 2
 * MB of zeros into four bytes.
 */
const MOST_CONTENT = 2 ** 28;
/** Maximum unpacked size of all members of a file, which may all be unpacked at the same time. */
export const MOST_TOGETHER = 2 ** 30;

/** Maximum number of members of a file; in an honest one each has at least a kernel. */
export const MOST_MEMBERS = 2 ** 16;

/** One member of a fat binary. */
export interface FatEntry {
  readonly kind: 'ptx' | 'cubin' | 'other';
  /** 80 for sm_80 and compute_80. */
  readonly target: number;
  readonly flags: number;
  readonly packing: 'none' | keyof typeof PACKED;
  /** Size of the unpacked content in bytes. */
  readonly size: number;
  /** Offset in the file that was read. */
  readonly at: number;
  /** The content as stored in the file. */
  readonly payload: Uint8Array;
}

/** True if the bytes start like a fat binary. */
export const isFatbin = (bytes: Uint8Array): boolean =>
  bytes.length >= HEADER_BYTES && new Bytes(bytes).u32() === MAGIC;

/**
 * Reads the members of consecutive fat binaries, which may be separated by zero bytes.
 *
 * @param base offset of the bytes in their file
 * @param most maximum number of members
 * @throws BinaryError if one is truncated or damaged, or there are too many members
 */
export function readFatbins(bytes: Uint8Array, base = 0, most = MOST_MEMBERS): FatEntry[] {
  const b = new Bytes(bytes, base);
  const entries: FatEntry[] = [];
  for (;;) {
    while (b.left > 0 && bytes[b.at] === 0) b.at++;
    if (b.left === 0) return entries;
    const from = b.at;
    if (b.left < HEADER_BYTES || b.u32() !== MAGIC)
      throw new BinaryError('a fat binary has no valid header', base + from);
    b.u16();
    const header = b.u16();
    const size = b.u64();
    if (header < HEADER_BYTES || header + size > bytes.length - from)
      throw new BinaryError(
        `a fat binary of ${header + size} bytes has ${bytes.length - from}: it is cut off or damaged`,
        base + from,
      );
    b.at = from + header;
    const end = b.at + size;
    while (b.at < end) {
      if (entries.length === most)
        throw new BinaryError(`it has more than the ${MOST_MEMBERS} members that are read`, base + b.at);
      entries.push(readEntry(b, end));
    }
  }
}

function readEntry(b: Bytes, end: number): FatEntry {
  const at = b.at;
  if (end - at < ENTRY_BYTES) throw new BinaryError('a member of a fat binary is cut off', b.base + at);
  const [kind, , header] = [b.u16(), b.u16(), b.u32()];
  const [payload, packed] = [b.u64(), b.u32()];
  b.some(8);
  const target = b.u32();
  b.some(8);
  const flags = b.u64();
  b.some(8);
  const unpacked = b.u64();
  if (header < ENTRY_BYTES || header + payload > end - at)
    throw new BinaryError(
      `a member of a fat binary has ${header + payload} bytes, of ${end - at} that are left`,
      b.base + at,
    );
  b.at = at + header;
  const bytes = b.some(payload);
  const packing = (flags & PACKED.zstd) !== 0 ? 'zstd' : (flags & PACKED.lz4) !== 0 ? 'lz4' : 'none';
  if (packing !== 'none' && packed > payload)
    throw new BinaryError('a member of a fat binary is larger than its bytes', b.base + at);
  return {
    kind: KINDS.get(kind) ?? 'other',
    target,
    flags,
    packing,
    size: packing === 'none' ? payload : unpacked,
    at: b.base + at,
    payload: packing === 'none' ? bytes : bytes.subarray(0, packed),
  };
}

/**
 * Unpacks a member.
 *
 * @throws BinaryError if it is damaged or claims an impossible size
 */
export function contentOf(e: FatEntry): Uint8Array {
  if (e.packing === 'none') return e.payload;
  if (e.size > MOST_CONTENT)
    throw new BinaryError(`a member of a fat binary claims to have ${hex(e.size)} bytes`, e.at);
  return e.packing === 'lz4' ? unpackLz4(e.payload, e.size) : unpackZstd(e.payload, e.size);
}
