/*
 * Where the elements of a matrix lie in shared memory that a warpgroup multiplies: PTX ISA 9.0, 9.7.15.5.1.2 (canonical layouts, strides,
 * format of the descriptor).
 */

/** A matrix in shared memory, as its descriptor says. */
export interface MatrixInShared {
  readonly start: number;
  /** Bytes from one part to the next along the leading dimension, and along the other one. */
  readonly leading: number;
  readonly stride: number;
  /** Where the pattern begins that is repeated, in rows of 128 bytes. */
  readonly base: number;
  /** Bytes of a row in which chunks change their places: 16 where they do not, 32, 64 or 128. */
  readonly swizzle: number;
}

/** Bytes that stay together, whatever the layout. */
export const CHUNK = 16;
/** Bytes of the rows by whose numbers chunks change their places. */
const ROW_LOG2 = 7;
const CHUNK_LOG2 = 4;
/** Rows, or columns, of a part. */
const PART = 8;
/** By number in the descriptor. */
const SWIZZLES: readonly number[] = [CHUNK, 128, 64, 32];
/** Addresses have 18 bits there. */
const ADDRESS = 0x3ffff;

const field = (bits: bigint, at: number, count: number): number =>
  Number(BigInt.asUintN(count, bits >> BigInt(at)));
const bytes = (bits: bigint, at: number): number => field(bits, at, 14) * CHUNK;

/** What the 64 bits of a descriptor say. */
export const matrixAt = (bits: bigint): MatrixInShared => ({
  start: bytes(bits, 0),
  leading: bytes(bits, 16),
  stride: bytes(bits, 32),
  base: field(bits, 49, 3),
  swizzle: SWIZZLES[field(bits, 62, 2)],
});

/** The address whose lower bits say where a chunk is that without swizzling would be there. */
function swizzled({ swizzle, base }: MatrixInShared, address: number): number {
  const row = (address >>> ROW_LOG2) - base;
  return address ^ ((row & (swizzle / CHUNK - 1)) << CHUNK_LOG2);
}

/**
 * Address of a chunk of a matrix whose rows (columns, of the second factor) hold their elements side by side.
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
 * Address of a chunk of a matrix with the elements of several rows side by side, of one number within their sums (`imm-trans` 1).
 *
 * @param chunk number of the chunk: of which rows
 * @param k number of the elements in their rows
 */
export function chunkAcrossRows(m: MatrixInShared, chunk: number, k: number): number {
  const wide = m.swizzle / CHUNK;
  const [alongRows, alongSums] = wide === 1 ? [m.stride, m.leading] : [m.leading, m.stride];
  const within = (chunk % wide) * CHUNK + (k % PART) * m.swizzle;
  const parts = Math.floor(chunk / wide) * alongRows + Math.floor(k / PART) * alongSums;
  return swizzled(m, (m.start + parts + within) & ADDRESS);
}
