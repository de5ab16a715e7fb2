/*
 * Decodes the names of PTX's matrix operations (PTX ISA 9.0, 9.7.14), as far as the simulator runs them.
 */

/** Bits of an element, by type. */
export const BITS: Readonly<Record<string, number>> = {
  f16: 16,
  bf16: 16,
  tf32: 32,
  f64: 64,
  s8: 8,
  u8: 8,
  s4: 4,
  u4: 4,
  b1: 1,
  e4m3: 8,
  e5m2: 8,
  f32: 32,
  s32: 32,
};

/** Accumulator types whose last bits PTX leaves open. */
const ROUNDED: ReadonlySet<string> = new Set(['f16', 'f32']);

const FLOATS: ReadonlySet<string> = new Set(['f16', 'bf16', 'tf32', 'e4m3', 'e5m2']);

/** Factor types with s32 accumulators. */
const INTEGERS: ReadonlySet<string> = new Set(['s8', 'u8', 's4', 'u4', 'b1']);

/** True if the simulator runs the matrix operation of this name. */
export function runsMatrix(name: string): boolean {
  const [opcode, ...mods] = name.split('.');
  switch (opcode) {
    case 'ldmatrix':
    case 'stmatrix':
      return matricesMoved(mods) > 0;
    case 'movmatrix':
      return true;
    case 'mma':
      return productOf(mods) !== null;
    case 'wmma':
      return taskOf(mods) !== null;
    case 'wgmma':
      return mods[0] === 'mma_async' ? groupProductOf(mods) !== null : AROUND_PRODUCTS.has(mods[0]);
    default:
      return false;
  }
}

/** The synchronisation around asynchronous products of a warpgroup. */
const AROUND_PRODUCTS: ReadonlySet<string> = new Set(['fence', 'commit_group', 'wait_group']);

/**
 * True if the last bits of the result of an instruction with this name are unspecified: PTX leaves order and precision of floating-point
 * accumulation open (PTX ISA 9.0, 9.7.14, mma and wmma.mma, 9.7.15, wgmma.mma_async).
 */
export function roundsSums(name: string): boolean {
  const [opcode, ...mods] = name.split('.');
  const types = mods.filter((x) => BITS[x] !== undefined);
  const multiplies =
    opcode === 'mma' ||
    (opcode === 'wmma' && mods[0] === 'mma') ||
    (opcode === 'wgmma' && mods[0] === 'mma_async');
  return multiplies && ROUNDED.has(types[0]);
}

/** Element type of the factors of a matrix product; null if the operation of this name is none. */
export function factorOf(name: string): string | null {
  const [opcode, ...mods] = name.split('.');
  if (opcode === 'mma') return productOf(mods)?.ta ?? null;
  if (opcode === 'wgmma') return groupProductOf(mods)?.ta ?? null;
  const task = opcode === 'wmma' ? taskOf(mods) : null;
  return task?.what === 'multiply' ? task.ta : null;
}

/** Number of 8 x 8 matrices of 16-bit elements that `ldmatrix` or `stmatrix` moves; 0 for unsupported shapes and types. */
export function matricesMoved(mods: readonly string[]): number {
  if (!mods.includes('m8n8') || !mods.includes('b16')) return 0;
  return Number(mods.find((x) => /^x[124]$/.test(x))?.slice(1) ?? 0);
}

/** Shape of an `mma`: rows and columns of the first factor, and the types of result, factors and addend. */
export interface Product {
  readonly m: number;
  readonly k: number;
  readonly td: string;
  readonly ta: string;
  readonly tb: string;
  readonly tc: string;
  readonly isInteger: boolean;
  /** For single bits: true for .xor, which counts bits set in exactly one factor. */
  readonly differing: boolean;
}

/** Shape of an `mma`; null if the simulator does not support it. */
export function productOf(mods: readonly string[]): Product | null {
  const shape = /^m(\d+)n8k(\d+)$/.exec(mods[2] ?? '');
  const types = mods.filter((x) => BITS[x] !== undefined);
  const bits = types[1] === 'b1' && types[2] === 'b1';
  const known = [
    ...['sync', 'aligned', mods[2], 'row', 'col', ...types],
    ...(bits ? ['popc', 'and', 'xor'] : ['satfinite']),
  ];
  if (shape === null || types.length !== 4 || mods.some((x) => !known.includes(x))) return null;
  if (!mods.includes('row') || !mods.includes('col')) return null;
  const [m, k] = [Number(shape[1]), Number(shape[2])];
  const [td, ta, tb, tc] = types;
  // The matrices of Volta have a different layout.
  if ((m !== 8 && m !== 16) || (m === 8 && FLOATS.has(ta)) || td !== tc) return null;
  const isInteger = !FLOATS.has(ta) && ta !== 'f64';
  const differing = mods.includes('xor');
  if (bits && (!mods.includes('popc') || differing === mods.includes('and'))) return null;
  if (isInteger ? td !== 's32' : ta === 'f64' ? td !== 'f64' : td !== 'f32' && td !== 'f16') return null;
  return { m, k, td, ta, tb, tc, isInteger, differing };
}

/** Shape of a `wgmma.mma_async`, which multiplies 64 rows of `k` elements by `n` columns. */
export interface GroupProduct {
  readonly n: number;
  readonly k: number;
  /** Types of the accumulator and of the elements of both factors. */
  readonly td: string;
  readonly ta: string;
  readonly tb: string;
  readonly saturates: boolean;
}

/** Bits of a factor's row in a warpgroup product, whatever the element type (PTX ISA 9.0, 9.7.15.2). */
const GROUP_ROW = 256;

/** Shape of a `wgmma.mma_async`; null if the simulator does not support it, as with sparse products. */
export function groupProductOf(mods: readonly string[]): GroupProduct | null {
  const shape = /^m64n(\d+)k(\d+)$/.exec(mods[3] ?? '');
  const types = mods.filter((x) => BITS[x] !== undefined);
  if (mods[0] !== 'mma_async' || shape === null || types.length !== 3) return null;
  const [n, k] = [Number(shape[1]), Number(shape[2])];
  const [td, ta, tb] = types;
  const integer = INTEGERS.has(ta);
  if (n % 8 !== 0 || n < 8 || n > 256 || k * BITS[ta] !== GROUP_ROW || BITS[ta] !== BITS[tb]) return null;
  if (integer ? td !== 's32' : !FLOATS.has(ta) || !ROUNDED.has(td)) return null;
  return { n, k, td, ta, tb, saturates: mods.includes('satfinite') };
}

/** What a `wmma` instruction does, with the shape and types of its matrices. */
export type Task =
  | { readonly what: 'move'; readonly rows: number; readonly columns: number; readonly type: string }
  | {
      readonly what: 'multiply';
      readonly shape: readonly number[];
      readonly td: string;
      readonly ta: string;
      readonly tc: string;
    };

/** What a `wmma` instruction does; null if the simulator does not support it. */
export function taskOf(mods: readonly string[]): Task | null {
  const found = mods.map((x) => /^m(\d+)n(\d+)k(\d+)$/.exec(x)).find((x) => x !== null);
  if (found == null) return null;
  const shape = found.slice(1).map(Number);
  const [m, n, k] = shape;
  const types = mods.filter((x) => BITS[x] !== undefined);
  if (mods.some((x) => /^r[nzmp]$/.test(x))) return null;
  switch (mods[0]) {
    case 'load':
    case 'store': {
      const part = mods[1];
      const [rows, columns] = part === 'a' ? [m, k] : part === 'b' ? [k, n] : [m, n];
      return types.length === 1 ? { what: 'move', rows, columns, type: types[0] } : null;
    }
    case 'mma': {
      const [td, ta, tb, tc] = types.length === 2 ? [types[0], 'f16', 'f16', types[1]] : types;
      if (tc === undefined || ta !== tb || !combines(mods, ta)) return null;
      const integer = INTEGERS.has(ta);
      if (integer !== (td === 's32') || (td === 's32') !== (tc === 's32')) return null;
      return { what: 'multiply', shape, td, ta, tc };
    }
    default:
      return null;
  }
}

/** Checks the modifiers of wmma.mma: single bits are combined by .and or .xor and counted; .satfinite applies to integers only. */
function combines(mods: readonly string[], type: string): boolean {
  const ways = ['and', 'xor'].filter((x) => mods.includes(x)).length;
  if (type === 'b1') return ways === 1 && mods.includes('popc') && !mods.includes('satfinite');
  return ways === 0 && (INTEGERS.has(type) || !mods.includes('satfinite'));
}
