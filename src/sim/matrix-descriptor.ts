/*
 * Shared-memory layout of the matrices that a warpgroup multiplies: canonical layouts, strides, and the format of the matrix descriptor
 * (PTX ISA 9.0, 9.7.15.5.1.2).
 */

/** A decoded matrix descriptor. */
export interface MatrixInShared {
  readonly start: number;
  /** Byte offset between core matrices along the leading dimension, and along the other one. */
  readonly leading: number;
  readonly stride: number;
  /** Base offset: where the repeating swizzle pattern starts, in rows of 128 bytes. */
  readonly base: number;
  /** Width in bytes of the swizzle pattern: 32, 64 or 128; 16 for no swizzling. */
  readonly swizzle: number;
}

/** Bytes of a chunk, the unit that swizzling permutes. */
export const CHUNK = 16;
/** Log2 of the 128-byte rows whose numbers determine the permutation of chunks. */
const ROW_LOG2 = 7;
const CHUNK_LOG2 = 4;
/** Rows, or columns, of a core matrix. */
const PART = 8;
/** Swizzle width by the descriptor's swizzle mode. */
const SWIZZLES: readonly number[] = [CHUNK, 128, 64, 32];
/** Mask of the 18-bit shared addresses in the computation. */
const ADDRESS = 0x3ffff;

const field = (bits: bigint, at: number, count: number): number =>
  Number(BigInt.asUintN(count, bits >> BigInt(at)));
const bytes = (bits: bigint, at: number): number => field(bits, at, 14) * CHUNK;

/** Decodes the 64 bits of a matrix descriptor. */
export const matrixAt = (bits: bigint): MatrixInShared => ({
  start: bytes(bits, 0),
  leading: bytes(bits, 16),
  stride: bytes(bits, 32),
  base: field(bits, 49, 3),
  swizzle: SWIZZLES[field(bits, 62, 2)],
});

/** Address of a chunk after swizzling; `address` is where it would be without. */
function swizzled({ swizzle, base }: MatrixInShared, address: number): number {
  const row = (address >>> ROW_LOG2) - base;
  return address ^ ((row & (swizzle / CHUNK - 1)) << CHUNK_LOG2);
}

/**
 * Address of a chunk of a matrix that is contiguous along its rows (columns for the second factor).
 *
 * @param row number of the row
 * @param chunk number of the chunk in its row: 0 or 1
 */
export function chunkOfRow(m: MatrixInShared, row: number, chunk: number): number {
  const step = m.swizzle === CHUNK ? m.leading : CHUNK;
  const within = (row % PART) * m.swizzle + chunk * step;
  return swizzled(m, (m.start + Math.floor(row / PART) * m.stride + within) & ADDRESS);
}

/**
 * Address of a chunk of a transposed matrix (`imm-trans` 1), which is contiguous across rows: elements of several rows with the same index
 * `k` along the sum are adjacent.
 *
 * @param chunk number of the chunk, which selects the rows
 * @param k index along the sum
 */
export function chunkAcrossRows(m: MatrixInShared, chunk: number, k: number): number {
  const wide = m.swizzle / CHUNK;
  const [alongRows, alongSums] = wide === 1 ? [m.stride, m.leading] : [m.leading, m.stride];
  const within = (chunk % wide) * CHUNK + (k % PART) * m.swizzle;
  const parts = Math.floor(chunk / wide) * alongRows + Math.floor(k / PART) * alongSums;
  return swizzled(m, (m.start + parts + within) & ADDRESS);
}
